//! `agentwire inspect`: explains what a chat message costs, and what a command, an envelope, an
//! `llms.txt` or a link says.

mod envelope;
mod link;
pub(crate) mod llms;
pub(crate) mod profile;
mod signature;

use core::fmt::Display;

use agentwire_core::binding::{self, Binding, Place, ProtocolName, Standard};
use agentwire_core::chat::command::{CommandError, CommandErrorKind, Head, Parsed};
use agentwire_core::chat::size::{
    ID_LEN, MAX_ENCODED_MSG_LEN, Margin, Mention, MessageShape, Quote, QuoteKind, ReplyBudget,
};
use agentwire_core::json::{Writer, length::escaped_len};
use agentwire_core::jsonrpc::Request;
use serde_json::{Value, json};

use crate::args::{CommandArgs, InspectArgs, MarginName, MessageArgs, Subject};
use crate::exit::{ExitCode, Failure};
use crate::input;
use crate::output::Output;
use crate::terminal::{DIM, NAME, escape, width};

/// Explains what standard input holds.
pub(crate) fn run(args: &InspectArgs, output: &mut Output) -> Result<(), Failure> {
    let input = input::stdin()?;
    match &args.subject {
        Subject::Message(args) => message(args, &input, output),
        Subject::Command(args) => command(args, &input, output),
        Subject::Envelope(args) => envelope::run(args, &input, output),
        Subject::Llms => llms::run(&input, output),
        Subject::Link => link::run(&input, output),
        Subject::Profile(args) => profile::run(args, &input, output),
        Subject::Signature(args) => signature::run(args, &input, output),
    }
}

fn message(args: &MessageArgs, text: &str, output: &mut Output) -> Result<(), Failure> {
    let kind = if args.group { QuoteKind::GROUP } else { QuoteKind::Direct };
    let member_id = "A".repeat(ID_LEN);
    let mentions: Vec<Mention<'_>> =
        args.mention.iter().map(|name| Mention::new(name, &member_id)).collect();
    let margin = match args.margin {
        MarginName::None => Margin::None,
        MarginName::Signed => Margin::Signed,
        MarginName::Relayed => Margin::Relayed,
    };
    let plain = MessageShape::new().margin(margin);
    let mentioning = plain.mentions(&mentions);
    let quoted = args.reply_to.as_deref().map(input::file).transpose()?;
    let quote = quoted.as_deref().map(|text| Quote::received(escaped_len(text), kind));
    let shape = quote.map_or(mentioning, |quote| mentioning.quote(quote));

    let frame = plain.overhead();
    let of_mentions = mentioning.overhead() - frame;
    let (around_quote, of_quoted) =
        quote.map_or((0, 0), |quote| (quote.encoded_len() - quote.text_len, quote.text_len));
    let escapes = escaped_len(text) - text.len();
    let (bytes, limit) = (shape.encoded_len(text), shape.limit());
    let fits = bytes <= limit;

    if output.is_json() {
        output.json(&json!({
            "fits": fits,
            "bytes": bytes,
            "limit": limit,
            "parts": {
                "text": text.len(),
                "escapes": escapes,
                "frame": frame,
                "mentions": of_mentions,
                "quote": around_quote,
                "quotedText": of_quoted,
            },
        }))?;
    } else {
        let parts = [
            ("text", text.len(), "as UTF-8"),
            ("escapes", escapes, "more for quotes, backslashes and controls"),
            ("frame", frame, "around the text"),
            ("mentions", of_mentions, "names and member ids"),
            ("quote", around_quote, "around the quoted text"),
            ("quoted text", of_quoted, "with its escapes"),
        ];
        let terminal = output.terminal();
        for (name, bytes, about) in parts.into_iter().filter(|(_, bytes, _)| *bytes > 0) {
            output.line(format_args!("{name:<12}{bytes:>8}  {}", terminal.paint(DIM, about)))?;
        }
        let left = limit.abs_diff(bytes);
        let verdict = if fits { "fits" } else { "does not fit" };
        let difference = if fits { "left" } else { "too many" };
        output.line(format_args!(
            "{}{bytes:>8}  of {limit}: {}, {left} {difference}",
            terminal.paint(NAME, format_args!("{:<12}", "in all")),
            terminal.paint(NAME, verdict),
        ))?;
    }
    verdict(fits)
}

