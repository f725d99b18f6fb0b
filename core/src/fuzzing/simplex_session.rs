//! Two sessions at chat cores of the loopback, behind wires that break.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use super::script::Script;
use crate::binding::{Failure, Standard};
use crate::chat::caller::{Call, CallId, To};
use crate::chat::responder::{Token, TokenKey};
use crate::chat::session::{Declared, Event as ChatEvent, Origin};
use crate::chat::{ContactId, ItemId};
use crate::loopback::api::{Api, ClientId};
use crate::loopback::{Loopback, ProfileId};
use crate::rpc::session::ServiceEvent;
use crate::rpc::{RequestId, ServiceCall, ServiceCallId};
use crate::simplex::frame::{Body, Frame};
use crate::simplex::journal::disk::Disk;
use crate::simplex::journal::{JournalConfig, JournalStore};
use crate::simplex::{Event, Input, Link, Outcome, Output, ServiceTarget, Session, SessionConfig};
use crate::time::Instant;

/// A caller and a bot, each a [`Session`] at a core of the loopback, with a script of what happens:
///
/// | operation | what happens |
/// |---|---|
/// | `c` | the caller calls the bot in their conversation |
/// | `s` | the caller makes a request over Service RPC |
/// | `r` | the bot answers its oldest command; `n` its newest one; `f` its oldest one with an error |
/// | `t` | the bot answers its oldest request over Service RPC |
/// | `k` which | the caller gives its newest call up, or one before |
/// | `o` wire | a connection that was asked for comes about; `O` does not |
/// | `>` wire | one frame goes to the core; `<` one comes from it |
/// | `x` wire | the connection breaks; frames under way are lost |
/// | `d` wire | the next frame from the core comes twice |
/// | `g` wire | garbage comes |
/// | `l` wire | the next frame to the core gets lost, and the connection stays |
/// | `p` | the bot's process ends, and another one begins with its journal |
/// | `w` span | time passes |
/// | `a` | everything that can be done at once is done |
///
/// A wire is a digit: the caller's chat and service connection, and the bot's. Whatever happens:
/// each call and request has one end; no command is sent twice, told to the bot twice or answered
/// twice; and once nothing breaks any more, every command that the cores have was told to the bot
/// and every answer that was given is in the core.
pub fn simplex_session(data: &[u8]) {
    let mut world = World::new();
    let mut script = Script::new(data);
    while let Some(operation) = script.operation() {
        match operation {
            b'c' => world.call(),
            b's' => world.request(),
            b'r' => world.answer(0, false),
            b'n' => world.answer(usize::MAX, false),
            b'f' => world.answer(0, true),
            b't' => world.answer_service(),
            b'k' => {
                let count = world.ends.len();
                if let Some(place) = script.latest(count) {
                    let call = *world.ends.keys().nth(place).unwrap();
                    world.cancel(call);
                }
            }
            b'o' | b'O' => {
                let (side, link) = wire(&mut script);
                world.connected(side, link, operation == b'o');
            }
            b'>' => {
                let (side, link) = wire(&mut script);
                world.deliver(side, link);
            }
            b'<' => {
                let (side, link) = wire(&mut script);
                world.receive(side, link, 1);
            }
            b'd' => {
                let (side, link) = wire(&mut script);
                world.receive(side, link, 2);
            }
            b'x' => {
                let (side, link) = wire(&mut script);
                world.cut(side, link);
            }
            b'g' => {
                let (side, link) = wire(&mut script);
                world.garbage(side, link);
            }
            b'l' => {
                let (side, link) = wire(&mut script);
                world.lose(side, link);
            }
            b'p' => world.restart(),
            b'w' => world.wait(Duration::from_millis(script.span())),
            b'a' => world.all(),
            _ => {}
        }
        world.run();
    }
    world.heal();
    world.check();
}

