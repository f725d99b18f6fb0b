//! What the core answers, and what becomes of a command that it does not answer.

use alloc::string::ToString;

use super::Session;
use super::connection::InFlight;
use super::jobs::Job;
use super::output::{CommandId, Disconnect, Event, Link, NotSent, Outcome, Output, OwnedFrame};
use super::recheck::Unconfirmed;
use crate::binding::Binding;
use crate::chat::session::{Message, Origin};
use crate::rpc::session::ServiceInput;
use crate::rpc::{CoreFailure, ServiceCallId};
use crate::simplex::command::CommandError;
use crate::simplex::error::{CoreErrorKind, CoreRefusal};
use crate::simplex::frame::{Body, Frame};

impl<B: Binding> Session<B> {
    /// The core has answered a command.
    pub(super) fn answered(&mut self, sent: InFlight, text: &str, frame: &Frame<'_>) {
        if self.has_stopped(frame) && matches!(sent.job, Job::Message(_) | Job::Response { .. }) {
            // Nothing was done: it is sent once the chat runs again.
            self.chat_link.queue.push_front(sent.job);
            self.give_up(Link::Chat, Disconnect::Stopped);
            return;
        }
        match sent.job {
            Job::Start(step) => self.step_answered(step, frame.body()),
            Job::Look(look) => self.looked(look, frame.body()),
            Job::Overview => {
                self.overviewed(frame.body());
                self.has_looked();
            }
            Job::Members(group) => self.named(group, frame.body()),
            Job::Message(message) => self.message_answered(&message, frame),
            Job::Request { call, .. } => match frame.body() {
                Ok(Body::ServiceResponse(data)) => {
                    let text = data.get_text();
                    // A response is always taken.
                    let input = ServiceInput::Response { call, text };
                    let _ = self.service.handle_input(self.now, input);
                    self.pump();
                }
                Ok(Body::Error(error)) => self.service_failed(call, error.failure()),
                _ => self.service_failed(call, CoreFailure::Other),
            },
            Job::Response { request, is_again, .. } => {
                let event = match frame.error() {
                    None => Event::ResponseSent(request),
                    // The first one was taken, and its answer was lost.
                    Some(error) if is_again && error.failure() == CoreFailure::NoPendingRequest => {
                        Event::ResponseSent(request)
                    }
                    Some(error) => Event::ResponseNotSent { request, refusal: error.into() },
                };
                self.outputs.push_back(Output::Event(event));
            }
            Job::Command { id, .. } => {
                let outcome = match frame.error() {
                    Some(error) => Outcome::Refused(error.into()),
                    // It was read before, so it can be kept.
                    None => OwnedFrame::new(text).map_or(Outcome::Unknown, Outcome::Response),
                };
                self.done(id, outcome);
            }
            Job::Publish { id, publication, write, until } => {
                let outcome = match (write, frame.body()) {
                    (_, Ok(Body::Error(error))) => Outcome::Refused(error.into()),
                    (Some(_), Ok(Body::ProfileUpdated(profile))) => {
                        Outcome::Published { is_kept: publication.is_kept(profile) }
                    }
                    (Some(_), Ok(Body::Group(change))) => {
                        let kept = change.group.profile.map(|profile| publication.is_kept(profile));
                        Outcome::Published { is_kept: kept.unwrap_or(false) }
                    }
                    // The core sees no difference: it held this before, or does not see it.
                    (Some((_, was_kept)), Ok(Body::ProfileNoChange)) => {
                        Outcome::Published { is_kept: was_kept }
                    }
                    (None, Ok(body)) => {
                        let profile = match (publication.group(), body) {
                            (None, Body::ActiveUser(user)) => user.profile,
                            (Some(group), Body::Groups(mut groups)) => groups
                                .find_map(|known| known.ok().filter(|known| known.id == group))
                                .and_then(|group| group.profile),
                            _ => None,
                        };
                        let user = self.user_id();
                        let was_kept = profile.is_some_and(|profile| publication.is_kept(profile));
                        match profile.map(|profile| publication.write(user, profile)) {
                            Some(Ok(text)) => {
                                let write = Some((text, was_kept));
                                let next = Job::Publish { id, publication, write, until };
                                self.chat_link.queue.push_front(next);
                                return;
                            }
                            Some(Err(error)) => Outcome::Profile(error),
                            None => Outcome::NoSuchGroup,
                        }
                    }
                    _ => Outcome::Unknown,
                };
                self.done(id, outcome);
            }
        }
    }

