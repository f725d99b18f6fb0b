//! A gate whose calls wait for the word of the bot's owner: [`Approving`].

use core::fmt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentwire_core::admission::{
    ApprovalsConfig, Asking, DecideError, Decided, Decision, OwnersFull, Person, Question, Subject,
    When,
};
use agentwire_core::binding::{Binding, Failure};
use agentwire_core::chat::CallKey;
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::control::{ControlChats, ControlStep};
use agentwire_core::time;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, sleep_until};

use super::{Gate, Request, Via};
use crate::client::{Client, CoreCallError};

/// A call that an owner is to decide, and what it is about.
///
/// ```
/// use agentwire_tokio::bot::Asked;
/// fn show(asked: &Asked) -> String {
///     format!("{}: may {} call {}?", asked.question.owner, asked.question.caller, asked.subject)
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Asked {
    /// The call, who calls and who is asked.
    pub question: Question,
    /// What it is about.
    pub subject: Subject,
}

/// Whoever another gate admits, once an owner of the bot has approved the call. Clones share one:
/// through them questions are taken, decisions given, and owners changed while the bot is at work.
///
/// The owners are asked in their chats with the bot ([`in_chats`](Self::in_chats)), or wherever
/// the application asks them: it takes [questions](Self::next_question) and gives
/// [decisions](Self::decide). A decision counts once, from the one who was asked, as long as that
/// person is an owner, and in time. Owners' own calls wait for nobody. Over Service RPC nobody is
/// asked: a call that would have to wait is answered with `conversation_required`.
///
/// With a call journal a command that waits has not begun: after a restart it is asked about again,
/// and an answer that has come meanwhile counts.
///
/// ```
/// use agentwire_core::admission::{ApprovalsConfig, Decision, Person, When};
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::{ContactId, session::Declared};
/// use agentwire_tokio::bot::{Approving, BotConfig, Everybody};
///
/// let gate = Approving::new(Everybody, When::New, ApprovalsConfig::default());
/// gate.add_owner(Person::Contact(ContactId(1))).unwrap();
/// let config = BotConfig::from(vec![Declared::new(Standard::A2A, ["1.0"])]).gate(gate.clone());
/// # let _ = config;
/// // Somewhere else: whoever knows the owner asks, and says what the answer is.
/// async fn callback(gate: Approving<Everybody>) {
///     loop {
///         let asked = gate.next_question().await;
///         println!("{} wants to call {}", asked.question.caller, asked.subject);
///         let (call, owner) = (asked.question.call, asked.question.owner);
///         let _ = gate.decide(call, owner, Decision::Decline);
///     }
/// }
/// ```
pub struct Approving<G> {
    shared: Arc<Shared<G>>,
}

impl<G> Clone for Approving<G> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

struct Shared<G> {
    gate: G,
    epoch: Instant,
    state: Mutex<State>,
    /// Rung when somebody is to be asked.
    changed: Notify,
}

struct State {
    asking: Asking,
    waiters: HashMap<CallKey, oneshot::Sender<Decision>>,
}

impl State {
    fn tell(&mut self, decided: Decided) {
        if let Some(waiter) = self.waiters.remove(&decided.call) {
            // The request may have been answered at this moment.
            let _ = waiter.send(decided.decision);
        }
    }
}

impl<G> Approving<G> {
    /// Asks about the calls that `gate` admits, when this says so. There is no owner yet: until
    /// there is one, what would have to be asked about is refused.
    ///
    /// # Panics
    /// As [`Instant::now`] does.
    #[must_use]
    pub fn new(gate: G, when: When, config: ApprovalsConfig) -> Self {
        let state = State { asking: Asking::new(when, config), waiters: HashMap::new() };
        let (epoch, state) = (Instant::now(), Mutex::new(state));
        Self { shared: Arc::new(Shared { gate, epoch, state, changed: Notify::new() }) }
    }

    /// The gate that admits.
    pub fn gate(&self) -> &G {
        &self.shared.gate
    }

    /// Makes somebody an owner. The first one is asked first.
    ///
    /// # Errors
    /// [`OwnersFull`]
    pub fn add_owner(&self, owner: Person) -> Result<(), OwnersFull> {
        self.shared.lock().asking.add_owner(owner)
    }

    /// Somebody is an owner no longer, and decides nothing from now on: what the person was asked,
    /// another owner is asked.
    pub fn remove_owner(&self, owner: &Person) -> bool {
        let is_removed = self.shared.lock().asking.remove_owner(owner);
        self.shared.changed.notify_one();
        is_removed
    }

    /// The next question that is to be put to an owner. Questions are taken once, here or by
    /// [`in_chats`](Self::in_chats). Dropping the future loses none.
    pub async fn next_question(&self) -> Asked {
        loop {
            if let Some((question, subject)) = self.shared.lock().asking.poll_question() {
                return Asked { question, subject: subject.clone() };
            }
            self.shared.changed.notified().await;
        }
    }

    /// Somebody decides a call.
    ///
    /// # Errors
    /// [`DecideError`]; the call goes on waiting then, if it does.
    pub fn decide(&self, call: CallKey, by: Person, decision: Decision) -> Result<(), DecideError> {
        let now = self.shared.now();
        let mut state = self.shared.lock();
        let decided = state.asking.decide(now, call, by, decision)?;
        state.tell(decided);
        Ok(())
    }