/// Which session, and which of its connections.
fn wire(script: &mut Script<'_>) -> (Side, Link) {
    match script.below(4) {
        0 => (Side::Caller, Link::Chat),
        1 => (Side::Caller, Link::Service),
        2 => (Side::Bot, Link::Chat),
        _ => (Side::Bot, Link::Service),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Side {
    Caller,
    Bot,
}

const SIDES: [Side; 2] = [Side::Caller, Side::Bot];
const LINKS: [Link; 2] = [Link::Chat, Link::Service];

/// A connection, and the frames that are under way on it.
struct Wire {
    client: ClientId,
    to_core: VecDeque<String>,
    from_core: VecDeque<String>,
}

/// A session, and what its process has.
struct Agent {
    profile: ProfileId,
    session: Session<Standard>,
    wires: BTreeMap<Link, Wire>,
    /// The connections that were asked for.
    wanted: BTreeSet<Link>,
}

/// How a call has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Open,
    Answered,
    Other,
}

struct World {
    net: Loopback,
    api: Api,
    now: Instant,
    caller: Agent,
    bot: Agent,
    to_bot: ContactId,
    address: String,
    /// The caller's calls, and how they ended.
    ends: BTreeMap<CallId, End>,
    requests: BTreeMap<ServiceCallId, bool>,
    made: usize,
    /// The commands that the bot was told of and has not answered.
    open: VecDeque<(Token, String)>,
    open_service: VecDeque<(RequestId, String)>,
    /// What outlives the bot's process.
    disk: Disk,
    /// The items that the bot was told of.
    told: BTreeSet<ItemId>,
    /// The answers that the bot gave, of which nothing was heard.
    given: BTreeSet<TokenKey>,
    /// The answers of which the bot was told that nobody knows.
    unknown: usize,
    /// The commands that the caller's core has, by their text.
    commands: BTreeMap<String, u32>,
    /// The items that the bot's core has quoted in an own message.
    answers: BTreeMap<i64, u32>,
}

impl World {
    fn new() -> Self {
        let mut net = Loopback::new(1);
        let (caller, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        let (to_bot, _) = net.connect(caller, bot).unwrap();
        let agent = |profile, session| Agent {
            profile,
            session,
            wires: BTreeMap::new(),
            wanted: BTreeSet::new(),
        };
        let mut world = Self {
            net,
            api: Api::new(1),
            now: Instant::from_millis(1_000),
            caller: agent(caller, Session::new(SessionConfig::default(), Vec::new(), 1)),
            bot: agent(bot, bot_session(&Disk::default())),
            disk: Disk::default(),
            to_bot,
            address: String::new(),
            ends: BTreeMap::new(),
            requests: BTreeMap::new(),
            made: 0,
            open: VecDeque::new(),
            open_service: VecDeque::new(),
            told: BTreeSet::new(),
            given: BTreeSet::new(),
            unknown: 0,
            commands: BTreeMap::new(),
            answers: BTreeMap::new(),
        };
        world.run();
        world.all();
        world.bot.session.create_address(world.now).unwrap();
        world.run();
        world.all();
        assert!(world.address.contains("http") || world.address.contains("simplex:"));
        assert!(world.caller.session.ready().is_some() && world.bot.session.ready().is_some());
        world
    }

    fn agent(&mut self, side: Side) -> &mut Agent {
        match side {
            Side::Caller => &mut self.caller,
            Side::Bot => &mut self.bot,
        }
    }

    // ---- What the applications do.

    fn call(&mut self) {
        self.made += 1;
        let text = request("GetTask", self.made);
        let call = Call::new(Standard::A2A, To::Contact(self.to_bot), &text);
        let id = self.caller.session.call(self.now, &call).unwrap();
        assert_eq!(self.ends.insert(id, End::Open), None);
    }

    fn request(&mut self) {
        self.made += 1;
        let text = request("SendMessage", self.made);
        let target = ServiceTarget::new(self.address.as_str());
        let call = ServiceCall::new(Standard::A2A, &text);
        let id = self.caller.session.request(self.now, target, &call).unwrap();
        self.requests.insert(id, false);
    }

    fn cancel(&mut self, call: CallId) {
        let was_open = self.caller.session.cancel(call);
        let end = self.ends.get_mut(&call).unwrap();
        assert_eq!(was_open, *end == End::Open);
        if was_open {
            *end = End::Other;
        }
    }

    fn answer(&mut self, place: usize, with_error: bool) {
        let place = place.min(self.open.len().saturating_sub(1));
        let Some((token, id)) = self.open.remove(place) else { return };
        let key = token.key();
        let session = &mut self.bot.session;
        let given = if with_error {
            session.fail(self.now, token, &Failure::Internal).is_ok()
        } else {
            session.respond(self.now, token, &answer(&id)).is_ok()
        };
        // Its limit may have passed, and then the error was given for it.
        if given {
            self.given.insert(key);
        }
    }

    fn answer_service(&mut self) {
        let Some((request, id)) = self.open_service.pop_front() else { return };
        let text = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"message\":{{}}}}}}");
        let _ = self.bot.session.respond_service(self.now, &request, &text);
    }

    // ---- What the wires do.

    fn connected(&mut self, side: Side, link: Link, comes_about: bool) {
        let now = self.now;
        let profile = self.agent(side).profile;
        if !self.agent(side).wanted.remove(&link) {
            return;
        }
        let input = if comes_about {
            let client = self.api.connect(profile).unwrap();
            let (to_core, from_core) = (VecDeque::new(), VecDeque::new());
            self.agent(side).wires.insert(link, Wire { client, to_core, from_core });
            Input::Connected(link)
        } else {
            Input::Disconnected(link)
        };
        self.agent(side).session.handle_input(now, input).unwrap();
    }

    fn deliver(&mut self, side: Side, link: Link) -> bool {
        let Some(wire) = self.agent(side).wires.get(&link) else { return false };
        let (client, frame) = (wire.client, wire.to_core.front().cloned());
        let Some(frame) = frame else { return false };
        if !self.api.takes_frames(client) {
            return false;
        }
        self.api.handle_frame(&mut self.net, self.now, client, frame.as_bytes()).unwrap();
        self.agent(side).wires.get_mut(&link).unwrap().to_core.pop_front();
        self.collect();
        true
    }

    /// Takes what the cores have to say onto the wires. What a core has done is seen here, whether
    /// its answer arrives or not.
    fn collect(&mut self) {
        for side in SIDES {
            for link in LINKS {
                let Some(wire) = self.agent(side).wires.get(&link) else { continue };
                let client = wire.client;
                while let Some(frame) = self.api.poll_frame(&mut self.net, client) {
                    self.see(side, &frame);
                    let wire = self.agent(side).wires.get_mut(&link).unwrap();
                    wire.from_core.push_back(frame);
                }
            }
        }
    }

    /// An answer of a core that tells of an own message.
    fn see(&mut self, side: Side, text: &str) {
        let frame = Frame::parse(text).unwrap();
        let Ok(Body::NewChatItems(items)) = frame.body() else { return };
        for item in items.map(Result::unwrap).filter(|item| item.direction.is_own()) {
            match side {
                Side::Caller => {
                    let text = item.text.unwrap().chars().collect();
                    *self.commands.entry(text).or_default() += 1;
                }
                Side::Bot => {
                    let quoted = item.quote.unwrap().item.unwrap();
                    *self.answers.entry(quoted.0).or_default() += 1;
                }
            }
        }
    }

    fn receive(&mut self, side: Side, link: Link, times: usize) -> bool {
        let now = self.now;
        self.collect();
        let Some(wire) = self.agent(side).wires.get_mut(&link) else { return false };
        let Some(frame) = wire.from_core.pop_front() else { return false };
        // The core repeats no request that it holds: only frames without effects come twice.
        for _ in 0..times {
            let input = Input::Frame(link, &frame);
            self.agent(side).session.handle_input(now, input).unwrap();
            self.run();
        }
        true
    }

    fn cut(&mut self, side: Side, link: Link) {
        let now = self.now;
        let Some(wire) = self.agent(side).wires.remove(&link) else { return };
        self.api.disconnect(wire.client);
        self.agent(side).session.handle_input(now, Input::Disconnected(link)).unwrap();
    }

    fn garbage(&mut self, side: Side, link: Link) {
        let now = self.now;
        if self.agent(side).wires.contains_key(&link) {
            let session = &mut self.agent(side).session;
            session.handle_input(now, Input::Frame(link, "{\"resp\":")).unwrap();
            self.run();
        }
        if self.agent(side).wires.contains_key(&link) {
            self.agent(side).session.handle_input(now, Input::Unreadable(link, 9)).unwrap();
        }
    }

    fn lose(&mut self, side: Side, link: Link) {
        if let Some(wire) = self.agent(side).wires.get_mut(&link) {
            wire.to_core.pop_front();
        }
    }

    fn restart(&mut self) {
        if self.disk.records.is_empty() {
            // Nothing tells the next process from which item on the bot was there.
            return;
        }
        for link in LINKS {
            if let Some(wire) = self.bot.wires.remove(&link) {
                self.api.disconnect(wire.client);
            }
        }
        self.bot.wanted.clear();
        self.open.clear();
        self.open_service.clear();
        self.given.clear();
        self.bot.session = bot_session(&self.disk);
        self.bot.session.handle_timeout(self.now);
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now + span;
        self.net.handle_timeout(self.now);
        for side in SIDES {
            let now = self.now;
            self.agent(side).session.handle_timeout(now);
        }
        self.run();
        self.collect();
    }

    // ---- What the sessions say.

    fn run(&mut self) {
        for side in SIDES {
            for left in (0..100_000).rev() {
                assert!(left > 0, "there is no end of outputs");
                let agent = self.agent(side);
                match agent.session.poll_output() {
                    Output::Connect(link) => {
                        assert!(agent.wanted.insert(link), "it is asked for already");
                        assert!(!agent.wires.contains_key(&link), "it is there already");
                    }
                    Output::Disconnect(link) => {
                        agent.wanted.remove(&link);
                        if let Some(wire) = agent.wires.remove(&link) {
                            self.api.disconnect(wire.client);
                        }
                    }
                    Output::Transmit(transmit) => {
                        let wire = agent.wires.get_mut(&transmit.link).expect("it is there");
                        wire.to_core.push_back(transmit.frame);
                    }
                    Output::Event(event) => self.learn(side, event),
                    Output::Save(changes) => {
                        assert_eq!(side, Side::Bot, "the caller's journal ends with it");
                        self.disk.save(&changes).unwrap();
                    }
                    Output::Timeout(until) => {
                        assert!(until.is_none_or(|until| until > self.now), "it is due already");
                        break;
                    }
                }
            }
        }
    }

    fn learn(&mut self, side: Side, event: Event<Standard>) {
        match (side, event) {
            (Side::Caller, Event::Chat(event)) => match event {
                ChatEvent::Reply(reply) if reply.is_end => self.ended(reply.call, End::Answered),
                ChatEvent::TimedOut(end) => self.ended(end.call, End::Other),
                ChatEvent::NotSent(call) => self.ended(call, End::Other),
                _ => {}
            },
            (Side::Caller, Event::OutcomeUnknown { origin: Origin::Command(call), .. }) => {
                self.ended(call, End::Other);
            }
            (Side::Caller, Event::Service(ServiceEvent::Reply(reply))) => {
                let ended = self.requests.insert(reply.call, true);
                assert_eq!(ended, Some(false), "a request ends once");
            }
            (Side::Bot, Event::Chat(ChatEvent::Request(request))) => {
                assert!(self.told.insert(request.item), "a command is told once");
                self.open.push_back((request.token, request.id.unwrap()));
            }
            (Side::Bot, Event::Chat(ChatEvent::Expired(key))) => {
                self.open.retain(|(token, _)| token.key() != key);
                self.given.insert(key);
            }
            (Side::Bot, Event::Sent { origin: Origin::Answer(key, true), .. }) => {
                // The session gives errors of its own too.
                self.given.remove(&key);
            }
            (Side::Bot, Event::OutcomeUnknown { origin, .. }) => {
                if let Origin::Answer(key, true) = origin {
                    self.given.remove(&key);
                }
                self.unknown += 1;
            }
            (Side::Bot, Event::Service(ServiceEvent::Request(request))) => {
                self.open_service.push_back((request.request_id, request.id.unwrap()));
            }
            (Side::Bot, Event::Done { outcome, .. }) => {
                let Outcome::Response(response) = outcome else { panic!("{outcome:?}") };
                let Some(frame) = response.frame() else { panic!() };
                let Ok(Body::Address(address)) = frame.body() else { panic!("{frame:?}") };
                self.address = address.links.best().chars().collect();
            }
            _ => {}
        }
    }

    fn ended(&mut self, call: CallId, end: End) {
        let before = self.ends.insert(call, end);
        assert_eq!(before, Some(End::Open), "a call ends once");
    }

    // ---- The end.

    /// Everything that can be done at once is done.
    fn all(&mut self) {
        loop {
            let mut is_busy = false;
            for side in SIDES {
                for link in LINKS {
                    if self.agent(side).wanted.contains(&link) {
                        self.connected(side, link, true);
                        is_busy = true;
                    }
                    is_busy |= self.deliver(side, link);
                    is_busy |= self.receive(side, link, 1);
                    self.run();
                }
            }
            if !is_busy {
                return;
            }
        }
    }

    /// Nothing breaks any more, and the bot answers everything.
    fn heal(&mut self) {
        for _ in 0..400 {
            self.all();
            while !self.open.is_empty() {
                self.answer(0, false);
                self.run();
                self.all();
            }
            while !self.open_service.is_empty() {
                self.answer_service();
                self.run();
                self.all();
            }
            let timeouts = [
                self.caller.session.poll_timeout(),
                self.bot.session.poll_timeout(),
                self.net.poll_timeout(),
            ];
            let Some(next) = timeouts.into_iter().flatten().min() else { return };
            self.wait(next.duration_since(self.now));
        }
        panic!("there is no end of timeouts");
    }

    fn check(&mut self) {
        assert!(self.ends.values().all(|end| *end != End::Open), "each call ends");
        assert!(self.requests.values().all(|has_ended| *has_ended), "each request ends");
        assert!(self.commands.values().all(|times| *times == 1), "no command is sent twice");
        assert!(self.answers.values().all(|times| *times == 1), "no command is answered twice");
        assert_eq!(self.told.len(), self.commands.len(), "every command is told");
        assert!(self.given.is_empty(), "every answer is taken");
        let unanswered = self.told.len() - self.answers.len();
        assert!(unanswered <= self.unknown, "every command is answered");
        assert!(self.caller.session.is_idle() && self.bot.session.is_idle());
        assert_eq!(self.caller.session.open_calls(), 0);
        // A session that has been through all this still works.
        let before = self.ends.len();
        self.call();
        self.run();
        self.heal();
        assert_eq!(self.ends.len(), before + 1);
        assert_eq!(self.ends.values().next_back(), Some(&End::Answered));
    }
}

/// The bot, as what outlived its last process makes it.
fn bot_session(disk: &Disk) -> Session<Standard> {
    let declared = || vec![Declared::new(Standard::A2A, ["1.0"])];
    let config = SessionConfig { service_requests: true, page: 3, ..SessionConfig::default() };
    let mut session = Session::with_service(config, declared(), declared(), 2);
    session.keep_journal(disk.restore(JournalConfig::default()));
    session
}

fn request(method: &str, id: usize) -> String {
    let params = if method == "GetTask" {
        "{\"id\":\"t\"}"
    } else {
        "{\"message\":{\"messageId\":\"m\",\"role\":\"ROLE_USER\",\"parts\":[]}}"
    };
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params},\
         \"a2a-service-parameters\":{{\"A2A-Version\":\"1.0\"}}}}"
    )
}

