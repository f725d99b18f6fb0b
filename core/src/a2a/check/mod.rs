//! Requests and results held against A2A 1.0, field by field.
//!
//! | topic | [received](Form::Received) | [emitted](Form::Emitted) |
//! |---|---|---|
//! | names | lowerCamelCase or snake_case, not one field in both | lowerCamelCase |
//! | unknown fields | ignored (A2A 1.0 section 5.7) | none |
//! | null | the field is unset; in a list it is wrong; in `data` it is a value | none, but in `data` |
//! | enums | name or number; a number that is not known is unspecified | name |
//! | bytes | base64 of either alphabet, with padding or without | standard, with padding |
//! | integers | number without a fraction, or decimal string | number |
//! | timestamps | RFC 3339 with any offset | ending in `Z` |
//! | oneof | exactly one arm that is not null | the same |
//! | REQUIRED fields | there; the default of a string, an enum or a list is as good as nothing | the same |
//!
//! The walk is as deep as the tables, and passes over each object once.

mod path;
mod protojson;
mod schema;
#[cfg(test)]
mod tests;

use core::fmt;

pub use path::FieldPath;
use schema::{Field, Rule, Schema, Type};

use super::Method;
use super::error::{A2aError, ErrorBody};
use super::word::{self, Spelling, spelling};
use crate::json::{Object, Value, Writer};

/// How many violations an error lists at most.
pub const MAX_VIOLATIONS: usize = 8;

/// By which rules a message is read.
///
/// ```
/// use agentwire_core::a2a::{Form, Method, check_result};
/// use agentwire_core::json::Value;
/// let task = Value::parse(r#"{"id":"t","status":{"state":3}}"#).unwrap();
/// let count = |form| {
///     let mut count = 0;
///     check_result(Method::GetTask, task, form, &mut |_| count += 1);
///     count
/// };
/// assert_eq!((count(Form::Received), count(Form::Emitted)), (0, 1));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[allow(clippy::exhaustive_enums)] // There are these two sides.
pub enum Form {
    /// What a peer may send.
    Received,
    /// What we may send.
    Emitted,
}

/// What is wrong with a field.
///
/// ```
/// use agentwire_core::a2a::Problem;
/// assert_eq!(Problem::Missing.to_string(), "is required");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Problem {
    /// It has to be there.
    Missing,
    /// It is there twice, perhaps in both spellings.
    Twice,
    /// It is not a string.
    NotAString,
    /// It is neither true nor false.
    NotABool,
    /// It is not an integer.
    NotAnInteger,
    /// It is too small or too large.
    OutOfRange {
        /// The least that it may be.
        from: i64,
        /// The most that it may be.
        to: i64,
    },
    /// It is not base64.
    NotBase64,
    /// It is not a timestamp.
    NotATimestamp,
    /// It is none of the enum's values.
    NotInEnum,
    /// It is not an object.
    NotAnObject,
    /// It is not an array.
    NotAnArray,
    /// None of the fields is there of which one has to be.
    NoArm,
    /// More than one of the fields is there of which one has to be.
    SeveralArms,
    /// It is null where that means nothing.
    Null,
    /// A field that A2A 1.0 does not have.
    Unknown,
    /// A way of writing it that may be received and not be sent.
    NotCanonical,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::OutOfRange { from, to } = self {
            return write!(f, "is not between {from} and {to}");
        }
        f.write_str(self.sentence())
    }
}

impl Problem {
    const fn sentence(self) -> &'static str {
        match self {
            Self::Missing => "is required",
            Self::Twice => "occurs twice",
            Self::NotAString => "is not a string",
            Self::NotABool => "is not a boolean",
            Self::NotAnInteger => "is not an integer",
            Self::OutOfRange { .. } => "is out of range",
            Self::NotBase64 => "is not base64",
            Self::NotATimestamp => "is not an RFC 3339 timestamp",
            Self::NotInEnum => "is not a value of the enum",
            Self::NotAnObject => "is not an object",
            Self::NotAnArray => "is not an array",
            Self::NoArm => "has none of the fields of which one is required",
            Self::SeveralArms => "has more than one of the fields of which one is required",
            Self::Null => "is null",
            Self::Unknown => "has a field that A2A 1.0 does not have",
            Self::NotCanonical => "is not written in its canonical form",
        }
    }

    fn write(self, out: &mut Writer<'_>) {
        match self {
            Self::OutOfRange { from, to } => {
                out.raw("is not between ").int(from).raw(" and ").int(to);
            }
            other => {
                out.raw(other.sentence());
            }
        }
    }
}

