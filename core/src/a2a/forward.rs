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

use super::check::{Form, check_params, write_invalid_params};
use super::credential::sets_push_config;
use super::error::{A2aError, ErrorBody};
use super::word::is_field;
use super::{A2a, Method, ServiceParameters};
use crate::binding::{Binding as _, Failure, Place};
use crate::json::{Object, Value, Writer};
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
        let request = Request::parse(text)
            .map_err(|rejected| Refused { cause: Cause::Failure(Failure::InvalidMessage(rejected.fault)), id })?;
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
        Ok(Self { method, id: request.id, params, parameters })
    }

    /// Writes the request as it goes to the agent, with an id of the proxy's own.
    pub fn write(&self, out: &mut Writer<'_>, id: i64) {
        self.write_head(out, id);
        if let Some(params) = self.params {
            out.raw(",\"params\":").raw(params.get_text());
        }
        out.raw("}");
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
            write_members(out, params, &mut |out, name, value| {
                let message = value.as_object().filter(|_| name == *"message");
                let Some(message) = message else { return false };
                out.raw(name.get()).raw(":");
                write_members(out, message, &mut |_, name, _| {
                    is_field(name, "taskId") || is_field(name, "contextId")
                }, Left::Out);
                true
            }, Left::Written);
        }
        out.raw("}");
    }

    fn write_head(&self, out: &mut Writer<'_>, id: i64) {
        out.raw("{\"jsonrpc\":\"2.0\",\"id\":").int(id);
        out.raw(",\"method\":").string(self.method.name());
    }
}
