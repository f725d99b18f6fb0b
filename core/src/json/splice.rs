//! Changing some members of an object and keeping everything else byte for byte.

use super::{Object, Str, Value, Writer, offset_in};

/// What becomes of a member.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Keep,
    Replace,
    Remove,
}

/// Appends members to an object that is being written.
pub(crate) struct Appender<'w, 'o> {
    out: &'w mut Writer<'o>,
    empty: bool,
}

impl<'w, 'o> Appender<'w, 'o> {
    /// For an object whose opening brace has just been written.
    pub(crate) fn new(out: &'w mut Writer<'o>) -> Self {
        Self { out, empty: true }
    }

    /// Begins a member: its value is to be written next.
    pub(crate) fn member(&mut self, name: &str) -> &mut Writer<'o> {
        if !self.empty {
            self.out.raw(",");
        }
        self.empty = false;
        self.out.string(name).raw(":")
    }
}

/// Writes an object in which some members have new values, are gone, or are added at the end.
///
/// `replace` writes the value of a member whose fate says so; names and white space around it stay.
pub(crate) fn splice<'a>(
    object: Object<'a>,
    out: &mut Writer<'_>,
    fate: impl Fn(Str<'a>) -> Fate,
    replace: impl Fn(Str<'a>, Value<'a>, &mut Writer<'_>),
    append: impl FnOnce(&mut Appender<'_, '_>),
) {
    let text = object.get_text();
    let slice = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    out.raw("{");
    // Where the member before ended; at first, the brace.
    let mut end: usize = 1;
    let mut empty = true;
    for (name, value) in object.members() {
        let start = offset_in(text, value.get());
        // A comma unless it is the first, white space, the name, the colon.
        let lead = slice(end, start);
        end = start.saturating_add(value.get().len());
        let fate = fate(name);
        if fate == Fate::Remove {
            continue;
        }
        out.raw(if empty { lead.trim_start().strip_prefix(',').unwrap_or(lead) } else { lead });
        empty = false;
        if fate == Fate::Replace {
            replace(name, value, out);
        } else {
            out.value(value);
        }
    }
    append(&mut Appender { out, empty });
    out.raw(slice(end, text.len()));
}
