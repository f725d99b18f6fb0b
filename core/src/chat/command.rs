//! The command grammar ("Chat transport", "Commands").
//!
//! ```text
//! /_call <protocol> <request>
//! /_call @<member> <protocol> <request>
//! ```
//!
//! One space separates the parts. The protocol's name is `[a-z0-9-]+`, the request is a JSON
//! object. A member's name is written as the chat core writes mentions: plain, or in single
//! quotes when it has white space, dots, commas or ends in punctuation.
//!
//! | text | what it is |
//! |---|---|
//! | `hello`, `/call mcp {}`, `/_caller mcp {}`, `/_call` | [`NotACommand`](Parsed::NotACommand): somebody else's business |
//! | `/_call  mcp {}`, `/_call MCP {}`, `/_call @'bob mcp {}` | a [`CommandError`] with the byte where it shows |
//! | `/_call mcp {"id":`, `/_call mcp []` | a [`Head`] whose request is broken: the protocol answers that |
//! | `/_call @bob mcp {}` | a [`Command`] |
//!
//! # Writing a mention
//!
//! Today's chat core takes a text of one line that begins with `/` for one command and finds no
//! mention in it (simplex-chat, Markdown.hs). It then refuses to send the mention, or the receiver
//! sees none. So a command with a mention is written over two lines by default, with a line feed
//! directly after the request's opening brace ([`MentionForm::Recognised`]).

use core::fmt;

use super::punctuation::is_punctuation;
use crate::binding::ProtocolName;
use crate::json::{self, BufferTooSmall, Object, Writer};

const KEYWORD: &str = "/_call";

/// Where a mention begins.
pub(super) const MEMBER_OFFSET: usize = KEYWORD.len() + 1;

/// A command: who is called, the protocol, and its request.
///
/// ```
/// use agentwire_core::chat::command::{Command, MentionForm};
///
/// let command = Command::parse("/_call @'Acme shop' mcp {\"id\": 1}").unwrap();
/// assert_eq!(command.member(), Some("Acme shop"));
/// assert_eq!(command.protocol().get(), "mcp");
/// assert_eq!(command.request(), "{\"id\": 1}");
///
/// let mut buffer = [0; 64];
/// let text = command.write(MentionForm::Recognised, &mut buffer).unwrap();
/// assert_eq!(text, "/_call @'Acme shop' mcp {\n\"id\": 1}");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Command<'a> {
    head: Head<'a>,
}

/// A command's parts before the request is looked at.
///
/// ```
/// use agentwire_core::chat::command::{Head, Parsed};
/// let Parsed::Head(head) = Head::parse("/_call mcp {\"id\":").unwrap() else { panic!() };
/// assert_eq!((head.member, head.request), (None, "{\"id\":"));
/// assert!(head.command().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head<'a> {
    /// The mentioned member's name, without quotes.
    pub member: Option<&'a str>,
    /// The protocol.
    pub protocol: ProtocolName<'a>,
    /// All that follows the protocol's name and one space; empty if nothing does.
    pub request: &'a str,
    /// Where the request begins, in bytes from the start of the text.
    pub offset: usize,
}

/// What a text is to the grammar.
///
/// ```
/// use agentwire_core::chat::command::{Head, Parsed};
/// assert_eq!(Head::parse("/call mcp {}"), Ok(Parsed::NotACommand));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_enums)]
pub enum Parsed<'a> {
    /// An ordinary message, or another command.
    NotACommand,
    /// A command of this grammar, as far as its protocol's name.
    Head(Head<'a>),
}

/// Why a text that begins with `/_call ` is not a command, and the byte offset where that shows.
///
/// ```
/// use agentwire_core::chat::command::{Command, CommandError, CommandErrorKind};
/// let error = Command::parse("/_call  mcp {}").unwrap_err();
/// assert_eq!((error.kind, error.offset), (CommandErrorKind::Separator, 7));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct CommandError {
    /// What is wrong.
    pub kind: CommandErrorKind,
    /// Bytes from the start of the text.
    pub offset: usize,
}

