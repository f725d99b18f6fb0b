//! A caller and two bots over a network that loses, delays, repeats, reorders and edits.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use super::script::Script;
use super::script::texts::{self, Style};
use crate::binding::{Failure, Standard};
use crate::chat::caller::{Call, CallId, ReplyError, To, Wait};
use crate::chat::responder::{AnswerError, Token, TokenKey};
use crate::chat::session::{Declared, Event, Origin, ReplyKind, Request, Session, SessionConfig};
use crate::chat::size::MAX_ENCODED_MSG_LEN;
use crate::chat::{Chat, Sender};
use crate::loopback::{Endpoint, Fault, Faults, GroupRef, Loopback, ProfileId, Step};
use crate::time::Instant;

/// How many calls a scenario makes at most.
const MAX_CALLS: usize = 24;
/// How many calls can be open at once.
const MAX_OPEN: usize = 8;
/// How many steps all endpoints may take until nothing is to be done at one time.
const MAX_STEPS: u32 = 5_000;
const SPAN: Duration = Duration::from_secs(60);

/// A scenario: a byte that is the network's seed, then operations.
///
/// | operation | parameters |
/// |---|---|
/// | `c` call | whom, request |
/// | `p` plan of the bots for a command to come | what they do |
/// | `x` cancel | which call |
/// | `d` drop, `u` duplicate, `o` reorder, `e` edit | how many of ten messages, from now on |
/// | `y` delay | the longest, a span |
/// | `z` a fault for the next message | whose, which |
/// | `a` advance | a span |
///
/// Whatever happens: every call ends once; nobody gives two last replies that count; each command
/// that a bot takes has one last answer; every message fits; and in the end nothing is open.
pub fn pair(data: &[u8]) {
    let Some((seed, operations)) = data.split_first() else { return };
    let mut world = World::new(u64::from(*seed));
    let mut script = Script::new(operations);
    while let Some(operation) = script.operation() {
        world.step(operation, &mut script);
    }
    world.finish();
}

/// What a bot does with a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Plan {
    Answer,
    Parts,
    Fail,
    /// Nothing, ever: its limit passes.
    Silence,
    TooLong,
    /// When time has moved on.
    Later,
    /// Gives one wrong answer first.
    Wrong,
}

const PLANS: [Plan; 7] =
    [Plan::Answer, Plan::Parts, Plan::Fail, Plan::Silence, Plan::TooLong, Plan::Later, Plan::Wrong];

#[derive(Default)]
struct Seen {
    is_broadcast: bool,
    /// Whether it was a bot's own doing, or ours, that no answer need come.
    excused: bool,
    ends: u32,
    answered: bool,
    last_of: BTreeSet<Sender>,
    /// In a broadcast, who has named a task or given a last reply.
    followed: BTreeSet<Sender>,
}

struct Bot {
    endpoint: Endpoint<Standard>,
    /// Last answers by command.
    answers: BTreeMap<TokenKey, u32>,
    kept: Vec<Token>,
    later: Vec<(Token, String)>,
}

struct World {
    net: Loopback,
    now: Instant,
    ann: Endpoint<Standard>,
    bots: Vec<Bot>,
    group: GroupRef,
    calls: Vec<CallId>,
    seen: BTreeMap<CallId, Seen>,
    plans: VecDeque<Plan>,
    faults: Faults,
    /// Whether there was a fault that can keep an answer from coming.
    is_faulty: bool,
}

fn endpoint(profile: ProfileId) -> Endpoint<Standard> {
    let mut config = SessionConfig::default();
    config.caller.wait = Wait::new(SPAN, SPAN / 2);
    config.responder.overall = SPAN * 2 / 3;
    config.responder.idle = SPAN / 4;
    config.max_calls = MAX_OPEN;
    config.max_requests = 4;
    let declared = Vec::from([
        Declared::new(Standard::MCP, ["2026-07-28"]),
        Declared::new(Standard::A2A, ["1.0"]),
    ]);
    Endpoint::new(profile, Session::new(config, declared))
}

