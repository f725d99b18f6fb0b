//! The JSON-RPC view against a reading on top of `serde_json`.

use alloc::string::String;
use alloc::vec::Vec;

use arbitrary::{Result, Unstructured};

use super::generate::{Generator, Vocabulary};
use super::model::{self, Decimal, all, one};
use crate::json::ErrorKind;
use crate::json::Writer;
use crate::jsonrpc::{
    ErrorId, Fault, INVALID_REQUEST, Id, IdKind, Member, Message, PARSE_ERROR, Request,
    write_error, write_result,
};

/// The bytes as they are, and a message made from them.
pub fn jsonrpc(data: &[u8]) {
    if let Ok(text) = core::str::from_utf8(data) {
        check(text);
    }
    let mut bytes = Unstructured::new(data);
    if let Ok(made) = message(&mut bytes) {
        if let Ok(text) = core::str::from_utf8(&made) {
            check(text);
        }
    }
}

/// Makes something that is nearly always close to a message.
fn message(bytes: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let words = Vocabulary {
        names: &["code", "message", "data", "id", "method"],
        values: &["1", "-32603", "\"m\"", "{\"code\":1,\"message\":\"m\"}", "\"2.0\"", "{}", "[]"],
    };
    let mut made = Generator::new(bytes, &words);
    made.out.push('{');
    for place in 0..made.bytes.int_in_range(0..=6)? {
        if place > 0 {
            made.out.push(',');
        }
        let names = ["jsonrpc", "jsonrpc", "id", "method", "params", "result", "error", "other"];
        let name = *made.bytes.choose(&names)?;
        made.quoted(name)?;
        made.out.push(':');
        match name {
            _ if made.bytes.ratio(1, 6)? => made.value(2)?,
            "jsonrpc" => made.out.push_str("\"2.0\""),
            "id" if made.bytes.arbitrary()? => made.number()?,
            "method" | "id" => made.quoted("tools/list")?,
            "params" => made.object(2)?,
            "error" => {
                made.out.push_str("{\"code\":");
                made.number()?;
                made.out.push_str(",\"message\":\"m\"}");
            }
            _ => made.value(2)?,
        }
    }
    made.out.push('}');
    made.finish()
}

/// What a text is to JSON-RPC, naively: every fault that it has, and its kind if it has none.
pub(super) struct Naive<'a> {
    pub(super) faults: Vec<Fault>,
    pub(super) kind: &'static str,
    pub(super) members: Vec<(String, &'a str)>,
    /// The id that an answer names.
    pub(super) id: Option<&'a str>,
}

const NAMES: [(&str, Member); 6] = [
    ("jsonrpc", Member::Jsonrpc),
    ("id", Member::Id),
    ("method", Member::Method),
    ("params", Member::Params),
    ("result", Member::Result),
    ("error", Member::Error),
];

fn is_scalar(value: &str) -> bool {
    !value.starts_with(['{', '[', 't', 'f'])
}

impl<'a> Naive<'a> {
    /// `None` if the text is no JSON object.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let members = model::members(text)?;
        let mut faults = Vec::new();
        for (name, member) in NAMES {
            if all(&members, name).len() > 1 {
                faults.push(Fault::Duplicate(member));
            }
        }
        let last = |name| all(&members, name).last().copied();
        let version = last("jsonrpc").and_then(model::string);
        if version.as_deref() != Some("2.0") {
            faults.push(Fault::Version);
        }
        let id = last("id");
        if id.is_some_and(|id| !is_scalar(id)) {
            faults.push(Fault::IdKind);
        }
        let mut kind = "none";
        match (last("method"), last("result"), last("error")) {
            (None, None, None) => faults.push(Fault::NoKind),
            (None, Some(_), Some(_)) => faults.push(Fault::ResultAndError),
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) => faults.push(Fault::MethodAndResult),
            (Some(method), None, None) => {
                kind = if id.is_some() { "request" } else { "notification" };
                if !method.starts_with('"') {
                    faults.push(Fault::MethodKind);
                }
                if last("params").is_some_and(|params| !params.starts_with(['{', '['])) {
                    faults.push(Fault::ParamsKind);
                }
            }
            (None, Some(_), None) => {
                kind = "response";
                if id.is_none() {
                    faults.push(Fault::ResultWithoutId);
                }
            }
            (None, None, Some(error)) => {
                kind = "error";
                if error_object(error).is_none() {
                    faults.push(Fault::ErrorObject);
                }
            }
        }
        let id = one(&members, "id").filter(|id| is_scalar(id));
        Some(Self { faults, kind, members, id })
    }

    /// Whether nothing is wrong but that the parameters are of no kind that they may have.
    pub(super) fn has_odd_params(&self) -> bool {
        self.faults == [Fault::ParamsKind]
    }
}

