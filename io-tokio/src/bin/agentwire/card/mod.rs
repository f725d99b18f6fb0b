//! `agentwire card`: signs, checks and lints A2A Agent Cards, and puts SimpleX addresses into them.

mod args;
mod keys;
mod lint;
mod verify;

use core::future::Future;
use std::io::{self, Write as _};

use agentwire_core::card::{Card, CardError, Form, NewSignature, SecretKey, SignError, Signer};
use agentwire_core::json;
use serde_json::{Value, json};

pub(crate) use args::CardArgs;
use args::{AddInterfaceArgs, CanonicalArgs, CardAction, LinkArgs, SignArgs, SignerArgs, Source};

use crate::exit::{ExitCode, Failure};
use crate::input;
use crate::inspect::{malformed, verdict};
use crate::output::Output;
use crate::signals;
use crate::terminal::{escape, escape_json, wrap};
use crate::web_card::failed;

/// Does what the command line says.
pub(crate) fn run(args: &CardArgs, output: &mut Output) -> Result<(), Failure> {
    match &args.action {
        CardAction::Sign(args) => sign(args, output),
        CardAction::Verify(args) => verify::run(args, output),
        CardAction::Lint(args) => lint::run(args, output),
        CardAction::Key(args) => keys::run(args, output),
        CardAction::Canonical(args) => canonical(args, output),
        CardAction::AddInterface(args) => add_interface(args, output),
        CardAction::Link(args) => link(args, output),
    }
}

/// Reads a card and does something with it; says what is wrong with it, if it is none.
fn with_card(
    source: &Source,
    output: &mut Output,
    work: impl FnOnce(&Card<'_>, &mut Output) -> Result<(), CardFailure>,
) -> Result<(), Failure> {
    let text = match source.url() {
        Some(url) => {
            let fetch = async { source.web.client()?.fetch(url).await.map_err(|it| failed(&it)) };
            waited(fetch)?.text
        }
        None => input::file_or_stdin(source.file.as_deref())?,
    };
    with_text(&text, output, work)
}

/// Waits for what comes from the web; nothing else here waits for anything.
fn waited<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let mut came = None;
    let result = &mut came;
    signals::block_on(|mut end| async move {
        tokio::select! {
            biased;
            () = end.requested() => {}
            worked = work => *result = Some(worked?),
        }
        Ok(())
    })?;
    came.ok_or_else(|| Failure::new(ExitCode::Timeout, "given up"))
}

