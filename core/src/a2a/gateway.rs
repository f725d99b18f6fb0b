//! A request that a gateway has taken over HTTP and puts into a conversation.

use alloc::string::String;

use super::binding;
use super::stream::field;
use super::{A2a, Incoming, Method, SERVICE_PARAMETERS, text_field, write_with_headers};
use crate::binding::{Binding as _, Place};
use crate::json::{Object, to_text};
use crate::jsonrpc::Request;

/// A request over HTTP, as it goes into a conversation. It is checked as the other side checks it,
/// so that what would be refused there takes no message.
///
/// `Debug` shows no text.
///
/// ```
/// use agentwire_core::a2a::{GatewayRequest, Method};
/// use agentwire_core::binding::Place;
///
/// let body = r#"{"jsonrpc": "2.0", "id": 7, "method": "SubscribeToTask", "params": {"id": "t"}}"#;
/// let headers = [("a2a-version", "1.0")];
/// let request = GatewayRequest::new(body, &headers, None, Place::Direct).unwrap();
/// assert_eq!((request.method(), request.id()), (Method::SubscribeToTask, "7"));
/// assert_eq!(request.task().as_deref(), Some("t"));
/// let answer = GatewayRequest::new("{bad", &headers, None, Place::Direct).unwrap_err();
/// assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#));
/// ```
pub struct GatewayRequest {
    text: String,
    id: String,
    method: Method,
    task: Option<String>,
    history: Option<usize>,
    /// The service parameters, as JSON.
    parameters: String,
}

impl GatewayRequest {
    /// Reads a body and the headers it came with. `query_version` is the version in the URL's
    /// query, which counts where no header names one.
    ///
    /// # Errors
    /// The answer to a request that goes no further.
    pub fn new(
        body: &str,
        headers: &[(&str, &str)],
        query_version: Option<&str>,
        place: Place,
    ) -> Result<Self, String> {
        let request = Request::parse(body).map_err(|rejected| {
            let refusal = binding::refusal(rejected);
            to_text(|out| A2a.write_failure(&refusal.failure, refusal.id, out))
        })?;
        let object = request.object;
        let text = to_text(|out| write_with_headers(out, object, headers, query_version));
        let incoming = Incoming::read(&text, place, &[])
            .map_err(|refused| to_text(|out| refused.write(out)))?;
        let id = String::from(incoming.id.get());
        let method = incoming.method;
        let task = incoming.params.and_then(|params| text_field(params, "id"));
        let history = incoming.params.and_then(history_length);
        let object = Object::parse(&text).ok();
        let parameters = object.and_then(|object| object.get(SERVICE_PARAMETERS).ok().flatten());
        let parameters = String::from(parameters.map_or("{}", |parameters| parameters.get()));
        Ok(Self { text, id, method, task, history, parameters })
    }

    /// The request as it goes into the conversation.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The JSON text of its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its method.
    pub const fn method(&self) -> Method {
        self.method
    }

    /// The task in its parameters: that of `SubscribeToTask`, for example.
    pub fn task(&self) -> Option<String> {
        self.task.clone()
    }

    /// How many messages of a task's history it asks for, if it says so (A2A 1.0 section 3.2.4).
    ///
    /// ```
    /// use agentwire_core::a2a::GatewayRequest;
    /// use agentwire_core::binding::Place;
    /// let body = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t","historyLength":"2"}}"#;
    /// let headers = [("A2A-Version", "1.0")];
    /// let request = GatewayRequest::new(body, &headers, None, Place::Direct).unwrap();
    /// assert_eq!(request.history_length(), Some(2));
    /// ```
    pub const fn history_length(&self) -> Option<usize> {
        self.history
    }

    /// A request of the gateway's own about a task, with the id and the service parameters of this
    /// one: what answers it can be passed on.
    ///
    /// ```
    /// use agentwire_core::a2a::{GatewayRequest, Method};
    /// use agentwire_core::binding::Place;
    /// let body = r#"{"jsonrpc":"2.0","id":"x","method":"SubscribeToTask","params":{"id":"t"}}"#;
    /// let headers = [("A2A-Version", "1.0"), ("x-key", "k")];
    /// let request = GatewayRequest::new(body, &headers, None, Place::Direct).unwrap();
    /// assert_eq!(
    ///     request.about(Method::GetTask, "t"),
    ///     concat!(
    ///         r#"{"jsonrpc":"2.0","id":"x","method":"GetTask","params":{"id":"t"},"#,
    ///         r#""a2a-service-parameters":{"A2A-Version":"1.0","x-key":"k"}}"#
    ///     )
    /// );
    /// ```
    pub fn about(&self, method: Method, task: &str) -> String {
        to_text(|out| {
            out.raw("{\"jsonrpc\":\"2.0\",\"id\":").raw(&self.id).raw(",\"method\":");
            out.string(method.name()).raw(",\"params\":{\"id\":").string(task).raw("},");
            out.string(SERVICE_PARAMETERS).raw(":").raw(&self.parameters).raw("}");
        })
    }
}

/// A number, or its digits in a string, as ProtoJSON takes them.
fn history_length(params: Object<'_>) -> Option<usize> {
    let value = field(&params, "historyLength")?;
    let number = match value.as_str() {
        Some(text) => text.as_plain()?.parse().ok(),
        None => value.as_integer(),
    };
    usize::try_from(number?).ok()
}

impl core::fmt::Debug for GatewayRequest {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("GatewayRequest")
            .field("method", &self.method)
            .field("len", &self.text.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_refused_goes_no_further() {
        let version = [("A2A-Version", "1.0")];
        let answer = |body: &str, headers: &[(&str, &str)], place| {
            GatewayRequest::new(body, headers, None, place).err().unwrap_or_default()
        };
        let get = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#;
        assert_eq!(answer(get, &version, Place::Direct), "");
        assert!(answer(get, &[], Place::Direct).contains("-32009"));
        let credential = [("A2A-Version", "1.0"), ("authorization", "Bearer CANARY")];
        assert_eq!(answer(get, &credential, Place::Direct), "");
        let refused = answer(get, &credential, Place::Group);
        assert!(refused.contains("-32600") && !refused.contains("CANARY"), "{refused}");
        for (body, code) in [
            ("", "-32700"),
            ("[]", "-32600"),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask"}]"#, "-32600"),
            (r#"{"jsonrpc":"2.0","method":"GetTask"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":true,"method":"GetTask"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}"#, "-32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#, "-32601"),
            (r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}"#, "-32602"),
        ] {
            let answer = answer(body, &version, Place::Direct);
            assert!(answer.contains(code), "{body} {answer}");
        }
    }
}
