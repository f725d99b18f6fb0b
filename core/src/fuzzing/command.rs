//! The command grammar.

use alloc::format;
use alloc::string::String;

use crate::binding::ProtocolName;
use crate::chat::command::{Command, CommandErrorKind, Head, MentionForm, NewCommandError, Parsed};

/// A text is read as a command; what can be read is written and read again. The text,
/// split at bars, is made into a command as well.
pub fn command(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    read(text);
    compose(text);
}

fn read(text: &str) {
    let parsed = Head::parse(text);
    let command = Command::parse(text);
    if let Err(error) = &parsed {
        assert!(text.is_char_boundary(error.offset), "{error:?} is no place in the text");
        assert_eq!(command, Err(*error), "Head and Command disagree");
        // Whatever has no error of its own is a command, so the broken ones begin like one.
        assert!(text.starts_with("/_call") && text[6..].starts_with(char::is_whitespace));
    }
    match parsed {
        Err(_) => {}
        Ok(Parsed::NotACommand) => {
            assert_eq!(command.map_err(|error| error.kind), Err(CommandErrorKind::NotACommand));
            assert!(!text.starts_with("/_call "));
        }
        Ok(Parsed::Head(head)) => {
            assert_eq!(head.command(), command, "Head and Command disagree");
            assert_eq!(text.get(head.offset..), Some(head.request));
            is_this_grammar(text, &head);
            match command {
                Ok(command) => {
                    assert_eq!(command.member(), head.member);
                    assert_eq!(command.protocol(), head.protocol);
                    assert_eq!(command.request(), head.request);
                    write(&command);
                }
                Err(error) => {
                    assert!(text.is_char_boundary(error.offset), "{error:?}");
                    assert!(error.offset >= head.offset, "the request begins behind the error");
                }
            }
        }
    }
}

/// The text is what the grammar makes of its parts.
fn is_this_grammar(text: &str, head: &Head<'_>) {
    let name = head.protocol.get();
    assert!(!name.is_empty());
    assert!(name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')));
    let rest = if head.request.is_empty() && !text.ends_with(' ') {
        name.into()
    } else {
        format!("{name} {}", head.request)
    };
    let texts = match head.member {
        None => [format!("/_call {rest}"), String::new()],
        Some(member) => {
            assert!(!member.is_empty() && !member.starts_with(['#', '@', '\'', ' ']));
            [format!("/_call @{member} {rest}"), format!("/_call @'{member}' {rest}")]
        }
    };
    assert!(texts.iter().any(|made| made == text), "the parts do not make the text");
}

/// What is written reads as the same command, and is written the same again.
fn write(command: &Command<'_>) {
    for form in [MentionForm::Recognised, MentionForm::OneLine] {
        let needed = command.write(form, &mut []).expect_err("it is never empty").needed;
        let mut short = alloc::vec![0; needed - 1];
        let error = command.write(form, &mut short).expect_err("one byte short");
        assert_eq!((error.needed, error.capacity), (needed, needed - 1));
        let mut exact = alloc::vec![0; needed];
        let text = command.write(form, &mut exact).expect("as long as it said");
        let again = Command::parse(text).expect("a written command can be read");
        assert_eq!(again.member(), command.member());
        assert_eq!(again.protocol(), command.protocol());
        let request = again.request();
        if request != command.request() {
            // The line feed for today's chat core is all that may be added.
            assert!(form == MentionForm::Recognised && command.member().is_some());
            assert_eq!(request.strip_prefix("{\n"), command.request().strip_prefix('{'));
        }
        let mut twice = alloc::vec![0; needed];
        assert_eq!(again.write(form, &mut twice).expect("the same length"), text);
    }
}

/// `member|protocol|request`: whatever can be made into a command reads as these parts.
fn compose(text: &str) {
    let mut parts = text.splitn(3, '|');
    let (Some(member), Some(protocol), Some(request)) = (parts.next(), parts.next(), parts.next())
    else {
        return;
    };
    let Some(protocol) = ProtocolName::new(protocol) else { return };
    let member = (!member.is_empty()).then_some(member);
    match Command::new(member, protocol, request) {
        Ok(command) => {
            assert_eq!(command.member(), member);
            assert_eq!(command.request(), request.trim_matches([' ', '\t', '\n', '\r']));
            write(&command);
        }
        Err(NewCommandError::Member { len }) => assert_eq!(Some(len), member.map(str::len)),
        Err(NewCommandError::Request(error)) => {
            assert!(error.offset <= request.len());
            assert!(super::model::value(request).is_none_or(|value| value != "{}"));
        }
    }
}
