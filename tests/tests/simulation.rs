//! Five bots and twenty callers in direct chats and groups, on one thread and a clock of its own,
//! over a network that delays, reorders, repeats, loses and edits messages as a seed has it.
//!
//! What has to hold for every seed: each call ends exactly once, each request gets exactly one
//! last answer, nothing that was sent is lost unless the network lost it, no instant takes
//! steps without end, and the same seed gives the same transcript, byte for byte.

use core::fmt::Write;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use agentwire_core::binding::{Failure, Standard};
use agentwire_core::chat::caller::{Call, CallId, To, Wait};
use agentwire_core::chat::responder::{Ignored, RespondError, TokenKey};
use agentwire_core::chat::session::{Event, Origin, Reply, Request, SessionConfig, Unanswered};
use agentwire_core::loopback::{Faults, GroupRef};
use agentwire_core::time::Instant;
use agentwire_tests::world::{Happened, Who, World, a2a, mcp, result, status};

const BOTS: usize = 5;
const CALLERS: usize = 20;
const CALLS: usize = 10;
const OVERALL: Duration = Duration::from_secs(20);
const IDLE: Duration = Duration::from_secs(8);

/// A sequence of numbers from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn millis(&mut self, most: u64) -> Duration {
        Duration::from_millis(self.below(most + 1))
    }
}