/// What is wrong with a command.
///
/// ```
/// use agentwire_core::chat::command::{Command, CommandErrorKind};
/// let kind = |text| Command::parse(text).unwrap_err().kind;
/// assert_eq!(kind("/_call @bob, mcp {}"), CommandErrorKind::MemberPunctuation);
/// assert_eq!(kind("/_call mcp"), CommandErrorKind::NoRequest);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum CommandErrorKind {
    /// The text does not begin with `/_call` and a separator: no command of this grammar.
    NotACommand,
    /// Something other than exactly one space separates two parts.
    Separator,
    /// No name follows the `@`.
    NoMember,
    /// The quote that begins a member's name is not closed.
    MemberQuote,
    /// A member's name begins with `#`, `@`, a quote or a control character.
    MemberStart,
    /// A member is mentioned in a direct chat, which has none.
    MemberInDirectChat,
    /// An unquoted member's name holds a comma or a dot or ends in punctuation: quotes are needed.
    MemberPunctuation,
    /// No protocol's name follows.
    NoProtocol,
    /// A byte that a protocol's name cannot have.
    ProtocolByte(u8),
    /// Nothing follows the protocol's name.
    NoRequest,
    /// The request is not one JSON object.
    Request(json::ErrorKind),
}

impl CommandError {
    pub(super) const fn new(kind: CommandErrorKind, offset: usize) -> Self {
        Self { kind, offset }
    }
}

impl fmt::Display for CommandErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotACommand => f.write_str("not a /_call command"),
            Self::Separator => f.write_str("exactly one space separates the parts of a command"),
            Self::NoMember => f.write_str("no member's name follows the @"),
            Self::MemberQuote => f.write_str("the quote around the member's name is not closed"),
            Self::MemberStart => f.write_str("a member's name cannot begin like this"),
            Self::MemberInDirectChat => f.write_str("a direct chat has no members to mention"),
            Self::MemberPunctuation => {
                f.write_str("a member's name with this punctuation has to stand in single quotes")
            }
            Self::NoProtocol => f.write_str("no protocol's name follows"),
            Self::ProtocolByte(byte) => {
                write!(f, "byte 0x{byte:02x} in a protocol's name, which has a-z, 0-9 and - only")
            }
            Self::NoRequest => f.write_str("no request follows"),
            Self::Request(kind) => write!(f, "the request: {kind}"),
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (byte {})", self.kind, self.offset)
    }
}

impl core::error::Error for CommandError {}

impl<'a> Head<'a> {
    /// Reads a text as far as the protocol's name.
    ///
    /// # Errors
    /// [`CommandError`] when the text begins as a command of this grammar and goes on otherwise.
    pub fn parse(text: &'a str) -> Result<Parsed<'a>, CommandError> {
        let Some(rest) = text.strip_prefix(KEYWORD) else { return Ok(Parsed::NotACommand) };
        // The keyword ends at white space: `/_caller` is another one, `/_call` alone calls nobody.
        if !rest.starts_with(char::is_whitespace) {
            return Ok(Parsed::NotACommand);
        }
        let mut parts = Parts { text, at: KEYWORD.len() };
        parts.space(CommandErrorKind::NoProtocol)?;
        let member = if parts.rest().starts_with('@') {
            let name = parts.member()?;
            parts.space(CommandErrorKind::NoProtocol)?;
            Some(name)
        } else {
            None
        };
        let protocol = parts.protocol()?;
        if parts.rest().is_empty() {
            return Ok(Parsed::Head(Self { member, protocol, request: "", offset: text.len() }));
        }
        parts.space(CommandErrorKind::NoRequest)?;
        Ok(Parsed::Head(Self { member, protocol, request: parts.rest(), offset: parts.at }))
    }

    /// The command, if the request is a JSON object.
    ///
    /// # Errors
    /// [`CommandErrorKind::NoRequest`] or [`CommandErrorKind::Request`].
    pub fn command(&self) -> Result<Command<'a>, CommandError> {
        if self.request.is_empty() {
            return Err(CommandError::new(CommandErrorKind::NoRequest, self.offset));
        }
        match Object::parse(self.request) {
            Ok(_) => Ok(Command { head: *self }),
            Err(error) => Err(CommandError::new(
                CommandErrorKind::Request(error.kind),
                self.offset.saturating_add(error.offset),
            )),
        }
    }
}

