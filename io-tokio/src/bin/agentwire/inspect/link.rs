//! `agentwire inspect link`: what a SimpleX link or name leads to.

use agentwire_core::discovery::link::{Link, LinkError, LinkErrorKind, LinkForm, LinkKind, Scheme};
use agentwire_core::discovery::name::{Name, NameError, NameErrorKind, NameKind, Tld};
use serde_json::json;

use super::{point, verdict};
use crate::exit::Failure;
use crate::output::Output;
use crate::terminal::escape;

/// Explains a link or a name.
pub(super) fn run(text: &str, output: &mut Output) -> Result<(), Failure> {
    let text = text.trim_end();
    match Link::parse(text) {
        Ok(link) => explain(&link, text, output),
        // Both errors mean that it does not begin like a link.
        Err(LinkError { kind: LinkErrorKind::Scheme | LinkErrorKind::Name, .. }) => {
            name(text, output)
        }
        Err(error) => refuse("link", &error.kind.to_string(), error.offset, text, output),
    }
}

fn explain(link: &Link<'_>, text: &str, output: &mut Output) -> Result<(), Failure> {
    let mut buffer = vec![0; text.len() * 3 + 16];
    let normal = link.write(&mut buffer).unwrap_or_default();
    let form = match link.form() {
        LinkForm::Short => "short",
        LinkForm::Full => "full",
    };
    let scheme = match link.scheme() {
        Scheme::Simplex => "simplex",
        Scheme::Https => "https",
    };
    if output.is_json() {
        return output.json(&json!({
            "kind": "link",
            "type": link.kind().name(),
            "form": form,
            "scheme": scheme,
            "ratchetKeys": link.has_ratchet_keys(),
            "normal": normal,
        }));
    }
    output.line(format_args!("{:<11}{form} link in the scheme {scheme}:", link.kind().name()))?;
    let about = match link.kind() {
        LinkKind::Contact => "a contact address; whether it is a business is in the data behind it",
        LinkKind::Invitation => "for one contact, once",
        LinkKind::Group => "members converse there",
        LinkKind::Channel => "it publishes updates",
        _ => "it forwards the messages of channels",
    };
    output.line(format_args!("{:<11}{about}", ""))?;
    match link.has_ratchet_keys() {
        Some(true) => output.line(format_args!("{:<11}it has ratchet keys", "rpc"))?,
        Some(false) => output
            .line(format_args!("{:<11}without ratchet keys, no Service RPC requests", "rpc"))?,
        None => {}
    }
    output.line(format_args!("{:<11}{}", "normal", escape(normal)))
}

fn name(text: &str, output: &mut Output) -> Result<(), Failure> {
    let name = match Name::parse(text) {
        Ok(name) => name,
        // A text with such bytes was not meant for a name.
        Err(NameError { kind: NameErrorKind::Byte(b':' | b'/'), .. })
            if !text.starts_with("simplex:") =>
        {
            let sentence = LinkErrorKind::Scheme.to_string();
            return refuse("link", &sentence, 0, text, output);
        }
        Err(error) => return refuse("name", &error.kind.to_string(), error.offset, text, output),
    };
    let mut buffer = vec![0; text.len() + 16];
    let normal = name.write(&mut buffer).unwrap_or_default();
    let kind = match name.kind() {
        NameKind::PublicGroup => "group",
        NameKind::Contact => "contact",
    };
    let tld = match name.tld() {
        Tld::Simplex => "simplex",
        Tld::Testing => "testing",
        _ => "web",
    };
    if output.is_json() {
        return output.json(&json!({"kind": "name", "type": kind, "tld": tld, "normal": normal}));
    }
    output.line(format_args!("{:<11}a SimpleX name", kind))?;
    output.line(format_args!("{:<11}{tld}", "domain"))?;
    output.line(format_args!("{:<11}{normal}", "normal"))
}

fn refuse(
    kind: &str,
    error: &str,
    offset: usize,
    text: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    if output.is_json() {
        output.json(&json!({"kind": "malformed", "as": kind, "offset": offset, "error": error}))?;
    } else {
        output.line(format_args!("not a SimpleX {kind}: {error} (byte {offset})"))?;
        point(text, offset, output)?;
    }
    verdict(false)
}
