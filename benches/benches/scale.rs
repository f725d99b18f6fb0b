//! What one reply costs a caller, and what asking for the next deadline costs, with 1, 64 and
//! 4,096 calls open; and the replies to a broadcast.

use core::hint::black_box;
use std::thread;
use std::time::Instant as Clock;

use agentwire_benches::{Candidate, Medians, host, inputs};
use agentwire_core::binding::Standard;
use agentwire_core::chat::caller::{Call, CallId, Caller, CallerConfig, Handled, To};
use agentwire_core::chat::{
    ContactId, GroupId, Growable, Inline, Item, ItemId, Me, MemberId, Quoted, Storage,
};
use agentwire_core::time::Instant;

const OPEN: [usize; 3] = [1, 64, 4_096];
const CONTACT: ContactId = ContactId(4);
const NOTIFICATION: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":17,"progress":1}}"#;
const LAST: &str = r#"{"jsonrpc":"2.0","id":17,"result":{"resultType":"complete","content":[{"type":"text","text":"12:30"}]}}"#;

/// A caller with a number of open calls, of which each has its own command.
struct Open<S: Storage> {
    caller: Box<Caller<Standard, S>>,
    /// Each open call and the item of its command.
    calls: Vec<(CallId, ItemId)>,
    item: i64,
    now: u64,
    turn: usize,
}

impl<S: Storage> Open<S> {
    fn new(open: usize) -> Self {
        let mut config = CallerConfig::default();
        config.max_replies = u32::MAX;
        let caller = Box::new(Caller::with_limit(config, 4_096));
        let mut this = Self { caller, calls: Vec::new(), item: 0, now: 0, turn: 0 };
        for _ in 0..open {
            let call = this.call();
            this.calls.push(call);
        }
        this
    }

    fn now(&mut self) -> Instant {
        self.now += 1;
        Instant::from_millis(self.now)
    }

    fn call(&mut self) -> (CallId, ItemId) {
        let now = self.now();
        self.item += 1;
        let item = ItemId(self.item);
        let call = Call::new(Standard::MCP, To::Contact(CONTACT), inputs::MCP_REQUEST);
        let (id, _) = self.caller.call(now, &call, &mut [0; 512]).expect("room for a call");
        self.caller.handle_sent(now, id, item, None).expect("an open call");
        (id, item)
    }

    /// The next one of the open calls, in turns that visit all of them but not in their order.
    fn next(&mut self) -> usize {
        self.turn = self.turn.wrapping_add(1_597);
        self.turn % self.calls.len()
    }

    fn reply(&mut self, command: ItemId, text: &str) -> bool {
        let now = self.now();
        self.item += 1;
        let item = Item::direct(CONTACT, ItemId(self.item), text).quoting(Quoted::own(command));
        match self.caller.handle_reply(now, black_box(&item)) {
            Ok(Handled::Reply(reply)) => reply.is_end,
            other => panic!("not a reply: {other:?}"),
        }
    }

    /// A notification: the call's idle limit starts anew.
    fn notification(&mut self) -> usize {
        let place = self.next();
        let (_, command) = self.calls[place];
        usize::from(self.reply(command, NOTIFICATION))
    }

    /// When to come back.
    fn poll(&self) -> usize {
        black_box(&self.caller).poll_timeout().map_or(0, |at| at.as_millis() as usize)
    }

    /// The last reply, and a new call in the place of the one that ended.
    fn turnover(&mut self) -> usize {
        let place = self.next();
        assert!(self.reply(self.calls[place].1, LAST));
        self.calls[place] = self.call();
        place
    }

