//! A request on its way to an agent's HTTP interface, and the agent's answer on its way back
//! ("Service parameters": "A proxy to an HTTP interface sends each service parameter as an HTTP
//! header and removes the member from the request").
//!
//! ```text
//!  /_call a2a {"jsonrpc":"2.0","id":"x","method":M,"params":P,"a2a-service-parameters":{..}}
//!      │ Incoming::read: is it one that may go further?
//!      ▼
//!  POST  A2A-Version: 1.0, and each parameter that passes        {..,"id":7,"method":M,"params":P}
//!      │ Answer::read: does it answer 7?
//!      ▼
//!  {"jsonrpc":"2.0","id":"x","result":R}
//! ```
//!
//! What stands in `params`, `result` and `error` goes through as it was written. The ids are the
//! proxy's own on the way there, since callers may use the same; each caller gets its own back, to
//! the byte.

use core::fmt;

use super::check::{Form, check_params, write_invalid_params};
use super::credential::sets_push_config;
use super::error::{A2aError, ErrorBody};
use super::stream::field;
use super::word::is_field;
use super::{A2a, EventKind, Method, ServiceParameters, StreamEvent};
use crate::binding::{Binding as _, End, Failure, Place};
use crate::json::{Object, Str, Value, Writer};
use crate::jsonrpc::{Fault, Id, Message, Request};

/// A request that may go to the agent.
///
/// ```
/// use agentwire_core::a2a::{Incoming, Method};
/// use agentwire_core::binding::Place;
/// use agentwire_core::json;
///
/// let text = r#"{"jsonrpc":"2.0","id":"x","method":"GetTask","params":{"id": "t"},
///     "a2a-service-parameters":{"A2A-Version":"1.0","Host":"h","traceparent":"00-1"}}"#;
/// let request = Incoming::read(text, Place::Direct, &[]).unwrap();
/// assert_eq!(request.method, Method::GetTask);
/// let headers = request.parameters.forwarded().count();
/// assert_eq!(headers, 1);
/// assert_eq!(
///     json::to_text(|out| request.write(out, 7)),
///     r#"{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id": "t"}}"#
/// );
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Incoming<'m> {
    /// The method.
    pub method: Method,
    /// The id that the answer carries.
    pub id: Id<'m>,
    /// The parameters, if any.
    pub params: Option<Object<'m>>,
    /// The service parameters.
    pub parameters: ServiceParameters<'m>,
    /// What the agent's interface wants every request to name, as the text of a JSON string (A2A
    /// 1.0 section 8.3.2); it is written where the request does not name one itself.
    pub tenant: Option<Str<'m>>,
}

/// A request that goes no further, and how it is answered.
///
/// ```
/// use agentwire_core::a2a::Incoming;
/// use agentwire_core::{binding::Place, json};
///
/// let text = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get",
///     "a2a-service-parameters":{"A2A-Version":"1.0"}}"#;
/// let refused = Incoming::read(text, Place::Direct, &[]).unwrap_err();
/// assert!(json::to_text(|out| refused.write(out)).contains("-32601"));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Refused<'m> {
    /// Why.
    pub cause: Cause<'m>,
    /// The JSON text with which the error names the request, where one could be read.
    pub id: Option<&'m str>,
}

/// Why a request goes no further.
///
/// ```
/// use agentwire_core::a2a::{Cause, Incoming};
/// use agentwire_core::binding::{Failure, Place};
/// let refused = Incoming::read("[]", Place::Direct, &[]).unwrap_err();
/// assert!(matches!(refused.cause, Cause::Failure(Failure::InvalidMessage(_))));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Cause<'m> {
    /// What the binding refuses everywhere, and a credential in a group.
    Failure(Failure<'m>),
    /// The parameters are not those of the method.
    InvalidParams {
        /// The method.
        method: Method,
        /// The parameters.
        params: Option<Object<'m>>,
    },
}

impl Refused<'_> {
    /// Writes the answer.
    pub fn write(&self, out: &mut Writer<'_>) {
        match self.cause {
            Cause::Failure(failure) => A2a.write_failure(&failure, self.id, out),
            Cause::InvalidParams { method, params } => {
                write_invalid_params(out, self.id, method, params);
            }
        }
    }
}

