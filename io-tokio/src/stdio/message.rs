//! Messages on their way through: what a caller may send, what a server sent, and the ids and
//! tokens put in and taken out. Values are passed on as they were written; only white space
//! between them goes, for a message is one line here.

use core::fmt;
use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::error::RequestError;

/// The key of `_meta` that ties a notification to a `subscriptions/listen` request.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The members of an object, in their order, borrowed.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

/// A member stands there twice.
struct Twice;

impl<'a> Members<'a> {
    fn of(raw: &'a RawValue) -> Option<Self> {
        raw.get().starts_with('{').then(|| serde_json::from_str(raw.get()).ok()).flatten()
    }

    /// The one member of this name.
    fn one(&self, name: &str) -> Result<Option<&'a RawValue>, Twice> {
        let mut found = self.0.iter().filter(|(key, _)| key == name);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err(Twice),
            (one, None) => Ok(one.map(|(_, value)| *value)),
        }
    }

    /// The one member of this name, or none where there are two.
    fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.one(name).ok().flatten()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut members = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object).map(Members)
    }
}

/// A member's name, borrowed where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Cow<'de, str>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Cow::Borrowed(text))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cow::Owned(text.to_owned()))
            }
        }
        deserializer.deserialize_str(Text).map(Name)
    }
}

/// Appends a JSON text without the white space between its values.
fn push_compact(out: &mut String, json: &str) {
    let (mut from, mut in_string, mut escaped) = (0, false, false);
    for (at, byte) in json.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
        } else if byte == b'"' {
            in_string = true;
        } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            out.push_str(&json[from..at]);
            from = at + 1;
        }
    }
    out.push_str(&json[from..]);
}

/// Appends `raw` with the value at `path` replaced. What is not an object on the way there stays
/// as it is.
fn push_replaced(out: &mut String, raw: &RawValue, path: &[&str], new: &str) {
    let Some((name, rest)) = path.split_first() else {
        out.push_str(new);
        return;
    };
    let Some(members) = Members::of(raw) else {
        push_compact(out, raw.get());
        return;
    };
    out.push('{');
    for (index, (key, value)) in members.0.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_string(out, key);
        out.push(':');
        if key == name {
            push_replaced(out, value, rest, new);
        } else {
            push_compact(out, value.get());
        }
    }
    out.push('}');
}

fn push_string(out: &mut String, text: &str) {
    // A string has a JSON form, always.
    out.push_str(&serde_json::to_string(text).unwrap_or_default());
}

/// The value at `path`.
fn at<'a>(raw: &'a RawValue, path: &[&str]) -> Option<&'a RawValue> {
    path.iter().try_fold(raw, |value, name| Members::of(value)?.get(name))
}

fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

fn is_string(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

/// A string, or a number without a fraction (`8.0` is an integer to JSON Schema).
fn is_id(raw: &RawValue) -> bool {
    is_string(raw) || raw.get().parse::<f64>().is_ok_and(|number| number.fract() == 0.0)
}

/// The text of a string value.
pub(super) fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Name<'_>>(raw.get()).ok().map(|Name(text)| text)
}

/// One of our own ids, as it comes back: a number, whole numbers written as fractions, or (some
/// servers do that) a string of it.
fn own_key(raw: &RawValue) -> Option<u64> {
    let text = raw.get().trim_matches('"');
    text.parse().ok().or_else(|| {
        let number = text.parse::<f64>().ok()?;
        // Up to 2^53 every whole number is exact.
        ((0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0)
            .then_some(number as u64)
    })
}

/// A caller's request, checked.
#[derive(Debug)]
pub(super) struct Request<'a> {
    id: &'a RawValue,
    method: &'a RawValue,
    params: &'a RawValue,
    token: Option<&'a RawValue>,
}