impl World {
    fn new(seed: u64) -> Self {
        let mut net = Loopback::new(seed);
        let ann = net.add_profile("ann").unwrap();
        let group = net.create_group(ann, "team").unwrap();
        let mut bots = Vec::new();
        for name in ["bot", "bot 2"] {
            let bot = net.add_profile(name).unwrap();
            net.connect(ann, bot).unwrap();
            net.join(group, bot).unwrap();
            bots.push(Bot {
                endpoint: endpoint(bot),
                answers: BTreeMap::new(),
                kept: Vec::new(),
                later: Vec::new(),
            });
        }
        Self {
            net,
            now: Instant::ZERO,
            ann: endpoint(ann),
            bots,
            group,
            calls: Vec::new(),
            seen: BTreeMap::new(),
            plans: VecDeque::new(),
            faults: Faults::new(),
            is_faulty: false,
        }
    }

    fn step(&mut self, operation: u8, script: &mut Script<'_>) {
        match operation {
            b'c' => self.call(script),
            b'p' => self.plans.push_back(PLANS[script.below(PLANS.len())]),
            b'x' => {
                let Some(place) = script.latest(self.calls.len()) else { return };
                let call = self.calls[place];
                if self.ann.session_mut().cancel(call) {
                    let seen = self.seen.get_mut(&call).unwrap();
                    seen.ends += 1;
                    seen.excused = true;
                }
            }
            b'd' | b'u' | b'o' | b'e' | b'y' => {
                let rate = script.below(11) as u16 * 100;
                self.faults = match operation {
                    b'd' => self.faults.drop(rate),
                    b'u' => self.faults.duplicate(rate),
                    b'o' => self.faults.reorder(rate, Duration::from_secs(8)),
                    b'e' => self.faults.edit(rate),
                    _ => self.faults.delay(Duration::ZERO, Duration::from_millis(1 << (rate / 60))),
                };
                // Edits and duplicates lose nothing.
                self.is_faulty |= matches!(operation, b'd' | b'o' | b'y') && rate > 0;
                self.net.set_faults(self.faults);
            }
            b'z' => {
                let whose = match script.below(3) {
                    0 => self.ann.profile(),
                    bot => self.bots[bot - 1].endpoint.profile(),
                };
                let fault = match script.below(6) {
                    0 => Fault::Drop,
                    1 => Fault::Duplicate,
                    2 => Fault::Delay(Duration::from_secs(3)),
                    3 => Fault::Reorder(Duration::from_secs(20)),
                    4 => Fault::Edit(None),
                    _ => Fault::Edit(Some("never mind".into())),
                };
                self.is_faulty = true;
                self.net.fault_next(whose, fault);
            }
            b'a' => {
                let until = self.now + Duration::from_millis(script.span().min(100_000));
                self.advance(until);
            }
            _ => return,
        }
        self.drive();
    }

    fn call(&mut self, script: &mut Script<'_>) {
        if self.calls.len() == MAX_CALLS {
            return;
        }
        let ann = self.ann.profile();
        let group = self.net.group_id(self.group, ann).unwrap();
        let whom = script.below(6);
        let bot = self.bots[whom % 2].endpoint.profile();
        let known = self.net.member_of(self.group, ann, bot).unwrap();
        let to = match whom {
            0 | 1 => To::Contact(self.net.contacts(ann)[whom].contact),
            2 | 3 => To::Member {
                group,
                member: known.member,
                group_member: known.group_member_id,
                name: &known.name,
            },
            _ => To::Everyone(group),
        };
        let style = Style::ALL[script.below(3)];
        let request = style.request(self.calls.len(), "");
        let mut call = Call::new(style.binding(), to, &request);
        if whom == 5 {
            call = call.answers(2);
        }
        if let Ok(id) = self.ann.session_mut().call(self.now, &call) {
            self.calls.push(id);
            let is_broadcast = matches!(to, To::Everyone(_));
            let seen = Seen { is_broadcast, ..Seen::default() };
            assert!(self.seen.insert(id, seen).is_none(), "a call's id is used again");
        }
    }

    /// Lets everybody do what is to be done now.
    fn drive(&mut self) {
        let mut steps = 0;
        loop {
            let mut idle = true;
            loop {
                steps += 1;
                assert!(steps < MAX_STEPS, "it goes on and on");
                match self.ann.poll(&mut self.net, self.now) {
                    Step::Timeout(_) => break,
                    step => self.caller(step),
                }
                idle = false;
            }
            for bot in 0..self.bots.len() {
                loop {
                    steps += 1;
                    assert!(steps < MAX_STEPS, "it goes on and on");
                    match self.bots[bot].endpoint.poll(&mut self.net, self.now) {
                        Step::Timeout(_) => break,
                        step => self.bot(bot, step),
                    }
                    idle = false;
                }
            }
            if idle {
                return;
            }
        }
    }

