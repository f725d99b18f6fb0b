//! A whole message against the revision: [`Asked`], [`Answer`], [`Notice`].

use super::fault::{Fault, Flaw, Kind, Wrong};
use super::method::Method;
use super::retry::InputRequired;
use super::shape::Shape;
use super::{
    CANCELLED, HEADER_MISMATCH, LOGGED, META_CLIENT_CAPABILITIES, META_LOG_LEVEL,
    META_PROTOCOL_VERSION, META_SUBSCRIPTION, MISSING_CLIENT_CAPABILITY, PROGRESS, PROGRESS_TOKEN,
    REVISION, Revision, UNSUPPORTED_PROTOCOL_VERSION, shapes,
};
use crate::json::{self, Object, Str, Value, offset_in};
use crate::jsonrpc::{self, ErrorResponse, Id, IdKind, IdPrint, Message, Notification, Request};

/// A request that is not one of the revision, with what is needed to answer it.
///
/// ```
/// use agentwire_core::mcp::Asked;
/// let rejected = Asked::check(r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#).unwrap_err();
/// assert_eq!(rejected.id.unwrap().get(), "\"a\"");
/// assert_eq!(rejected.fault.to_string(), "params is missing (byte 0)");
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Rejected<'a> {
    /// What is wrong.
    pub fault: Fault,
    /// The request's id, where it could be read and is one that MCP has.
    pub id: Option<Id<'a>>,
}

impl core::fmt::Display for Rejected<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.fault.fmt(f)
    }
}

impl core::error::Error for Rejected<'_> {}

/// The offset of a framing fault.
fn framing(fault: jsonrpc::Fault) -> Fault {
    let offset = match fault {
        jsonrpc::Fault::Json(json::Error { offset, .. }) => offset,
        _ => 0,
    };
    Fault { flaw: Flaw::Framing(fault), offset }
}

fn is_id(id: Id<'_>) -> bool {
    matches!(id.kind(), IdKind::String | IdKind::Integer)
}

/// What a client can do, as one request declares it (basic, `_meta`; client capabilities).
///
/// ```
/// use agentwire_core::json::Object;
/// use agentwire_core::mcp::Capabilities;
/// let declared = Capabilities::of(Object::parse(r#"{"elicitation":{}}"#).unwrap());
/// // An empty declaration means forms alone.
/// assert!(declared.form && !declared.url && !declared.sampling);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Capabilities {
    /// Forms can be shown.
    pub form: bool,
    /// Links can be opened.
    pub url: bool,
    /// A model can be asked.
    pub sampling: bool,
    /// Roots can be listed.
    pub roots: bool,
    /// Extensions are spoken, whichever.
    pub extensions: bool,
}

impl Capabilities {
    /// Reads a declaration.
    pub fn of(declared: Object<'_>) -> Self {
        let member = |name| declared.object(name).ok().flatten();
        let elicitation = member("elicitation");
        let has = |mode| {
            elicitation.is_some_and(|object| object.get(mode).is_ok_and(|mode| mode.is_some()))
        };
        Self {
            form: elicitation.is_some() && (has("form") || !has("url")),
            url: has("url"),
            sampling: member("sampling").is_some(),
            roots: member("roots").is_some(),
            extensions: member("extensions")
                .is_some_and(|extensions| extensions.members().next().is_some()),
        }
    }
}

/// A checked request, as far as its answers depend on it. It borrows nothing.
///
/// [`check`](Self::check) holds a whole request against revision 2026-07-28: the JSON-RPC framing,
/// the id, the `_meta` envelope and the parameters of the method. Of a request that names a later
/// revision only what all of them share is checked, and likewise of its answers.
///
/// ```
/// use agentwire_core::mcp::{Answer, Asked, Flaw, Method};
///
/// let (asked, request) = Asked::check(
///     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#,
/// )
/// .unwrap();
/// assert_eq!(asked.method, Method::CallTool);
/// assert_eq!(request.id.get(), "1");
///
/// let good = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#;
/// assert!(matches!(asked.check_answer(good), Ok(Answer::Complete(_))));
/// // The published schema lets this pass.
/// let bad = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}"#;
/// let fault = asked.check_answer(bad).unwrap_err();
/// assert_eq!(fault.flaw, Flaw::Missing("content"));
/// assert_eq!(fault.path(bad).to_string(), "$.result");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct Asked {
    /// The method.
    pub method: Method,
    /// The request's id.
    pub id: IdPrint,
    /// Its progress token, if it asks for progress.
    pub token: Option<IdPrint>,
    /// What its sender can do.
    pub capabilities: Capabilities,
    /// Whether it asks for `notifications/message`.
    pub logs: bool,
    /// The revision that it names.
    pub revision: Revision,
}