impl<'a> Request<'a> {
    /// Takes a request apart and checks its envelope.
    pub(super) fn parse(text: &'a str) -> Result<Self, RequestError> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| RequestError::NotJson {
            at: (error.line().max(1), error.column().max(1)),
        })?;
        if !is_object(raw) {
            return Err(RequestError::NotAnObject);
        }
        // What can still fail is a member's name with half a surrogate pair.
        let members = Members::of(raw).ok_or(RequestError::NotJson { at: (1, 1) })?;
        let one = |name: &'static str| {
            members.one(name).map_err(|Twice| RequestError::Duplicate { member: name })
        };
        if one("jsonrpc")?.is_none_or(|value| value.get() != "\"2.0\"") {
            return Err(RequestError::Version);
        }
        let id = one("id")?.filter(|id| is_id(id)).ok_or(RequestError::Id)?;
        let method = one("method")?.filter(|m| is_string(m)).ok_or(RequestError::Method)?;
        let params = one("params")?.ok_or(RequestError::Meta)?;
        let token = Self::meta(params)?;
        Ok(Request { id, method, params, token })
    }

    /// Checks `params._meta`; its progress token.
    fn meta(params: &'a RawValue) -> Result<Option<&'a RawValue>, RequestError> {
        let members = Members::of(params).ok_or(RequestError::Meta)?;
        let meta = members
            .one("_meta")
            .map_err(|Twice| RequestError::Duplicate { member: "_meta" })?
            .and_then(Members::of)
            .ok_or(RequestError::Meta)?;
        for key in [PROTOCOL_VERSION, CLIENT_CAPABILITIES] {
            let value = meta.one(key).map_err(|Twice| RequestError::Duplicate { member: key })?;
            let fits = if key == PROTOCOL_VERSION { is_string } else { is_object };
            if !value.is_some_and(fits) {
                return Err(RequestError::MetaKey { key });
            }
        }
        let token = meta
            .one("progressToken")
            .map_err(|Twice| RequestError::Duplicate { member: "progressToken" })?;
        if token.is_some_and(|token| !is_id(token)) {
            return Err(RequestError::ProgressToken);
        }
        Ok(token)
    }

    /// The caller's names for this call.
    pub(super) fn names(&self) -> Names {
        Names {
            id: self.id.get().into(),
            token: self.token.map(|token| token.get().into()),
            listens: string(self.method).is_some_and(|name| name == "subscriptions/listen"),
        }
    }

    /// The line that goes to the server, with our own id and token.
    pub(super) fn line(&self, key: u64) -> String {
        let own = key.to_string();
        let mut out = format!("{{\"jsonrpc\":\"2.0\",\"id\":{own},\"method\":");
        out.push_str(self.method.get());
        out.push_str(",\"params\":");
        // Without a token there is nothing at the path, and nothing is replaced.
        push_replaced(&mut out, self.params, &["_meta", "progressToken"], &own);
        out.push_str("}\n");
        out
    }
}

/// The line that tells a server that nobody waits for a call any more.
pub(super) fn cancelled(key: u64) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\
         \"params\":{{\"requestId\":{key}}}}}\n"
    )
}

/// How the caller names a call: texts that are restored as they were.
#[derive(Debug)]
pub(super) struct Names {
    id: Box<str>,
    token: Option<Box<str>>,
    listens: bool,
}

/// A message of a server.
pub(super) enum Incoming<'a> {
    Response {
        key: u64,
        outcome: Outcome<'a>,
    },
    Notification(Notification<'a>),
    /// A response to nothing of ours, or without an id.
    Stray,
    /// A request: no revision spoken here has requests of the server.
    Request,
    Malformed,
}

/// What a response carries.
pub(super) enum Outcome<'a> {
    Result(&'a RawValue),
    Error(&'a RawValue),
    Invalid,
}

/// A notification of a server.
pub(super) struct Notification<'a> {
    method: &'a RawValue,
    params: Option<&'a RawValue>,
}

/// What ties a notification to a call.
pub(super) enum Tie {
    /// A progress token of ours.
    Progress(u64),
    /// The id of a `subscriptions/listen` of ours.
    Subscription(u64),
    /// `notifications/message`: nothing but the stream it came on.
    Stream,
    /// Nothing.
    None,
}

impl<'a> Incoming<'a> {
    /// Takes a line apart.
    pub(super) fn parse(line: &'a str) -> Self {
        let Ok(members) = serde_json::from_str::<Members<'a>>(line) else {
            return Incoming::Malformed;
        };
        if members.get("jsonrpc").is_none_or(|value| value.get() != "\"2.0\"") {
            return Incoming::Malformed;
        }
        let (Ok(id), Ok(method), Ok(result), Ok(error)) =
            (members.one("id"), members.one("method"), members.one("result"), members.one("error"))
        else {
            return Incoming::Malformed;
        };
        // Several implementations write absent members as null.
        let id = id.filter(|id| id.get() != "null");
        let error = error.filter(|error| error.get() != "null");
        match (id, method.filter(|method| is_string(method)), result, error) {
            (None, Some(method), None, None) => {
                Incoming::Notification(Notification { method, params: members.get("params") })
            }
            (Some(_), Some(_), None, None) => Incoming::Request,
            (None, None, None, Some(_)) => Incoming::Stray,
            (Some(id), None, result, error) => match own_key(id) {
                Some(key) => Incoming::Response { key, outcome: Outcome::of(result, error) },
                None => Incoming::Stray,
            },
            _ => Incoming::Malformed,
        }
    }
}