impl<'m> Incoming<'m> {
    /// Reads a request and checks everything that can be known before the agent has seen it: the
    /// binding's own rules, with version 1.0, the method, the parameters field by field, and that a
    /// message asks for no push notifications. `credentials` are the service parameters that
    /// the card's security schemes name, which no request in a group may carry.
    ///
    /// # Errors
    /// [`Refused`], with which nothing is to go to the agent.
    pub fn read(text: &'m str, place: Place, credentials: &[&str]) -> Result<Self, Refused<'m>> {
        let accepted = A2a.accept(text, &[super::VERSION], place).map_err(|refusal| Refused {
            cause: Cause::Failure(refusal.failure),
            id: refusal.id,
        })?;
        let id = accepted.id;
        let refuse = |failure| Err(Refused { cause: Cause::Failure(failure), id });
        // The binding has read both of them before.
        let request = Request::parse(text).map_err(|rejected| Refused {
            cause: Cause::Failure(Failure::InvalidMessage(rejected.fault)),
            id,
        })?;
        let parameters = match ServiceParameters::of_request(&request) {
            Ok(parameters) => parameters,
            Err(why) => return refuse(Failure::InvalidRequest(why)),
        };
        if place == Place::Group && parameters.has_any(credentials.iter().copied()) {
            return refuse(Failure::CredentialInGroup);
        }
        let Some(method) = Method::of(request.method) else {
            return refuse(Failure::MethodNotFound);
        };
        let params = request.params.and_then(|params| params.as_object());
        let mut is_valid = true;
        check_params(method, params, Form::Received, &mut |_| is_valid = false);
        if !is_valid {
            return Err(Refused { cause: Cause::InvalidParams { method, params }, id });
        }
        if method.is_send() && params.is_some_and(|params| sets_push_config(&params)) {
            return refuse(Failure::PushNotSupported);
        }
        Ok(Self { method, id: request.id, params, parameters, tenant: None })
    }

    /// Whether a stream's first event shows the task as it was before this message: the task that
    /// waits for its caller, and that the message goes on with.
    ///
    /// A stream of a task begins with the task (A2A 1.0 section 3.1.2), and there are agents whose
    /// first event for a second message is the task as it has been left, still waiting. In a
    /// conversation a waiting task ends the stream, so a proxy that passes it on loses what
    /// follows. Such an event is the stream's end only if nothing follows it.
    ///
    /// ```
    /// use agentwire_core::a2a::{Incoming, StreamEvent};
    /// use agentwire_core::{binding::Place, json::Object};
    /// let text = r#"{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage",
    ///     "a2a-service-parameters":{"A2A-Version":"1.0"},
    ///     "params":{"message":{"taskId":"t","messageId":"m","role":1,"parts":[{"text":"x"}]}}}"#;
    /// let request = Incoming::read(text, Place::Direct, &[]).unwrap();
    /// let waits = r#"{"task":{"id":"t","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}"#;
    /// let event = StreamEvent::of(Object::parse(waits).unwrap()).unwrap();
    /// assert!(request.is_preceded_by(&event));
    /// ```
    pub fn is_preceded_by(&self, first: &StreamEvent<'_>) -> bool {
        let shows_waiting = first.kind == EventKind::Task && first.end() == Some(End::Interrupted);
        let message = self.params.filter(|_| self.method.is_send());
        let message = message.and_then(|params| field(&params, "message")?.as_object());
        let task = message.and_then(|message| field(&message, "taskId")?.as_str());
        shows_waiting && task.is_some() && task == first.task_id
    }

    /// Writes the request as it goes to the agent, with an id of the proxy's own.
    pub fn write(&self, out: &mut Writer<'_>, id: i64) {
        self.write_head(out, id);
        let params = self.params.map(|params| params.get_text());
        match (params, self.absent_tenant()) {
            (None, None) => {}
            (Some(params), None) => {
                out.raw(",\"params\":").raw(params);
            }
            (params, Some(tenant)) => {
                let rest = params.and_then(|params| params.get(1..)).unwrap_or("}");
                out.raw(",\"params\":{\"tenant\":").raw(tenant.get());
                out.raw(if rest.trim_start() == "}" { "" } else { "," }).raw(rest);
            }
        }
        out.raw("}");
    }

    /// The tenant that is to be named and is not.
    fn absent_tenant(&self) -> Option<Str<'m>> {
        let mut members = self.params.iter().flat_map(Object::members);
        let is_named = members.any(|(name, _)| name == *"tenant");
        self.tenant.filter(|_| !is_named)
    }

