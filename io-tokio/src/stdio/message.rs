//! Messages on their way through: what a caller may send, what a server sent, and the ids and
//! tokens put in and taken out. Values are passed on as they were written; only white space
//! between them goes, for a message is one line here.

use agentwire_core::binding::{Binding, Failure, Place};
use agentwire_core::json::Value;
use agentwire_core::jsonrpc::{self, ErrorResponse, Id, IdKind, Message, Response};
use agentwire_core::mcp::{Mcp, PROGRESS};

use super::error::RequestError;

/// The key of `_meta` that ties a notification to a `subscriptions/listen` request.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// Appends a JSON text without the white space between its values.
fn push_compact(out: &mut String, json: &str) {
    agentwire_core::json::compact(json, |piece| out.push_str(piece));
}

/// Appends `value` with what stands at `path` replaced. What is not an object on the way there
/// stays as it is.
fn push_replaced(out: &mut String, value: Value<'_>, path: &[&str], new: &str) {
    let Some((name, rest)) = path.split_first() else {
        out.push_str(new);
        return;
    };
    let Some(object) = value.as_object() else {
        push_compact(out, value.get());
        return;
    };
    out.push('{');
    for (index, (key, member)) in object.members().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(key.get());
        out.push(':');
        if key == **name {
            push_replaced(out, member, rest, new);
        } else {
            push_compact(out, member.get());
        }
    }
    out.push('}');
}

/// The value at `path`; none also where a member on the way stands there twice.
fn at<'a>(value: Value<'a>, path: &[&str]) -> Option<Value<'a>> {
    path.iter().try_fold(value, |value, name| value.as_object()?.get(name).ok()?)
}

/// One of our own ids, as it comes back: a number, or (some servers do that) a string of it.
fn own_key(value: Value<'_>) -> Option<u64> {
    match value.as_str() {
        Some(text) => text.as_plain()?.parse().ok(),
        None => value.as_integer().and_then(|number| u64::try_from(number).ok()),
    }
}

fn own_key_of(id: Id<'_>) -> Option<u64> {
    own_key(Value::parse(id.get()).ok()?)
}

/// A caller's request, checked.
#[derive(Debug)]
pub(super) struct Request<'a> {
    request: jsonrpc::Request<'a>,
    params: Value<'a>,
    token: Option<Value<'a>>,
}

impl<'a> Request<'a> {
    /// Takes a request apart and checks its envelope: by the rules of the MCP binding, and its
    /// progress token.
    pub(super) fn parse(text: &'a str) -> Result<Self, RequestError> {
        Mcp.accept(text, &[], Place::Direct).map_err(|refusal| match refusal.failure {
            Failure::Parse(error) => RequestError::NotJson(error),
            Failure::InvalidMessage(fault) => RequestError::NotARequest(fault),
            Failure::UnsupportedVersion { .. } => RequestError::Revision,
            Failure::InvalidParams(why) => RequestError::Params(why),
            other => RequestError::Invalid(other.sentence()),
        })?;
        let request = jsonrpc::Request::parse(text)
            .map_err(|rejected| RequestError::NotARequest(rejected.fault))?;
        let meta = request.params.and_then(|params| {
            params.as_object()?.object("_meta").ok()?.map(|meta| (params, meta))
        });
        let Some((params, meta)) = meta else {
            return Err(RequestError::Params("params._meta is missing or not an object"));
        };
        let token = match meta.get("progressToken") {
            Ok(token) => token,
            Err(_) => return Err(RequestError::Params("progressToken occurs twice")),
        };
        let is_token = |token: &Value<'_>| {
            Id::parse(token.get())
                .is_some_and(|id| matches!(id.kind(), IdKind::String | IdKind::Integer))
        };
        if token.is_some_and(|token| !is_token(&token)) {
            return Err(RequestError::Params("progressToken is not a string or an integer"));
        }
        Ok(Request { request, params, token })
    }

    /// The caller's names for this call.
    pub(super) fn names(&self) -> Names {
        Names {
            id: self.request.id.get().into(),
            token: self.token.map(|token| token.get().into()),
            listens: self.request.method == *"subscriptions/listen",
        }
    }

    /// The line that goes to the server, with our own id and token.
    pub(super) fn line(&self, key: u64) -> String {
        let own = key.to_string();
        let mut out = format!("{{\"jsonrpc\":\"2.0\",\"id\":{own},\"method\":");
        out.push_str(self.request.method.get());
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
#[derive(Debug)]
pub(super) enum Incoming<'a> {
    /// A response under an id that may be ours.
    Response(u64, Outcome<'a>),
    Notification(Notification<'a>),
    /// A response to nothing of ours, or without an id.
    Stray,
    /// Not a message; or a request: no revision spoken here has requests of the server. The id
    /// that could be read, if it may be ours.
    Malformed(Option<u64>),
}

/// What a response carries.
#[derive(Debug)]
pub(super) enum Outcome<'a> {
    Result(Value<'a>),
    Error(Value<'a>),
    Invalid,
}

/// A notification of a server.
#[derive(Debug)]
pub(super) struct Notification<'a>(jsonrpc::Notification<'a>);

/// What ties a notification to a call.
#[derive(Debug)]
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
        match Message::parse(line) {
            Ok(Message::Notification(notification)) => {
                Incoming::Notification(Notification(notification))
            }
            Ok(Message::Response(Response { id, result, .. })) => {
                let outcome = match result.as_object() {
                    Some(_) => Outcome::Result(result),
                    None => Outcome::Invalid,
                };
                own_key_of(id).map_or(Incoming::Stray, |key| Incoming::Response(key, outcome))
            }
            Ok(Message::Error(ErrorResponse { object, id, .. })) => {
                let error = at(object.as_value(), &["error"]).map(Outcome::Error);
                id.and_then(own_key_of).map_or(Incoming::Stray, |key| {
                    Incoming::Response(key, error.unwrap_or(Outcome::Invalid))
                })
            }
            Ok(Message::Request(_)) => Incoming::Malformed(None),
            Err(rejected) => Incoming::Malformed(rejected.id.and_then(own_key_of)),
        }
    }
}

