//! The cores, and the sockets to them.

use core::future::poll_fn;
use core::task::{Poll, Waker};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentwire_core::chat::ContactId;
use agentwire_core::loopback::Loopback;
use agentwire_core::loopback::api::{Api, ClientId};
use agentwire_core::time::Instant;

/// Two cores that know each other, and a client at each.
struct Cores {
    net: Loopback,
    api: Api,
    clients: [Client; 2],
}

struct Client {
    id: ClientId,
    /// Frames that were not received yet.
    frames: VecDeque<String>,
    /// Who waits for one.
    waker: Option<Waker>,
}

impl Cores {
    /// Hands out what the cores have for their clients, until they have nothing more.
    fn distribute(&mut self) {
        loop {
            let mut has_any = false;
            for client in &mut self.clients {
                while let Some(frame) = self.api.poll_frame(&mut self.net, client.id) {
                    client.frames.push_back(frame);
                    has_any = true;
                }
                if !client.frames.is_empty() {
                    client.waker.take().into_iter().for_each(Waker::wake);
                }
            }
            if !has_any {
                return;
            }
        }
    }
}

/// A connection to a core in this process. It never ends.
#[derive(Clone)]
pub struct Socket {
    cores: Arc<Mutex<Cores>>,
    /// Which of the clients it belongs to.
    at: usize,
}

impl core::fmt::Debug for Socket {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Socket").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Socket {
    /// Sockets to the cores of a caller and of a bot, and the bot as the caller's contact.
    pub(crate) fn pair() -> (Self, Self, ContactId) {
        let mut net = Loopback::new(1);
        let mut api = Api::new(1);
        let profile = |net: &mut Loopback, name| net.add_profile(name).expect("two names");
        let (caller, bot) = (profile(&mut net, "ann"), profile(&mut net, "bot"));
        let (to_bot, _) = net.connect(caller, bot).expect("both are there");
        let clients = [caller, bot].map(|profile| Client {
            id: api.connect(profile).expect("two clients"),
            frames: VecDeque::new(),
            waker: None,
        });
        let cores = Arc::new(Mutex::new(Cores { net, api, clients }));
        (Self { cores: Arc::clone(&cores), at: 0 }, Self { cores, at: 1 }, to_bot)
    }

    fn cores(&self) -> MutexGuard<'_, Cores> {
        self.cores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a frame to the core.
    ///
    /// # Panics
    /// If the core does not take it: only a client that makes a request over Service RPC, or does
    /// not receive, meets that.
    pub fn send(&self, now: Instant, frame: &str) {
        let cores = &mut *self.cores();
        let client = cores.clients[self.at].id;
        let taken = cores.api.handle_frame(&mut cores.net, now, client, frame.as_bytes());
        taken.expect("every frame before it was answered");
        cores.distribute();
    }

    /// The next frame from the core, if it is there.
    pub fn try_receive(&self) -> Option<String> {
        self.cores().clients[self.at].frames.pop_front()
    }

    /// The next frame from the core, as soon as it is there. Nothing is lost if this is dropped
    /// before.
    pub async fn receive(&self) -> String {
        poll_fn(|context| {
            let client = &mut self.cores().clients[self.at];
            if let Some(frame) = client.frames.pop_front() {
                return Poll::Ready(frame);
            }
            client.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}