    /// The same, with a message that names neither a task nor a context: for one that goes on with
    /// a task which the agent has never seen.
    ///
    /// ```
    /// use agentwire_core::{a2a::Incoming, binding::Place, json};
    /// let text = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage",
    ///     "a2a-service-parameters":{"A2A-Version":"1.0"},
    ///     "params":{"message":{"taskId":"t","messageId":"m","role":1,"parts":[{"text":"x"}]}}}"#;
    /// let request = Incoming::read(text, Place::Direct, &[]).unwrap();
    /// assert!(json::to_text(|out| request.write_anew(out, 7))
    ///     .ends_with(r#""params":{"message":{"messageId":"m","role":1,"parts":[{"text":"x"}]}}}"#));
    /// ```
    pub fn write_anew(&self, out: &mut Writer<'_>, id: i64) {
        self.write_head(out, id);
        if let Some(params) = self.params {
            out.raw(",\"params\":");
            out.raw("{");
            let tenant = self.absent_tenant();
            if let Some(tenant) = tenant {
                out.raw("\"tenant\":").raw(tenant.get());
            }
            for (place, (name, value)) in params.members().enumerate() {
                let is_first = place == 0 && tenant.is_none();
                out.raw(if is_first { "" } else { "," }).raw(name.get()).raw(":");
                match value.as_object().filter(|_| name == *"message") {
                    Some(message) => write_without_ids(out, message),
                    None => {
                        out.value(value);
                    }
                }
            }
            out.raw("}");
        }
        out.raw("}");
    }

    fn write_head(&self, out: &mut Writer<'_>, id: i64) {
        out.raw("{\"jsonrpc\":\"2.0\",\"id\":").int(id);
        out.raw(",\"method\":").string(self.method.name());
    }
}

/// A message without its task and its context.
fn write_without_ids(out: &mut Writer<'_>, message: Object<'_>) {
    let names_one = |name| is_field(name, "taskId") || is_field(name, "contextId");
    out.raw("{");
    let kept = message.members().filter(|(name, _)| !names_one(*name));
    for (place, (name, value)) in kept.enumerate() {
        out.raw(if place == 0 { "" } else { "," }).raw(name.get()).raw(":").value(value);
    }
    out.raw("}");
}

/// An answer of the agent's HTTP interface.
///
/// ```
/// use agentwire_core::a2a::{Answer, AnswerFault};
/// use agentwire_core::json;
///
/// let answer = Answer::read(r#"{"jsonrpc":"2.0","id":7,"result":{ }}"#, 7).unwrap();
/// assert_eq!(json::to_text(|out| answer.write(out, "\"x\"")), r#"{"jsonrpc":"2.0","id":"x","result":{ }}"#);
/// let other = Answer::read(r#"{"jsonrpc":"2.0","id":8,"result":{}}"#, 7);
/// assert_eq!(other.unwrap_err(), AnswerFault::OtherId);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Answer<'m> {
    /// With a result, or one event of a stream.
    Result(Value<'m>),
    /// With an error.
    Error {
        /// Its code.
        code: i64,
        /// The whole error.
        error: Value<'m>,
    },
}

/// Why something that an agent sent does not answer a request.
///
/// ```
/// use agentwire_core::a2a::Answer;
/// let fault = Answer::read("<html>", 7).unwrap_err();
/// assert_eq!(fault.to_string(), "the agent's answer is not JSON-RPC: byte 0x3c cannot stand here (byte 0)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum AnswerFault {
    /// It is not a JSON-RPC message.
    NotJsonRpc(Fault),
    /// It is a request or a notification.
    NotAnAnswer,
    /// It answers another request.
    OtherId,
}

impl fmt::Display for AnswerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJsonRpc(fault) => write!(f, "the agent's answer is not JSON-RPC: {fault}"),
            Self::NotAnAnswer => f.write_str("the agent sent a message that is no answer"),
            Self::OtherId => f.write_str("the agent's answer has another id"),
        }
    }
}

impl core::error::Error for AnswerFault {}

