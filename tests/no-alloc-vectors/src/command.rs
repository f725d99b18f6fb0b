//! The command grammar.

use agentwire_core::binding::ProtocolName;
use agentwire_core::chat::command::{Command, CommandErrorKind, Head, MentionForm, Parsed};

use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    ("command: parts of well-formed commands", parts),
    ("command: another's command is left alone", others),
    ("command: what is refused, why and where", refused),
    ("command: what is written is read back", written),
    ("command: a mention is written so that today's core finds it", mention),
];

/// Text, the mentioned member, the protocol, the request.
const PARTS: &[(&str, Option<&str>, &str, &str)] = &[
    ("/_call mcp {}", None, "mcp", "{}"),
    ("/_call @bob a2a {\"id\":1}", Some("bob"), "a2a", "{\"id\":1}"),
    ("/_call @'Acme shop' x-9 {\n\"id\": 1}", Some("Acme shop"), "x-9", "{\n\"id\": 1}"),
];

fn parts() -> bool {
    PARTS.iter().all(|&(text, member, protocol, request)| {
        Command::parse(text).is_ok_and(|command| {
            command.member() == member
                && command.protocol().get() == protocol
                && command.request() == request
        })
    })
}

fn others() -> bool {
    ["", "hello", "/_call", "/call mcp {}", "/_caller mcp {}", "\u{a0}/_call mcp {}"]
        .iter()
        .all(|text| Head::parse(text) == Ok(Parsed::NotACommand))
}

const REFUSED: &[(&str, CommandErrorKind, usize)] = &[
    ("/_call  mcp {}", CommandErrorKind::Separator, 7),
    ("/_call MCP {}", CommandErrorKind::ProtocolByte(b'M'), 7),
];

fn refused() -> bool {
    let kind = |text| Command::parse(text).err().map(|error| error.kind);
    REFUSED.iter().all(|&(text, kind, offset)| {
        Command::parse(text).is_err_and(|error| (error.kind, error.offset) == (kind, offset))
    }) && kind("/_call @'bob mcp {}") == Some(CommandErrorKind::MemberQuote)
        && kind("/_call @bob, mcp {}") == Some(CommandErrorKind::MemberPunctuation)
        && matches!(kind("/_call mcp []"), Some(CommandErrorKind::Request(_)))
}

fn written() -> bool {
    let mut buffer = [0; 64];
    PARTS.iter().all(|&(text, member, _, request)| {
        let Ok(command) = Command::parse(text) else { return false };
        let Ok(written) = command.write(MentionForm::OneLine, &mut buffer) else { return false };
        Command::parse(written)
            .is_ok_and(|again| again.member() == member && again.request() == request)
    })
}

fn mention() -> bool {
    let Some(protocol) = ProtocolName::new("mcp") else { return false };
    let Ok(command) = Command::new(Some("bob"), protocol, "{\"id\":1}") else { return false };
    let (mut enough, mut short) = ([0; 25], [0; 24]);
    command.write(MentionForm::Recognised, &mut enough) == Ok("/_call @bob mcp {\n\"id\":1}")
        && command.write(MentionForm::Recognised, &mut short).is_err_and(|e| e.needed == 25)
}
