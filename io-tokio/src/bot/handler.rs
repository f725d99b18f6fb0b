//! What answers: [`Handler`], and what decides whether it is asked: [`Gate`].

use core::future::{Future, ready};
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;
use std::sync::Arc;

use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::CallKey;
#[cfg(doc)]
use agentwire_core::chat::session::SessionConfig;
use agentwire_core::time::Instant;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tracing::{Instrument, Level, span};

use super::{Replier, Request, Via};
use crate::agent::{Admitted, Command, Pass, RequestKey, Serve};

/// What answers commands and requests over Service RPC: usually a closure. Each is handled in a
/// task of its own, which is ended at its next `.await` if the command's limits
/// ([`SessionConfig::responder`]) pass before its last reply: the caller has got the binding's error
/// then. What blocks a thread belongs into [`spawn_blocking`](tokio::task::spawn_blocking), or it
/// holds up whatever else that thread runs. After its last reply a handler may go on, in its
/// caller's [turn](agentwire_core::turns).
///
/// ```
/// use agentwire_core::binding::{Failure, Standard};
/// use agentwire_tokio::bot::{Handler, Replier, Request};
///
/// struct Refuse;
///
/// impl Handler<Standard> for Refuse {
///     async fn handle(&self, _request: Request, replier: Replier) {
///         replier.fail(Failure::MethodNotFound);
///     }
/// }
/// ```
pub trait Handler<B>: Send + Sync + 'static {
    /// Answers one command. If it panics, or drops the replier without a last reply, the caller
    /// gets the binding's internal error, and other commands notice nothing.
    fn handle(&self, request: Request<B>, replier: Replier<B>) -> impl Future<Output = ()> + Send;
}

impl<B, F, W> Handler<B> for F
where
    F: Fn(Request<B>, Replier<B>) -> W + Send + Sync + 'static,
    W: Future<Output = ()> + Send,
{
    fn handle(&self, request: Request<B>, replier: Replier<B>) -> impl Future<Output = ()> + Send {
        self(request, replier)
    }
}

/// Decides whose requests are handled: who may call, how often, and with whose approval.
///
/// ```
/// use agentwire_core::binding::Failure;
/// use agentwire_core::chat::{Chat, ContactId};
/// use agentwire_core::time::Instant;
/// use agentwire_tokio::bot::{Gate, Request, Via};
///
/// /// One contact and nobody else.
/// struct Only(ContactId);
///
/// impl<B> Gate<B> for Only {
///     type Pass = ();
///
///     fn admit(&self, _: Instant, request: &Request<B>) -> Result<(), Failure<'static>> {
///         match request.via {
///             Via::Chat { chat: Chat::Direct(contact), .. } if contact == self.0 => Ok(()),
///             _ => Err(Failure::InvalidRequest("not for you")),
///         }
///     }
/// }
/// ```
pub trait Gate<B>: Send + Sync + 'static {
    /// What an admitted request holds until its handler is done, or it was answered without one: a
    /// guard that counts it as open, for example.
    type Pass: Send + 'static;

    /// Whether a request is taken up, asked as soon as it arrives; the time is the session's. It
    /// must not block. A panic refuses the request.
    ///
    /// # Errors
    /// With what it is refused.
    fn admit(&self, now: Instant, request: &Request<B>) -> Result<Self::Pass, Failure<'static>>;

    /// Whether [`approve`](Self::approve) may wait for somebody; not by default. If so, a command
    /// has begun only once it is approved.
    fn asks(&self) -> bool {
        false
    }

    /// Whether a request that was taken up and whose turn has come is handled: the place to ask
    /// the owner, as [`Approving`](super::Approving) does. It takes part of the request's time, and
    /// part of its caller's turn.
    ///
    /// # Errors
    /// With what it is refused.
    fn approve(
        &self,
        _request: &Request<B>,
    ) -> impl Future<Output = Result<(), Failure<'static>>> + Send {
        ready(Ok(()))
    }
}

/// Everybody, as often as they like.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_tokio::bot::{BotConfig, Everybody};
/// let config = BotConfig::<Standard, Everybody>::default();
/// assert!(config.declared.is_empty());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(clippy::exhaustive_structs)] // It has nothing to say.
pub struct Everybody;

impl<B> Gate<B> for Everybody {
    type Pass = ();

    fn admit(&self, _: Instant, _: &Request<B>) -> Result<(), Failure<'static>> {
        Ok(())
    }
}

/// A handler, what stands before it, and the way back to the bot.
pub(super) struct Served<B, H, G> {
    pub(super) handler: H,
    pub(super) gate: G,
    /// Whether the session is to be told which command begins.
    pub(super) says_begin: bool,
    // Weak: the task does not keep itself alive.
    pub(super) commands: mpsc::WeakUnboundedSender<Command<B>>,
}

impl<B: Binding + Send + 'static, H: Handler<B>, G: Gate<B>> Serve<B> for Served<B, H, G> {
    fn admit(&self, now: Instant, request: &Request<B>) -> Result<Pass, Failure<'static>> {
        // Whoever counts callers and panics has to live with what it has counted until then.
        match catch_unwind(AssertUnwindSafe(|| self.gate.admit(now, request))) {
            Ok(admitted) => admitted.map(|pass| Pass(Box::new(pass))),
            Err(_) => Err(Failure::Internal),
        }
    }

    fn begin(
        self: Arc<Self>,
        admitted: Admitted<B>,
        key: RequestKey,
        tasks: &mut JoinSet<()>,
    ) -> Option<AbortHandle> {
        let Admitted { request, pass } = admitted;
        let commands = self.commands.upgrade()?;
        let replier = Replier::new(key, commands.clone());
        let span = span(&request);
        // A panic ends this task alone; it drops the replier, which answers.
        let handle = async move {
            let _pass = pass;
            match self.gate.approve(&request).await {
                // What was answered meanwhile is not run.
                Ok(()) if self.says_begin && !begun(request.via.clone(), &commands).await => {}
                Ok(()) => self.handler.handle(request, replier).await,
                Err(failure) => replier.fail(failure),
            }
        };
        Some(tasks.spawn(handle.instrument(span)))
    }
}

/// Whether a command has begun, and the call journal says so. A request over Service RPC has no
/// place there.
async fn begun<B>(via: Via, commands: &mpsc::UnboundedSender<Command<B>>) -> bool {
    let Via::Chat { chat, item, .. } = via else { return true };
    let (done, is_done) = oneshot::channel();
    let call = CallKey::new(chat, item);
    commands.send(Command::Begin { call, done }).is_ok() && is_done.await.unwrap_or(false)
}

/// Says which request is handled, with ids and sizes: never what it says.
fn span<B: Binding>(request: &Request<B>) -> tracing::Span {
    let bytes = request.text.len();
    let span = span!(
        Level::INFO,
        "request",
        bytes,
        chat = tracing::field::Empty,
        item = tracing::field::Empty,
        signed = tracing::field::Empty,
    );
    match &request.via {
        Via::Chat { chat, item, .. } => {
            span.record("chat", tracing::field::display(chat)).record("item", item.0);
        }
        Via::Service { signer } => {
            span.record("signed", signer.is_some());
        }
    }
    span
}