/// A field, and what is wrong with it.
///
/// ```
/// use agentwire_core::a2a::{Form, Method, check_params};
/// use agentwire_core::json::Object;
///
/// let params = Object::parse(r#"{"message":{"messageId":"m","role":"user",
///     "parts":[{"text":"a","url":"b"},{"mediaType":"x"}]}}"#).unwrap();
/// let mut seen = Vec::new();
/// check_params(Method::SendMessage, Some(params), Form::Received, &mut |violation| {
///     seen.push(violation.to_string());
/// });
/// assert_eq!(seen, [
///     "message.role is not a value of the enum",
///     "message.parts[0] has more than one of the fields of which one is required",
///     "message.parts[1] has none of the fields of which one is required",
/// ]);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Violation<'p> {
    /// Which field.
    pub path: FieldPath<'p>,
    /// What is wrong with it.
    pub problem: Problem,
}

impl fmt::Display for Violation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path, self.problem)
    }
}

/// What is told of each violation.
type Report<'r> = &'r mut dyn FnMut(&Violation<'_>);

/// Holds the parameters of a request against its method. Without `params` it is as if they were
/// empty.
pub fn check_params(method: Method, params: Option<Object<'_>>, form: Form, report: Report<'_>) {
    let mut walk = Walk { form, report };
    let params = params.or_else(|| Object::parse("{}").ok());
    if let Some(params) = params {
        walk.message(schema::params(method), params, &FieldPath::root(""));
    }
}

/// Holds a result, or for the streaming methods one event, against its method. Of an Agent Card it
/// is only said whether it is an object; the result of `DeleteTaskPushNotificationConfig` is empty
/// or, where it is received, null.
pub fn check_result(method: Method, result: Value<'_>, form: Form, report: Report<'_>) {
    let mut walk = Walk { form, report };
    let root = FieldPath::root("");
    let is_null = result.is_null() && form == Form::Received;
    match (schema::result(method), result.as_object()) {
        (Some(schema), Some(result)) => walk.message(schema, result, &root),
        (None, Some(_)) => {}
        (None, None) if method == Method::DeleteTaskPushNotificationConfig && is_null => {}
        (_, None) => walk.tell(&FieldPath::root("result"), Problem::NotAnObject),
    }
}

/// Writes the answer to a request whose parameters are wrong: -32602, with the fields in a
/// `google.rpc.BadRequest`, at most [`MAX_VIOLATIONS`] of them.
///
/// ```
/// use agentwire_core::{a2a::{Method, write_invalid_params}, json::{Object, Writer}};
/// let mut buffer = [0; 512];
/// let mut out = Writer::new(&mut buffer);
/// let params = Object::parse(r#"{"historyLength":-1}"#).unwrap();
/// write_invalid_params(&mut out, Some("7"), Method::GetTask, Some(params));
/// let text = out.finish().unwrap();
/// assert!(text.contains(r#""code":-32602,"#));
/// assert!(text.contains(r#"{"field":"id","description":"is required"}"#));
/// ```
pub fn write_invalid_params(
    out: &mut Writer<'_>,
    id: Option<&str>,
    method: Method,
    params: Option<Object<'_>>,
) {
    let details = |out: &mut Writer<'_>| {
        out.raw(",{\"@type\":\"type.googleapis.com/google.rpc.BadRequest\",\"fieldViolations\":[");
        let mut count: usize = 0;
        check_params(method, params, Form::Received, &mut |violation| {
            if count < MAX_VIOLATIONS {
                out.raw(if count == 0 { "" } else { "," }).raw("{\"field\":\"");
                violation.path.write(out);
                out.raw("\",\"description\":\"");
                violation.problem.write(out);
                out.raw("\"}");
            }
            count = count.saturating_add(1);
        });
        out.raw("]}");
    };
    ErrorBody::new(A2aError::InvalidParams).write_all(out, id, &|_| {}, &details);
}

struct Walk<'r> {
    form: Form,
    report: Report<'r>,
}