impl fmt::Debug for Head<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Head")
            .field("mention", &self.member.is_some())
            .field("protocol", &self.protocol.get())
            .field("request_len", &self.request.len())
            .finish()
    }
}

/// Reads part after part.
struct Parts<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parts<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.saturating_add(bytes);
    }

    fn fail<T>(&self, kind: CommandErrorKind) -> Result<T, CommandError> {
        Err(CommandError::new(kind, self.at))
    }

    /// Exactly one space, and then something; `missing` if the text ends here.
    fn space(&mut self, missing: CommandErrorKind) -> Result<(), CommandError> {
        if self.rest().is_empty() {
            return self.fail(missing);
        }
        if !self.rest().starts_with(' ') {
            return self.fail(CommandErrorKind::Separator);
        }
        self.skip(1);
        if self.rest().starts_with(char::is_whitespace) {
            return self.fail(CommandErrorKind::Separator);
        }
        if self.rest().is_empty() { self.fail(missing) } else { Ok(()) }
    }

    /// `@name` or `@'name'`.
    fn member(&mut self) -> Result<&'a str, CommandError> {
        self.skip(1);
        if let Some(quoted) = self.rest().strip_prefix('\'') {
            let Some(end) = quoted.find('\'') else {
                return self.fail(CommandErrorKind::MemberQuote);
            };
            let name = quoted.get(..end).unwrap_or_default();
            self.skip(1);
            Self::check_start(name).or_else(|kind| self.fail(kind))?;
            self.skip(end.saturating_add(1));
            return Ok(name);
        }
        let rest = self.rest();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default();
        Self::check_start(name).or_else(|kind| self.fail(kind))?;
        if let Some(place) = name.find([',', '.']) {
            self.skip(place);
            return self.fail(CommandErrorKind::MemberPunctuation);
        }
        if ends_in_punctuation(name) {
            let last = name.char_indices().next_back().map_or(0, |(place, _)| place);
            self.skip(last);
            return self.fail(CommandErrorKind::MemberPunctuation);
        }
        self.skip(end);
        Ok(name)
    }

    /// The first character of a display name (simplex-chat, Commands.hs).
    fn check_start(name: &str) -> Result<(), CommandErrorKind> {
        match name.chars().next() {
            None => Err(CommandErrorKind::NoMember),
            Some(first) if first <= ' ' || matches!(first, '#' | '@' | '\'') => {
                Err(CommandErrorKind::MemberStart)
            }
            Some(_) => Ok(()),
        }
    }

    fn protocol(&mut self) -> Result<ProtocolName<'a>, CommandError> {
        let rest = self.rest();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default();
        if let Some((place, byte)) =
            name.bytes().enumerate().find(|(_, byte)| !ProtocolName::allows(*byte))
        {
            self.skip(place);
            return self.fail(CommandErrorKind::ProtocolByte(byte));
        }
        match ProtocolName::new(name) {
            Some(name) => {
                self.skip(end);
                Ok(name)
            }
            None => self.fail(CommandErrorKind::NoProtocol),
        }
    }
}

/// The chat core takes punctuation at the end of a mention for the sentence's.
fn ends_in_punctuation(name: &str) -> bool {
    name.ends_with(is_punctuation)
}

/// How a command with a mention is written.
///
/// ```
/// use agentwire_core::chat::command::{Command, MentionForm};
/// let command = Command::parse("/_call @bob mcp {}").unwrap();
/// let mut buffer = [0; 32];
/// assert_eq!(command.write(MentionForm::OneLine, &mut buffer).unwrap(), "/_call @bob mcp {}");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)]
pub enum MentionForm {
    /// With a line feed after the request's opening brace, so that today's chat core finds the
    /// mention. A command without a mention stays on one line.
    #[default]
    Recognised,
    /// As the document shows it: for a chat core that finds mentions in commands.
    OneLine,
}

