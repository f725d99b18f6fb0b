//! The loopback in this process as the agent's machine.

use core::future::{Future, pending};

use agentwire_blocking::machine::Step;
use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::caller::{Call, CallError, CallId};
use agentwire_core::chat::responder::{RespondError, Token};
use agentwire_core::chat::session::{NotifyError, Origin, Session};
use agentwire_core::chat::size::TooLarge;
use agentwire_core::loopback::{self, Endpoint, Loopback, ServiceStep};
use agentwire_core::rpc::session::ServiceSession;
use agentwire_core::rpc::{ErrorCode, RequestId, ServiceAnswerError, ServiceCall, ServiceCallId};
use agentwire_core::time::Instant;
use tokio::sync::watch;

use super::machine::Machine;
use crate::client::{NotSent, RequestError, ServiceTarget};
use crate::network::{Profile, ServiceNotSent};

pub(crate) struct Embedded<B> {
    profile: Profile,
    endpoint: Endpoint<B>,
    changes: watch::Receiver<u64>,
    has_sent: bool,
}

impl<B: Binding> Embedded<B> {
    pub(crate) fn new(
        profile: Profile,
        session: Session<B>,
        service: ServiceSession<B, loopback::ServiceTarget>,
    ) -> Self {
        let endpoint = Endpoint::with_service(profile.id(), session, service);
        let changes = profile.network().changes();
        Self { profile, endpoint, changes, has_sent: false }
    }

    /// Told before anybody can answer it: observers see messages in their order.
    fn tell(&self, net: &Loopback, now: Instant, step: &loopback::Step<B>) {
        let network = self.profile.network();
        let service = |message| network.tell_service(net, &self.profile, now, message);
        match step {
            loopback::Step::Sent(sent) => network.tell(&self.profile, now, Ok(sent)),
            loopback::Step::NotSent(_, error) => network.tell(&self.profile, now, Err(error)),
            loopback::Step::Service(ServiceStep::Sent(sent)) => service(Ok(sent)),
            loopback::Step::Service(ServiceStep::RequestNotSent(_, error)) => {
                service(Err(ServiceNotSent::Request(*error)));
            }
            loopback::Step::Service(ServiceStep::ResponseNotSent(_, error)) => {
                service(Err(ServiceNotSent::Response(*error)));
            }
            _ => {}
        }
    }
}

impl<B: Binding + Send + 'static> Machine<B> for Embedded<B> {
    fn now(&self) -> Instant {
        self.profile.network().now()
    }

    fn call(&mut self, call: &Call<'_, B>) -> Result<CallId, CallError<'static>> {
        let now = self.now();
        self.endpoint.session_mut().call(now, call).map_err(CallError::detached)
    }

    fn cancel(&mut self, call: CallId) {
        self.endpoint.session_mut().cancel(call);
    }

    fn request(
        &mut self,
        target: ServiceTarget,
        call: &ServiceCall<'_, B>,
    ) -> Result<ServiceCallId, RequestError> {
        let target = target.embedded().ok_or(RequestError::NotSent(NotSent::Target))?;
        let now = self.now();
        let service = self.endpoint.service_mut();
        service.request(now, target, call).map_err(|error| RequestError::Call(error.detached()))
    }

    fn cancel_request(&mut self, call: ServiceCallId) {
        self.endpoint.service_mut().cancel(call);
    }

    fn notify(&mut self, token: &Token, text: &str) -> Result<Option<TooLarge>, NotifyError> {
        let now = self.now();
        self.endpoint.session_mut().notify(now, token, text)
    }

    fn respond(&mut self, token: Token, text: &str) -> Result<Option<TooLarge>, RespondError> {
        let now = self.now();
        self.endpoint.session_mut().respond(now, token, text)
    }

    fn fail(&mut self, token: Token, failure: &Failure<'_>) {
        let now = self.now();
        let _ = self.endpoint.session_mut().fail(now, token, failure);
    }

    fn respond_service(
        &mut self,
        request: &RequestId,
        text: &str,
    ) -> Result<Option<TooLarge>, ServiceAnswerError> {
        let now = self.now();
        self.endpoint.service_mut().respond(now, request, text)
    }

    fn fail_service(&mut self, request: &RequestId, failure: &Failure<'_>) {
        let now = self.now();
        let _ = self.endpoint.service_mut().fail(now, request, failure);
    }

    fn require_conversation(&mut self, request: &RequestId) {
        let (now, code) = (self.now(), ErrorCode::ConversationRequired);
        let _ = self.endpoint.service_mut().fail_with(now, request, code, None, None);
    }

    fn stop(&mut self) {
        self.endpoint.session_mut().stop();
        self.endpoint.service_mut().stop();
    }

    fn is_done(&self) -> bool {
        self.endpoint.session().open_requests() == 0 && self.endpoint.service().open_requests() == 0
    }

    fn begin(&mut self) {
        self.changes.mark_unchanged();
    }

    fn step(&mut self) -> Step<B> {
        let network = self.profile.network().clone();
        let now = network.now();
        let mut net = network.lock();
        let step = self.endpoint.poll(&mut net, now);
        self.tell(&net, now, &step);
        drop(net);
        self.has_sent |=
            matches!(step, loopback::Step::Sent(_) | loopback::Step::Service(ServiceStep::Sent(_)));
        match step {
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
        }
    }

    fn end(&mut self) {
        if core::mem::take(&mut self.has_sent) {
            self.profile.network().wake();
        }
    }

    async fn wait(&mut self, until: Option<Instant>) {
        let deadline = until.and_then(|until| self.profile.network().deadline(until));
        let expired = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => pending().await,
            }
        };
        tokio::select! {
            _ = self.changes.changed() => {}
            () = expired => {}
        }
    }

    fn close(self) -> impl Future<Output = ()> + Send {
        core::future::ready(())
    }
}
