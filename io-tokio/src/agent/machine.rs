//! What the [`Agent`](super::Agent) turns: a session and whatever carries its messages.

use core::future::Future;

use agentwire_blocking::machine::Step;
use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::CallKey;
use agentwire_core::chat::caller::{Call, CallError, CallId};
use agentwire_core::chat::responder::{RespondError, Token};
use agentwire_core::chat::session::NotifyError;
use agentwire_core::chat::size::TooLarge;
use agentwire_core::rpc::{RequestId, ServiceAnswerError, ServiceCall, ServiceCallId};
use agentwire_core::simplex::{AskError, CommandId, Publication};
use agentwire_core::time::Instant;

use crate::client::{RequestError, ServiceTarget};

pub(crate) trait Machine<B: Binding>: Send + 'static {
    fn now(&self) -> Instant;

    fn call(&mut self, call: &Call<'_, B>) -> Result<CallId, CallError<'static>>;

    fn cancel(&mut self, call: CallId);

    fn request(
        &mut self,
        target: ServiceTarget,
        call: &ServiceCall<'_, B>,
    ) -> Result<ServiceCallId, RequestError>;

    fn cancel_request(&mut self, call: ServiceCallId);

    fn notify(&mut self, token: &Token, text: &str) -> Result<Option<TooLarge>, NotifyError>;

    fn respond(&mut self, token: Token, text: &str) -> Result<Option<TooLarge>, RespondError>;

    /// An error means that the command has been answered, and that is what this is for.
    fn fail(&mut self, token: Token, failure: &Failure<'_>);

    fn respond_service(
        &mut self,
        request: &RequestId,
        text: &str,
    ) -> Result<Option<TooLarge>, ServiceAnswerError>;

    fn fail_service(&mut self, request: &RequestId, failure: &Failure<'_>);

    /// The request needs a conversation.
    fn require_conversation(&mut self, request: &RequestId);

    /// Has the core do something; `None` where there is no core.
    fn command(&mut self, _text: &str) -> Option<Result<CommandId, AskError>> {
        None
    }

    fn publish(&mut self, _publication: Publication) -> Option<Result<CommandId, AskError>> {
        None
    }

    /// A command is run from now on, where the session is to be told so: whether it is still to be
    /// answered. It counts once it is [kept](Self::is_kept).
    fn begin_call(&mut self, _call: CallKey) -> bool {
        true
    }

    /// Whether all that has happened is where it outlives the process, if it is to be.
    fn is_kept(&self) -> bool {
        true
    }

    /// Takes no new commands from now on.
    fn stop(&mut self);

    /// Whether nothing is open or on its way any more.
    fn is_done(&self) -> bool;

    /// Whatever arrives from here on ends the next [`wait`](Self::wait).
    fn begin(&mut self) {}

    fn step(&mut self) -> Step<B>;

    /// Called after some steps, before the others have their turn.
    fn end(&mut self) {}

    /// Waits until there may be another step, at the latest at this time. Dropping the future
    /// loses nothing.
    fn wait(&mut self, until: Option<Instant>) -> impl Future<Output = ()> + Send;

    /// What there is to do after the last step.
    fn close(self) -> impl Future<Output = ()> + Send;
}
