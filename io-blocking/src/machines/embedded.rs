//! The loopback in this process.

use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::caller::{Call, CallError, CallId};
use agentwire_core::chat::responder::{RespondError, Token};
use agentwire_core::chat::session::{NotifyError, Origin, Session};
use agentwire_core::chat::size::TooLarge;
use agentwire_core::loopback::{self, Endpoint, ServiceStep};
use agentwire_core::rpc::session::ServiceSession;
use agentwire_core::rpc::{ErrorCode, RequestId, ServiceAnswerError, ServiceCall, ServiceCallId};
use agentwire_core::time::Instant;

use crate::client::{NotSent, RequestError, ServiceTarget};
use crate::machine::Step;
use crate::network::Profile;

pub(crate) struct Embedded<B> {
    profile: Profile,
    endpoint: Endpoint<B>,
}

impl<B: Binding> Embedded<B> {
    pub(crate) fn new(
        profile: Profile,
        session: Session<B>,
        service: ServiceSession<B, loopback::ServiceTarget>,
    ) -> Self {
        let endpoint = Endpoint::with_service(profile.id(), session, service);
        Self { profile, endpoint }
    }

    fn now(&self) -> Instant {
        self.profile.network().now()
    }

    pub(super) fn call(&mut self, call: &Call<'_, B>) -> Result<CallId, CallError<'static>> {
        let now = self.now();
        self.endpoint.session_mut().call(now, call).map_err(CallError::detached)
    }

    pub(super) fn cancel(&mut self, call: CallId) {
        self.endpoint.session_mut().cancel(call);
    }

    pub(super) fn request(
        &mut self,
        target: ServiceTarget,
        call: &ServiceCall<'_, B>,
    ) -> Result<ServiceCallId, RequestError> {
        let target = target.embedded().ok_or(RequestError::NotSent(NotSent::Target))?;
        let now = self.now();
        let service = self.endpoint.service_mut();
        service.request(now, target, call).map_err(|error| RequestError::Call(error.detached()))
    }

    pub(super) fn cancel_request(&mut self, call: ServiceCallId) {
        self.endpoint.service_mut().cancel(call);
    }

    pub(super) fn notify(
        &mut self,
        token: &Token,
        text: &str,
    ) -> Result<Option<TooLarge>, NotifyError> {
        let now = self.now();
        self.endpoint.session_mut().notify(now, token, text)
    }

    pub(super) fn respond(
        &mut self,
        token: Token,
        text: &str,
    ) -> Result<Option<TooLarge>, RespondError> {
        let now = self.now();
        self.endpoint.session_mut().respond(now, token, text)
    }

    pub(super) fn fail(&mut self, token: Token, failure: &Failure<'_>) {
        let now = self.now();
        let _ = self.endpoint.session_mut().fail(now, token, failure);
    }

    pub(super) fn respond_service(
        &mut self,
        request: &RequestId,
        text: &str,
    ) -> Result<Option<TooLarge>, ServiceAnswerError> {
        let now = self.now();
        self.endpoint.service_mut().respond(now, request, text)
    }

    pub(super) fn fail_service(&mut self, request: &RequestId, failure: &Failure<'_>) {
        let now = self.now();
        let _ = self.endpoint.service_mut().fail(now, request, failure);
    }

    pub(super) fn require_conversation(&mut self, request: &RequestId) {
        let (now, code) = (self.now(), ErrorCode::ConversationRequired);
        let _ = self.endpoint.service_mut().fail_with(now, request, code, None, None);
    }

    pub(super) fn is_open(&self, token: &Token) -> bool {
        self.endpoint.session().budget(token).is_some()
    }

    pub(super) fn stop(&mut self) {
        self.endpoint.session_mut().stop();
        self.endpoint.service_mut().stop();
    }

    pub(super) fn is_done(&self) -> bool {
        self.endpoint.session().open_requests() == 0 && self.endpoint.service().open_requests() == 0
    }

    #[expect(clippy::unused_self, clippy::needless_pass_by_ref_mut, reason = "as at a core")]
    pub(super) const fn begin(&mut self) {}

    pub(super) fn step(&mut self) -> (Step<B>, Option<u64>) {
        let network = self.profile.network().clone();
        let (step, seen) = network.step(|net| {
            let step = self.endpoint.poll(net, network.now());
            // Others may have received something, or wait for the last answer.
            let is_change = matches!(
                step,
                loopback::Step::Sent(_) | loopback::Step::NotSent(..) | loopback::Step::Service(_)
            );
            (step, is_change)
        });
        let step = match step {
            loopback::Step::Sent(sent) => match sent.origin {
                Origin::Answer(token, _) => Step::Answer(token, Ok(())),
                _ => Step::Nothing,
            },
            loopback::Step::NotSent(message, error) => Step::not_sent(message.origin, error.into()),
            loopback::Step::Event(event) => Step::Event(event),
            loopback::Step::Service(ServiceStep::Sent(sent)) => match sent.request_id {
                Some(request) => Step::Response(request, Ok(())),
                None => Step::Nothing,
            },
            loopback::Step::Service(ServiceStep::RequestNotSent(call, error)) => {
                Step::RequestNotSent(call, error.into())
            }
            loopback::Step::Service(ServiceStep::ResponseNotSent(request, error)) => {
                Step::Response(request, Err(error.into()))
            }
            loopback::Step::Service(ServiceStep::Event(event)) => Step::Service(event),
            loopback::Step::Timeout(timeout) => Step::Idle(timeout),
        };
        (step, Some(seen))
    }

    #[expect(clippy::unused_self, clippy::needless_pass_by_ref_mut, reason = "as at a core")]
    pub(super) const fn end(&mut self) {}
}
