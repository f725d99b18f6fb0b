//! A server's side: each request is served by a service of its own.

use core::fmt;
use core::future::Future;
use core::pin::Pin;

use agentwire_core::binding::{Failure, Standard};
use rmcp::RoleServer;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{Service, ServiceExt};
use rmcp::transport::OneshotTransport;
use tokio::sync::mpsc;

use crate::bot::{Handler, Replier, Request};

/// An `rmcp` server as the handler of a [`Bot`](crate::bot::Bot).
///
/// Notifications are sent as replies before the last one, in a conversation; over Service RPC,
/// which carries none, they are left out. What the service cannot read is answered with -32600;
/// one that ends without an answer, with the binding's internal error.
///
/// ```
/// use agentwire_core::{binding::Standard, chat::session::Declared};
/// use agentwire_tokio::{bot::Bot, network::Profile, rmcp::Server};
/// use rmcp::ServerHandler;
///
/// #[derive(Clone)]
/// struct Clock;
///
/// impl ServerHandler for Clock {}
///
/// fn serve(profile: Profile) -> Bot {
///     let declared = vec![Declared::new(Standard::MCP, ["2026-07-28"])];
///     Bot::start(profile, declared, Server::new(|| Clock))
/// }
/// ```
pub struct Server<F> {
    factory: F,
}

impl<F, S> Server<F>
where
    F: Fn() -> S + Send + Sync + 'static,
    S: Service<RoleServer>,
{
    /// Serves each request with what `factory` makes.
    pub const fn new(factory: F) -> Self {
        Self { factory }
    }
}

impl<F> fmt::Debug for Server<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// A service that answers one request, and what it says.
type Serving = (Pin<Box<dyn Future<Output = ()> + Send>>, mpsc::Receiver<ServerJsonRpcMessage>);

impl<F, S> Server<F>
where
    F: Fn() -> S + Send + Sync + 'static,
    S: Service<RoleServer>,
{
    /// Starts a service for a request; `None` if it does not know such a request.
    ///
    /// The first message is served by a task that starting awaits only in part, so both are to go on
    /// side by side; the service ends with its answer, and when its future is dropped.
    fn serving(&self, request: &str) -> Option<Serving> {
        let message = serde_json::from_str(request).ok()?;
        let (transport, messages) = OneshotTransport::<RoleServer>::new(message);
        let serving = (self.factory)().serve(transport);
        let serve = Box::pin(async {
            if let Ok(service) = serving.await {
                // An error is a panic of the service's task, which has sent no answer then.
                let _ = service.waiting().await;
            }
        });
        Some((serve, messages))
    }
}

impl<F, S> Handler<Standard> for Server<F>
where
    F: Fn() -> S + Send + Sync + 'static,
    S: Service<RoleServer>,
{
    async fn handle(&self, request: Request, mut replier: Replier) {
        let Some((serve, mut messages)) = self.serving(&request.text) else {
            return replier.fail(Failure::InvalidRequest("not a request that the server knows"));
        };
        let forward = async {
            while let Some(message) = messages.recv().await {
                let is_last = !matches!(message, ServerJsonRpcMessage::Notification(_));
                let Ok(text) = serde_json::to_string(&message) else {
                    return replier.fail(Failure::Internal);
                };
                if is_last {
                    // The caller gets the binding's error if it is not sent.
                    let _ = replier.respond(text).await;
                    return;
                }
                if replier.can_notify() && !matches!(replier.notify(text).await, Ok(None)) {
                    return;
                }
            }
        };
        tokio::join!(serve, forward);
    }
}

/// Before HTTP clients, with a [`Front`](crate::mcp::Front).
#[cfg(all(feature = "gateway", unix))]
impl<F, S> crate::mcp::Answers for Server<F>
where
    F: Fn() -> S + Send + Sync + 'static,
    S: Service<RoleServer>,
{
    type Replies = crate::mcp::Replies;

    async fn answer(&self, request: String) -> Self::Replies {
        use agentwire_core::jsonrpc::{ErrorId, INVALID_REQUEST, Request};

        use crate::mcp::refusal::{error, refusal};

        let serving = self.serving(&request);
        crate::mcp::Replies::of(|lines| async move {
            if let Some(answer) = refusal(&request) {
                // An error: the client is gone. So below.
                let _ = lines.send(answer).await;
                return;
            }
            let Some((serve, mut messages)) = serving else {
                let id = Request::parse(&request);
                let id = id.as_ref().map_or(ErrorId::Absent, |it| ErrorId::Known(it.id.get()));
                let sentence = "not a request that the server knows";
                let _ = lines.send(error(id, INVALID_REQUEST, sentence, None)).await;
                return;
            };
            let forward = async {
                while let Some(message) = messages.recv().await {
                    let Ok(text) = serde_json::to_string(&message) else { return };
                    if lines.send(text).await.is_err() {
                        return;
                    }
                }
            };
            tokio::join!(serve, forward);
        })
    }
}