impl<'m> Answer<'m> {
    /// Reads an answer to the request with this id. An error without an id answers it too: the
    /// agent could not read the id. Some agents write a number back as a string.
    ///
    /// # Errors
    /// [`AnswerFault`]
    pub fn read(text: &'m str, id: i64) -> Result<Self, AnswerFault> {
        let is_own = |answered: Id<'_>| {
            let Ok(answered) = Value::parse(answered.get()) else { return false };
            match answered.as_str() {
                Some(text) => text.as_plain().is_some_and(|text| text.parse() == Ok(id)),
                None => answered.as_integer() == Some(id),
            }
        };
        match Message::parse(text).map_err(|rejected| AnswerFault::NotJsonRpc(rejected.fault))? {
            Message::Response(response) if is_own(response.id) => Ok(Self::Result(response.result)),
            Message::Error(error) if error.id.is_none_or(is_own) => {
                let whole = error.object.get("error").ok().flatten();
                let whole = whole.ok_or(AnswerFault::NotJsonRpc(Fault::ErrorObject))?;
                Ok(Self::Error { code: error.code, error: whole })
            }
            Message::Response(_) | Message::Error(_) => Err(AnswerFault::OtherId),
            Message::Request(_) | Message::Notification(_) => Err(AnswerFault::NotAnAnswer),
        }
    }

    /// Writes it with the caller's id, as JSON text.
    pub fn write(&self, out: &mut Writer<'_>, id: &str) {
        out.raw("{\"jsonrpc\":\"2.0\",\"id\":").raw(id);
        match self {
            Self::Result(result) => out.raw(",\"result\":").value(*result),
            Self::Error { error, .. } => out.raw(",\"error\":").value(*error),
        };
        out.raw("}");
    }
}

