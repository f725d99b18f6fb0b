//! A chat core asked step by step: one command, one answer.

use core::time::Duration;
use std::collections::VecDeque;

use agentwire_core::simplex::UserId;
use agentwire_core::simplex::command::{Command, Start};
use agentwire_core::simplex::error::{CoreError, CoreErrorKind};
use agentwire_core::simplex::frame::{Body, Frame};
use agentwire_tokio::client::ConnectError;
use agentwire_tokio::link::{Core, Link, LinkError};
use tokio::time::{Instant, timeout_at};

use crate::args::CoreArgs;
use crate::exit::{ExitCode, Failure};

/// How long the core may take for what it answers by itself.
const ANSWER: Duration = Duration::from_secs(30);

/// How many events wait to be looked at; the oldest ones give way.
const EVENTS: usize = 1_024;

/// Something the core has sent.
#[derive(Clone)]
pub(crate) struct Answer(String);

impl Answer {
    /// What it says; `None` if this program does not know its shape.
    pub(crate) fn body(&self) -> Option<Body<'_>> {
        Frame::parse(&self.0).ok()?.body().ok()
    }
}

/// A connection to a core.
pub(crate) struct CoreApi {
    link: Link,
    url: String,
    last: u64,
    events: VecDeque<Answer>,
}

impl CoreApi {
    /// Connects, or says what to do about it.
    pub(crate) async fn connect(args: &CoreArgs) -> Result<Self, Failure> {
        let link =
            Link::connect(&core_of(args)).await.map_err(|error| unreachable(&args.url, &error))?;
        Ok(Self::over(link, &args.url))
    }

    /// The same over a connection that there is.
    pub(crate) fn over(link: Link, url: &str) -> Self {
        Self { link, url: shown(url).to_owned(), last: 0, events: VecDeque::new() }
    }

    /// Connects to a core and has its chat run: who speaks there.
    pub(crate) async fn start(args: &CoreArgs) -> Result<(Self, UserId), Failure> {
        let mut core = Self::connect(args).await?;
        let user = core.user().await?;
        core.ask(&Command::Start(Start::default())).await?;
        Ok((core, user))
    }

    /// The active user.
    pub(crate) async fn user(&mut self) -> Result<UserId, Failure> {
        match self.ask(&Command::ActiveUser).await?.body() {
            Some(Body::ActiveUser(user)) => Ok(user.id),
            _ => Err(self.unexpected("/u")),
        }
    }

    /// Sends a command and waits for its answer. A refusal is a failure.
    pub(crate) async fn ask(&mut self, command: &Command<'_>) -> Result<Answer, Failure> {
        let answer = self.try_ask(command, ANSWER).await?;
        match answer.body() {
            Some(Body::Error(error)) => Err(refused(command.word(), &error)),
            _ => Ok(answer),
        }
    }

    /// The same, where a refusal is an answer like any other.
    pub(crate) async fn try_ask(
        &mut self,
        command: &Command<'_>,
        patience: Duration,
    ) -> Result<Answer, Failure> {
        self.last += 1;
        let id = self.last.to_string();
        let frame = command.to_frame(&id).map_err(|error| {
            Failure::new(ExitCode::Refused, format!("{}: {error}", command.word()))
        })?;
        self.link.push(frame);
        let until = Instant::now() + patience;
        loop {
            let text = self.receive(until, command.word()).await?;
            let frame = Frame::parse(&text).ok();
            match frame.and_then(|frame| frame.corr_id()) {
                Some(corr_id) if corr_id == *id => return Ok(Answer(text)),
                // An answer that was not waited for any longer.
                Some(_) => {}
                None => {
                    if self.events.len() == EVENTS {
                        self.events.pop_front();
                    }
                    self.events.push_back(Answer(text));
                }
            }
        }
    }

    /// The next event.
    pub(crate) async fn event(&mut self, until: Instant, what: &str) -> Result<Answer, Failure> {
        if let Some(event) = self.events.pop_front() {
            return Ok(event);
        }
        self.receive(until, what).await.map(Answer)
    }

    /// How many events have come that were not looked at.
    pub(crate) fn events(&self) -> usize {
        self.events.len()
    }