    /// The next time at which something is to be done.
    fn next(&mut self) -> Option<Instant> {
        let mut times = Vec::new();
        for endpoint in
            [&mut self.ann].into_iter().chain(self.bots.iter_mut().map(|bot| &mut bot.endpoint))
        {
            match endpoint.poll(&mut self.net, self.now) {
                Step::Timeout(time) => times.extend(time),
                step => panic!("{step:?} after all was done"),
            }
        }
        times.into_iter().min()
    }

    fn advance(&mut self, until: Instant) {
        for _ in 0..MAX_STEPS {
            let next = self.next().filter(|next| *next <= until);
            let Some(next) = next else {
                self.now = until;
                self.answer_later();
                return self.drive();
            };
            assert!(next > self.now || next == Instant::MAX, "a time that has passed");
            self.now = next;
            self.drive();
        }
        panic!("time goes on and on");
    }

    fn caller(&mut self, step: Step<Standard>) {
        match step {
            Step::Sent(sent) => {
                assert!(sent.encoded_len <= MAX_ENCODED_MSG_LEN);
                assert!(matches!(sent.origin, Origin::Command(_) | Origin::Refusal));
            }
            Step::NotSent(message, error) => panic!("{error}: {message:?}"),
            Step::Event(Event::Reply(reply)) => {
                let seen = self.seen.get_mut(&reply.call).expect("a call");
                assert_eq!(seen.ends, 0, "a reply to a call that has ended");
                if let ReplyKind::Part(Some(_)) | ReplyKind::Last(_) = reply.kind {
                    seen.followed.insert(reply.sender);
                }
                if matches!(reply.kind, ReplyKind::Last(_)) {
                    assert!(seen.last_of.insert(reply.sender), "two last replies of one sender");
                    assert!(seen.is_broadcast || seen.last_of.len() == 1, "two last replies");
                    seen.answered = true;
                } else {
                    assert!(!seen.last_of.contains(&reply.sender), "a reply after the last one");
                }
                seen.ends += u32::from(reply.is_end);
            }
            Step::Event(Event::Late(reply)) => {
                let seen = &self.seen[&reply.call];
                assert!(seen.ends > 0 || seen.last_of.contains(&reply.sender), "not late");
            }
            Step::Event(Event::TimedOut(end)) => {
                let seen = self.seen.get_mut(&end.call).expect("a call");
                assert_eq!(end.answers as usize, seen.last_of.len());
                assert!(end.was_sent);
                seen.ends += 1;
                assert_eq!(seen.ends, 1, "a call ends twice");
            }
            Step::Event(Event::Overflow { error, .. }) => {
                assert_eq!(error, ReplyError::TooManySenders { capacity: MAX_OPEN });
                let open = self.seen.values().filter(|seen| seen.is_broadcast && seen.ends == 0);
                let followed: usize = open.map(|seen| seen.followed.len()).sum();
                assert!(followed >= MAX_OPEN, "there is room for another sender");
                // Whose answer it was does not count.
                self.is_faulty = true;
            }
            // The other replies of a group are for somebody else.
            Step::Event(Event::Unanswered { .. }) => {}
            step => panic!("{step:?}"),
        }
    }

    fn bot(&mut self, place: usize, step: Step<Standard>) {
        match step {
            Step::Sent(sent) => {
                assert!(sent.encoded_len <= MAX_ENCODED_MSG_LEN);
                assert!(sent.quotes.is_some(), "an answer without a quote");
            }
            Step::NotSent(message, error) => panic!("{error}: {message:?}"),
            Step::Event(Event::Request(request)) => self.request(place, request),
            Step::Event(Event::Expired(key)) => self.answered(place, key),
            Step::Event(Event::Refused { reason, .. }) => assert_eq!(reason, "busy"),
            Step::Event(Event::Unanswered { chat, .. }) => {
                assert!(matches!(chat, Chat::Group(_)) || self.is_faulty);
            }
            step => panic!("{step:?}"),
        }
    }

