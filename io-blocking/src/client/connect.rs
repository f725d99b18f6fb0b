//! A client of a chat core: [`Client::connect`] (Unix).

use core::time::Duration;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::thread::JoinHandle;
use std::time::Instant;

use agentwire_core::admission::Person;
use agentwire_core::binding::{Binding, Guarded};
use agentwire_core::chat::ContactId;
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::frame::{Body, PlanState};
use agentwire_core::simplex::{
    AskError, CommandId, Outcome, OwnedFrame, Publication, Ready, Session, SessionConfig, UserId,
};

use super::{Client, ConnectError, CoreCallError, CoreState};
use crate::agent::{Agent, Handle, Waiting};
use crate::bell::{Bell, CoreBell};
use crate::link::Core;
use crate::machine::seed;
use crate::machines::{Keep, Linked, Machine, turn};
use crate::queue::Queue;

/// How often the core is asked whether somebody has connected.
const LOOK: Duration = Duration::from_millis(200);

/// # A chat core (Unix)
impl<B: Binding + Send + 'static> Client<B> {
    /// A client of the profile that is active at a core, once the core is started and answers.
    /// From then on it connects anew whenever it has to.
    ///
    /// ```no_run
    /// use agentwire_blocking::client::{CallOptions, Client};
    /// use agentwire_blocking::link::Core;
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::chat::ContactId;
    ///
    /// # fn ask(request: &str) -> Result<(), Box<dyn core::error::Error>> {
    /// let client = Client::connect(Core::new("ws://127.0.0.1:5225"))?;
    /// let call = client.call(Standard::MCP, ContactId(4), request, CallOptions::default())?;
    /// println!("{}", call.last()?.text);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ConnectError`] when the first attempt fails; it is not repeated then.
    pub fn connect(core: Core) -> Result<Self, ConnectError> {
        Self::connect_with(core, SessionConfig::default())
    }

    /// The same with limits of its own.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_with(core: Core, config: SessionConfig) -> Result<Self, ConnectError> {
        let session = Session::new(config, Vec::new(), seed());
        let (agent, _) = spawn(core, session, None, None)?;
        let handle = Some(Arc::new(Handle(Arc::clone(&agent))));
        let client = Self { agent, handle };
        client.ready()?;
        Ok(client)
    }
}

/// # What a core is asked
impl<B: Binding> Client<B> {
    /// Waits until the core is started and answers. A profile of the loopback has no core:
    /// [`ConnectError::Lost`].
    ///
    /// # Errors
    /// [`ConnectError`] for what stands in the way now. It is tried again all the same, and this
    /// can be asked again.
    pub fn ready(&self) -> Result<Ready, ConnectError> {
        loop {
            let mut state = self.agent.lock();
            let pause = self.agent.drain(&mut state);
            let standing = match &state.machine {
                Machine::Linked(linked) if !state.is_closed => ConnectError::of(linked.state()),
                _ => Some(Err(ConnectError::Lost(agentwire_core::simplex::Disconnect::Ended))),
            };
            drop(state);
            if let Some(result) = standing {
                return result;
            }
            self.agent.wait(&pause, None);
        }
    }

    /// How the client stands to its core now; `None` for a profile of the loopback.
    pub fn state(&self) -> Option<CoreState> {
        match &self.agent.lock().machine {
            Machine::Linked(linked) => Some(linked.state().clone()),
            Machine::Embedded(_) => None,
        }
    }

    /// Has the core do something, and gives its answer. It is never sent twice.
    ///
    /// # Errors
    /// [`CoreCallError`]
    pub fn command(&self, command: &Command<'_>) -> Result<OwnedFrame, CoreCallError> {
        match self.ask(|session, now| session.command(now, command))? {
            Outcome::Response(frame) => Ok(frame),
            Outcome::Published { .. } => Err(CoreCallError::Unexpected),
            other => Err(CoreCallError::of(other)),
        }
    }