    async fn receive(&mut self, until: Instant, what: &str) -> Result<String, Failure> {
        match timeout_at(until, self.link.receive()).await {
            Ok(Ok(text)) => Ok(text.as_str().to_owned()),
            Ok(Err(error)) => {
                let problem = format!("the connection to {} ended: {error}", self.url);
                Err(Failure::new(ExitCode::NoCore, problem))
            }
            Err(_) => Err(Failure::new(ExitCode::Timeout, format!("no answer in time: {what}"))),
        }
    }

    /// The core says something else than what was asked for.
    pub(crate) fn unexpected(&self, command: &str) -> Failure {
        let problem = format!(
            "{command}: the core at {} answers with something that this program does not know; \
             agentwire doctor says whether its version is supported",
            self.url
        );
        Failure::new(ExitCode::ToolError, problem)
    }

    /// Says goodbye.
    pub(crate) async fn close(self) {
        self.link.close().await;
    }
}

/// The core that the flags name.
pub(crate) fn core_of(args: &CoreArgs) -> Core {
    let core = Core::new(&args.url);
    match &args.ca_file {
        Some(file) => core.ca_file(file),
        None => core,
    }
}

/// Why there is no client or bot, and what to do about it.
pub(crate) fn not_connected(args: &CoreArgs, error: &ConnectError) -> Failure {
    let (code, mend) = match error {
        ConnectError::Link(error) => return unreachable(&args.url, error),
        ConnectError::Start(_) => (ExitCode::Config, "agentwire doctor says more"),
        ConnectError::Publish(_) => (ExitCode::Refused, "the profile of the core stays as it was"),
        _ => (ExitCode::NoCore, "agentwire doctor says more"),
    };
    Failure::new(code, format!("{}: {error}; {mend}", shown(&args.url)))
}

/// A URL without what may be secret: a name and a password before the host.
pub(crate) fn shown(url: &str) -> &str {
    match url.split_once("://") {
        Some((_, rest)) => rest.rsplit_once('@').map_or(url, |(_, place)| place),
        None => url,
    }
}

/// What to do about a core that cannot be reached.
pub(crate) fn mend(error: &LinkError) -> &'static str {
    match error {
        LinkError::Url => "write it as ws://HOST:PORT, or wss://HOST for another machine's core",
        LinkError::CaFile(_) => "name a file with certificates in PEM form after --ca-file",
        LinkError::Tls(_) | LinkError::NoRoots => {
            "check the certificate of the other side, or name its authority with --ca-file"
        }
        _ => {
            "start a core with simplex-chat -p 5225, or a stand-in with agentwire loopback, or \
              name another one with --core"
        }
    }
}

fn unreachable(url: &str, error: &LinkError) -> Failure {
    let code = match error {
        LinkError::Url | LinkError::CaFile(_) => ExitCode::Usage,
        _ => ExitCode::NoCore,
    };
    Failure::new(code, format!("{}: {error}; {}", shown(url), mend(error)))
}

/// A refusal of the core, and what to do about it.
pub(crate) fn refused(command: &str, error: &CoreError<'_>) -> Failure {
    let mend = match error.kind() {
        CoreErrorKind::NoActiveUser => {
            "; create a profile first: start simplex-chat once and give it a name"
        }
        CoreErrorKind::ChatNotStarted => "; agentwire doctor --restart-chat starts it",
        CoreErrorKind::CommandError => "; agentwire doctor says whether its version is supported",
        CoreErrorKind::NoSuchName => "; look how it is spelled, or ask for a link instead",
        CoreErrorKind::NothingThere => "; ask the other side for a new link",
        CoreErrorKind::NameWithoutLink => "; whoever has it makes one with agentwire bot",
        _ => "",
    };
    let message = error.message().map(|text| text.chars().collect::<String>());
    let message = message.map(|text| format!(" \"{text}\"")).unwrap_or_default();
    let problem = format!("{command}: the core refuses: {error}{message}{mend}");
    Failure::new(ExitCode::Refused, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_a_url_is_not_shown() {
        assert_eq!(shown("wss://me:CANARY@core.example/bot"), "core.example/bot");
        assert_eq!(shown("ws://127.0.0.1:5225"), "ws://127.0.0.1:5225");
        assert_eq!(shown("nonsense"), "nonsense");
    }
}