    fn answered(&mut self, place: usize, key: TokenKey) {
        let answers = self.bots[place].answers.get_mut(&key).expect("a command");
        *answers += 1;
        assert_eq!(*answers, 1, "a command is answered twice");
    }

    fn request(&mut self, place: usize, request: Request<Standard>) {
        let key = request.token.key();
        assert!(self.bots[place].answers.insert(key, 0).is_none(), "a key is used again");
        let style = match request.binding {
            Standard::Mcp(_) => Style::Mcp,
            Standard::A2a(_) if request.text.contains("SendStreamingMessage") => Style::Stream,
            Standard::A2a(_) => Style::Single,
        };
        let id = request.id.as_deref().and_then(|id| id.parse().ok()).expect("our own id");
        let last = texts::reply(if style == Style::Stream { 8 } else { 1 }, style, id);
        let now = self.now;
        let plan = self.plans.pop_front().unwrap_or(Plan::Answer);
        let bot = &mut self.bots[place];
        let session = bot.endpoint.session_mut();
        let mut token = request.token;
        match plan {
            Plan::Answer => {
                assert_eq!(session.respond(now, token, &last), Ok(None));
            }
            Plan::Parts => {
                for kind in [if style == Style::Mcp { 0 } else { 6 }, 7] {
                    if style == Style::Stream || (style == Style::Mcp && kind == 0) {
                        let part = texts::reply(kind, style, id);
                        session.notify(now, &token, &part).expect("a part");
                    }
                }
                assert_eq!(session.respond(now, token, &last), Ok(None));
            }
            Plan::Fail => session.fail(now, token, &Failure::Internal).expect("it is open"),
            Plan::Silence => {
                bot.kept.push(token);
                return;
            }
            Plan::TooLong => {
                let long = last + &" ".repeat(MAX_ENCODED_MSG_LEN);
                let replaced = session.respond(now, token, &long).expect("it is replaced");
                assert!(replaced.is_some());
            }
            Plan::Later => {
                bot.later.push((token, last));
                return;
            }
            Plan::Wrong => {
                let error = session.respond(now, token, "one moment").expect_err("no answer");
                assert!(matches!(error.cause, AnswerError::NotAnAnswer(_)));
                token = error.token;
                assert_eq!(session.respond(now, token, &last), Ok(None));
            }
        }
        self.answered(place, key);
    }

    /// What was put off is answered, unless its limit has passed.
    fn answer_later(&mut self) {
        for place in 0..self.bots.len() {
            for (token, text) in core::mem::take(&mut self.bots[place].later) {
                let key = token.key();
                let session = self.bots[place].endpoint.session_mut();
                match session.respond(self.now, token, &text) {
                    Ok(_) => self.answered(place, key),
                    Err(error) => assert_eq!(error.cause, AnswerError::Gone),
                }
            }
        }
    }

    /// Time goes on until nothing is left to be done.
    fn finish(mut self) {
        self.drive();
        self.advance(self.now + Duration::from_secs(120));
        self.advance(self.now + SPAN * 10);
        assert_eq!(self.net.in_flight(), 0, "something is on its way for ever");
        assert_eq!(self.ann.session().open_calls(), 0, "a call is open for ever");
        for (call, seen) in &self.seen {
            assert_eq!(seen.ends, 1, "{call:?} has not ended once");
        }
        for bot in &self.bots {
            assert_eq!(bot.endpoint.session().open_requests(), 0, "a command is open for ever");
            assert!(bot.answers.values().all(|answers| *answers == 1), "a command has no answer");
        }
        if !self.is_faulty {
            // A bot answers, be it with an error, before a caller stops waiting.
            let all = self.seen.values().all(|seen| seen.answered || seen.excused);
            assert!(all, "no answer came over a network without a fault");
        }
        // All the room there was is there again.
        self.net.set_faults(Faults::new());
        let before = self.calls.len();
        self.calls.truncate(0);
        self.plans.clear();
        for _ in 0..MAX_OPEN {
            self.call(&mut Script::new(b"01"));
            self.drive();
        }
        assert!(self.calls.len() == MAX_OPEN, "{before} calls have left no room");
        let answered = |call: &CallId| self.seen[call].answered;
        assert!(self.is_faulty || self.calls.iter().all(answered), "an answer is missing");
    }
}
