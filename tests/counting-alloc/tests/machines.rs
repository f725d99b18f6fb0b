//! How often the two machines use the heap: never with their calls in place, and a stated number
//! of times per exchange with tables that grow.

use agentwire_core::binding::{Failure, Standard};
use agentwire_core::chat::caller::{Call, Caller, Handled, To};
use agentwire_core::chat::responder::{Received, Responder, Service};
use agentwire_core::chat::{
    Chat, ContactId, GroupId, GroupMemberId, Growable, Inline, Item, ItemId, Me, MemberId, Quoted,
    Storage,
};
use agentwire_core::time::Instant;
use counting_alloc::{Counting, allocations};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const EXCHANGES: u64 = 1_000;

const MCP: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"a-17","method":"tools/call","params":{"name":"clock","_meta":{"#,
    r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#
);
const MCP_REPLIES: [&str; 2] = [
    r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
    r#"{"jsonrpc":"2.0","id":"a-17","result":{"content":[{"type":"text","text":"{\"at\":\"12:30\"}"}]}}"#,
];
const A2A: &str = concat!(
    r#"{"jsonrpc":"2.0","id":17,"method":"SendStreamingMessage","params":{"message":{}},"#,
    r#""a2a-service-parameters":{"A2A-Version":"1.0"}}"#
);
const A2A_REPLIES: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":17,"result":{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}}"#,
    r#"{"jsonrpc":"2.0","id":17,"result":{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"1"}}}}"#,
    r#"{"jsonrpc":"2.0","id":17,"result":{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_COMPLETED"}}}}"#,
];
const SERVICES: [Service<'static, Standard>; 2] =
    [Service::new(Standard::MCP, &["2026-07-28"]), Service::new(Standard::A2A, &["1.0"])];

/// A caller and the members of a group that it calls, one of them in a direct chat as well.
struct Pair<S: Storage> {
    caller: Caller<Standard, S>,
    responders: [Responder<Standard, S>; 2],
    members: [MemberId; 2],
    command: [u8; 1_024],
    answer: [u8; 512],
    item: i64,
    /// Milliseconds.
    now: u64,
}

/// A message in a group, as `me` sees it.
fn in_group(group: GroupId, from: MemberId, me: MemberId, id: ItemId, text: &str) -> Item<'_> {
    Item::group(group, from, Me::new(me, "bot"), id, text)
}

impl<S: Storage> Pair<S> {
    fn new() -> Self {
        Self {
            caller: Caller::default(),
            responders: [Responder::default(), Responder::default()],
            members: ["one", "two"].map(|name| MemberId::new(name).expect("short")),
            command: [0; 1_024],
            answer: [0; 512],
            item: 0,
            now: 0,
        }
    }

    fn now(&mut self) -> Instant {
        self.now += 1;
        Instant::from_millis(self.now)
    }

    /// One call and all replies to it, from as many of the responders as are called.
    fn exchange(&mut self, binding: Standard, to: To<'_>, request: &str, replies: &[&str]) {
        self.item += 1;
        let command = ItemId(self.item);
        let now = self.now();
        let everyone = matches!(to, To::Everyone(_));
        let call = Call::new(binding, to, request).answers(2);
        let (id, transmit) = self.caller.call(now, &call, &mut self.command).expect("a call");
        self.caller.handle_sent(now, id, command, Some("shared")).expect("an open call");

        let caller_id = MemberId::new("caller").expect("short");
        let called = if everyone { 2 } else { 1 };
        let members = self.members.iter().zip(&mut self.responders).take(called);
        for (member, responder) in members {
            let item = match to.chat() {
                Chat::Direct(_) => Item::direct(ContactId(9), command, transmit.text),
                Chat::Group(group) => in_group(group, caller_id, *member, command, transmit.text),
            };
            let received = responder.handle_command(now, &item, &SERVICES, &mut self.answer);
            let Ok(Received::Request(request)) = received else { panic!("{received:?}") };
            let (last, parts) = replies.split_last().expect("a reply");
            let mut reply = |caller: &mut Caller<Standard, S>, text: &str| {
                self.item += 1;
                let id = ItemId(self.item);
                let item = match to.chat() {
                    Chat::Direct(contact) => Item::direct(contact, id, text),
                    Chat::Group(group) => in_group(group, *member, caller_id, id, text),
                };
                let item = item.quoting(Quoted::own(command));
                let handled = caller.handle_reply(now, &item);
                assert!(matches!(handled, Ok(Handled::Reply(_))), "{handled:?}");
            };
            for part in parts {
                let sent = responder.notify(now, &request.token, part, &mut self.answer);
                reply(&mut self.caller, sent.expect("a part").transmit.text);
            }
            let sent = responder.respond(now, request.token, last, &mut self.answer);
            reply(&mut self.caller, sent.expect("a last reply").transmit.text);
        }
        assert_eq!(self.caller.open(), 0);
    }