    /// Whether the core says that somebody has stopped the chat since it was started.
    fn has_stopped(&self, frame: &Frame<'_>) -> bool {
        let kind = frame.error().map(|error| error.kind());
        kind == Some(CoreErrorKind::ChatNotStarted) && self.ready().is_some()
    }

    fn message_answered(&mut self, message: &Message, frame: &Frame<'_>) {
        match frame.body() {
            Ok(Body::Error(error)) => {
                self.unrecord(message);
                let (origin, chat) = (message.origin, message.chat);
                self.was_not_sent(origin, chat, NotSent::Refused(error.into()));
            }
            Ok(Body::NewChatItems(mut items)) => match items.next() {
                Some(Ok(item)) => self.was_sent(message, &item),
                _ => self.unknown(message),
            },
            _ => self.unknown(message),
        }
    }

    /// Whether a message was sent cannot be found out.
    pub(super) fn unknown(&mut self, message: &Message) {
        let (origin, chat) = (message.origin, message.chat);
        self.unrecord(message);
        self.outputs.push_back(Output::Event(Event::OutcomeUnknown { origin, chat }));
        if let Origin::Command(call) = origin {
            self.calls.remove(&call);
            self.chat.cancel(call);
            self.pump();
        }
    }

    pub(super) fn done(&mut self, command: CommandId, outcome: Outcome) {
        self.outputs.push_back(Output::Event(Event::Done { command, outcome }));
    }

    pub(super) fn service_failed(&mut self, call: ServiceCallId, failure: CoreFailure) {
        // A failure is always taken.
        let _ = self.service.handle_input(self.now, ServiceInput::Failure { call, failure });
        self.pump();
    }

    /// A connection has ended before a command was answered. `true` if the job goes back to the
    /// front of the queue.
    pub(super) fn interrupted(&mut self, sent: InFlight) -> Option<Job> {
        match sent.job {
            Job::Start(_) | Job::Overview | Job::Members(_) => None,
            Job::Look(look) => {
                // A search begins anew with what it is for.
                if !look.is_search {
                    self.looks.push_front(look);
                }
                None
            }
            Job::Message(message) => {
                let (after, at) = (sent.high, self.now);
                self.unconfirmed.push(Unconfirmed::new(message, after, at));
                None
            }
            Job::Request { call, .. } => {
                self.service_failed(call, CoreFailure::Other);
                None
            }
            // A request has one response: the core refuses a second one.
            Job::Response { request, text, .. } => {
                Some(Job::Response { request, text, is_again: true })
            }
            Job::Command { id, .. } | Job::Publish { id, write: Some(_), .. } => {
                self.done(id, Outcome::Unknown);
                None
            }
            // Reading does no harm.
            job @ Job::Publish { write: None, .. } => Some(job),
        }
    }

    /// A command that cannot be written.
    pub(super) fn unwritable(&mut self, job: Job, error: CommandError) {
        match job {
            Job::Message(message) => {
                self.unrecord(&message);
                self.was_not_sent(message.origin, message.chat, NotSent::Command(error));
            }
            Job::Request { call, .. } => self.service_failed(call, CoreFailure::Refused),
            Job::Response { request, .. } => {
                // What a command cannot express would be one that the core does not read.
                let refusal = CoreRefusal {
                    kind: CoreErrorKind::CommandError,
                    tag: error.to_string(),
                    message: None,
                    failure: CoreFailure::Refused,
                };
                let event = Event::ResponseNotSent { request, refusal };
                self.outputs.push_back(Output::Event(event));
            }
            Job::Command { id, .. } | Job::Publish { id, .. } => {
                self.done(id, Outcome::NotSent);
            }
            Job::Start(_) | Job::Overview | Job::Members(_) => {}
            Job::Look(_) => self.is_looking = false,
        }
    }

    /// The end of a call is known: what waits to be sent for it is not sent any more.
    pub(super) fn call_ended(&mut self, call: crate::chat::caller::CallId) {
        self.calls.remove(&call);
        let is_its = |origin: Origin| origin == Origin::Command(call);
        self.chat_link
            .take_queued(|job| matches!(job, Job::Message(message) if is_its(message.origin)));
        self.unconfirmed.retain(|sent| !is_its(sent.message.origin));
    }
}
