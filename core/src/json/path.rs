//! Where in a text a value stands: the way from the whole to the part.

use core::fmt;

use super::{Str, Value, offset_in};

/// The longest member name that a [`Path`] shows; in its place a longer one has its number.
const MAX_SHOWN: usize = 64;

/// The way from a text's outermost value to the innermost one that holds a byte of it.
///
/// Errors carry an offset; this says in a reader's words what stands there. `Display` writes it
/// the way JSONPath does. A member's name is shown if it is short and plain; else its place among
/// the members, in braces, stands for it.
///
/// ```
/// use agentwire_core::json::Path;
///
/// let text = r#"{"params":{"_meta":{"progressToken":1.5},"two words":[true]}}"#;
/// let path = Path::to(text, text.find("1.5").unwrap());
/// assert_eq!(path.to_string(), "$.params._meta.progressToken");
/// let path = Path::to(text, text.find("true").unwrap());
/// assert_eq!(path.to_string(), "$.params{1}[0]");
/// assert_eq!(path.steps().count(), 3);
/// ```
#[derive(Clone, Copy)]
pub struct Path<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Path<'a> {
    /// The way to the byte at `offset`. In a text that is not JSON it has no steps.
    pub const fn to(text: &'a str, offset: usize) -> Self {
        Self { text, offset }
    }

    /// The steps, from the outermost value on: at most [`MAX_DEPTH`](super::MAX_DEPTH).
    pub fn steps(&self) -> Steps<'a> {
        Steps { whole: self.text, offset: self.offset, at: Value::parse(self.text).ok() }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        for step in self.steps() {
            match step {
                Step::Element(place) => write!(f, "[{place}]")?,
                Step::Member { name, place } => match name.as_plain() {
                    Some(name) if is_shown(name) => write!(f, ".{name}")?,
                    _ => write!(f, "{{{place}}}")?,
                },
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path(byte {} of {})", self.offset, self.text.len())
    }
}

fn is_shown(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_SHOWN
        && name.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/' | b'.' | b'$')
        })
}

/// One step of a [`Path`].
///
/// ```
/// use agentwire_core::json::{Path, Step};
/// let first = Path::to("[[1]]", 2).steps().next();
/// assert!(matches!(first, Some(Step::Element(0))));
/// ```
#[derive(Clone, Copy, Debug)]
#[allow(clippy::exhaustive_enums)] // A value has members or elements.
pub enum Step<'a> {
    /// Into a member of an object.
    Member {
        /// Its name.
        name: Str<'a>,
        /// Its place among the members.
        place: usize,
    },
    /// Into an element of an array.
    Element(usize),
}

/// The steps of a [`Path`], outermost first.
///
/// ```
/// use agentwire_core::json::Path;
/// assert_eq!(Path::to(r#"{"a":[0,1]}"#, 8).steps().count(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Steps<'a> {
    whole: &'a str,
    offset: usize,
    at: Option<Value<'a>>,
}

impl<'a> Steps<'a> {
    fn holds(&self, value: Value<'a>) -> bool {
        let from = offset_in(self.whole, value.get());
        (from..from.saturating_add(value.get().len())).contains(&self.offset)
    }
}

impl<'a> Iterator for Steps<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at?;
        let members = at.as_object().map(|object| object.members());
        let elements = at.elements();
        self.at = None;
        for (place, (name, value)) in members.into_iter().flatten().enumerate() {
            if self.holds(value) {
                self.at = Some(value);
                return Some(Step::Member { name, place });
            }
        }
        for (place, value) in elements.into_iter().flatten().enumerate() {
            if self.holds(value) {
                self.at = Some(value);
                return Some(Step::Element(place));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn the_way_to_each_value_of_a_text() {
        let text = r#" {"a": {"b": [10, {"c": 11}]}, "\u0061": 12, "": 13, "io.x/y": 14} "#;
        for (part, path) in [
            ("10", "$.a.b[0]"),
            ("{\"c\"", "$.a.b[1]"),
            ("11", "$.a.b[1].c"),
            ("12", "${1}"),
            ("13", "${2}"),
            ("14", "$.io.x/y"),
            ("\"b\"", "$.a"),
        ] {
            assert_eq!(Path::to(text, text.find(part).unwrap()).to_string(), path, "{part}");
        }
        assert_eq!(Path::to(text, 0).to_string(), "$");
        assert_eq!(Path::to(text, text.len() + 7).to_string(), "$");
        assert_eq!(Path::to("{", 0).to_string(), "$");
    }

    #[test]
    fn a_name_is_shown_up_to_its_limit() {
        for (len, shown) in [(64, true), (65, false)] {
            let name = "n".repeat(len);
            let text = std::format!("{{\"{name}\":1}}");
            let path = Path::to(&text, len + 4).to_string();
            assert_eq!(path == std::format!("$.{name}"), shown, "{path}");
        }
    }
}