/// Does something with the card in a text.
fn with_text(
    text: &str,
    output: &mut Output,
    work: impl FnOnce(&Card<'_>, &mut Output) -> Result<(), CardFailure>,
) -> Result<(), Failure> {
    let worked = Card::parse(text).map_err(CardFailure::Card).and_then(|card| work(&card, output));
    match worked {
        Ok(()) => Ok(()),
        Err(CardFailure::Other(failure)) => Err(failure),
        Err(CardFailure::Card(error)) => match error.offset() {
            Some(offset) => {
                // The place is said and shown beside it.
                let why = match error {
                    CardError::Json(error) => error.kind.to_string(),
                    error => error.to_string(),
                };
                let path = json::Path::to(text, offset).to_string();
                let why = if path == "$" { why } else { format!("{why}, at {path}") };
                malformed(&why, offset, text, output)
            }
            None => Err(Failure::new(ExitCode::Refused, error.to_string())),
        },
    }
}

/// Why nothing comes of a card.
enum CardFailure {
    /// The card's own fault.
    Card(CardError),
    Other(Failure),
}

impl From<CardError> for CardFailure {
    fn from(error: CardError) -> Self {
        Self::Card(error)
    }
}

impl From<Failure> for CardFailure {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

fn refused(why: impl Into<String>) -> Failure {
    Failure::new(ExitCode::Refused, why)
}

/// One line of a result, wrapped to the terminal's width.
fn row(output: &mut Output, name: &str, value: &str) -> Result<(), Failure> {
    let room = output.terminal().width().saturating_sub(11);
    let mut name = name;
    for line in wrap(&escape(value), room) {
        output.line(format_args!("{name:<11}{line}"))?;
        name = "";
    }
    Ok(())
}

/// Prints a card: as it is, or where JSON is wanted on one line.
fn print(text: &str, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        let value: Value =
            serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        return output.json(&value);
    }
    if output.terminal().is_terminal() {
        let lines: Vec<_> = text.split('\n').map(escape_json).collect();
        return output.line(lines.join("\n"));
    }
    output.line(text)
}

/// What signs, as the command line has it.
struct Signing {
    key: SecretKey,
    kid: String,
    jku: Option<String>,
}

impl Signing {
    fn read(args: &SignerArgs) -> Result<Option<Self>, Failure> {
        let Some(file) = &args.key else { return Ok(None) };
        let key = keys::secret(file)?;
        let kid = args.kid.clone().unwrap_or_else(|| key.public().thumbprint());
        Ok(Some(Self { key, kid, jku: args.jku.clone() }))
    }

    /// Signs a card in each of these forms, or in the one on which all verifiers agree.
    fn sign(&self, card: &Card<'_>, forms: &[Form]) -> Result<Vec<NewSignature>, CardFailure> {
        let usage =
            |error: SignError| CardFailure::Other(Failure::new(ExitCode::Usage, error.to_string()));
        let mut signer = Signer::new(&self.key, &self.kid).map_err(usage)?;
        if let Some(jku) = &self.jku {
            signer = signer.jku(jku).map_err(usage)?;
        }
        let failed = |error| match error {
            SignError::Card(error) => CardFailure::Card(error),
            SignError::FormsDiffer { form } => CardFailure::Other(refused(format!(
                "verifiers of the form {form} would refuse the signature; \
                 `agentwire card lint` says why, --form signs it all the same"
            ))),
            error => CardFailure::Other(refused(error.to_string())),
        };
        if forms.is_empty() {
            return Ok(vec![signer.sign(card).map_err(failed)?]);
        }
        let sign = |form: &Form| signer.clone().form(*form).sign(card).map_err(failed);
        forms.iter().map(sign).collect()
    }
}

fn sign(args: &SignArgs, output: &mut Output) -> Result<(), Failure> {
    let Some(signing) = Signing::read(&args.signer)? else {
        return Err(Failure::new(ExitCode::Usage, "--key names the file with the private key"));
    };
    let forms: Vec<Form> = args.form.iter().map(|form| Form::from(*form)).collect();
    with_card(&args.source, output, |card, output| {
        let new = signing.sign(card, &forms)?;
        Ok(print(&card.with_signatures(&new, args.keep), output)?)
    })
}

fn canonical(args: &CanonicalArgs, output: &mut Output) -> Result<(), Failure> {
    with_card(&args.source, output, |card, output| {
        let form = Form::from(args.form);
        let text = card.canonical(form)?;
        if output.is_json() {
            let value = json!({"form": form.name(), "bytes": text.len(), "canonical": text});
            output.json(&value)?;
        } else if output.terminal().is_terminal() {
            output.line(escape_json(&text))?;
        } else {
            // These bytes and no more: somebody may want to hash them.
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::from)?;
        }
        Ok(())
    })
}

fn add_interface(args: &AddInterfaceArgs, output: &mut Output) -> Result<(), Failure> {
    let signing = Signing::read(&args.signer)?;
    with_card(&args.source, output, |card, output| {
        let added = card
            .with_simplex_interface(&args.link, &args.a2a_version)
            .map_err(|error| refused(error.to_string()))?;
        let Some(signing) = &signing else {
            if card.signatures().next().is_some() && added != card.text() {
                eprintln!("agentwire: the signatures are dropped; --key makes a new one");
            }
            return Ok(print(&added, output)?);
        };
        let added = Card::parse(&added)?;
        let new = signing.sign(&added, &[])?;
        Ok(print(&added.with_signatures(&new, false), output)?)
    })
}

fn link(args: &LinkArgs, output: &mut Output) -> Result<(), Failure> {
    with_card(&args.source, output, |card, output| {
        let links = links(card);
        if output.is_json() {
            for link in &links {
                output.json(link)?;
            }
        } else {
            for link in &links {
                // One line for each, to be used in a shell.
                output.line(escape(link["url"].as_str().unwrap_or_default()))?;
            }
        }
        if links.is_empty() {
            return Err(refused("the card has no SimpleX interface").into());
        }
        Ok(verdict(true)?)
    })
}

/// The SimpleX interfaces of a card as JSON.
fn links(card: &Card<'_>) -> Vec<Value> {
    let interface = |it: agentwire_core::card::SimplexInterface| json!({"url": it.url, "version": it.version, "tenant": it.tenant});
    card.simplex_interfaces().map(interface).collect()
}