/// Writes the error for an answer that is none: -32006.
///
/// ```
/// use agentwire_core::{a2a::{AnswerFault, write_invalid_answer}, json};
/// let text = json::to_text(|out| write_invalid_answer(out, Some("7"), &AnswerFault::OtherId));
/// assert!(text.contains(r#""code":-32006,"message":"the agent's answer has another id""#));
/// ```
pub fn write_invalid_answer(out: &mut Writer<'_>, id: Option<&str>, fault: &AnswerFault) {
    let message = match fault {
        AnswerFault::NotJsonRpc(_) => "the agent's answer is not JSON-RPC",
        AnswerFault::NotAnAnswer => "the agent sent a message that is no answer",
        AnswerFault::OtherId => "the agent's answer has another id",
    };
    ErrorBody::new(A2aError::InvalidAgentResponse).message(message).write(out, id, &[]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;
    use std::format;
    use std::string::String;

    fn request(method: &str, params: &str, parameters: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params},"a2a-service-parameters":{parameters}}}"#
        )
    }

    fn refused(text: &str, place: Place) -> String {
        match Incoming::read(text, place, &["X-Acme"]) {
            Ok(_) => String::new(),
            Err(refused) => to_text(|out| refused.write(out)),
        }
    }

    const VERSION: &str = r#"{"A2A-Version":"1.0"}"#;

    #[test]
    fn what_goes_no_further_is_answered_in_the_documents_order() {
        for (text, code) in [
            (String::from("{bad"), "-32700"),
            (String::from(r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#), "-32600"),
            (request("GetTask", "{}", r#"{"A2A-Version":1}"#), "-32600"),
            (request("GetTask", "[]", VERSION), "-32602"),
            (request("GetTask", r#"{"id":"t"}"#, "{}"), "-32009"),
            (request("GetTask", r#"{"id":"t"}"#, r#"{"A2A-Version":"99.0"}"#), "-32009"),
            (request("tasks/get", r#"{"id":"t"}"#, VERSION), "-32601"),
            (request("GetTask", "{}", VERSION), "-32602"),
            (request("CreateTaskPushNotificationConfig", "{}", VERSION), "-32003"),
            (
                request(
                    "SendMessage",
                    r#"{"message":{"messageId":"m","role":1,"parts":[{"text":"x"}]},
                    "configuration":{"task_push_notification_config":{"url":"https://h/"}}}"#,
                    VERSION,
                ),
                "-32003",
            ),
        ] {
            let answer = refused(&text, Place::Direct);
            assert!(answer.contains(&format!("\"code\":{code},")), "{text} {answer}");
        }
        assert_eq!(refused(&request("GetTask", r#"{"id":"t"}"#, VERSION), Place::Group), "");
    }

    #[test]
    fn a_credential_that_the_card_names_goes_no_further_in_a_group() {
        let text =
            request("GetTask", r#"{"id":"t"}"#, r#"{"A2A-Version":"1.0","x-acme":"secret"}"#);
        assert_eq!(refused(&text, Place::Direct), "");
        let answer = refused(&text, Place::Group);
        assert!(answer.contains("CREDENTIAL_IN_GROUP") && !answer.contains("secret"), "{answer}");
    }

    #[test]
    fn the_tenant_of_the_interface_is_named_where_it_is_not() {
        let tenant = Value::parse("\"t\\u0031\"").unwrap().as_str();
        let written = |params: &str| {
            let text = request("GetExtendedAgentCard", params, VERSION);
            let mut request = Incoming::read(&text, Place::Direct, &[]).unwrap();
            request.tenant = tenant;
            let text = to_text(|out| request.write(out, 7));
            assert_eq!(to_text(|out| request.write_anew(out, 7)), text);
            Object::parse(&text).unwrap().get("params").unwrap().unwrap().get().into()
        };
        let named: String = written("{}");
        assert_eq!(named, r#"{"tenant":"t\u0031"}"#);
        assert_eq!(written(r#"{"x":1}"#), r#"{"tenant":"t\u0031","x":1}"#);
        assert_eq!(written(r#"{"tenant":"own"}"#), r#"{"tenant":"own"}"#);
        let bare = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard","a2a-service-parameters":{VERSION}}}"#
        );
        let mut request = Incoming::read(&bare, Place::Direct, &[]).unwrap();
        request.tenant = tenant;
        let text = to_text(|out| request.write(out, 7));
        assert!(text.ends_with(r#""params":{"tenant":"t\u0031"}}"#), "{text}");
    }

    #[test]
    fn ids_come_back_as_they_were_written() {
        for id in ["1", "\"1\"", "0", "null", "1e0", "\"caf\\u00e9\"", "123456789012345678901"] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"GetExtendedAgentCard","a2a-service-parameters":{VERSION}}}"#
            );
            let request = Incoming::read(&text, Place::Direct, &[]).unwrap();
            let sent = to_text(|out| request.write(out, 9));
            assert_eq!(sent, r#"{"jsonrpc":"2.0","id":9,"method":"GetExtendedAgentCard"}"#);
            for answer in [
                r#"{"jsonrpc":"2.0","id":9,"result":null}"#,
                r#"{"id":"9","x":1,"result":null,"jsonrpc":"2.0"}"#,
                r#"{"jsonrpc":"2.0","id":9.0,"result":null}"#,
            ] {
                let answer = Answer::read(answer, 9).unwrap();
                let restored = to_text(|out| answer.write(out, request.id.get()));
                assert_eq!(restored, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#));
            }
        }
    }

    #[test]
    fn errors_go_through_whatever_their_data() {
        for (id, data) in [("9", ""), ("null", r#","data":{"a":[1]}"#), ("\"9\"", ",\"data\":[]")] {
            let error = format!(r#"{{"code":-32004,"message":"no"{data}}}"#);
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
            let answer = Answer::read(&text, 9).unwrap();
            assert!(matches!(answer, Answer::Error { code: -32004, .. }));
            let restored = to_text(|out| answer.write(out, "7"));
            assert_eq!(restored, format!(r#"{{"jsonrpc":"2.0","id":7,"error":{error}}}"#));
        }
    }

    #[test]
    fn what_answers_nothing_is_no_answer() {
        let fault = |text| Answer::read(text, 9).unwrap_err();
        for text in ["", "<html>", "[]", r#"{"jsonrpc":"2.0","id":9}"#, r#"{"id":9,"result":1}"#] {
            assert!(matches!(fault(text), AnswerFault::NotJsonRpc(_)), "{text}");
        }
        for id in ["8", "\"x\"", "true", "null", "[]"] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert!(Answer::read(&text, 9).is_err(), "{id}");
        }
        let text = r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":""}}"#;
        assert_eq!(fault(text), AnswerFault::OtherId);
        assert_eq!(fault(r#"{"jsonrpc":"2.0","method":"m"}"#), AnswerFault::NotAnAnswer);
    }
}
