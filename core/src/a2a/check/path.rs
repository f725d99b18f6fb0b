//! Where in a message something is wrong.

use core::fmt;

use crate::json::Writer;

/// The way to a field: `message.parts[0].mediaType`. Its names are those of A2A, in the spelling of
/// JSON, whatever the message says.
#[derive(Clone, Copy)]
pub struct FieldPath<'p> {
    before: Option<&'p FieldPath<'p>>,
    step: Step,
}

#[derive(Clone, Copy)]
enum Step {
    Field(&'static str),
    Element(usize),
}

impl<'p> FieldPath<'p> {
    pub(super) const fn root(name: &'static str) -> Self {
        Self { before: None, step: Step::Field(name) }
    }

    pub(super) const fn field(&'p self, name: &'static str) -> Self {
        Self { before: Some(self), step: Step::Field(name) }
    }

    pub(super) const fn element(&'p self, place: usize) -> Self {
        Self { before: Some(self), step: Step::Element(place) }
    }

    /// Shows it in pieces. As deep as the tables are, which do not refer to themselves.
    fn show(&self, show: &mut dyn FnMut(&str)) {
        if let Some(before) = self.before {
            before.show(show);
        }
        match self.step {
            Step::Field("") => {}
            Step::Field(name) => {
                // The first one has nothing before it but the root, which shows nothing.
                if self.before.is_some_and(|before| !matches!(before.step, Step::Field(""))) {
                    show(".");
                }
                show(name);
            }
            Step::Element(place) => {
                let mut digits = [0; 24];
                let mut out = Writer::new(&mut digits);
                out.raw("[").int(i64::try_from(place).unwrap_or(i64::MAX)).raw("]");
                show(out.finish().unwrap_or_default());
            }
        }
    }

    /// Writes it into a JSON string. It needs no escapes.
    pub(super) fn write(&self, out: &mut Writer<'_>) {
        self.show(&mut |piece| {
            out.raw(piece);
        });
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut result = Ok(());
        self.show(&mut |piece| result = result.and_then(|()| f.write_str(piece)));
        result
    }
}

impl fmt::Debug for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FieldPath({self})")
    }
}