impl<'a> Command<'a> {
    /// A command with these parts.
    ///
    /// # Errors
    /// [`NewCommandError`] when the name cannot be written or the request is not a JSON object.
    pub fn new(
        member: Option<&'a str>,
        protocol: ProtocolName<'a>,
        request: &'a str,
    ) -> Result<Self, NewCommandError> {
        let object = Object::parse(request).map_err(NewCommandError::Request)?;
        Self::of(member, protocol, object)
    }

    /// A command whose request has been read.
    ///
    /// # Errors
    /// [`NewCommandError::Member`] when the name cannot be written.
    pub fn of(
        member: Option<&'a str>,
        protocol: ProtocolName<'a>,
        request: Object<'a>,
    ) -> Result<Self, NewCommandError> {
        if let Some(name) = member {
            if Parts::check_start(name).is_err() || name.contains('\'') {
                return Err(NewCommandError::Member { len: name.len() });
            }
        }
        let request = request.get_text();
        Ok(Self { head: Head { member, protocol, request, offset: 0 } })
    }

    /// Reads a text that has to be a command.
    ///
    /// # Errors
    /// [`CommandError`]; a text that is no command of this grammar is
    /// [`CommandErrorKind::NotACommand`].
    pub fn parse(text: &'a str) -> Result<Self, CommandError> {
        match Head::parse(text)? {
            Parsed::Head(head) => head.command(),
            Parsed::NotACommand => Err(CommandError::new(CommandErrorKind::NotACommand, 0)),
        }
    }

    /// The mentioned member's name, without quotes. `None` calls every member that serves the
    /// protocol, or the contact of a direct chat.
    pub fn member(&self) -> Option<&'a str> {
        self.head.member
    }

    /// The protocol.
    pub fn protocol(&self) -> ProtocolName<'a> {
        self.head.protocol
    }

    /// The request, one JSON object.
    pub fn request(&self) -> &'a str {
        self.head.request
    }

    /// Writes the command's text into `out`.
    ///
    /// # Errors
    /// [`BufferTooSmall`] with the length of the whole text.
    pub fn write<'o>(
        &self,
        form: MentionForm,
        out: &'o mut [u8],
    ) -> Result<&'o str, BufferTooSmall> {
        let mut writer = Writer::new(out);
        writer.raw(KEYWORD).raw(" ");
        if let Some(name) = self.head.member {
            // Hyphens and underscores end a plain name safely for no core; quotes always do.
            let plain = !name
                .contains(|char: char| char.is_whitespace() || matches!(char, ',' | '.'))
                && !ends_in_punctuation(name);
            let quote = if plain { "" } else { "'" };
            writer.raw("@").raw(quote).raw(name).raw(quote).raw(" ");
        }
        writer.raw(self.head.protocol.get()).raw(" ");
        let request = self.head.request;
        match request.strip_prefix('{') {
            Some(rest)
                if form == MentionForm::Recognised
                    && self.head.member.is_some()
                    && !rest.starts_with('\n') =>
            {
                writer.raw("{\n").raw(rest);
            }
            _ => {
                writer.raw(request);
            }
        }
        writer.finish()
    }
}

impl fmt::Debug for Command<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.fmt(f)
    }
}

/// Why a command cannot be made of these parts.
///
/// ```
/// use agentwire_core::binding::ProtocolName;
/// use agentwire_core::chat::command::{Command, NewCommandError};
/// let mcp = ProtocolName::new("mcp").unwrap();
/// let error = Command::new(Some("it's"), mcp, "{}").unwrap_err();
/// assert_eq!(error, NewCommandError::Member { len: 4 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum NewCommandError {
    /// The member's name is empty, begins with `#`, `@` or white space, or holds a single quote,
    /// which the grammar cannot escape.
    Member {
        /// The name's length in bytes.
        len: usize,
    },
    /// The request is not one JSON object.
    Request(json::Error),
}

impl fmt::Display for NewCommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member { len } => {
                write!(f, "a member's name of {len} bytes that a command cannot write")
            }
            Self::Request(error) => write!(f, "the request: {error}"),
        }
    }
}

impl core::error::Error for NewCommandError {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::String;