fn answer(id: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"id\":\"t\"}}}}")
}

#[cfg(test)]
mod tests {
    use super::simplex_session;
    use alloc::format;
    use alloc::string::String;
    use std::println;

    #[test]
    fn nothing_breaks() {
        simplex_session(b"");
        simplex_session(b"c a r a");
        simplex_session(b"s a t a");
        simplex_session(b"c c c s s a r n f t a t a");
    }

    /// The connection breaks at every frame boundary of a call and its answer, on both sides.
    #[test]
    fn a_cut_at_every_boundary() {
        // Each step moves one frame; the whole exchange takes fewer than this.
        let steps = [">0", "<2", "r", ">2", "<2", "<0", "<0", "<2"];
        for wire in ["0", "2"] {
            for place in 0..=steps.len() {
                for again in place..=steps.len() {
                    let mut script = String::from("c c ");
                    for (at, step) in steps.iter().enumerate() {
                        if at == place || at == again {
                            script.push_str(&format!("x{wire} w4 o{wire} "));
                        }
                        script.push_str(step);
                    }
                    script.push_str(&format!("x{wire}"));
                    simplex_session(script.as_bytes());
                }
            }
        }
    }

    /// The bot's process ends at every boundary of a second call and its answer.
    #[test]
    fn a_restart_at_every_boundary() {
        let steps = [">0", "<2", "r", ">2", "<2", "<0", "<0", "<2"];
        for place in 0..=steps.len() {
            let mut script = String::from("c a r a c ");
            for (at, step) in steps.iter().enumerate() {
                if at == place {
                    script.push_str("p w4 o2 a ");
                }
                script.push_str(step);
            }
            script.push('p');
            println!("{script}");
            simplex_session(script.as_bytes());
        }
    }

    /// Scripts of a generator: the same ones each time.
    #[test]
    fn whatever_breaks() {
        let operations = [
            "c", "c", "s", "r", "n", "f", "t", "k0", "o0", "o1", "o2", "o3", "O0", "O2", ">0",
            ">1", ">2", ">3", "<0", "<1", "<2", "<3", "x0", "x1", "x2", "x3", "d0", "d2", "g0",
            "g2", "l0", "l2", "p", "w2", "w4", "w5", "a", "a",
        ];
        let mut state = 0x1234_5678_u64;
        let mut draw = |count: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % count as u64) as usize
        };
        for _ in 0..25 {
            let mut script = String::new();
            for _ in 0..draw(80) {
                script.push_str(operations[draw(operations.len())]);
            }
            println!("{script}");
            simplex_session(script.as_bytes());
        }
    }
}
