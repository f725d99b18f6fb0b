//! `agentwire inspect llms`: the addresses of an `llms.txt`, and what does not fit.

use agentwire_core::discovery::link::LinkKind;
use agentwire_core::discovery::llms::{
    AddressType, Communications, Entry, EntryLinkError, Item, ProblemKind, Term, Text,
};
use serde_json::{Value, json};

use super::verdict;
use crate::exit::Failure;
use crate::output::Output;
use crate::terminal::{DIM, NAME, escape, truncate};

/// Lists what the section holds. It is refused if anything does not fit: a line, or the link of
/// an entry. Remarks alone refuse nothing.
pub(super) fn run(text: &str, output: &mut Output) -> Result<(), Failure> {
    verdict(list(text, output)?.1 == 0)
}

/// The same: the addresses that a SimpleX profile can connect to, and how many problems there are.
pub(crate) fn list(text: &str, output: &mut Output) -> Result<(Vec<String>, usize), Failure> {
    let (mut entries, mut problems) = (0_usize, 0_usize);
    let mut addresses = Vec::new();
    for item in Communications::new(text) {
        match item {
            Item::Entry(entry) => {
                entries += 1;
                let mut scratch = vec![0; entry.link().raw().len()];
                let link =
                    entry.simplex_link(&mut scratch).map(|link| link.map(|link| link.kind()));
                problems += usize::from(link.is_err());
                if let Ok(Some(_)) = link {
                    addresses.push(plain(entry.link()));
                }
                if output.is_json() {
                    output.json(&entry_json(&entry, link))?;
                } else {
                    entry_text(&entry, link, output)?;
                }
            }
            Item::Heading(heading) if output.is_json() => output.json(&json!({
                "kind": "heading",
                "line": heading.line,
                "level": heading.level,
                "title": plain(heading.title),
            }))?,
            Item::Heading(heading) => {
                output.line(format_args!("line {}: {}", heading.line, shown(heading.title)))?;
            }
            Item::Problem(problem) => {
                problems += 1;
                if output.is_json() {
                    output.json(&json!({
                        "kind": "problem",
                        "line": problem.line,
                        "offset": problem.offset,
                        "error": problem.kind.to_string(),
                    }))?;
                } else {
                    output.line(problem)?;
                    if problem.kind != ProblemKind::NoSection {
                        let room = output.terminal().width().saturating_sub(2);
                        let first = problem.text.lines().next().unwrap_or_default();
                        let first: String = first.chars().take(room).collect();
                        let first = escape(&first);
                        let line = output.terminal().paint(DIM, truncate(&first, room));
                        output.line(format_args!("  {line}"))?;
                    }
                }
            }
            _ => {}
        }
    }
    if output.is_json() {
        output.json(&json!({"kind": "summary", "entries": entries, "problems": problems}))?;
    } else {
        output.line(format_args!("{entries} addresses, {problems} problems"))?;
    }
    Ok((addresses, problems))
}

/// What the Markdown reads.
fn plain(text: Text<'_>) -> String {
    text.chars().collect()
}

fn shown(text: Text<'_>) -> String {
    escape(&plain(text)).into()
}

fn type_name(kind: AddressType<'_>) -> String {
    plain(kind.name())
}

fn entry_json(entry: &Entry<'_>, link: Result<Option<LinkKind>, EntryLinkError>) -> Value {
    let remarks: Vec<Value> = entry
        .remarks()
        .map(|remark| {
            let (line, offset) = (remark.line, remark.offset);
            json!({"line": line, "offset": offset, "remark": remark.kind.to_string()})
        })
        .collect();
    let others: Vec<String> = entry
        .terms()
        .filter_map(|term| match term {
            Term::Other(text) => Some(plain(text)),
            _ => None,
        })
        .collect();
    let protocols: Vec<String> = entry.protocols().map(|name| name.to_string()).collect();
    json!({
        "kind": "entry",
        "line": entry.line(),
        "offset": entry.offset(),
        "title": plain(entry.title()),
        "address": plain(entry.link()),
        "network": plain(entry.network()),
        "type": type_name(entry.kind()),
        "peerTypes": entry.audience().peer_types(),
        "frequency": entry.frequency().map(|frequency| frequency.name()),
        "protocols": protocols,
        "other": others,
        "info": plain(entry.info()),
        "link": link.ok().flatten().map(|kind| kind.name()),
        "linkError": link.err().map(|error| error.to_string()),
        "remarks": remarks,
    })
}

fn entry_text(
    entry: &Entry<'_>,
    link: Result<Option<LinkKind>, EntryLinkError>,
    output: &mut Output,
) -> Result<(), Failure> {
    let title = shown(entry.title());
    let title = output.terminal().paint(NAME, &title);
    output.line(format_args!("line {}: {title}", entry.line()))?;
    output.line(format_args!("  {}", shown(entry.link())))?;
    let mut words = format!(
        "{} {} for {}",
        shown(entry.network()),
        escape(&type_name(entry.kind())),
        entry.audience()
    );
    for term in entry.terms() {
        words.push_str(", ");
        match term {
            Term::Frequency(frequency) => words.push_str(frequency.name()),
            Term::Protocol(protocol) => words.push_str(&protocol.to_string()),
            Term::Other(text) => words.push_str(&shown(text)),
            _ => {}
        }
    }
    output.line(format_args!("  {words}"))?;
    if !entry.info().is_empty() {
        let info = shown(entry.info());
        output.line(format_args!("  {}", output.terminal().paint(DIM, &info)))?;
    }
    match link {
        Ok(Some(kind)) => output.line(format_args!("  a {kind} link"))?,
        Ok(None) => {}
        Err(error) => output.line(format_args!("  the address: {error}"))?,
    }
    for remark in entry.remarks() {
        output.line(format_args!("  {remark}"))?;
    }
    Ok(())
}