    /// The same with a command for the user who speaks: `client.of_user(Command::Contacts)`.
    ///
    /// # Errors
    /// [`CoreCallError`], [`AskError::NotReady`] before the core has said who that is.
    pub fn of_user<'c>(
        &self,
        command: impl FnOnce(UserId) -> Command<'c>,
    ) -> Result<OwnedFrame, CoreCallError> {
        match self.state().ok_or(CoreCallError::Embedded)? {
            CoreState::Ready(ready) => self.command(&command(ready.user)),
            _ => Err(CoreCallError::Ask(AskError::NotReady)),
        }
    }

    /// Publishes declarations, in the profile or in a group. `true` if the core keeps them:
    /// today's may drop them.
    ///
    /// # Errors
    /// [`CoreCallError`]
    pub fn publish(&self, publication: Publication) -> Result<bool, CoreCallError> {
        match self.ask(|session, now| session.publish(now, publication))? {
            Outcome::Published { is_kept } => Ok(is_kept),
            other => Err(CoreCallError::of(other)),
        }
    }

    /// Connects to somebody by a link or a SimpleX name, and gives the contact once it is
    /// connected. Whoever is a contact already is not connected anew. How long the other side
    /// takes is up to it; after `wait` it is not waited for any longer, and this can be called
    /// again.
    ///
    /// ```no_run
    /// # use agentwire_blocking::client::{Client, CoreCallError};
    /// # use core::time::Duration;
    /// # fn meet(client: &Client) -> Result<(), CoreCallError> {
    /// let acme = client.connect_to("@acme.simplex", false, Duration::from_secs(120))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CoreCallError`]; [`CoreCallError::NotFound`] when the wait is over.
    pub fn connect_to(
        &self,
        target: &str,
        incognito: bool,
        wait: Duration,
    ) -> Result<ContactId, CoreCallError> {
        let begun = Instant::now();
        let mut has_begun = false;
        loop {
            let answer = self.of_user(|user| Command::ConnectPlan { user, target })?;
            let is_new = match answer.frame().map(|frame| frame.body()) {
                Some(Ok(Body::Plan(plan))) => match (plan.state, plan.contact) {
                    (PlanState::Known, Some(contact)) => return Ok(contact.id),
                    (PlanState::Own, _) => return Err(CoreCallError::Own),
                    (state, _) => state == PlanState::New,
                },
                _ => return Err(CoreCallError::Unexpected),
            };
            if is_new && !has_begun {
                has_begun = true;
                let answer = self.command(&Command::ConnectTo { incognito, target })?;
                if let Some(Ok(Body::ContactAlreadyExists(contact))) =
                    answer.frame().map(|frame| frame.body())
                {
                    return Ok(contact.id);
                }
            }
            if begun.elapsed() >= wait {
                return Err(CoreCallError::NotFound);
            }
            thread::sleep(LOOK.min(wait));
        }
    }

    fn ask(
        &self,
        ask: impl FnOnce(
            &mut Session<Guarded<B>>,
            agentwire_core::time::Instant,
        ) -> Result<CommandId, AskError>,
    ) -> Result<Outcome, CoreCallError> {
        let mut state = self.agent.lock();
        if state.is_closed {
            return Err(CoreCallError::Closed);
        }
        let Machine::Linked(linked) = &mut state.machine else {
            return Err(CoreCallError::Embedded);
        };
        let now = linked.now();
        let command = ask(linked.session_mut(), now).map_err(CoreCallError::Ask)?;
        state.asked.insert(command, None);
        let mut pause = self.agent.act(&mut state);
        loop {
            if let Some(outcome) = state.asked.get_mut(&command).and_then(Option::take) {
                state.asked.remove(&command);
                return Ok(outcome);
            }
            if state.is_closed {
                return Err(CoreCallError::Closed);
            }
            drop(state);
            self.agent.wait(&pause, None);
            state = self.agent.lock();
            pause = self.agent.drain(&mut state);
        }
    }
}

/// An agent at a core, and the thread that waits for its sockets.
pub(crate) fn spawn<B: Binding + Send + 'static>(
    core: Core,
    session: Session<Guarded<B>>,
    store: Option<Box<dyn Keep>>,
    requests: Option<Arc<Queue<Person, Waiting<B>>>>,
) -> Result<(Arc<Agent<B>>, JoinHandle<()>), ConnectError> {
    let failed = |error: std::io::Error| ConnectError::Link(error.into());
    let (waker, woken) = UnixStream::pair().map_err(failed)?;
    waker.set_nonblocking(true).map_err(failed)?;
    woken.set_nonblocking(true).map_err(failed)?;
    let epoch = Instant::now();
    let bell = CoreBell::new(epoch, waker.try_clone().map_err(failed)?);
    let machine = Machine::Linked(Linked::new(core, session, store, epoch, waker));
    let agent = Arc::new(Agent::new(machine, Bell::Core(bell), requests));
    let turned = Arc::clone(&agent);
    let thread = thread::Builder::new()
        .name(String::from("agentwire core"))
        .spawn(move || turn(&turned, woken))
        .map_err(failed)?;
    Ok((agent, thread))
}
