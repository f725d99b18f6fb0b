//! A session and what carries its messages: the embedded loopback, or a core's sockets.

mod embedded;
#[cfg(unix)]
mod linked;

use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::caller::{Call, CallError, CallId};
use agentwire_core::chat::responder::{RespondError, Token};
use agentwire_core::chat::session::NotifyError;
use agentwire_core::chat::size::TooLarge;
use agentwire_core::rpc::{RequestId, ServiceAnswerError, ServiceCall, ServiceCallId};

use crate::client::{RequestError, ServiceTarget};
use crate::machine::Step;
pub(crate) use embedded::Embedded;
#[cfg(unix)]
pub(crate) use linked::{Keep, Linked, turn};

#[expect(clippy::large_enum_variant, reason = "there is one for each client and bot")]
pub(crate) enum Machine<B> {
    Embedded(Embedded<B>),
    #[cfg(unix)]
    Linked(Linked<B>),
}

macro_rules! each {
    ($machine:expr, $inner:ident => $do:expr) => {
        match $machine {
            Machine::Embedded($inner) => $do,
            #[cfg(unix)]
            Machine::Linked($inner) => $do,
        }
    };
}

impl<B: Binding> Machine<B> {
    pub(crate) fn call(&mut self, call: &Call<'_, B>) -> Result<CallId, CallError<'static>> {
        each!(self, machine => machine.call(call))
    }

    pub(crate) fn cancel(&mut self, call: CallId) {
        each!(self, machine => machine.cancel(call));
    }

    pub(crate) fn request(
        &mut self,
        target: ServiceTarget,
        call: &ServiceCall<'_, B>,
    ) -> Result<ServiceCallId, RequestError> {
        each!(self, machine => machine.request(target, call))
    }

    pub(crate) fn cancel_request(&mut self, call: ServiceCallId) {
        each!(self, machine => machine.cancel_request(call));
    }

    pub(crate) fn notify(
        &mut self,
        token: &Token,
        text: &str,
    ) -> Result<Option<TooLarge>, NotifyError> {
        each!(self, machine => machine.notify(token, text))
    }

    pub(crate) fn respond(
        &mut self,
        token: Token,
        text: &str,
    ) -> Result<Option<TooLarge>, RespondError> {
        each!(self, machine => machine.respond(token, text))
    }

    /// An error means that the command has been answered, and that is what this is for.
    pub(crate) fn fail(&mut self, token: Token, failure: &Failure<'_>) {
        each!(self, machine => machine.fail(token, failure));
    }

    pub(crate) fn respond_service(
        &mut self,
        request: &RequestId,
        text: &str,
    ) -> Result<Option<TooLarge>, ServiceAnswerError> {
        each!(self, machine => machine.respond_service(request, text))
    }

    pub(crate) fn fail_service(&mut self, request: &RequestId, failure: &Failure<'_>) {
        each!(self, machine => machine.fail_service(request, failure));
    }

    /// The request needs a conversation.
    pub(crate) fn require_conversation(&mut self, request: &RequestId) {
        each!(self, machine => machine.require_conversation(request));
    }

    /// Whether an answer to the command is still waited for.
    pub(crate) fn is_open(&self, token: &Token) -> bool {
        each!(self, machine => machine.is_open(token))
    }

    /// Takes no new commands from now on.
    pub(crate) fn stop(&mut self) {
        each!(self, machine => machine.stop());
    }

    /// Whether nothing is open or on its way any more.
    pub(crate) fn is_done(&self) -> bool {
        each!(self, machine => machine.is_done())
    }

    /// Before the first step.
    pub(crate) fn begin(&mut self) {
        each!(self, machine => machine.begin());
    }

    /// The next step, and how many changes there were until then, where that is known.
    pub(crate) fn step(&mut self) -> (Step<B>, Option<u64>) {
        each!(self, machine => machine.step())
    }

    /// After the last step.
    pub(crate) fn end(&mut self) {
        each!(self, machine => machine.end());
    }
}