/// What was explained would be refused: the explanation is the result, and the exit code says so.
pub(crate) fn verdict(good: bool) -> Result<(), Failure> {
    if good { Ok(()) } else { Err(Failure::new(ExitCode::Refused, "")) }
}

/// What is wrong with a text, and where.
pub(crate) fn malformed(
    why: &dyn Display,
    offset: usize,
    text: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    if output.is_json() {
        let error = why.to_string();
        output.json(&json!({"kind": "malformed", "offset": offset, "error": error}))?;
    } else {
        output.line(format_args!("malformed: {why} (byte {offset})"))?;
        point(text, offset, output)?;
    }
    verdict(false)
}

/// What a bot makes of a request: the request, or the error that is the answer.
enum Call<'a> {
    Accepted(Request<'a>),
    /// A protocol that is not known here.
    Foreign,
    /// Service RPC does not carry it.
    NeedsConversation,
    Refused {
        sentence: &'static str,
        answer: String,
    },
}

fn call<'a>(protocol: ProtocolName<'_>, text: &'a str, place: Place, one_shot: bool) -> Call<'a> {
    let Some(binding) = Standard::named(protocol) else { return Call::Foreign };
    let refusal = match binding.accept(text, &[], place) {
        Ok(_) if one_shot && !binding.is_one_shot(text) => return Call::NeedsConversation,
        Ok(_) => match Request::parse(text) {
            Ok(request) => return Call::Accepted(request),
            Err(rejected) => rejected.into(),
        },
        Err(refusal) if one_shot && refusal.failure == binding::Failure::PushNotSupported => {
            return Call::NeedsConversation;
        }
        Err(refusal) => refusal,
    };
    let write = |buffer: &mut [u8]| {
        let mut writer = Writer::new(buffer);
        binding.write_failure(&refusal.failure, refusal.id, &mut writer);
        writer.finish().map(str::to_owned).map_err(|short| short.needed)
    };
    // The first pass tells the length.
    let answer = write(&mut []).or_else(|needed| write(&mut vec![0; needed])).unwrap_or_default();
    Call::Refused { sentence: refusal.failure.sentence(), answer }
}

fn command(args: &CommandArgs, text: &str, output: &mut Output) -> Result<(), Failure> {
    let head = match Head::parse(text) {
        Ok(Parsed::Head(head)) => head,
        Ok(Parsed::NotACommand) => {
            if output.is_json() {
                output.json(&json!({"kind": "other"}))?;
            } else {
                output.line("not a /_call command: bots of this kind stay silent")?;
            }
            return Ok(());
        }
        Err(error) => {
            return malformed(&error.kind, error.offset, text, output);
        }
    };
    let broken = head.command().err();
    // Only groups have members to mention.
    let in_group = args.group || head.member.is_some();
    let place = if in_group { Place::Group } else { Place::Direct };
    let call = call(head.protocol, head.request, place, false);
    if output.is_json() {
        output.json(&command_json(&head, &call, broken, text))?;
    } else {
        command_text(&head, &call, broken, text, output)?;
    }
    verdict(broken.is_none() && !matches!(call, Call::Refused { .. }))
}

/// The size of the message that carries the command, its mention included.
fn size(head: &Head<'_>, text: &str) -> usize {
    let member_id = "A".repeat(ID_LEN);
    let mention = head.member.map(|name| Mention::new(name, &member_id));
    MessageShape::new().mentions(mention.as_slice()).encoded_len(text)
}