    /// Nanoseconds of a last reply alone: the median of many, each taken by itself, less what
    /// looking at the clock takes.
    fn last(&mut self) -> f64 {
        let mut samples: Vec<[f64; 2]> = Vec::new();
        for _ in 0..20_000 {
            let place = self.next();
            let command = self.calls[place].1;
            let start = Clock::now();
            assert!(self.reply(command, LAST));
            let took = start.elapsed();
            let start = Clock::now();
            let empty = start.elapsed();
            samples.push([took, empty].map(|time| time.as_secs_f64() * 1e9));
            self.calls[place] = self.call();
        }
        let median = |column: usize| {
            let mut column: Vec<f64> = samples.iter().map(|sample| sample[column]).collect();
            column.sort_by(f64::total_cmp);
            column[column.len() / 2]
        };
        median(0) - median(1)
    }
}

type Work<S> = fn(&mut Open<S>) -> usize;

fn table<S: Storage>(storage: &str) {
    println!("{storage}");
    let work: [(&str, Work<S>); 3] = [
        ("a notification", Open::notification),
        ("a last reply and a new call", Open::turnover),
        ("poll_timeout", |open| open.poll()),
    ];
    for (name, work) in work {
        let names = OPEN.map(|open| format!("{name}, {open} open"));
        let candidates = OPEN.iter().zip(&names).map(|(&open, name)| {
            let mut open = Open::<S>::new(open);
            Candidate::new(name, move || work(&mut open))
        });
        print!("{}", Medians::measure(candidates.collect()));
    }
    let first = Open::<S>::new(OPEN[0]).last();
    for open in OPEN {
        let time = Open::<S>::new(open).last();
        let name = format!("a last reply, {open} open");
        println!("  {name:<44} {time:>10.1} ns {:>8.2}x", time / first);
    }
}

/// A broadcast that so many members answer, each with its last reply.
fn broadcast(members: usize) -> impl FnMut() -> usize {
    let me = MemberId::new("me").expect("short");
    let senders: Vec<MemberId> = (0..members)
        .map(|member| MemberId::new(&format!("bVJpU2x2Q2ozMmZkVE{member:06}")).expect("short"))
        .collect();
    let mut caller = Box::new(Caller::<Standard, Growable>::default());
    let (mut now, mut id) = (0, 0);
    move || {
        now += 1;
        id += 1;
        let (at, command) = (Instant::from_millis(now), ItemId(id));
        let call = Call::new(Standard::MCP, To::Everyone(GroupId(1)), inputs::MCP_REQUEST)
            .answers(members as u32);
        let (call, _) = caller.call(at, &call, &mut [0; 512]).expect("room for a call");
        caller.handle_sent(at, call, command, None).expect("an open call");
        let mut answers = 0;
        for sender in &senders {
            id += 1;
            let item = Item::group(GroupId(1), *sender, Me::new(me, "me"), ItemId(id), LAST)
                .quoting(Quoted::own(command));
            let handled = caller.handle_reply(at, black_box(&item));
            answers += usize::from(matches!(handled, Ok(Handled::Reply(_))));
        }
        assert_eq!((answers, caller.open()), (members, 0));
        answers
    }
}

fn run() {
    host::print(&["agentwire-core"]);
    table::<Growable>("on the heap (Growable)");
    table::<Inline<4_096>>("in place (Inline<4096>)");
    println!("a broadcast, from the call to the last answer");
    let members = [1, 10, 50];
    let names = members.map(|members| format!("{members} members answer"));
    let candidates =
        members.iter().zip(&names).map(|(&members, name)| Candidate::new(name, broadcast(members)));
    let medians = Medians::measure(candidates.collect());
    print!("{medians}");
    let per_answer = |place: usize, before: usize| {
        let time = medians.rows[place].1 - medians.rows[before].1;
        time / (members[place] - members[before]) as f64
    };
    println!(
        "  each answer: {:.0} ns up to 10, {:.0} ns up to 50",
        per_answer(1, 0),
        per_answer(2, 1)
    );
}

fn main() {
    // A table for 4,096 calls in place passes over the stack on its way.
    let thread = thread::Builder::new().stack_size(256 << 20).spawn(run).expect("a thread");
    if thread.join().is_err() {
        std::process::exit(1);
    }
}
