//! Where a command is written to: as it is, or as the JSON string that a frame carries.

use super::super::UserId;
use super::grammar::on_off;
use crate::json::{Object, Writer, escape};

pub(super) struct Out<'w, 'o> {
    writer: &'w mut Writer<'o>,
    /// Whether the command stands in a JSON string.
    is_framed: bool,
}

impl<'w, 'o> Out<'w, 'o> {
    pub(super) const fn new(writer: &'w mut Writer<'o>, is_framed: bool) -> Self {
        Self { writer, is_framed }
    }

    /// Text of the grammar, or text that it takes as it is.
    pub(super) fn raw(&mut self, text: &str) -> &mut Self {
        if self.is_framed {
            self.writer.escaped(text);
        } else {
            self.writer.raw(text);
        }
        self
    }

    /// A JSON string inside the command: in a frame it is escaped a second time.
    pub(super) fn string(&mut self, text: &str) -> &mut Self {
        self.raw("\"");
        escape(text, |piece| {
            self.raw(piece);
        });
        self.raw("\"")
    }

    /// A number: of digits and a sign, so nothing is escaped.
    pub(super) fn int(&mut self, number: i64) -> &mut Self {
        self.writer.int(number);
        self
    }

    /// A number that is not negative and may be larger.
    pub(super) fn count(&mut self, number: u64) -> &mut Self {
        // The grammar's numbers are Haskell's `Int`: what an `i64` cannot say is no number there.
        self.int(i64::try_from(number).unwrap_or(i64::MAX))
    }

    pub(super) fn user(&mut self, user: UserId) -> &mut Self {
        self.raw(" ").int(user.0)
    }

    /// ` name=on` or ` name=off`, where it is said.
    pub(super) fn flag(&mut self, name: &str, value: Option<bool>) -> &mut Self {
        if let Some(value) = value {
            self.raw(" ").raw(name).raw(on_off(value));
        }
        self
    }

    pub(super) fn object(&mut self, object: Object<'_>) -> &mut Self {
        self.raw(" ").raw(object.get_text())
    }
}
