//! A client of a chat core: [`Client::connect`], and what it asks the core itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentwire_blocking::machine::seed;
use agentwire_core::binding::Binding;
use agentwire_core::chat::{ContactId, MemberId};
use agentwire_core::simplex::command::Command as CoreCommand;
use agentwire_core::simplex::frame::{Body, PlanState};
use agentwire_core::simplex::{
    AskError, Disconnect, Outcome, OwnedFrame, Publication, Ready, Session, SessionConfig, UserId,
};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, oneshot};

use super::{Client, ConnectError, CoreCallError, CoreState, Target};
use crate::agent::{Ask, Command, CoreHandle, Linked};
use crate::link::Core;

/// What happens at a core besides messages: contacts that connect, groups, and events that this
/// crate does not know.
///
/// At most 256 of them wait to be taken; of those that were not taken in time, `next` passes over
/// the oldest.
///
/// ```
/// use agentwire_tokio::client::CoreEvents;
/// async fn first_name(mut events: CoreEvents) -> Option<String> {
///     events.next().await.map(|frame| frame.tag())
/// }
/// ```
#[derive(Debug)]
pub struct CoreEvents(broadcast::Receiver<Arc<OwnedFrame>>);

impl CoreEvents {
    /// The next one; `None` once the client has ended. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Arc<OwnedFrame>> {
        loop {
            match self.0.recv().await {
                Ok(frame) => return Some(frame),
                Err(RecvError::Lagged(count)) => tracing::debug!(count, "events were not taken"),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// Waits until the core can be used, or cannot.
pub(crate) async fn ready(handle: &CoreHandle) -> Result<Ready, ConnectError> {
    let mut state = handle.state.clone();
    loop {
        if let Some(result) = ConnectError::of(&state.borrow_and_update()) {
            return result;
        }
        if state.changed().await.is_err() {
            return Err(ConnectError::Lost(Disconnect::Ended));
        }
    }
}

/// # A chat core
impl<B: Binding + Send + 'static> Client<B> {
    /// A client of the profile that is active at a core, once the core is started and answers.
    /// From then on it connects anew whenever it has to.
    ///
    /// ```no_run
    /// use agentwire_core::binding::Standard;
    /// use agentwire_core::chat::ContactId;
    /// use agentwire_tokio::client::{CallOptions, Client};
    /// use agentwire_tokio::link::Core;
    ///
    /// # async fn ask(request: String) -> Result<(), Box<dyn core::error::Error>> {
    /// let client = Client::connect(Core::new("ws://127.0.0.1:5225")).await?;
    /// let call = client.call(Standard::MCP, ContactId(4), request, CallOptions::default());
    /// println!("{}", call.await?.last().await?.text);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ConnectError`] when the first attempt fails; it is not repeated then.
    ///
    /// # Panics
    /// As [`start`](Self::start); the runtime needs its I/O driver too (`enable_io`).
    pub async fn connect(core: Core) -> Result<Self, ConnectError> {
        let client = Self::connect_later(core, SessionConfig::default());
        client.ready().await?;
        Ok(client)
    }

    /// The same with limits of its own, and without waiting: calls that are made before the core
    /// is there wait for it, within their limits.
    ///
    /// # Panics
    /// As [`connect`](Self::connect).
    pub fn connect_later(core: Core, config: SessionConfig) -> Self {
        let machine = Linked::new(core, Session::new(config, Vec::new(), seed()), None);
        let handle = machine.handle();
        Self { core: Some(handle), ..Self::spawn(machine) }
    }

    /// Waits until the core is started and answers. A profile of the embedded loopback has no
    /// core, and this is never done for it.
    ///
    /// # Errors
    /// [`ConnectError`] for what stands in the way now. It is tried again all the same, and this
    /// can be asked again.
    pub async fn ready(&self) -> Result<Ready, ConnectError> {
        match &self.core {
            Some(handle) => ready(handle).await,
            None => core::future::pending().await,
        }
    }

    /// How the client stands to its core now; `None` for a profile of the embedded loopback.
    pub fn state(&self) -> Option<CoreState> {
        self.core.as_ref().map(|core| core.state.borrow().clone())
    }

    /// What happens at the core from now on, besides messages.
    ///
    /// # Errors
    /// [`CoreCallError::Embedded`]
    pub fn events(&self) -> Result<CoreEvents, CoreCallError> {
        let core = self.core.as_ref().ok_or(CoreCallError::Embedded)?;
        Ok(CoreEvents(core.events.subscribe()))
    }

    /// Has the core do something, and gives its answer. It is never sent twice. Dropping the
    /// future stops waiting; it may have been sent.
    ///
    /// ```no_run
    /// # use agentwire_tokio::client::{Client, CoreCallError};
    /// use agentwire_core::simplex::command::Command;
    /// use agentwire_core::simplex::frame::Body;
    ///
    /// # async fn count(client: &Client) -> Result<usize, CoreCallError> {
    /// let answer = client.command(&Command::Users).await?;
    /// match answer.frame().map(|frame| frame.body()) {
    ///     Some(Ok(Body::Users(users))) => Ok(users.count()),
    ///     _ => Err(CoreCallError::Unexpected),
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CoreCallError`]
    pub async fn command(&self, command: &CoreCommand<'_>) -> Result<OwnedFrame, CoreCallError> {
        match self.ask(Ask::Command(command.to_text()?)).await? {
            Outcome::Response(frame) => Ok(frame),
            Outcome::Published { .. } => Err(CoreCallError::Unexpected),
            other => Err(CoreCallError::of(other)),
        }
    }

    /// The same with a command for the user who speaks: `client.of_user(Command::Contacts)`.
    ///
    /// # Errors
    /// [`CoreCallError`], [`AskError::NotReady`] before the core has said who that is.
    pub async fn of_user<'c>(
        &self,
        command: impl FnOnce(UserId) -> CoreCommand<'c>,
    ) -> Result<OwnedFrame, CoreCallError> {
        let user = match self.state().ok_or(CoreCallError::Embedded)? {
            CoreState::Ready(ready) => ready.user,
            _ => return Err(CoreCallError::Ask(AskError::NotReady)),
        };
        self.command(&command(user)).await
    }

    /// Publishes declarations, in the profile or in a group. `true` if the core keeps them:
    /// today's may drop them.
    ///
    /// # Errors
    /// [`CoreCallError`]
    pub async fn publish(&self, publication: Publication) -> Result<bool, CoreCallError> {
        match self.ask(Ask::Publish(publication)).await? {
            Outcome::Published { is_kept } => Ok(is_kept),
            other => Err(CoreCallError::of(other)),
        }
    }

    async fn ask(&self, ask: Ask) -> Result<Outcome, CoreCallError> {
        let (done, is_done) = oneshot::channel();
        self.commands.send(Command::Ask { ask, done }).map_err(|_| CoreCallError::Closed)?;
        is_done.await.map_err(|_| CoreCallError::Closed)?
    }

    /// Connects to somebody by a link or a SimpleX name, and gives the contact once it is
    /// connected. Whoever is a contact already is not connected anew. How long the other side
    /// takes is up to it: drop the future to wait no longer.
    ///
    /// ```no_run
    /// # use agentwire_tokio::client::{Client, CoreCallError};
    /// # async fn meet(client: &Client) -> Result<(), CoreCallError> {
    /// let acme = client.connect_to("@acme.simplex", false).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`CoreCallError`]
    pub async fn connect_to(
        &self,
        target: &str,
        incognito: bool,
    ) -> Result<ContactId, CoreCallError> {
        // Whatever happens from here on is seen below.
        let mut events = self.events()?;
        let mut has_begun = false;
        loop {
            let answer = self.of_user(|user| CoreCommand::ConnectPlan { user, target }).await?;
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
                let connect = CoreCommand::ConnectTo { incognito, target };
                let answer = self.command(&connect).await?;
                if let Some(Ok(Body::ContactAlreadyExists(contact))) =
                    answer.frame().map(|frame| frame.body())
                {
                    return Ok(contact.id);
                }
            }
            loop {
                let event = events.next().await.ok_or(CoreCallError::Closed)?;
                // It may be another one: the core is asked.
                if matches!(
                    event.frame().map(|frame| frame.body()),
                    Some(Ok(Body::ContactConnected(_)))
                ) {
                    break;
                }
            }
        }
    }

    /// The members of a group with the names by which the profile's core tells them apart.
    ///
    /// # Errors
    /// [`CoreCallError`]
    pub async fn member_names(
        &self,
        group: agentwire_core::chat::GroupId,
    ) -> Result<BTreeMap<MemberId, String>, CoreCallError> {
        let answer = self.command(&CoreCommand::Members(group)).await?;
        let Some(Ok(Body::GroupMembers(_, members))) = answer.frame().map(|frame| frame.body())
        else {
            return Err(CoreCallError::Unexpected);
        };
        let members = members.filter_map(Result::ok);
        Ok(members.filter_map(|m| Some((m.key()?, m.name.chars().collect()))).collect())
    }

    /// Whom `@name` means in a group: the present member of this name.
    ///
    /// # Errors
    /// [`CoreCallError`], [`CoreCallError::NotFound`] when there is none or several of the name.
    pub async fn member(
        &self,
        group: agentwire_core::chat::GroupId,
        name: &str,
    ) -> Result<Target, CoreCallError> {
        let answer = self.command(&CoreCommand::Members(group)).await?;
        let Some(Ok(Body::GroupMembers(_, members))) = answer.frame().map(|frame| frame.body())
        else {
            return Err(CoreCallError::Unexpected);
        };
        let mut named = members
            .filter_map(Result::ok)
            .filter(|member| member.is_present() && member.name == *name);
        let (Some(member), None) = (named.next(), named.next()) else {
            return Err(CoreCallError::NotFound);
        };
        let key: MemberId = member.key().ok_or(CoreCallError::Unexpected)?;
        Ok(Target::Member { group, member: key, group_member: member.id, name: name.to_owned() })
    }
}
