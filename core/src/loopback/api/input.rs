//! The commands' grammar in small pieces, as the core's parser combinators have them.
//!
//! A piece takes what it wants from the front of the text or says that it is not there; then a
//! command is another one, or none. Source: simplex-chat `Commands.hs`, `chatCommandP`.

use crate::chat::Chat;
use crate::json::Value;
use crate::loopback::mention::is_space;
use crate::simplex::command::ChatRef;
use crate::simplex::command::grammar::on_off;

/// What is left of a command's text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    rest: &'a str,
}

impl<'a> Input<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Exactly this text.
    pub(super) fn tag(&mut self, tag: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(tag)?;
        Some(())
    }

    /// This text if it is there.
    pub(super) fn has(&mut self, tag: &str) -> bool {
        self.tag(tag).is_some()
    }

    /// One of these texts.
    pub(super) fn one_of(&mut self, tags: &[&str]) -> Option<()> {
        tags.iter().find_map(|tag| self.tag(tag))
    }

    /// Any one character of white space: `A.space`.
    pub(super) fn space(&mut self) -> Option<()> {
        let first = self.rest.chars().next().filter(|first| is_space(*first))?;
        self.rest = self.rest.get(first.len_utf8()..)?;
        Some(())
    }

    /// Digits: `A.decimal`. More than an `i64` holds is no number of anything here.
    pub(super) fn decimal(&mut self) -> Option<i64> {
        let behind = self.rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let digits = self.rest.get(..self.rest.len().saturating_sub(behind.len()))?;
        let number = digits.parse().ok()?;
        self.rest = behind;
        Some(number)
    }

    /// This word, and the space behind it.
    pub(super) fn word_of(&mut self, word: &str) -> Option<()> {
        self.tag(word)?;
        self.tag(" ")
    }

    /// `on` or `off`: `onOffP`.
    pub(super) fn on_off(&mut self) -> Option<bool> {
        [true, false].into_iter().find(|value| self.has(on_off(*value)))
    }

    /// Whether this option comes next, behind one space.
    pub(super) fn option(&mut self, name: &str) -> bool {
        let mut ahead = *self;
        let is_there = ahead.has(" ") && ahead.has(name);
        if is_there {
            *self = ahead;
        }
        is_there
    }

    /// An option ` name=on|off`, or its default: `" name=" *> onOffP <|> pure default`, which
    /// takes nothing where the value is neither.
    pub(super) fn switch(&mut self, name: &str, default: bool) -> bool {
        self.maybe_switch(name).unwrap_or(default)
    }

    /// The same without a default.
    pub(super) fn maybe_switch(&mut self, name: &str) -> Option<bool> {
        let mut ahead = *self;
        let value = ahead.option(name).then(|| ahead.on_off()).flatten()?;
        *self = ahead;
        Some(value)
    }

    /// A conversation: `sendRefP`.
    pub(super) fn chat_ref(&mut self) -> Option<ChatRef> {
        let (chat, rest) = ChatRef::parse_prefix(self.rest).ok()?;
        self.rest = rest;
        Some(chat)
    }

    /// A conversation that is no part of a group.
    pub(super) fn chat(&mut self) -> Option<Chat> {
        let found = self.chat_ref()?;
        (found == ChatRef::from(found.chat)).then_some(found.chat)
    }

    /// A display name: `'quoted'`, or everything up to white space or a comma.
    pub(super) fn display_name(&mut self) -> Option<&'a str> {
        let begins = |c: char| c > ' ' && !matches!(c, '#' | '@' | '\'');
        if let Some(quoted) = self.rest.strip_prefix('\'') {
            let (name, behind) = quoted.split_once('\'')?;
            self.rest = behind;
            return name.starts_with(begins).then_some(name);
        }
        let end = self.rest.find(|c| is_space(c) || c == ',').unwrap_or(self.rest.len());
        let (name, behind) = self.rest.split_at_checked(end)?;
        self.rest = behind;
        name.starts_with(begins).then_some(name)
    }

    /// Everything up to white space.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let end = self.rest.find(is_space).unwrap_or(self.rest.len());
        let (word, behind) = self.rest.split_at_checked(end)?;
        self.rest = behind;
        (!word.is_empty()).then_some(word)
    }

    /// Everything that is left: `textP`.
    pub(super) fn text(&mut self) -> &'a str {
        core::mem::take(&mut self.rest)
    }

    /// Everything that is left, as JSON: `jsonP`.
    pub(super) fn json(&mut self) -> Option<Value<'a>> {
        Value::parse(self.text()).ok()
    }

    /// Nothing is left but spaces.
    pub(super) fn end(self) -> Option<()> {
        self.rest.trim_start_matches(' ').is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// simplex-chat `Commands.hs`, `displayNameP`.
    #[test]
    fn a_name_is_quoted_or_ends_at_white_space_or_a_comma() {
        for (text, name, rest) in [
            ("ann hello", Some("ann"), " hello"),
            ("'ann b' hello", Some("ann b"), " hello"),
            ("ann,bob", Some("ann"), ",bob"),
            ("4 text", Some("4"), " text"),
            ("@ann", None, ""),
            ("'ann", None, ""),
            ("", None, ""),
        ] {
            let mut input = Input::new(text);
            assert_eq!(input.display_name(), name, "{text}");
            if name.is_some() {
                assert_eq!(input.text(), rest, "{text}");
            }
        }
    }

    #[test]
    fn a_number_is_digits_that_an_i64_holds() {
        for (text, number) in [
            ("12 ", Some(12)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(Input::new(text).decimal(), number, "{text}");
        }
    }

    #[test]
    fn an_option_that_is_neither_on_nor_off_takes_nothing() {
        let mut input = Input::new(" live=yes");
        assert!(!input.switch("live=", false));
        assert_eq!(input.text(), " live=yes");
        let mut input = Input::new(" live=on json");
        assert!(input.switch("live=", false));
        assert_eq!(input.text(), " json");
    }
}
