//! The requests that are open: those that wait for their turn, and the tasks that handle the
//! others.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use agentwire_core::admission::Person;
use agentwire_core::binding::Failure;
use agentwire_core::chat::responder::Token;
use agentwire_core::chat::size::TooLarge;
use agentwire_core::time::Instant;
use agentwire_core::turns::{TurnLimits, Turns};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use super::RequestKey;
use crate::bot::{self, ReplyError};
use crate::client::NotSent;

/// What a bot does with a request.
pub(crate) trait Serve<B>: Send + Sync + 'static {
    /// Whether it is taken up at all.
    fn admit(&self, now: Instant, request: &bot::Request<B>) -> Result<Pass, Failure<'static>>;

    /// Begins to handle it in a task of the set; `None` if every handle of the bot is gone.
    fn begin(
        self: Arc<Self>,
        admitted: Admitted<B>,
        key: RequestKey,
        tasks: &mut JoinSet<()>,
    ) -> Option<AbortHandle>;
}

/// What an admitted request holds as long as it is open.
#[expect(dead_code, reason = "it is held and dropped")]
pub(crate) struct Pass(pub(crate) Box<dyn Send>);

/// A request that was taken up.
pub(crate) struct Admitted<B> {
    pub(crate) request: bot::Request<B>,
    pub(crate) pass: Pass,
}

/// Who waits to hear that an answer was sent.
struct Waiter {
    done: oneshot::Sender<Result<Option<TooLarge>, ReplyError>>,
    replaced: Option<TooLarge>,
}

struct Open {
    /// The right to answer in a conversation; over Service RPC it is the session's.
    token: Option<Token>,
    caller: Person,
    /// `None` while it waits for its turn.
    handler: Option<AbortHandle>,
}

pub(super) struct Handlers<B> {
    serve: Option<Arc<dyn Serve<B>>>,
    turns: Turns<Person, (RequestKey, Admitted<B>)>,
    /// The tokens stay here, so that a handler that is dropped while it waits loses none.
    open: HashMap<RequestKey, Open>,
    waiters: HashMap<RequestKey, VecDeque<Waiter>>,
    tasks: JoinSet<()>,
    callers: HashMap<Id, Person>,
}

/// A request that is to be answered with an error.
pub(super) struct Refused {
    pub(super) key: RequestKey,
    pub(super) token: Option<Token>,
    pub(super) failure: Failure<'static>,
}

/// What [`Handlers::begin_next`] has done.
pub(super) enum Next {
    /// Nothing waits, or nothing may be handled now.
    None,
    Begun,
    /// Nobody can handle it any more.
    Refused(Refused),
}

impl<B: 'static> Handlers<B> {
    pub(super) fn new(serve: Option<Arc<dyn Serve<B>>>, limits: TurnLimits) -> Self {
        Self {
            serve,
            turns: Turns::new(limits),
            open: HashMap::new(),
            waiters: HashMap::new(),
            tasks: JoinSet::new(),
            callers: HashMap::new(),
        }
    }

    /// Takes a request up; `Some` if it does not.
    pub(super) fn add(
        &mut self,
        now: Instant,
        key: RequestKey,
        token: Option<Token>,
        request: bot::Request<B>,
    ) -> Option<Refused> {
        // A client has no handler: it declares nothing, and is asked for nothing.
        let admitted = match &self.serve {
            None => Err(Failure::Stopping),
            Some(serve) => serve.admit(now, &request),
        };
        let pass = match admitted {
            Ok(pass) => pass,
            Err(failure) => return Some(Refused { key, token, failure }),
        };
        let caller = request.via.person();
        let admitted = (key.clone(), Admitted { request, pass });
        if let Err(full) = self.turns.push(caller, admitted) {
            let failure = Failure::Busy { capacity: full.capacity };
            return Some(Refused { key, token, failure });
        }
        self.open.insert(key, Open { token, caller, handler: None });
        None
    }

    /// Begins to handle the next request.
    pub(super) fn begin_next(&mut self) -> Next {
        let Some((caller, (key, admitted))) = self.turns.next() else { return Next::None };
        let serve = self.serve.clone();
        let begun = serve.and_then(|serve| serve.begin(admitted, key.clone(), &mut self.tasks));
        let Some(handler) = begun else {
            self.turns.done(&caller);
            let token = self.open.remove(&key).and_then(|open| open.token);
            return Next::Refused(Refused { key, token, failure: Failure::Stopping });
        };
        self.callers.insert(handler.id(), caller);
        if let Some(open) = self.open.get_mut(&key) {
            open.handler = Some(handler);
        }
        Next::Begun
    }

    /// The right to answer, if it was not used up.
    pub(super) fn token(&self, key: &RequestKey) -> Option<&Token> {
        self.open.get(key)?.token.as_ref()
    }

    /// The request is answered now; what handles it may go on.
    pub(super) fn take(&mut self, key: &RequestKey) -> Option<Token> {
        self.open.remove(key)?.token
    }

    /// The request has been answered without its handler, who works for nobody now.
    pub(super) fn expire(&mut self, key: &RequestKey) {
        let Some(open) = self.open.remove(key) else { return };
        match open.handler {
            Some(handler) => handler.abort(),
            None => drop(self.turns.withdraw(&open.caller, |(waiting, _)| waiting == key)),
        }
    }

    /// All that is open, to be answered by the one who asks. What waits is not begun any more.
    pub(super) fn abandon(&mut self) -> Vec<(RequestKey, Option<Token>)> {
        let keys: Vec<RequestKey> = self.open.keys().cloned().collect();
        let taken = keys.into_iter().map(|key| {
            let token = self.open.get_mut(&key).and_then(|open| open.token.take());
            self.expire(&key);
            (key, token)
        });
        taken.collect()
    }

    /// Somebody waits for an answer to this request to be sent.
    pub(super) fn wait(
        &mut self,
        key: RequestKey,
        done: oneshot::Sender<Result<Option<TooLarge>, ReplyError>>,
        replaced: Option<TooLarge>,
    ) {
        self.waiters.entry(key).or_default().push_back(Waiter { done, replaced });
    }

    /// The first answer that is waited for was sent, or not.
    pub(super) fn settle(&mut self, key: &RequestKey, result: Result<(), NotSent>) {
        let Some(waiters) = self.waiters.get_mut(key) else { return };
        if let Some(waiter) = waiters.pop_front() {
            let result = result.map(|()| waiter.replaced).map_err(ReplyError::NotSent);
            // A handler that no longer waits for the outcome does not need it.
            let _ = waiter.done.send(result);
        }
        if waiters.is_empty() {
            self.waiters.remove(key);
        }
    }

    /// Waits until a task has ended; for ever if none runs. Dropping the future loses nothing.
    pub(super) async fn ended(&mut self) {
        match self.tasks.join_next_with_id().await {
            Some(result) => self.has_ended(result),
            None => core::future::pending().await,
        }
    }

    /// Takes note of the tasks that have ended so far.
    pub(super) fn note_ended(&mut self) {
        while let Some(result) = self.tasks.try_join_next_with_id() {
            self.has_ended(result);
        }
    }

    fn has_ended(&mut self, result: Result<(Id, ()), JoinError>) {
        // Its panic, if it was one, dropped the replier, which has answered.
        let id = result.map_or_else(|error| error.id(), |(id, ())| id);
        if let Some(caller) = self.callers.remove(&id) {
            self.turns.done(&caller);
        }
    }

    /// Lets the tasks go on that have answered and are not done.
    pub(super) fn detach(mut self) {
        self.tasks.detach_all();
    }
}
