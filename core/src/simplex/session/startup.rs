//! The start of the core: who speaks, and whether Service RPC requests are let in.
//!
//! ```text
//! /v ──▶ /u ──▶ (/_user) ──▶ /_start main=on service_requests=on
//!                              │ chatStarted: on        │ chatRunning: the option was not applied
//!                              │                        ▼
//!                              │                      /_stop ──▶ /_start … once more
//!                              ▼
//!          a bot's first start: /_get chats
//!                              │
//!                              ▼
//!                            Ready
//! ```
//!
//! What a bot finds in the conversations at its first start is none of its business, and what comes
//! later is: so it is not ready before it knows where the one ends. Whatever it is sent from then on
//! is answered, over however many connections.
//!
//! A chat that runs already was started by somebody who may have left the option out, and the core
//! does not tell: so it is stopped and started, after each reconnect anew, since the core may have
//! been restarted meanwhile.

use alloc::string::String;

use super::Session;
use super::jobs::{Job, Step};
use super::output::{Disconnect, Event, Link, Output, Ready, ServiceRequests, StartError, WhyOff};
use crate::binding::Binding;
use crate::simplex::error::{CoreErrorKind, CoreRefusal};
use crate::simplex::frame::{Body, ShapeError};
use crate::simplex::{CoreVersion, Support, UserId};

/// What the start has found out so far.
#[derive(Default)]
pub(super) struct Starting {
    version: Option<CoreVersion>,
    user: Option<(UserId, String)>,
    has_stopped: bool,
    off: Option<WhyOff>,
}

/// How the session stands to the core.
pub(super) enum Phase {
    /// There is no connection.
    Offline,
    /// The core is being started.
    Starting(Starting),
    /// It is started, and is asked for the first time which conversations there are.
    Looking(Ready),
    /// It is started.
    Ready(Ready),
}

impl<B: Binding> Session<B> {
    pub(super) fn begin_start(&mut self) {
        self.phase = Phase::Starting(Starting::default());
        self.chat_link.urgent.clear();
        self.chat_link.urgent.push_back(Job::Start(Step::Version));
    }

    /// The core has answered a step of the start.
    pub(super) fn step_answered(&mut self, step: Step, body: Result<Body<'_>, ShapeError>) {
        let Phase::Starting(starting) = &mut self.phase else { return };
        let wanted = self.config.service_requests;
        let command = step.command().word();
        let refused = match &body {
            Ok(Body::Error(error)) => Some(CoreRefusal::from(*error)),
            _ => None,
        };
        let unexpected = Err(StartError::Unexpected { command });
        let next = match (step, body) {
            (Step::Version, body) => {
                // A core that does not say it is taken as it is.
                if let Ok(Body::Version(info)) = body {
                    starting.version = info.version();
                }
                match starting.version {
                    Some(version) if version.support() == Support::TooOld => {
                        Err(StartError::TooOld(version))
                    }
                    _ => Ok(Some(Step::User)),
                }
            }
            (Step::User | Step::SetUser(_), Ok(Body::ActiveUser(user))) => {
                match (self.config.user, step) {
                    (Some(wanted), Step::User) if wanted != user.id => {
                        Ok(Some(Step::SetUser(wanted)))
                    }
                    (Some(wanted), _) if wanted != user.id => {
                        Err(StartError::WrongUser { wanted, refusal: None })
                    }
                    _ => {
                        starting.user = Some((user.id, user.name.chars().collect()));
                        Ok(Some(Step::Start { requests: wanted }))
                    }
                }
            }
            (Step::Start { requests }, Ok(Body::ChatStarted)) => {
                if wanted && !requests {
                    starting.off = starting.off.or(Some(WhyOff::NotKnown));
                }
                Ok(None)
            }
            (Step::Start { requests }, Ok(Body::ChatRunning)) => {
                if requests && !starting.has_stopped {
                    Ok(Some(Step::Stop))
                } else {
                    if requests {
                        starting.off = Some(WhyOff::StillRunning);
                    }
                    Ok(None)
                }
            }
            (Step::Stop, Ok(Body::ChatStopped)) => {
                starting.has_stopped = true;
                Ok(Some(Step::Start { requests: true }))
            }
            (step, _) => match (step, refused) {
                (Step::User, Some(refusal)) if refusal.kind == CoreErrorKind::NoActiveUser => {
                    Err(StartError::NoUser)
                }
                (Step::SetUser(wanted), refusal) => Err(StartError::WrongUser { wanted, refusal }),
                // The option is not known: without it.
                (Step::Start { requests: true }, Some(refusal))
                    if refusal.kind == CoreErrorKind::CommandError =>
                {
                    starting.off = Some(WhyOff::NotKnown);
                    Ok(Some(Step::Start { requests: false }))
                }
                // The chat runs on as it was started.
                (Step::Stop, _) => {
                    starting.off = Some(WhyOff::CannotStop);
                    Ok(None)
                }
                (_, Some(refusal)) => Err(StartError::Refused { command, refusal }),
                (_, None) => unexpected,
            },
        };
        match next {
            Ok(Some(step)) => self.chat_link.urgent.push_back(Job::Start(step)),
            Ok(None) => self.started(),
            Err(error) => {
                self.outputs.push_back(Output::Event(Event::NotReady(error)));
                self.give_up(Link::Chat, Disconnect::NotReady);
            }
        }
    }

    fn started(&mut self) {
        let Phase::Starting(starting) = &mut self.phase else { return };
        // The start has asked who speaks before it comes here.
        let Some((user, name)) = starting.user.take() else { return };
        let service_requests = match starting.off {
            _ if !self.config.service_requests => ServiceRequests::NotWanted,
            Some(why) => ServiceRequests::Off(why),
            None => ServiceRequests::On,
        };
        let (version, is_again) = (starting.version, self.was_ready);
        self.user = Some(user);
        let ready = Ready { user, name, version, service_requests, is_again };
        if self.serves && !is_again {
            self.phase = Phase::Looking(ready);
            self.look_again();
        } else {
            self.is_ready(ready);
            self.look_again();
        }
    }

    /// The core has said which conversations there are, or has not.
    pub(super) fn has_looked(&mut self) {
        if let Phase::Looking(ready) = &self.phase {
            let ready = ready.clone();
            self.is_ready(ready);
        }
    }

    fn is_ready(&mut self, ready: Ready) {
        let is_again = ready.is_again;
        self.was_ready = true;
        self.phase = Phase::Ready(ready.clone());
        self.outputs.push_back(Output::Event(Event::Ready(ready)));
        self.take_up_again(is_again);
        self.ask_names_again();
    }
}
