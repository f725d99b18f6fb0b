//! A client's side: each request is a call, each of its replies a message received.

use core::fmt;
use core::future::Future;
use std::collections::HashMap;

use agentwire_core::binding::Standard;
use agentwire_core::chat::{CallOptions, Target};
use agentwire_core::rpc::session::ServiceReplyKind;
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use crate::client::{Client, ClientError, RequestError, RequestOptions, ServiceTarget};

/// Messages that wait for the SDK to take them; beyond that, replies wait in their calls.
const RECEIVED: usize = 64;

/// An MCP server at the other end of a conversation, or behind an address for Service RPC, as a
/// transport of an `rmcp` client.
///
/// A reply that is no message of the protocol, a call that ends without a last reply, and an error
/// of Service RPC's envelope become the request's JSON-RPC error -32603 with the `reason` in its
/// data; a call that is not made at all is an error of the transport.
///
/// ```
/// use agentwire_core::chat::ContactId;
/// use agentwire_tokio::{client::Client, rmcp::ClientTransport};
/// use rmcp::model::ProtocolVersion;
/// use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt};
///
/// async fn tools(client: Client, bot: ContactId) -> Result<usize, ClientInitializeError> {
///     let lifecycle =
///         ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
///     let server = ().serve_with_lifecycle(ClientTransport::new(client, bot), lifecycle).await?;
///     Ok(server.list_all_tools().await.map_or(0, |tools| tools.len()))
/// }
/// ```
#[derive(Debug)]
pub struct ClientTransport {
    client: Client,
    route: Route,
    deliver: mpsc::Sender<ServerJsonRpcMessage>,
    receiver: mpsc::Receiver<ServerJsonRpcMessage>,
    /// One task for each call that is open; they end with the transport.
    tasks: JoinSet<()>,
    calls: HashMap<RequestId, AbortHandle>,
}

#[derive(Clone, Debug)]
enum Route {
    Chat(Target, CallOptions),
    Service(ServiceTarget, RequestOptions),
}

/// Why a message was not sent.
///
/// ```
/// use agentwire_tokio::rmcp::TransportError;
/// assert_eq!(TransportError::NoAnswers.to_string(), "a server asks nothing that could be answered");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum TransportError {
    /// The message cannot be written as JSON.
    Json(serde_json::Error),
    /// The call was not made.
    Call(ClientError),
    /// The request over Service RPC was not made.
    Request(RequestError),
    /// It answers a request of the server, and there are none in the revision that is spoken.
    NoAnswers,
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Call(error) => error.fmt(f),
            Self::Request(error) => error.fmt(f),
            Self::NoAnswers => f.write_str("a server asks nothing that could be answered"),
        }
    }
}

impl core::error::Error for TransportError {}

impl ClientTransport {
    /// Calls `target` in a conversation.
    #[must_use]
    pub fn new(client: Client, target: impl Into<Target>) -> Self {
        Self::with_options(client, target, CallOptions::default())
    }

    /// The same with limits for each call. Its wait has to be longer than the SDK's own timeout,
    /// which knows about progress.
    #[must_use]
    pub fn with_options(client: Client, target: impl Into<Target>, options: CallOptions) -> Self {
        Self::over(client, Route::Chat(target.into(), options))
    }

    /// Makes each request over Service RPC: one response, and no notification before it.
    #[must_use]
    pub fn over_service_rpc(
        client: Client,
        target: impl Into<ServiceTarget>,
        options: RequestOptions,
    ) -> Self {
        Self::over(client, Route::Service(target.into(), options))
    }

    fn over(client: Client, route: Route) -> Self {
        let (deliver, receiver) = mpsc::channel(RECEIVED);
        let (tasks, calls) = (JoinSet::new(), HashMap::new());
        Self { client, route, deliver, receiver, tasks, calls }
    }