    /// A call in each kind of chat, one that fails, one that nobody answers, and what is no call.
    fn round(&mut self) {
        let group = GroupId(1);
        let member = To::Member {
            group,
            member: self.members[0],
            group_member: GroupMemberId(5),
            name: "bot",
        };
        self.exchange(Standard::MCP, To::Contact(ContactId(4)), MCP, &MCP_REPLIES);
        self.exchange(Standard::A2A, To::Contact(ContactId(4)), A2A, &A2A_REPLIES);
        self.exchange(Standard::MCP, member, MCP, &MCP_REPLIES);
        self.exchange(Standard::A2A, To::Everyone(group), A2A, &A2A_REPLIES);
        self.failures();
    }

    fn failures(&mut self) {
        let now = self.now();
        let [responder, _] = &mut self.responders;
        for broken in ["hello", "/_call  mcp {}", "/_call mcp {\"id\":7", "/_call other {}"] {
            self.item += 1;
            let item = Item::direct(ContactId(9), ItemId(self.item), broken);
            let received = responder.handle_command(now, &item, &SERVICES, &mut self.answer);
            assert!(!matches!(received, Ok(Received::Request(_)) | Err(_)));
        }
        for by_time in [false, true] {
            let call = Call::new(Standard::MCP, To::Contact(ContactId(4)), MCP);
            let (id, sent) = self.caller.call(now, &call, &mut self.command).expect("a call");
            self.item += 1;
            let item = Item::direct(ContactId(9), ItemId(self.item), sent.text);
            let received = responder.handle_command(now, &item, &SERVICES, &mut self.answer);
            let Ok(Received::Request(request)) = received else { panic!("{received:?}") };
            if by_time {
                // Nobody answers: both sides' limits pass.
                self.now += 1_000_000;
                let later = Instant::from_millis(self.now);
                drop(request.token);
                let expired = responder.handle_timeout(later, &mut self.answer);
                assert!(matches!(expired, Ok(Some(_))));
                assert!(self.caller.handle_timeout(later).is_some());
            } else {
                let failed =
                    responder.fail(now, request.token, &Failure::Internal, &mut self.answer);
                assert!(failed.is_ok());
                assert!(self.caller.cancel(id));
            }
        }
    }
}

#[test]
fn machines_with_their_calls_in_place_use_no_heap() {
    let used = allocations(|| {
        let mut pair = Pair::<Inline<16>>::new();
        for _ in 0..EXCHANGES {
            pair.round();
        }
    });
    assert_eq!(used, 0);
}

/// In a steady state each accepted command costs its responder one allocation, for the id that an
/// error of a later moment has to name; the caller needs none.
#[test]
fn machines_with_growing_tables_use_the_heap_once_per_accepted_command() {
    let mut pair = Pair::<Growable>::new();
    for _ in 0..EXCHANGES {
        pair.round();
    }
    let direct = allocations(|| {
        for _ in 0..EXCHANGES {
            pair.exchange(Standard::MCP, To::Contact(ContactId(4)), MCP, &MCP_REPLIES);
        }
    });
    assert!(direct <= EXCHANGES, "{direct} allocations in {EXCHANGES} exchanges");
    let broadcast = allocations(|| {
        for _ in 0..EXCHANGES {
            pair.exchange(Standard::A2A, To::Everyone(GroupId(1)), A2A, &A2A_REPLIES);
        }
    });
    // Two members accept it.
    assert!(broadcast <= 2 * EXCHANGES, "{broadcast} allocations in {EXCHANGES} broadcasts");
}

#[test]
fn a_growing_caller_alone_uses_no_heap_in_a_steady_state() {
    let mut caller = Caller::<Standard, Growable>::default();
    let mut buffer = [0; 1_024];
    let mut item = 0;
    let mut exchange = || {
        item += 2;
        let now = Instant::from_millis(item as u64);
        let call = Call::new(Standard::A2A, To::Contact(ContactId(4)), A2A);
        let (id, _) = caller.call(now, &call, &mut buffer).expect("a call");
        caller.handle_sent(now, id, ItemId(item), None).expect("an open call");
        let reply = Item::direct(ContactId(4), ItemId(item + 1), A2A_REPLIES[2])
            .quoting(Quoted::own(ItemId(item)));
        assert!(matches!(caller.handle_reply(now, &reply), Ok(Handled::Reply(_))));
    };
    for _ in 0..EXCHANGES {
        exchange();
    }
    assert_eq!(allocations(|| (0..EXCHANGES).for_each(|_| exchange())), 0);
}
