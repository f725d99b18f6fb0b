//! A server's side: each command is served by a service of its own.

use core::fmt;

use agentwire_core::binding::{Failure, Standard};
use rmcp::RoleServer;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{Service, ServiceExt};
use rmcp::transport::OneshotTransport;

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

impl<F, S> Handler<Standard> for Server<F>
where
    F: Fn() -> S + Send + Sync + 'static,
    S: Service<RoleServer>,
{
    async fn handle(&self, request: Request, mut replier: Replier) {
        let Ok(message) = serde_json::from_str(&request.text) else {
            return replier.fail(Failure::InvalidRequest("not a request that the server knows"));
        };
        let (transport, mut messages) = OneshotTransport::<RoleServer>::new(message);
        let serving = (self.factory)().serve(transport);
        // The first message is served by a task that starting awaits only in part, so both go on
        // side by side; the service ends with its answer, and when this future is dropped.
        let serve = async {
            if let Ok(service) = serving.await {
                // An error is a panic of the service's task, which has sent no answer then.
                let _ = service.waiting().await;
            }
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