impl Asked {
    /// Checks a request.
    ///
    /// # Errors
    /// [`Rejected`] with the first fault.
    pub fn check(text: &str) -> Result<(Self, Request<'_>), Rejected<'_>> {
        let request = Request::parse(text).map_err(|rejected| Rejected {
            fault: framing(rejected.fault),
            id: rejected.id.filter(|id| is_id(*id)),
        })?;
        if !is_id(request.id) {
            let fault = Fault {
                flaw: Flaw::Framing(jsonrpc::Fault::IdKind),
                offset: offset_in(text, request.id.get()),
            };
            return Err(Rejected { fault, id: None });
        }
        let asked = Self::of(&request)
            .map_err(|wrong| Rejected { fault: wrong.in_text(text), id: Some(request.id) })?;
        Ok((asked, request))
    }

    fn of<'a>(request: &Request<'a>) -> Result<Self, Wrong<'a>> {
        let whole = request.object.as_value();
        let params = request.params.ok_or(Wrong::new(Flaw::Missing("params"), whole))?;
        let Some(object) = params.as_object() else {
            return Err(Wrong::new(Flaw::Kind(Kind::Object), params));
        };
        let meta = match object.get("_meta") {
            Ok(Some(meta)) => meta,
            Ok(None) => return Err(Wrong::new(Flaw::Missing("_meta"), params)),
            Err(_) => return Err(Wrong::new(Flaw::Twice("_meta"), params)),
        };
        let envelope = meta.as_object().ok_or(Wrong::new(Flaw::Kind(Kind::Object), meta))?;
        shapes::LATER_META.check(envelope)?;
        let member = |name: &str| envelope.get(name).ok().flatten();
        let version = member(META_PROTOCOL_VERSION).unwrap_or(meta);
        // A buffer of a revision's length: whatever is longer is none.
        let mut buffer = [0; REVISION.len()];
        let revision = version.as_str().and_then(|version| version.decode(&mut buffer).ok());
        let Some(revision) = revision.and_then(Revision::new) else {
            return Err(Wrong::new(Flaw::Revision, version));
        };
        let method = Method::of(request.method);
        if !revision.is_later() {
            method.params().check(object)?;
        }
        let token = member(PROGRESS_TOKEN).and_then(|token| Id::parse(token.get()));
        let capabilities =
            member(META_CLIENT_CAPABILITIES).and_then(|capabilities| capabilities.as_object());
        Ok(Self {
            method,
            id: request.id.print(),
            token: token.map(|token| token.print()),
            capabilities: capabilities.map(Capabilities::of).unwrap_or_default(),
            logs: member(META_LOG_LEVEL).is_some(),
            revision,
        })
    }

    /// Checks a response to the request.
    ///
    /// # Errors
    /// [`Fault`] with the first thing that is wrong, the answer to another request among it.
    pub fn check_answer<'a>(&self, text: &'a str) -> Result<Answer<'a>, Fault> {
        let not_an_answer = framing(jsonrpc::Fault::NoKind);
        match Message::parse(text).map_err(|rejected| framing(rejected.fault))? {
            Message::Response(response) => {
                self.own(text, response.id)?;
                self.result(response.result).map_err(|wrong| wrong.in_text(text))
            }
            Message::Error(error) => {
                // Without an id its sender could not read the request's.
                error.id.map_or(Ok(()), |id| self.own(text, id))?;
                check_error(&error).map_err(|wrong| wrong.in_text(text))?;
                Ok(Answer::Error(error))
            }
            Message::Request(_) | Message::Notification(_) => Err(not_an_answer),
        }
    }

    fn own(&self, text: &str, id: Id<'_>) -> Result<(), Fault> {
        if id.print() == self.id {
            Ok(())
        } else {
            Err(Fault { flaw: Flaw::OtherId, offset: offset_in(text, id.get()) })
        }
    }

    /// Checks a result of the request, without the message around it.
    pub(super) fn result<'a>(&self, result: Value<'a>) -> Result<Answer<'a>, Wrong<'a>> {
        let object = result.as_object().ok_or(Wrong::new(Flaw::Kind(Kind::Object), result))?;
        shapes::ANY_RESULT.check(object)?;
        let Ok(Some(kind)) = object.get("resultType") else {
            return Err(Wrong::new(Flaw::Missing("resultType"), result));
        };
        if self.revision.is_later() {
            return Ok(Answer::Later(object));
        }
        let is = |name: &str| kind.as_str().is_some_and(|kind| kind == *name);
        if is("complete") {
            self.method.result().check(object)?;
            return Ok(Answer::Complete(object));
        }
        if is("input_required") {
            if !self.method.may_ask_for_input() {
                return Err(Wrong::new(Flaw::InputNotAllowed, kind));
            }
            shapes::INPUT_REQUIRED.check(object)?;
            let required = InputRequired::of(object);
            required.check(&self.capabilities)?;
            return Ok(Answer::InputRequired(required));
        }
        if self.capabilities.extensions {
            return Ok(Answer::Extended(object));
        }
        Err(Wrong::new(Flaw::ResultType, kind))
    }

    /// Whether a notification of the server may come before the answer to the request.
    ///
    /// # Errors
    /// [`Fault`] if it is tied to something else, or the request has not asked for it.
    pub fn check_notice(&self, text: &str, notice: &Notice<'_>) -> Result<(), Fault> {
        let at = |id: Id<'_>| offset_in(text, id.get());
        let (flaw, offset) = match notice.tie {
            Tie::Progress(token) if self.token == Some(token.print()) => return Ok(()),
            Tie::Progress(token) => (Flaw::OtherToken, at(token)),
            Tie::Stream if self.logs => return Ok(()),
            Tie::Stream => (Flaw::Unasked, 0),
            Tie::Subscription(id) if self.method == Method::Listen => {
                if self.id == id.print() {
                    return Ok(());
                }
                (Flaw::OtherSubscription, at(id))
            }
            Tie::Request(id) if self.method == Method::Listen && self.id == id.print() => {
                return Ok(());
            }
            Tie::Subscription(id) | Tie::Request(id) => (Flaw::Unasked, at(id)),
            Tie::None => (Flaw::Unasked, 0),
        };
        Err(Fault { flaw, offset })
    }
}

