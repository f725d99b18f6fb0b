//! The exchange with the machines of this project.

use agentwire_core::binding::Standard;
use agentwire_core::chat::caller::{Call, Caller, Handled, To};
use agentwire_core::chat::responder::{Received, Responder, Service};
use agentwire_core::chat::{ContactId, Inline, Item, ItemId, Quoted};
use agentwire_core::time::Instant;

use super::SENT_AT;

const SERVICES: [Service<'static, Standard>; 2] =
    [Service::new(Standard::MCP, &["2026-07-28"]), Service::new(Standard::A2A, &["1.0"])];

/// Both sides of a direct chat, each with its own numbers for the same items.
pub(crate) struct Agentwire {
    caller: Caller<Standard, Inline<64>>,
    responder: Responder<Standard, Inline<64>>,
    command: [u8; 1_024],
    failure: [u8; 512],
    item: i64,
    now: u64,
}

impl Agentwire {
    pub(crate) fn new() -> Self {
        Self {
            caller: Caller::default(),
            responder: Responder::default(),
            command: [0; 1_024],
            failure: [0; 512],
            item: 0,
            now: 0,
        }
    }

    /// A command and its replies, the last of which ends the call. Returns the encoded bytes of
    /// all messages.
    pub(crate) fn exchange(&mut self, binding: Standard, request: &str, replies: &[&str]) -> usize {
        self.now += 1;
        self.item += 1;
        let now = Instant::from_millis(self.now);
        let command = ItemId(self.item);

        let call = Call::new(binding, To::Contact(ContactId(4)), request);
        let (id, transmit) =
            self.caller.call(now, &call, &mut self.command).expect("the call is made");
        self.caller.handle_sent(now, id, command, None).expect("the call is open");
        let mut sizes = transmit.size.bytes();

        let item = Item::direct(ContactId(9), command, transmit.text).at(SENT_AT);
        let received = self.responder.handle_command(now, &item, &SERVICES, &mut self.failure);
        let Ok(Received::Request(request)) = received else { panic!("the request is accepted") };
        let Some((last, parts)) = replies.split_last() else { panic!("there is a reply") };
        for part in parts {
            let answer = self
                .responder
                .notify(now, &request.token, part, &mut self.failure)
                .expect("a part of the stream");
            sizes += answer.transmit.size.bytes();
            self.item += 1;
            assert!(!ends(&mut self.caller, now, ItemId(self.item), command, answer.transmit.text));
        }
        let answer = self
            .responder
            .respond(now, request.token, last, &mut self.failure)
            .expect("a last reply");
        assert!(answer.replaced.is_none());
        sizes += answer.transmit.size.bytes();
        self.item += 1;
        assert!(ends(&mut self.caller, now, ItemId(self.item), command, answer.transmit.text));
        sizes
    }
}

/// Whether a reply to the command ends the call.
fn ends(
    caller: &mut Caller<Standard, Inline<64>>,
    now: Instant,
    id: ItemId,
    command: ItemId,
    text: &str,
) -> bool {
    let item = Item::direct(ContactId(4), id, text).quoting(Quoted::own(command));
    match caller.handle_reply(now, &item) {
        Ok(Handled::Reply(reply)) => reply.is_end,
        other => panic!("not a reply: {other:?}"),
    }
}