impl<'a> Outcome<'a> {
    fn of(result: Option<&'a RawValue>, error: Option<&'a RawValue>) -> Self {
        match (result, error) {
            (Some(result), None) if is_object(result) => Outcome::Result(result),
            (None, Some(error)) if is_object(error) => Outcome::Error(error),
            _ => Outcome::Invalid,
        }
    }

    /// The response as the caller gets it, with its own id; `None` if it is not valid.
    pub(super) fn restored(&self, key: u64, names: &Names) -> Option<String> {
        let mut out = format!("{{\"jsonrpc\":\"2.0\",\"id\":{}", names.id);
        match self {
            Outcome::Result(result) => {
                out.push_str(",\"result\":");
                let path = ["_meta", SUBSCRIPTION];
                if names.listens && at(result, &path).and_then(own_key) == Some(key) {
                    push_replaced(&mut out, result, &path, &names.id);
                } else {
                    push_compact(&mut out, result.get());
                }
            }
            Outcome::Error(error) => {
                out.push_str(",\"error\":");
                push_compact(&mut out, error.get());
            }
            Outcome::Invalid => return None,
        }
        out.push('}');
        Some(out)
    }
}

impl Notification<'_> {
    /// What it hangs on.
    pub(super) fn tie(&self) -> Tie {
        let method = string(self.method);
        match method.as_deref() {
            Some("notifications/progress") => self
                .params
                .and_then(|params| at(params, &["progressToken"]))
                .and_then(own_key)
                .map_or(Tie::None, Tie::Progress),
            Some("notifications/message") => Tie::Stream,
            _ => self
                .params
                .and_then(|params| at(params, &["_meta", SUBSCRIPTION]))
                .and_then(own_key)
                .map_or(Tie::None, Tie::Subscription),
        }
    }

    /// The notification as the caller gets it, with its own token or id; `None` if the caller
    /// has not asked for what it is tied by.
    pub(super) fn restored(&self, tie: &Tie, names: &Names) -> Option<String> {
        let replaced: Option<(&[&str], &str)> = match tie {
            Tie::Progress(_) => Some((&["progressToken"], names.token.as_deref()?)),
            Tie::Subscription(_) if names.listens => Some((&["_meta", SUBSCRIPTION], &names.id)),
            Tie::Stream => None,
            Tie::Subscription(_) | Tie::None => return None,
        };
        let mut out = String::from("{\"jsonrpc\":\"2.0\",\"method\":");
        out.push_str(self.method.get());
        if let Some(params) = self.params {
            out.push_str(",\"params\":");
            match replaced {
                Some((path, new)) => push_replaced(&mut out, params, path, new),
                None => push_compact(&mut out, params.get()),
            }
        }
        out.push('}');
        Some(out)
    }
}

/// Whose answer a message is whose rest is missing, when its id comes early enough to be seen.
pub(super) fn key_in_head(head: &[u8]) -> Option<u64> {
    struct Seen<'s>(&'s mut Option<u64>);
    impl<'de> Visitor<'de> for Seen<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
            while let Some(Name(name)) = map.next_key()? {
                let value: &RawValue = map.next_value()?;
                if name == "id" {
                    *self.0 = own_key(value);
                }
            }
            Ok(())
        }
    }
    // The head may end within a character: the text before it will do.
    let text = match core::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => core::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
    };
    let mut key = None;
    // That the message breaks off is an error here, and expected.
    let _cut = serde_json::Deserializer::from_str(text).deserialize_map(Seen(&mut key)).is_err();
    key
}

/// What an answer to `server/discover` says.
pub(super) enum Discovery {
    Revisions(Vec<String>),
    Error { code: i64, supported: Vec<String> },
    Unclear,
}

impl Discovery {
    /// Reads the response to `server/discover`.
    pub(super) fn of(response: &str) -> Self {
        let Ok(raw) = serde_json::from_str::<&RawValue>(response) else {
            return Discovery::Unclear;
        };
        if let Some(error) = at(raw, &["error"]) {
            let code = at(error, &["code"]).and_then(|code| code.get().parse().ok());
            let supported = at(error, &["data", "supported"]).and_then(revisions);
            return Discovery::Error {
                code: code.unwrap_or_default(),
                supported: supported.unwrap_or_default(),
            };
        }
        at(raw, &["result", "supportedVersions"])
            .and_then(revisions)
            .map_or(Discovery::Unclear, Discovery::Revisions)
    }
}

/// A list of revisions: the first 16 that are short enough to be dates.
fn revisions(list: &RawValue) -> Option<Vec<String>> {
    let list: Vec<String> = serde_json::from_str(list.get()).ok()?;
    Some(list.into_iter().filter(|name| name.len() <= 32).take(16).collect())
}