/// A checked answer.
///
/// ```
/// use agentwire_core::mcp::{Answer, Asked};
/// let (asked, _) = Asked::check(
///     r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#,
/// )
/// .unwrap();
/// let text = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no such tool"}}"#;
/// let Ok(Answer::Error(error)) = asked.check_answer(text) else { panic!() };
/// assert_eq!(error.code, -32602);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Answer<'a> {
    /// A complete result.
    Complete(Object<'a>),
    /// A result that asks for input before the call can go on.
    InputRequired(InputRequired<'a>),
    /// A result of a type that an extension defines; the request declares extensions.
    Extended(Object<'a>),
    /// A result of a later revision, of which only the type is known to be there.
    Later(Object<'a>),
    /// An error.
    Error(ErrorResponse<'a>),
}

/// What ties a notification to a request.
///
/// | notification | tie |
/// |---|---|
/// | `notifications/progress` | the request's progress token |
/// | `notifications/message` | the stream on which it comes, nothing else |
/// | `notifications/cancelled` | the request's id |
/// | those of a subscription | the id of the `subscriptions/listen` request, in `_meta` |
///
/// ```
/// use agentwire_core::mcp::{Notice, Tie, Way};
/// let text = r#"{"jsonrpc":"2.0","method":"notifications/progress",
///     "params":{"progressToken":"t","progress":0.5}}"#;
/// let notice = Notice::check(text, Way::FromServer).unwrap();
/// assert!(matches!(notice.tie, Tie::Progress(token) if token.get() == "\"t\""));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Tie<'a> {
    /// This progress token.
    Progress(Id<'a>),
    /// The `subscriptions/listen` request with this id.
    Subscription(Id<'a>),
    /// The request with this id.
    Request(Id<'a>),
    /// Nothing but the stream.
    Stream,
    /// Nothing.
    None,
}

/// Which way a notification goes.
///
/// ```
/// use agentwire_core::mcp::{Flaw, Notice, Way};
/// let text = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
/// assert_eq!(Notice::check(text, Way::FromClient).unwrap_err().flaw, Flaw::WrongWay);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_enums)] // There are two sides.
pub enum Way {
    /// From a client: only `notifications/cancelled`.
    FromClient,
    /// From a server.
    FromServer,
}

/// A checked notification.
///
/// ```
/// use agentwire_core::mcp::{Notice, Tie, Way};
/// let text = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
/// let notice = Notice::check(text, Way::FromClient).unwrap();
/// assert!(matches!(notice.tie, Tie::Request(id) if id.get() == "7"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Notice<'a> {
    /// Its method.
    pub method: Str<'a>,
    /// Its parameters.
    pub params: Option<Object<'a>>,
    /// What ties it to a request.
    pub tie: Tie<'a>,
}

impl<'a> Notice<'a> {
    /// Checks a notification.
    ///
    /// # Errors
    /// [`Fault`] with the first thing that is wrong.
    pub fn check(text: &'a str, way: Way) -> Result<Self, Fault> {
        match Message::parse(text).map_err(|rejected| framing(rejected.fault))? {
            Message::Notification(notification) => {
                Self::of(&notification, way).map_err(|wrong| wrong.in_text(text))
            }
            _ => Err(framing(jsonrpc::Fault::NoKind)),
        }
    }

    pub(super) fn of(notification: &Notification<'a>, way: Way) -> Result<Self, Wrong<'a>> {
        let method = notification.method;
        let whole = notification.object.as_value();
        let is = |name: &str| method == *name;
        let (record, needs_params) = if is(PROGRESS) {
            (&shapes::PROGRESSED, true)
        } else if is(LOGGED) {
            (&shapes::LOGGED, true)
        } else if is(CANCELLED) {
            (&shapes::CANCELLED, true)
        } else if is("notifications/subscriptions/acknowledged") {
            (&shapes::ACKNOWLEDGED, true)
        } else if is("notifications/resources/updated") {
            (&shapes::UPDATED, true)
        } else {
            (&shapes::NOTIFIED, false)
        };
        if way == Way::FromClient && !is(CANCELLED) {
            return Err(Wrong::new(Flaw::WrongWay, whole));
        }
        let params = match notification.params {
            Some(params) => {
                let object = params.as_object();
                Some(object.ok_or(Wrong::new(Flaw::Kind(Kind::Object), params))?)
            }
            None if needs_params => return Err(Wrong::new(Flaw::Missing("params"), whole)),
            None => None,
        };
        if let Some(params) = params {
            record.check(params)?;
        }
        let id = |name: &str| {
            let member = params.and_then(|params| params.get(name).ok().flatten());
            member.and_then(|member| Id::parse(member.get()))
        };
        let tie = if is(PROGRESS) {
            id(PROGRESS_TOKEN).map_or(Tie::None, Tie::Progress)
        } else if is(LOGGED) {
            Tie::Stream
        } else if is(CANCELLED) {
            id("requestId").map_or(Tie::None, Tie::Request)
        } else {
            let meta = params.and_then(|params| params.object("_meta").ok().flatten());
            let subscription = meta.and_then(|meta| meta.get(META_SUBSCRIPTION).ok().flatten());
            let subscription = subscription.and_then(|id| Id::parse(id.get()));
            subscription.map_or(Tie::None, Tie::Subscription)
        };
        Ok(Self { method, params, tie })
    }
}

/// How far the progress of one request has come: it must increase (basic, Progress).
///
/// ```
/// use agentwire_core::mcp::{Flaw, Notice, Progress, Way};
/// let mut progress = Progress::default();
/// let mut step = |number: &str| {
///     let text = format!(
///         r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":1,"progress":{number}}}}}"#
///     );
///     progress.advance(&Notice::check(&text, Way::FromServer).unwrap())
/// };
/// assert_eq!(step("0"), Ok(()));
/// assert_eq!(step("0.5"), Ok(()));
/// assert_eq!(step("0.5"), Err(Flaw::NotIncreasing));
/// assert_eq!(step("1e0"), Ok(()));
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Progress {
    last: Option<f64>,
}

impl Progress {
    /// Takes a progress notification of the request. Another notification changes nothing.
    ///
    /// # Errors
    /// [`Flaw::NotIncreasing`]; nothing has changed then.
    pub fn advance(&mut self, notice: &Notice<'_>) -> Result<(), Flaw> {
        if !matches!(notice.tie, Tie::Progress(_)) {
            return Ok(());
        }
        let number = notice.params.and_then(|params| params.get("progress").ok().flatten());
        let Some(number) = number.and_then(|number| number.get().parse::<f64>().ok()) else {
            return Ok(());
        };
        if self.last.is_some_and(|last| number <= last) {
            return Err(Flaw::NotIncreasing);
        }
        self.last = Some(number);
        Ok(())
    }
}

/// The codes that the revision reserves for itself (basic, Error Codes).
const RESERVED: core::ops::RangeInclusive<i64> = -32099..=-32020;
/// Codes that earlier revisions gave meaning to and that must not be sent any more.
const WITHDRAWN: [i64; 2] = [-32002, -32042];

fn check_error<'a>(error: &ErrorResponse<'a>) -> Result<(), Wrong<'a>> {
    let whole = error.object.get("error").ok().flatten().unwrap_or(error.object.as_value());
    let code = error.code;
    let data = |record| {
        let data = error.data.ok_or(Wrong::new(Flaw::Missing("data"), whole))?;
        Shape::Record(record).check(data)
    };
    match code {
        MISSING_CLIENT_CAPABILITY => data(&shapes::MISSING_CAPABILITY),
        UNSUPPORTED_PROTOCOL_VERSION => data(&shapes::UNSUPPORTED_VERSION),
        HEADER_MISMATCH => Ok(()),
        _ if RESERVED.contains(&code) || WITHDRAWN.contains(&code) => {
            Err(Wrong::new(Flaw::ReservedCode { code }, whole))
        }
        _ => Ok(()),
    }
}