    /// Makes the call of one request in a task of its own, and says when it is made.
    fn call(&mut self, id: RequestId, text: String) -> Made {
        while self.tasks.try_join_next().is_some() {}
        self.calls.retain(|_, call| !call.is_finished());
        let (made, is_made) = oneshot::channel();
        let call = Call { id: id.clone(), deliver: self.deliver.clone(), made };
        let client = self.client.clone();
        let task = match self.route.clone() {
            Route::Chat(target, options) => {
                self.tasks.spawn(call.in_chat(client, target, text, options))
            }
            Route::Service(target, options) => {
                self.tasks.spawn(call.over_service_rpc(client, target, text, options))
            }
        };
        self.calls.insert(id, task);
        is_made
    }
}

type Made = oneshot::Receiver<Result<(), TransportError>>;

/// An open call, in its task.
struct Call {
    id: RequestId,
    deliver: mpsc::Sender<ServerJsonRpcMessage>,
    made: oneshot::Sender<Result<(), TransportError>>,
}

impl Call {
    async fn in_chat(self, client: Client, target: Target, text: String, options: CallOptions) {
        let Self { id, deliver, made } = self;
        let mut replies = match client.call(Standard::MCP, target, text, options).await {
            Ok(replies) => replies,
            // Whoever gave the call up does not listen any more.
            Err(error) => return drop(made.send(Err(TransportError::Call(error)))),
        };
        let _ = made.send(Ok(()));
        while let Some(reply) = replies.next().await {
            let message = match reply {
                // A later text of a notification says nothing new to the SDK.
                Ok(reply) if reply.edited && !reply.is_end => continue,
                Ok(reply) => message(&reply.text, &id),
                Err(error) => failed(id.clone(), reason(&error), &error),
            };
            if deliver.send(message).await.is_err() {
                return;
            }
        }
    }

    async fn over_service_rpc(
        self,
        client: Client,
        target: ServiceTarget,
        text: String,
        options: RequestOptions,
    ) {
        let Self { id, deliver, made } = self;
        let response = client.request(Standard::MCP, target, text, options);
        let message = match response.await {
            Err(error) => return drop(made.send(Err(TransportError::Request(error)))),
            Ok(reply) => match &reply.kind {
                ServiceReplyKind::Answer { text, .. } => message(text, &id),
                ServiceReplyKind::Error { code_text, .. } => failed(id, code_text, &reply.kind),
                ServiceReplyKind::Silence => failed(id, "timed_out", &reply.kind),
                kind => failed(id, "no_answer", kind),
            },
        };
        let _ = made.send(Ok(()));
        // An error: the transport is gone.
        let _ = deliver.send(message).await;
    }
}

const fn reason(error: &ClientError) -> &'static str {
    match error {
        ClientError::TimedOut(_) => "timed_out",
        ClientError::Lagged => "lagged",
        ClientError::Closed => "closed",
        _ => "not_sent",
    }
}

fn message(text: &str, id: &RequestId) -> ServerJsonRpcMessage {
    serde_json::from_str(text).unwrap_or_else(|error| failed(id.clone(), "no_message", &error))
}

fn failed(id: RequestId, reason: &str, error: &dyn fmt::Display) -> ServerJsonRpcMessage {
    let data = json!({ "reason": reason });
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, error.to_string(), Some(data));
    ServerJsonRpcMessage::error(error, Some(id))
}

impl Transport<RoleClient> for ClientTransport {
    type Error = TransportError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let sent = match &message {
            ClientJsonRpcMessage::Request(request) => match serde_json::to_string(&message) {
                Ok(text) => Ok(Some(self.call(request.id.clone(), text))),
                Err(error) => Err(TransportError::Json(error)),
            },
            ClientJsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                {
                    let call = cancelled.params.request_id.as_ref();
                    if let Some(call) = call.and_then(|id| self.calls.remove(id)) {
                        call.abort();
                    }
                }
                Ok(None)
            }
            ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => {
                Err(TransportError::NoAnswers)
            }
        };
        async move {
            match sent? {
                // Given up before it was made: nobody waits for it.
                Some(is_made) => is_made.await.unwrap_or(Ok(())),
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.receiver.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.receiver.close();
        self.tasks.shutdown().await;
        Ok(())
    }
}