impl Walk<'_> {
    fn tell(&mut self, path: &FieldPath<'_>, problem: Problem) {
        (self.report)(&Violation { path: *path, problem });
    }

    fn message(&mut self, schema: &Schema, object: Object<'_>, path: &FieldPath<'_>) {
        let (mut seen, mut set, mut arms) = (0_u32, 0_u32, 0_u32);
        let bit = |place: usize| 1_u32.wrapping_shl(u32::try_from(place).unwrap_or(u32::MAX));
        for (name, value) in object.members() {
            let named = |field: &Field| spelling(name, field.name);
            let found = schema.0.iter().enumerate();
            let found = found.map(|(place, field)| (place, field, named(field)));
            let found = found.filter_map(|(place, field, how)| Some((place, field, how?))).next();
            let Some((place, field, how)) = found else {
                if self.form == Form::Emitted {
                    self.tell(path, Problem::Unknown);
                }
                continue;
            };
            let here = path.field(field.name);
            if seen & bit(place) != 0 {
                self.tell(&here, Problem::Twice);
                continue;
            }
            seen |= bit(place);
            if how == Spelling::Snake && self.form == Form::Emitted {
                self.tell(&here, Problem::NotCanonical);
            }
            if value.is_null() && !matches!(field.kind, Type::Any) {
                if self.form == Form::Emitted {
                    self.tell(&here, Problem::Null);
                    set |= bit(place);
                }
                continue;
            }
            arms = arms.saturating_add(u32::from(field.rule == Rule::Arm));
            if self.value(&field.kind, value, &here) || field.rule != Rule::Needed {
                set |= bit(place);
            }
        }
        for (place, field) in schema.0.iter().enumerate() {
            let is_needed = match field.rule {
                Rule::Needed => true,
                Rule::Emitted => self.form == Form::Emitted,
                Rule::May | Rule::Arm => false,
            };
            if is_needed && set & bit(place) == 0 {
                self.tell(&path.field(field.name), Problem::Missing);
            }
        }
        if arms != 1 && schema.0.iter().any(|field| field.rule == Rule::Arm) {
            self.tell(path, if arms == 0 { Problem::NoArm } else { Problem::SeveralArms });
        }
    }

    /// Checks a value that is not null. Whether it is more than the default of its type; what is
    /// wrong has been told, and counts as more.
    fn value(&mut self, kind: &Type, value: Value<'_>, path: &FieldPath<'_>) -> bool {
        let form = self.form;
        let text = value.as_str();
        let text_as =
            |check: &dyn Fn(_) -> Result<(), Problem>| text.map_or(Err(Problem::NotAString), check);
        let (is_more, result) = match kind {
            Type::Any => (true, Ok(())),
            Type::Text => (text.is_none_or(|text| !text.raw().is_empty()), text_as(&|_| Ok(()))),
            Type::Truth => (true, value.as_bool().map(|_| ()).ok_or(Problem::NotABool)),
            Type::Integer(from, to) => (true, protojson::integer(value, *from, *to, form)),
            Type::Bytes => (true, text_as(&|text| protojson::bytes(text, form))),
            Type::Time => (true, text_as(&|text| protojson::timestamp(text, form))),
            Type::Enum(names) => match enumerated(names, value, form) {
                Ok(place) => (place != 0, Ok(())),
                Err(problem) => (true, Err(problem)),
            },
            Type::Struct => (true, value.as_object().map(|_| ()).ok_or(Problem::NotAnObject)),
            Type::Message(schema) => match value.as_object() {
                None => (true, Err(Problem::NotAnObject)),
                Some(object) => {
                    self.message(schema, object, path);
                    (true, Ok(()))
                }
            },
            Type::List(kind) => match value.elements() {
                None => (true, Err(Problem::NotAnArray)),
                Some(elements) => {
                    let mut is_more = false;
                    for (place, element) in elements.enumerate() {
                        is_more = true;
                        let here = path.element(place);
                        if element.is_null() {
                            self.tell(&here, Problem::Null);
                        } else {
                            self.value(kind, element, &here);
                        }
                    }
                    (is_more, Ok(()))
                }
            },
        };
        if let Err(problem) = result {
            self.tell(path, problem);
        }
        is_more
    }
}

/// Which value of an enum this is; one that is not known counts as unspecified.
fn enumerated(names: &[&str], value: Value<'_>, form: Form) -> Result<usize, Problem> {
    match value.as_str() {
        Some(name) => {
            let mut scratch = [0; word::LONGEST];
            let name = word::plain(name, &mut scratch);
            names.iter().position(|known| *known == name).ok_or(Problem::NotInEnum)
        }
        None if form == Form::Emitted => Err(Problem::NotCanonical),
        None => {
            let number = value.as_integer().ok_or(Problem::NotInEnum)?;
            Ok(usize::try_from(number).ok().filter(|place| *place < names.len()).unwrap_or(0))
        }
    }
}