/// Whose answer a message is whose rest is missing, when its id comes early enough to be seen.
pub(super) fn key_in_head(head: &[u8]) -> Option<u64> {
    // The head may end within a character: the text before it will do.
    let text = match core::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => core::str::from_utf8(&head[..error.valid_up_to()]).ok()?,
    };
    match Incoming::parse(text) {
        Incoming::Malformed(key) => key,
        _ => None,
    }
}

impl Outcome<'_> {
    /// The response as the caller gets it, with its own id; `None` if it is not valid.
    pub(super) fn restored(&self, key: u64, names: &Names) -> Option<String> {
        let mut out = format!("{{\"jsonrpc\":\"2.0\",\"id\":{}", names.id);
        match *self {
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
        let key =
            |path: &[&str]| self.0.params.and_then(|params| at(params, path)).and_then(own_key);
        if self.0.method == *PROGRESS {
            key(&["progressToken"]).map_or(Tie::None, Tie::Progress)
        } else if self.0.method == *"notifications/message" {
            Tie::Stream
        } else {
            key(&["_meta", SUBSCRIPTION]).map_or(Tie::None, Tie::Subscription)
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
        out.push_str(self.0.method.get());
        if let Some(params) = self.0.params {
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

/// What an answer to `server/discover` says.
#[derive(Debug)]
pub(super) enum Discovery {
    Revisions(Vec<String>),
    Error { code: i64, supported: Vec<String> },
    Unclear,
}

impl Discovery {
    /// Reads the response to `server/discover`.
    pub(super) fn of(response: &str) -> Self {
        match Message::parse(response) {
            Ok(Message::Error(ErrorResponse { object, code, .. })) => {
                let supported = at(object.as_value(), &["error", "data", "supported"]);
                let supported = supported.and_then(revisions).unwrap_or_default();
                Discovery::Error { code, supported }
            }
            Ok(Message::Response(response)) => at(response.result, &["supportedVersions"])
                .and_then(revisions)
                .map_or(Discovery::Unclear, Discovery::Revisions),
            _ => Discovery::Unclear,
        }
    }
}

/// A list of revisions: the first 16 that are short enough to be dates.
fn revisions(list: Value<'_>) -> Option<Vec<String>> {
    let names = list.elements()?.filter_map(|name| name.as_str()?.as_plain());
    Some(names.filter(|name| name.len() <= 32).take(16).map(str::to_owned).collect())
}