    /// How many calls wait for a decision.
    pub fn waiting(&self) -> usize {
        self.shared.lock().asking.waiting()
    }

    /// Asks the owners who are contacts in their chats with the bot, and reads what they answer
    /// there ([`control`](agentwire_core::simplex::control)), until the client has ended: give it
    /// the [bot's](super::Bot::client). While no call waits it does nothing.
    ///
    /// ```no_run
    /// use agentwire_core::binding::Standard;
    /// use agentwire_tokio::bot::{Admitting, Approving, Bot};
    /// fn ask_in_chats(gate: Approving<Admitting>, bot: &Bot<Standard>) {
    ///     let client = bot.client();
    ///     tokio::spawn(async move { gate.in_chats(&client).await });
    /// }
    /// ```
    pub async fn in_chats<B: Binding + Send + 'static>(&self, client: &Client<B>) {
        let mut chats = ControlChats::new();
        loop {
            let step = {
                let now = self.shared.now();
                let mut state = self.shared.lock();
                let step = chats.poll_step(now, &mut state.asking);
                if let ControlStep::Decided(decided) = step {
                    state.tell(decided);
                    continue;
                }
                step
            };
            match step {
                ControlStep::Command(text) => {
                    let answer = client.command(&Command::Raw(&text)).await;
                    let now = self.shared.now();
                    let asking = &mut self.shared.lock().asking;
                    match &answer {
                        Ok(frame) => chats.handle_answer(now, Ok(frame), asking),
                        Err(CoreCallError::Closed | CoreCallError::Embedded) => return,
                        Err(CoreCallError::Refused(refusal)) => {
                            chats.handle_answer(now, Err(Some(refusal.kind)), asking);
                        }
                        Err(error) => {
                            tracing::debug!(%error, "the owner's chat");
                            chats.handle_answer(now, Err(None), asking);
                        }
                    }
                }
                ControlStep::Wait(Some(until)) => {
                    tokio::select! {
                        () = sleep_until(self.shared.at(until)) => {}
                        () = self.shared.changed.notified() => {}
                    }
                }
                _ => self.shared.changed.notified().await,
            }
        }
    }
}

impl<G> Shared<G> {
    fn now(&self) -> time::Instant {
        let millis = self.epoch.elapsed().as_millis();
        time::Instant::from_millis(u64::try_from(millis).unwrap_or(u64::MAX))
    }

    fn at(&self, time: time::Instant) -> Instant {
        let span = time.duration_since(time::Instant::ZERO);
        // What no clock shows is never.
        self.epoch.checked_add(span).unwrap_or(self.epoch)
    }

    /// Nothing in the machine panics; should it, its numbers are still whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whoever has waited too long is told.
    fn expire(&self) {
        let now = self.now();
        let mut state = self.lock();
        while let Some(call) = state.asking.handle_timeout(now) {
            state.waiters.remove(&call);
        }
    }
}

impl<G> fmt::Debug for Approving<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approving")
            .field("asking", &self.shared.lock().asking)
            .finish_non_exhaustive()
    }
}

/// Takes back what nobody waits for any more.
struct Wait<'a, G> {
    shared: &'a Shared<G>,
    call: CallKey,
}

impl<G> Drop for Wait<'_, G> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.asking.cancel(self.call);
        state.waiters.remove(&self.call);
    }
}

impl<B: Binding + Send + Sync + 'static, G: Gate<B>> Gate<B> for Approving<G> {
    type Pass = G::Pass;

    fn admit(
        &self,
        now: time::Instant,
        request: &Request<B>,
    ) -> Result<Self::Pass, Failure<'static>> {
        self.shared.gate.admit(now, request)
    }

    fn asks(&self) -> bool {
        self.shared.gate.asks() || self.shared.lock().asking.when() != When::Never
    }

    async fn approve(&self, request: &Request<B>) -> Result<(), Failure<'static>> {
        self.shared.gate.approve(request).await?;
        let caller = request.via.person();
        let subject = Subject::of(request.binding.name().get(), &request.text);
        let (done, mut is_done) = oneshot::channel();
        let (wait, until) = {
            let now = self.shared.now();
            let mut state = self.shared.lock();
            if state.asking.is_settled(caller, &subject) {
                return Ok(());
            }
            let Via::Chat { chat, item, .. } = &request.via else {
                return Err(Failure::NotApproved);
            };
            let call = CallKey::new(*chat, *item);
            if let Err(why) = state.asking.ask(now, call, caller, subject) {
                tracing::warn!(%why, "nobody is asked");
                return Err(Failure::NotApproved);
            }
            state.waiters.insert(call, done);
            let until = now.saturating_add(state.asking.wait());
            (Wait { shared: &*self.shared, call }, until)
        };
        self.shared.changed.notify_one();
        let decision = tokio::select! {
            decision = &mut is_done => decision.ok(),
            () = sleep_until(self.shared.at(until)) => {
                self.shared.expire();
                is_done.try_recv().ok()
            }
        };
        drop(wait);
        tracing::info!(?decision, "the owner's word");
        match decision {
            Some(Decision::Approve) => Ok(()),
            _ => Err(Failure::NotApproved),
        }
    }
}