/// The escaped bytes left for a reply, in a direct chat and in a group.
fn room(text: &str) -> [usize; 2] {
    [QuoteKind::Direct, QuoteKind::GROUP].map(|kind| ReplyBudget::new(text, kind).remaining())
}

/// A value for output; one that is too deep or has numbers too large for it is left out.
fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn call_json(call: &Call<'_>) -> Value {
    match call {
        Call::Accepted(request) => json!({
            "accepted": true,
            // Its JSON text: a parser might round it.
            "id": request.id.get(),
            "method": parse(request.method.get()),
        }),
        Call::Foreign => Value::Null,
        Call::NeedsConversation => json!({"accepted": false, "error": "conversation_required"}),
        Call::Refused { sentence, answer } => json!({
            "accepted": false,
            "error": sentence,
            "answer": parse(answer),
        }),
    }
}

fn command_json(
    head: &Head<'_>,
    call: &Call<'_>,
    broken: Option<CommandError>,
    text: &str,
) -> Value {
    let [direct, group] = room(text);
    json!({
        "kind": "command",
        "member": head.member,
        "protocol": head.protocol.get(),
        "request": {"offset": head.offset, "bytes": head.request.len()},
        "malformed": broken.map(|error| {
            json!({"offset": error.offset, "error": error.kind.to_string()})
        }),
        "call": call_json(call),
        "bytes": size(head, text),
        "limit": MAX_ENCODED_MSG_LEN,
        "replyRoom": {"direct": direct, "group": group},
    })
}

fn command_text(
    head: &Head<'_>,
    call: &Call<'_>,
    broken: Option<CommandError>,
    text: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut row = |name: &str, value: &str| output.line(format_args!("{name:<11}{value}"));
    match head.member {
        Some(name) => row("to", &format!("@{}", escape(name)))?,
        None => row("to", "every bot that reads it")?,
    }
    row("protocol", head.protocol.get())?;
    let bytes = head.request.len();
    row("request", &format!("{bytes} bytes from byte {}", head.offset))?;
    match call {
        Call::Accepted(request) => {
            let (method, id) = (escape(request.method.raw()), escape(request.id.get()));
            row("method", &method)?;
            row("id", &id)?;
        }
        Call::Foreign => row("", "a protocol of its own; only its JSON is looked at")?,
        // Commands are in a conversation.
        Call::NeedsConversation => {}
        Call::Refused { sentence, answer } => {
            row("refused", sentence)?;
            row("answer", &escape(answer))?;
        }
    }
    row("message", &format!("{} of {MAX_ENCODED_MSG_LEN} bytes", size(head, text)))?;
    let [direct, group] = room(text);
    row("reply", &format!("room for {direct} bytes in a direct chat, {group} in a group"))?;
    if let Some(error) = broken {
        row("malformed", &error.to_string())?;
        if error.kind != CommandErrorKind::NoRequest {
            point(text, error.offset, output)?;
        }
    }
    Ok(())
}

/// Shows the place in a text, with as much around it as fits a line.
fn point(text: &str, offset: usize, output: &mut Output) -> Result<(), Failure> {
    let room = output.terminal().width().saturating_sub(8);
    let (before, after) = text.split_at_checked(offset).unwrap_or((text, ""));
    let mut left: Vec<char> = Vec::new();
    let mut columns = 0;
    for char in before.chars().rev() {
        columns += width(&escape(char.encode_utf8(&mut [0; 4])));
        if columns > room * 2 / 3 {
            break;
        }
        left.push(char);
    }
    let left: String = left.into_iter().rev().collect();
    let left = escape(&left);
    let after: String = after.chars().take(room).collect();
    let shown = escape(&after);
    let shown = crate::terminal::truncate(&shown, room - width(&left));
    output.line(format_args!("  {left}{shown}"))?;
    output.line(format_args!("  {:>1$}", "^", width(&left) + 1))
}