    fn error(text: &str) -> (CommandErrorKind, usize) {
        let error = Command::parse(text).unwrap_err();
        (error.kind, error.offset)
    }

    #[test]
    fn what_is_not_ours_is_told_apart_from_what_is_broken() {
        for text in [
            "",
            "hello",
            "/call mcp {}",
            "/_caller mcp {}",
            "/_call",
            "/_Call mcp {}",
            " /_call mcp {}",
            "x /_call mcp {}",
            "/_call{}",
        ] {
            assert_eq!(Head::parse(text), Ok(Parsed::NotACommand), "{text}");
        }
    }

    #[test]
    fn one_space_separates_the_parts() {
        for (text, offset) in [
            ("/_call  mcp {}", 7),
            ("/_call\tmcp {}", 6),
            ("/_call\nmcp {}", 6),
            ("/_call \u{a0}mcp {}", 7),
            ("/_call mcp  {}", 11),
            ("/_call mcp\n{}", 10),
            ("/_call @bob  mcp {}", 12),
            ("/_call @'bob'mcp {}", 13),
            ("/_call @bob mcp\t{}", 15),
        ] {
            assert_eq!(error(text), (CommandErrorKind::Separator, offset), "{text:?}");
        }
    }

    #[test]
    fn each_part_that_is_missing_has_its_own_error() {
        assert_eq!(error("/_call "), (CommandErrorKind::NoProtocol, 7));
        assert_eq!(error("/_call @bob"), (CommandErrorKind::NoProtocol, 11));
        assert_eq!(error("/_call @bob "), (CommandErrorKind::NoProtocol, 12));
        assert_eq!(error("/_call mcp"), (CommandErrorKind::NoRequest, 10));
        assert_eq!(error("/_call mcp "), (CommandErrorKind::NoRequest, 11));
        assert_eq!(error("/_call @ mcp {}"), (CommandErrorKind::NoMember, 8));
        assert_eq!(error("/_call @'' mcp {}"), (CommandErrorKind::NoMember, 9));
    }

    #[test]
    fn protocol_names_have_lowercase_letters_digits_and_hyphens() {
        for name in ["mcp", "a2a", "x-1", "-", "0"] {
            let text = std::format!("/_call {name} {{}}");
            assert_eq!(Command::parse(&text).unwrap().protocol().get(), name);
        }
        assert_eq!(error("/_call mCp {}"), (CommandErrorKind::ProtocolByte(b'C'), 8));
        assert_eq!(error("/_call m_p {}"), (CommandErrorKind::ProtocolByte(b'_'), 8));
        assert_eq!(error("/_call é {}"), (CommandErrorKind::ProtocolByte(0xc3), 7));
        assert_eq!(error("/_call {}"), (CommandErrorKind::ProtocolByte(b'{'), 7));
        assert_eq!(
            error("/_call bob @mcp {}"),
            (CommandErrorKind::Request(json::ErrorKind::UnexpectedByte(b'@')), 11)
        );
    }

    #[test]
    fn member_names_are_plain_or_quoted() {
        for (written, name) in [
            ("bob", "bob"),
            ("'bob'", "bob"),
            ("'Acme shop'", "Acme shop"),
            ("'a.b'", "a.b"),
            ("'wow!'", "wow!"),
            ("josé_1", "josé_1"),
            ("'/x'", "/x"),
        ] {
            let text = std::format!("/_call @{written} mcp {{}}");
            assert_eq!(Command::parse(&text).unwrap().member(), Some(name), "{written}");
        }
        let emoji: String = "🦀".repeat(50);
        let text = std::format!("/_call @{emoji} mcp {{}}");
        assert_eq!(Command::parse(&text).unwrap().member(), Some(emoji.as_str()));
        assert_eq!(error("/_call @'bob mcp {}"), (CommandErrorKind::MemberQuote, 8));
        assert_eq!(error("/_call @#bob mcp {}"), (CommandErrorKind::MemberStart, 8));
        assert_eq!(error("/_call @@bob mcp {}"), (CommandErrorKind::MemberStart, 8));
        assert_eq!(error("/_call @' bob' mcp {}"), (CommandErrorKind::MemberStart, 9));
        assert_eq!(error("/_call @bob, mcp {}"), (CommandErrorKind::MemberPunctuation, 11));
        assert_eq!(error("/_call @bob.simplex mcp {}"), (CommandErrorKind::MemberPunctuation, 11));
        assert_eq!(error("/_call @bob! mcp {}"), (CommandErrorKind::MemberPunctuation, 11));
        assert_eq!(error("/_call @bob… mcp {}"), (CommandErrorKind::MemberPunctuation, 11));
    }