/// Code, message and data.
fn error_object(error: &str) -> Option<(i64, &str, Option<&str>)> {
    let members = model::members(error)?;
    let code = one(&members, "code")
        .filter(|code| code.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']))?;
    let message = one(&members, "message").filter(|message| message.starts_with('"'))?;
    let data = all(&members, "data");
    if data.len() > 1 {
        return None;
    }
    Some((Decimal::parse(code).integer()?, message, data.first().copied()))
}

fn check(text: &str) {
    let naive = Naive::read(text);
    let parsed = Message::parse(text);
    if let Err(rejected) = &parsed {
        let expected = match rejected.fault {
            Fault::Json(error) if error.kind == ErrorKind::NotAnObject => INVALID_REQUEST,
            Fault::Json(_) => PARSE_ERROR,
            _ => INVALID_REQUEST,
        };
        assert_eq!(rejected.fault.code(), expected);
        if let Some(id) = rejected.id {
            assert!(is_scalar(id.get()) && text.contains(id.get()));
        }
    }
    match (&parsed, &naive) {
        (Err(rejected), None) => {
            assert!(matches!(rejected.fault, Fault::Json(_)), "serde_json reads no object here");
            return;
        }
        (Err(rejected), Some(naive)) => match rejected.fault {
            // Refused on purpose where serde_json is lenient: the JSON target looks closer.
            Fault::Json(error) => {
                assert!(matches!(error.kind, ErrorKind::TooDeep | ErrorKind::LoneSurrogate))
            }
            fault => {
                assert!(naive.faults.contains(&fault), "{fault:?} is not a fault of this");
                assert_eq!(rejected.id.map(|id| id.get()), naive.id, "another id is answered");
            }
        },
        (Ok(_), None) => panic!("serde_json reads no object here"),
        (Ok(_), Some(naive)) => assert!(naive.faults.is_empty(), "it has {:?}", naive.faults),
    }
    let request = Request::parse(text);
    assert_eq!(request.is_ok(), matches!(parsed, Ok(Message::Request(_))));
    let (Ok(message), Some(naive)) = (parsed, naive) else { return };
    let value = |name| one(&naive.members, name);
    let kind = match message {
        Message::Request(request) => {
            assert_eq!(Some(request.method.get()), value("method"));
            assert_eq!(request.params.map(|params| params.get()), value("params"));
            assert_eq!(Some(request.id.get()), naive.id);
            id(request.id);
            "request"
        }
        Message::Notification(notification) => {
            assert_eq!(Some(notification.method.get()), value("method"));
            assert_eq!(notification.params.map(|params| params.get()), value("params"));
            "notification"
        }
        Message::Response(response) => {
            assert_eq!(Some(response.id.get()), naive.id);
            assert_eq!(Some(response.result.get()), value("result"));
            id(response.id);
            again(response.id, response.result.get());
            "response"
        }
        Message::Error(error) => {
            let (code, message, data) = error_object(value("error").unwrap()).unwrap();
            assert_eq!(error.id.map(|id| id.get()), naive.id.filter(|id| *id != "null"));
            assert_eq!((error.code, error.message.get()), (code, message));
            assert_eq!(error.data.map(|data| data.get()), data);
            error_again(error.id, error.code, &model::string(message).unwrap());
            "error"
        }
    };
    assert_eq!(kind, naive.kind);
}

/// An id is what its text says, and the same as itself only.
fn id(id: Id<'_>) {
    let text = id.get();
    let expected = match text.as_bytes()[0] {
        b'"' => IdKind::String,
        b'n' => IdKind::Null,
        _ if Decimal::parse(text).is_integral() => IdKind::Integer,
        _ => IdKind::Fraction,
    };
    assert_eq!(id.kind(), expected, "the kind of the id {text}");
    let same = Id::parse(text).expect("an id");
    assert!(same.same(&id) && same.print() == id.print());
    // Written otherwise, it is the same one still.
    let other = match expected {
        IdKind::String => {
            let mut out = alloc::vec![0; text.len() * 6];
            let mut writer = Writer::new(&mut out);
            writer.string(&model::string(text).unwrap());
            String::from(writer.finish().expect("room"))
        }
        IdKind::Integer => match Decimal::parse(text).integer() {
            Some(number) => alloc::format!("{number}.0e0"),
            None => return,
        },
        IdKind::Fraction | IdKind::Null => return,
    };
    let other = Id::parse(&other).expect("an id");
    assert!(other.same(&id) && other.print() == id.print(), "{text} is {}", other.get());
    let quoted = alloc::format!("\"x{}\"", text.replace(['"', '\\'], ""));
    let stranger = Id::parse(&quoted).filter(|stranger| stranger.get() != text);
    if let (Some(stranger), IdKind::Integer) = (stranger, expected) {
        assert!(!stranger.same(&id), "a string is no number");
    }
}

/// A result that is written for the id has the id, byte for byte.
fn again(id: Id<'_>, result: &str) {
    let mut out = alloc::vec![0; id.get().len() + result.len() + 64];
    let mut writer = Writer::new(&mut out);
    write_result(&mut writer, id.get(), result);
    let text = writer.finish().expect("room");
    let Ok(Message::Response(response)) = Message::parse(text) else { panic!("no response") };
    assert_eq!((response.id.get(), response.result.get()), (id.get(), result));
}

fn error_again(id: Option<Id<'_>>, code: i64, message: &str) {
    let mut out = alloc::vec![0; message.len() * 6 + id.map_or(0, |id| id.get().len()) + 128];
    let mut writer = Writer::new(&mut out);
    let error_id = id.as_ref().map_or(ErrorId::Absent, |id| ErrorId::Known(id.get()));
    write_error(&mut writer, error_id, code, message, None);
    let text = writer.finish().expect("room");
    let Ok(Message::Error(error)) = Message::parse(text) else { panic!("no error response") };
    assert_eq!(error.id.map(|id| id.get()), id.map(|id| id.get()));
    assert!(error.code == code && error.message == *message);
}