/// What an application does at a time.
enum Plan {
    Call(Who),
    /// A bot goes on with a request: so many replies before the last one, and its number.
    Answer {
        bot: Who,
        request: Request<Standard>,
        left: u64,
        number: u64,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Ending {
    Answered,
    TimedOut,
}

struct Made {
    caller: Who,
    at: Instant,
    /// Which bots are meant.
    meant: BTreeSet<Who>,
    ends: Vec<(Instant, Ending)>,
    /// Texts of the replies, by whether the call was still open.
    received: Vec<String>,
}

struct Simulation {
    world: World,
    dice: Dice,
    plans: BTreeMap<(Instant, u64), Plan>,
    planned: u64,
    groups: Vec<(GroupRef, Vec<Who>)>,
    made: Vec<Made>,
    by_call: BTreeMap<(Who, CallId), usize>,
    /// Which bot was asked by which call, as often as it was.
    asked: BTreeMap<(usize, Who), u32>,
    /// The texts that were sent for each call.
    answers: BTreeMap<usize, Vec<String>>,
    by_token: BTreeMap<(Who, TokenKey), usize>,
    last_answers: BTreeMap<(Who, TokenKey), u32>,
    transcript: String,
}

impl Simulation {
    fn new(seed: u64, faults: Faults) -> Self {
        let mut world = World::new(seed);
        let mut config = SessionConfig::default();
        config.responder.idle = Duration::from_secs(3);
        config.responder.overall = Duration::from_secs(10);
        // Two bots bear the same name.
        for name in ["bot", "shop", "über bot", "twin", "twin"] {
            world.add(name, config, &[Standard::MCP, Standard::A2A]);
        }
        let mut config = SessionConfig::default();
        config.caller.wait = Wait::new(OVERALL, IDLE);
        for caller in 0..CALLERS {
            let caller = world.add(&format!("caller {caller}"), config, &[]);
            for bot in 0..BOTS {
                world.connect(caller, bot);
            }
        }
        let groups = [vec![0, 1], vec![2, 3, 4], vec![0, 1, 2, 3, 4]];
        let groups = groups.into_iter().enumerate().map(|(number, bots)| {
            let callers = (BOTS..BOTS + CALLERS).filter(|caller| caller % 3 == number);
            let members: Vec<Who> = callers.chain(bots.iter().copied()).collect();
            (world.group(&format!("group {number}"), &members), bots)
        });
        let groups = groups.collect();
        world.net.set_faults(faults);
        let mut simulation = Self {
            world,
            dice: Dice(seed),
            plans: BTreeMap::new(),
            planned: 0,
            groups,
            made: Vec::new(),
            by_call: BTreeMap::new(),
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
            by_token: BTreeMap::new(),
            last_answers: BTreeMap::new(),
            transcript: String::new(),
        };
        for caller in BOTS..BOTS + CALLERS {
            for _ in 0..CALLS {
                let after = simulation.dice.millis(30_000);
                simulation.plan(after, Plan::Call(caller));
            }
        }
        simulation
    }

    fn plan(&mut self, after: Duration, plan: Plan) {
        self.plans.insert((self.world.now + after, self.planned), plan);
        self.planned += 1;
    }

    /// Runs until nothing is left to happen.
    fn run(mut self) -> Self {
        loop {
            loop {
                let seen = self.world.drive_bounded().unwrap();
                if seen.is_empty() {
                    break;
                }
                for (who, happened) in seen {
                    self.see(who, happened);
                }
            }
            let due = self.plans.keys().next().map(|(at, _)| *at);
            let next = [due, self.world.next_timeout()].into_iter().flatten().min();
            let Some(next) = next else { return self };
            self.world.now = self.world.now.max(next);
            while let Some(entry) = self.plans.first_entry() {
                if entry.key().0 > self.world.now {
                    break;
                }
                let plan = entry.remove();
                self.act(plan);
            }
        }
    }

    fn act(&mut self, plan: Plan) {
        match plan {
            Plan::Call(caller) => self.call(caller),
            Plan::Answer { bot, request, left, number } => self.answer(bot, request, left, number),
        }
    }

    fn call(&mut self, caller: Who) {
        let number = self.made.len();
        let id =
            if self.dice.below(2) == 0 { format!("{number}") } else { format!("\"é{number}\"") };
        let (binding, request) = match self.dice.below(3) {
            0 => (Standard::MCP, mcp(&id, "tools/call", "2026-07-28")),
            1 => (Standard::A2A, a2a(&id, "GetTask")),
            _ => (Standard::A2A, a2a(&id, "SubscribeToTask")),
        };
        let (group, bots) = self.groups[caller % 3].clone();
        let bot = bots[self.dice.below(bots.len() as u64) as usize];
        let mentioned = self.world.member(group, caller, bot);
        let (to, meant) = match self.dice.below(3) {
            0 => {
                let profile = self.world.profile(bot);
                let contacts = self.world.net.contacts(self.world.profile(caller));
                let contact = contacts.iter().find(|contact| contact.profile == profile);
                (To::Contact(contact.unwrap().contact), BTreeSet::from([bot]))
            }
            1 => (mentioned.to(), BTreeSet::from([bot])),
            _ => (To::Everyone(self.world.group_id(group, caller)), bots.into_iter().collect()),
        };
        let mut call = Call::new(binding, to, &request);
        if self.dice.below(2) == 0 {
            call = call.answers(meant.len() as u32);
        }
        let id = self.world.call(caller, &call).unwrap();
        self.by_call.insert((caller, id), number);
        let (at, ends, received) = (self.world.now, Vec::new(), Vec::new());
        self.made.push(Made { caller, at, meant, ends, received });
    }

    /// A bot begins with a request.
    fn begin(&mut self, bot: Who, request: Request<Standard>) {
        let id = request.id.as_deref().unwrap();
        let number: usize = id.trim_matches(['"', 'é']).parse().unwrap();
        *self.asked.entry((number, bot)).or_default() += 1;
        self.by_token.insert((bot, request.token.key()), number);
        let is_mcp = request.binding == Standard::MCP;
        let is_stream = request.text.contains("SubscribeToTask");
        let left = if is_mcp || is_stream { self.dice.below(5) } else { 0 };
        // One in ten takes longer than the bot may.
        let after = if self.dice.below(10) == 0 { 5_000 } else { 800 };
        let after = self.dice.millis(after);
        self.plan(after, Plan::Answer { bot, request, left, number: 0 });
    }

    fn answer(&mut self, bot: Who, request: Request<Standard>, left: u64, number: u64) {
        let id = request.id.clone().unwrap();
        let is_mcp = request.binding == Standard::MCP;
        if left > 0 {
            let text = if is_mcp {
                let params = format!(r#"{{"progressToken":{id},"progress":{number},"bot":{bot}}}"#);
                format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#
                )
            } else {
                let artifact = format!(r#"{{"artifactId":"{bot}.{number}"}}"#);
                result(
                    &id,
                    &format!(r#"{{"artifactUpdate":{{"taskId":"t","artifact":{artifact}}}}}"#),
                )
            };
            if self.world.notify(bot, &request, &text).is_ok() {
                let after = self.dice.millis(400);
                self.plan(after, Plan::Answer { bot, request, left: left - 1, number: number + 1 });
            }
            return;
        }
        let now = self.world.now;
        let choice = self.dice.below(10);
        let session = self.world.session(bot);
        let taken = if choice == 0 {
            session.fail(now, request.token, &Failure::Internal).map(|()| None)
        } else if request.text.contains("SubscribeToTask") {
            session.respond(now, request.token, &status(&id, "COMPLETED"))
        } else {
            // One in ten does not fit.
            let filler = "\\\"".repeat(if choice == 1 { 8_000 } else { choice as usize * 100 });
            session.respond(now, request.token, &result(&id, &format!("[{bot},\"{filler}\"]")))
        };
        // The limit may have passed.
        if let Err(RespondError { token, .. }) = taken {
            assert!(self.world.session(bot).budget(&token).is_none());
        }
    }

    fn see(&mut self, who: Who, happened: Happened) {
        let now = self.world.now.as_millis();
        match happened {
            Happened::Sent(sent) => {
                let (chat, len) = (sent.chat, sent.encoded_len);
                let text = &sent.text;
                writeln!(self.transcript, "{now} {who} -> {chat} {len} {text}").unwrap();
                assert!(len <= 15_602);
                if let Origin::Answer(token, is_last) = sent.origin {
                    let count = self.last_answers.entry((who, token)).or_default();
                    assert_eq!(*count, 0, "an answer after the last one");
                    *count += u32::from(is_last);
                    let call = self.by_token[&(who, token)];
                    self.answers.entry(call).or_default().push(sent.text);
                }
            }
            Happened::NotSent(message, error) => panic!("{message:?} is not sent: {error}"),
            Happened::Event(event) => {
                self.learn(who, event);
            }
        }
    }

    fn learn(&mut self, who: Who, event: Event<Standard>) {
        let now = self.world.now;
        let at = now.as_millis();
        match event {
            Event::Request(request) => {
                writeln!(self.transcript, "{at} {who} asked {}", request.text).unwrap();
                self.begin(who, request);
            }
            Event::Reply(reply) => {
                let made = self.receive(who, &reply);
                if reply.is_end {
                    made.ends.push((now, Ending::Answered));
                }
            }
            Event::Late(reply) => {
                self.receive(who, &reply);
            }
            Event::TimedOut(end) => {
                writeln!(self.transcript, "{at} {who} {end:?}").unwrap();
                let call = self.by_call[&(who, end.call)];
                self.made[call].ends.push((now, Ending::TimedOut));
            }
            Event::Expired(token) => {
                writeln!(self.transcript, "{at} {who} expired {token:?}").unwrap();
            }
            // All members see a command, those who are not meant too.
            Event::Unanswered { why, .. } => {
                writeln!(self.transcript, "{at} {who} ignores {why:?}").unwrap();
                let is_bot = who < BOTS;
                let expected =
                    if is_bot { Ignored::OtherMember } else { Ignored::UndeclaredProtocol };
                assert_eq!(why, Unanswered::Ignored(expected));
            }
            other => panic!("{other:?}"),
        }
    }

    fn receive(&mut self, who: Who, reply: &Reply) -> &mut Made {
        let at = self.world.now.as_millis();
        let Reply { sender, edited, text, .. } = reply;
        writeln!(self.transcript, "{at} {who} <- {sender:?} {edited} {text}").unwrap();
        let made = &mut self.made[self.by_call[&(who, reply.call)]];
        assert_eq!(made.caller, who);
        if !edited {
            made.received.push(text.clone());
        }
        made
    }

    /// What holds whatever the network does.
    fn check(&mut self) {
        assert_eq!(self.made.len(), CALLERS * CALLS);
        for made in &self.made {
            let [(at, ending)] = made.ends[..] else { panic!("ends: {:?}", made.ends) };
            let span = at.duration_since(made.at);
            assert!(span <= OVERALL);
            assert!(ending == Ending::Answered || span >= IDLE);
        }
        assert!(self.last_answers.values().all(|count| *count == 1));
        assert_eq!(self.last_answers.len(), self.by_token.len());
        // Nobody is asked twice, and nobody who is not meant.
        for ((call, bot), count) in &self.asked {
            assert_eq!(*count, 1);
            assert!(self.made[*call].meant.contains(bot));
        }
        for who in 0..BOTS + CALLERS {
            let session = self.world.session(who);
            assert_eq!((session.open_calls(), session.open_requests()), (0, 0));
        }
        assert_eq!(self.world.net.in_flight(), 0);
    }

    /// What holds where nothing is lost.
    fn check_that_nothing_is_lost(&mut self) {
        for (number, made) in self.made.iter_mut().enumerate() {
            for bot in &made.meant {
                assert!(self.asked.contains_key(&(number, *bot)), "{number} did not reach {bot}");
            }
            let sent = self.answers.get_mut(&number).unwrap();
            sent.sort();
            made.received.sort();
            assert_eq!(*sent, made.received, "call {number}");
        }
    }
}

fn calm() -> Faults {
    Faults::new()
}

fn rough() -> Faults {
    Faults::new()
        .delay(Duration::from_millis(5), Duration::from_millis(300))
        .reorder(200, Duration::from_secs(2))
        .duplicate(150)
        .edit(150)
}

#[test]
fn without_faults_every_call_ends_and_nothing_is_lost() {
    for seed in 0..4 {
        let mut simulation = Simulation::new(seed, calm()).run();
        simulation.check();
        simulation.check_that_nothing_is_lost();
    }
}

#[test]
fn delays_reordering_repetition_and_edits_lose_nothing() {
    for seed in 10..14 {
        let mut simulation = Simulation::new(seed, rough()).run();
        simulation.check();
        simulation.check_that_nothing_is_lost();
    }
}

#[test]
fn every_call_ends_once_though_messages_are_lost() {
    for seed in 20..24 {
        let mut simulation = Simulation::new(seed, rough().drop(150)).run();
        simulation.check();
        let sent: usize = simulation.answers.values().map(Vec::len).sum();
        let received: usize = simulation.made.iter().map(|made| made.received.len()).sum();
        assert!(received < sent, "nothing was lost");
        for (number, made) in simulation.made.iter().enumerate() {
            let sent = simulation.answers.get(&number).map_or(&[][..], Vec::as_slice);
            assert!(made.received.iter().all(|text| sent.contains(text)));
        }
    }
}

#[test]
fn messages_that_stay_in_order_arrive_in_order() {
    let faults = Faults::new().delay(Duration::ZERO, Duration::from_millis(500)).duplicate(100);
    let mut simulation = Simulation::new(30, faults).run();
    simulation.check();
    for (number, made) in simulation.made.iter().enumerate() {
        if made.meant.len() == 1 {
            assert_eq!(made.received, simulation.answers[&number]);
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_transcript_byte_for_byte() {
    let run = |seed| Simulation::new(seed, rough().drop(50)).run().transcript;
    let first = run(40);
    assert!(first.lines().count() > 1_000);
    assert_eq!(first, run(40));
    assert_ne!(first, run(41));
}