    #[test]
    fn the_request_is_one_json_object() {
        let request = |text| match error(text) {
            (CommandErrorKind::Request(kind), offset) => (kind, offset),
            other => panic!("{other:?}"),
        };
        assert_eq!(request("/_call mcp []"), (json::ErrorKind::NotAnObject, 11));
        assert_eq!(request("/_call mcp 7"), (json::ErrorKind::NotAnObject, 11));
        assert_eq!(request("/_call mcp {\"id\":}"), (json::ErrorKind::UnexpectedByte(b'}'), 17));
        assert_eq!(request("/_call mcp {} {}"), (json::ErrorKind::TrailingData, 14));
        assert_eq!(request("/_call @bob mcp {"), (json::ErrorKind::UnexpectedEnd, 17));
        assert_eq!(request("/_call mcp \u{feff}{}").0, json::ErrorKind::ByteOrderMark);
        // White space around the object is JSON's, a line feed inside it too.
        assert!(Command::parse("/_call mcp {}\n").is_ok());
        assert!(Command::parse("/_call @bob mcp {\n\"id\":1}").is_ok());
        assert!(
            Command::parse(&std::format!("/_call mcp {{\"a\":\"{}\"}}", "x".repeat(1 << 20)))
                .is_ok()
        );
    }

    #[test]
    fn a_mention_is_written_so_that_todays_core_finds_it() {
        let mcp = ProtocolName::new("mcp").unwrap();
        let written = |member, request, form| -> String {
            let mut buffer = [0; 128];
            Command::new(member, mcp, request).unwrap().write(form, &mut buffer).unwrap().into()
        };
        let default = MentionForm::default();
        assert_eq!(written(Some("bob"), "{\"id\":1}", default), "/_call @bob mcp {\n\"id\":1}");
        assert_eq!(written(Some("bob"), "{}", default), "/_call @bob mcp {\n}");
        assert_eq!(written(Some("bob"), "{\n}", default), "/_call @bob mcp {\n}");
        assert_eq!(written(Some("bob"), "{}", MentionForm::OneLine), "/_call @bob mcp {}");
        assert_eq!(written(None, " {} ", default), "/_call mcp {}");
        for (name, quoted) in [
            ("Acme shop", "'Acme shop'"),
            ("a.b", "'a.b'"),
            ("a,b", "'a,b'"),
            ("wow!", "'wow!'"),
            ("bob_", "'bob_'"),
            ("bob_1", "bob_1"),
        ] {
            let text = written(Some(name), "{}", default);
            assert_eq!(text, std::format!("/_call @{quoted} mcp {{\n}}"));
            assert_eq!(Command::parse(&text).unwrap().member(), Some(name));
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let mcp = ProtocolName::new("mcp").unwrap();
        for name in ["", "#a", "@a", " a", "a'b"] {
            assert_eq!(
                Command::new(Some(name), mcp, "{}").unwrap_err(),
                NewCommandError::Member { len: name.len() }
            );
        }
        assert!(matches!(Command::new(None, mcp, "[]"), Err(NewCommandError::Request(_))));
        let command = Command::new(None, mcp, "{}").unwrap();
        let error = command.write(MentionForm::OneLine, &mut [0; 12]).unwrap_err();
        assert_eq!((error.needed, error.capacity), (13, 12));
    }

    #[test]
    fn debug_shows_no_text() {
        let shown =
            std::format!("{:?}", Command::parse("/_call @bob mcp {\"key\":\"hunter2\"}").unwrap());
        assert!(!shown.contains("hunter2") && !shown.contains("bob"), "{shown}");
    }
}
