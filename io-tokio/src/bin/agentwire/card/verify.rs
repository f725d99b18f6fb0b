//! `agentwire card verify`: whether a key vouches for a card.

use agentwire_core::card::{Card, KeySet, Origin, Refusal, Verified, Verifier, VerifyError};
use agentwire_tokio::card::CardFetchError;
use serde_json::{Value, json};

use super::args::VerifyArgs;
use super::{CardFailure, keys, links, row, waited, with_card, with_text};
use crate::exit::{ExitCode, Failure};
use crate::inspect::verdict;
use crate::output::Output;
use crate::web_card::failed;

pub(super) fn run(args: &VerifyArgs, output: &mut Output) -> Result<(), Failure> {
    match args.source.url() {
        Some(url) if args.key.is_empty() && args.jwks.is_none() => fetched(args, url, output),
        None if args.key.is_empty() && args.jwks.is_none() => {
            let problem = "--key names the file with a key of the card's owner; only for a card at \
                           a URL is there another way to one";
            Err(Failure::new(ExitCode::Usage, problem))
        }
        _ => given(args, output),
    }
}

/// Checks a card against the keys that its host publishes.
fn fetched(args: &VerifyArgs, url: &str, output: &mut Output) -> Result<(), Failure> {
    let (fetched, verified) = waited(async {
        let client = args.source.web.client()?;
        let client = if args.any_form { client.accept_uncovering() } else { client };
        let fetched = client.fetch(url).await.map_err(|error| failed(&error))?;
        let verified = client.verify(&fetched).await;
        Ok((fetched, verified))
    })?;
    with_text(&fetched.text, output, |card, output| match verified {
        Ok(verified) => Ok(accepted(card, &verified, output)?),
        Err(CardFetchError::Card(error) | CardFetchError::Refused(VerifyError::Card(error))) => {
            Err(CardFailure::Card(error))
        }
        Err(CardFetchError::Refused(error)) => Ok(refused(card, &error, output)?),
        Err(error) => Err(failed(&error).into()),
    })
}

/// Checks a card against keys that are given.
fn given(args: &VerifyArgs, output: &mut Output) -> Result<(), Failure> {
    let mut set = KeySet::new();
    for path in args.key.iter().chain(&args.jwks) {
        keys::add_public(path, &mut set)?;
    }
    let origin = match &args.url {
        Some(url) => Some(
            Origin::of(url)
                .map_err(|error| Failure::new(ExitCode::Usage, format!("--url: {error}")))?,
        ),
        None => None,
    };
    with_card(&args.source, output, |card, output| {
        // Where the given set is from: the first place where it may be from.
        let urls = origin.map(|origin| Verifier::key_urls(card, &origin)).unwrap_or_default();
        let from = urls.first().map(String::as_str).unwrap_or_default();
        let verifier = match origin {
            Some(origin) => Verifier::fetched(origin, from, &set),
            None => Verifier::pinned(&set),
        };
        let verifier = if args.any_form { verifier.accept_uncovering() } else { verifier };
        match verifier.verify(card) {
            Ok(verified) => Ok(accepted(card, &verified, output)?),
            Err(VerifyError::Card(error)) => Err(CardFailure::Card(error)),
            Err(error) => Ok(refused(card, &error, output)?),
        }
    })
}

fn accepted(card: &Card<'_>, verified: &Verified, output: &mut Output) -> Result<(), Failure> {
    let covers_all = verified.form.covers_all();
    // What is not covered is not read.
    let read = if covers_all { card.text() } else { verified.payload.as_str() };
    let links = Card::parse(read).map(|card| links(&card)).unwrap_or_default();
    if output.is_json() {
        return output.json(&json!({
            "verified": true,
            "signature": verified.index,
            "kid": verified.kid,
            "form": verified.form.name(),
            "coversAll": covers_all,
            "payload": if covers_all { Value::Null } else { verified.payload.as_str().into() },
            "simplex": links,
        }));
    }
    row(output, "verified", &format!("signature {}, by the key {}", verified.index, verified.kid))?;
    row(output, "form", verified.form.name())?;
    if !covers_all {
        let about = format!(
            "parts of the card are not covered: read `agentwire card canonical --form {}` in its place",
            verified.form
        );
        row(output, "but", &about)?;
    }
    for link in &links {
        // Never wrapped, so that it can be copied.
        let link = link["url"].as_str().unwrap_or_default();
        output.line(format_args!("{:<11}{}", "simplex", crate::terminal::escape(link)))?;
    }
    Ok(())
}

fn refused(card: &Card<'_>, error: &VerifyError, output: &mut Output) -> Result<(), Failure> {
    let refusals: &[Refusal] = match error {
        VerifyError::Refused(refusals) => refusals,
        _ => &[],
    };
    let kids = card.signatures().map(|signature| signature.ok().map(|it| it.kid().to_owned()));
    if output.is_json() {
        let each: Vec<Value> = kids
            .zip(refusals)
            .map(|(kid, refusal)| json!({"kid": kid, "refused": refusal.to_string()}))
            .collect();
        output.json(&json!({
            "verified": false,
            "error": if refusals.is_empty() { error.to_string().into() } else { Value::Null },
            "signatures": each,
        }))?;
    } else if refusals.is_empty() {
        row(output, "refused", &error.to_string())?;
    } else {
        for (index, (kid, refusal)) in kids.zip(refusals).enumerate() {
            let by = kid.map(|kid| format!(", by the key {kid}")).unwrap_or_default();
            row(output, "refused", &format!("signature {index}{by}: {refusal}"))?;
        }
    }
    verdict(false)
}
