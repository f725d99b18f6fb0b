//! The bot API of the loopback's cores: whatever clients send, each frame has exactly one answer.

use alloc::collections::VecDeque;
use alloc::string::{String, ToString as _};
use core::time::Duration;

use crate::json;
use crate::loopback::api::{Api, ApiError, ClientId, MAX_CORR_ID_LEN, MAX_FRAMES};
use crate::loopback::{Loopback, ProfileId};
use crate::simplex::frame::{Body, Frame};
use crate::time::Instant;

/// How many lines of a script are run.
const MAX_LINES: usize = 256;

/// Bytes as a script, a line each:
///
/// ```text
/// 0 /_send @{contact} text hello     client 0 of 4 sends this command; two clients for each profile
/// f {"corrId":"1","cmd":"/v"}        client 0 sends this frame
/// p 1                                a frame of client 1 is taken
/// - 1                                client 1 is gone, and another one takes its place
/// + 1500                             so many milliseconds pass
/// ```
///
/// Any other line is a frame of client 0. In a command `{contact}`, `{group}`, `{member}`,
/// `{item}`, `{short}`, `{full}` and `{request}` stand for what there is, and `¶` for a line feed.
///
/// Held: nothing panics, each frame has one answer with its `corrId`, in order; what comes out is
/// a frame that a client reads; and when all time has passed no answer is missing.
pub fn loopback_api(data: &[u8]) {
    let mut bench = Bench::new();
    for line in data.split(|byte| *byte == b'\n').take(MAX_LINES) {
        bench.line(line);
    }
    bench.settle();
}

struct Bench {
    net: Loopback,
    api: Api,
    now: Instant,
    ann: ProfileId,
    bot: ProfileId,
    clients: [ClientId; 4],
    /// The answers that each client has to get, by `corrId`.
    expected: [VecDeque<Option<String>>; 4],
    sent: u64,
    /// The last item of any client, and the last Service RPC request.
    item: i64,
    request: String,
}

impl Bench {
    fn new() -> Self {
        let mut net = Loopback::new(9);
        let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        net.connect(ann, bot).unwrap();
        let group = net.create_group(ann, "team").unwrap();
        net.join(group, bot).unwrap();
        net.create_address(bot, true).unwrap();
        net.enable_service_requests(bot, true).unwrap();
        let mut api = Api::new(9);
        let clients = [ann, bot, ann, bot].map(|profile| api.connect(profile).unwrap());
        let expected = [(); 4].map(|()| VecDeque::new());
        let request = String::from("bm9uZQ==");
        Self {
            net,
            api,
            now: Instant::ZERO,
            ann,
            bot,
            clients,
            expected,
            sent: 0,
            item: 0,
            request,
        }
    }

    fn line(&mut self, line: &[u8]) {
        let rest = line.get(2..).unwrap_or_default();
        let client = |byte: u8| usize::from(byte.wrapping_sub(b'0') & 3);
        match line {
            [digit @ b'0'..=b'3', b' ', ..] => {
                let text = String::from_utf8_lossy(rest);
                self.command(client(*digit), &text);
            }
            [b'f', b' ', ..] => self.frame(0, rest),
            [b'p', b' ', digit, ..] => {
                self.poll(client(*digit));
            }
            [b'-', b' ', digit, ..] => {
                let at = client(*digit);
                self.api.disconnect(self.clients[at]);
                let profile = if at % 2 == 0 { self.ann } else { self.bot };
                self.clients[at] = self.api.connect(profile).unwrap();
                self.expected[at].clear();
            }
            [b'+', b' ', ..] => {
                let millis = core::str::from_utf8(rest).ok().and_then(|text| text.parse().ok());
                let span = Duration::from_millis(u64::from(millis.unwrap_or(0_u32)));
                self.now = self.now.saturating_add(span);
                self.net.handle_timeout(self.now);
            }
            _ => self.frame(0, line),
        }
    }

    fn command(&mut self, client: usize, text: &str) {
        let profile = if client % 2 == 0 { self.ann } else { self.bot };
        let contact = self.net.contacts(profile)[0].contact.0.to_string();
        let (group, _) = self.net.groups(profile)[0];
        let links = self.net.address_of(self.bot).and_then(|address| self.net.links(address));
        let (full, short) = links.unwrap_or_default();
        let mut text = text.replace('¶', "\n");
        for (name, value) in [
            ("{contact}", contact.as_str()),
            ("{group}", &group.0.to_string()),
            ("{item}", &self.item.to_string()),
            ("{full}", &full),
            ("{short}", &short),
            ("{request}", &self.request),
        ] {
            text = text.replace(name, value);
        }
        if text.len() > 64 * 1024 {
            return;
        }
        self.sent += 1;
        let corr_id = self.sent.to_string();
        let frame = json::to_text(|out| {
            out.raw("{\"corrId\":").string(&corr_id).raw(",\"cmd\":").string(&text).raw("}");
        });
        self.frame(client, frame.as_bytes());
    }

    fn frame(&mut self, client: usize, frame: &[u8]) {
        let takes = self.api.takes_frames(self.clients[client]);
        let taken = self.api.handle_frame(&mut self.net, self.now, self.clients[client], frame);
        match taken {
            Ok(()) => {
                assert!(takes);
                self.expected[client].push_back(corr_id(frame));
            }
            Err(ApiError::Waits | ApiError::Full { .. }) => assert!(!takes),
            Err(error) => panic!("{error}"),
        }
        assert!(self.expected[client].len() <= MAX_FRAMES + 1);
    }

    fn poll(&mut self, client: usize) -> bool {
        let Some(text) = self.api.poll_frame(&mut self.net, self.clients[client]) else {
            return false;
        };
        let frame = Frame::parse(&text).expect("a client reads it");
        let corr_id = frame.corr_id().map(|id| id.chars().collect::<String>());
        // No event is a refusal.
        let is_answer =
            corr_id.is_some() || text.starts_with("{\"resp\":{\"type\":\"chatCmdError\"");
        if is_answer {
            assert_eq!(self.expected[client].pop_front(), Some(corr_id), "{}", text.len());
        }
        match frame.body().expect("a client knows its shape") {
            Body::ServiceRequest(request) => {
                self.request = request.id.chars().collect();
            }
            Body::NewChatItems(items) => {
                for item in items {
                    self.item = item.expect("a client reads it").id.0;
                }
            }
            _ => {}
        }
        true
    }

    /// All time passes, and everything is taken.
    fn settle(&mut self) {
        for profile in [1, 0] {
            self.take_all();
            // A chat that was stopped runs again, or what waits for it would wait for ever.
            self.command(profile, "/_start");
        }
        for _ in 0..100_000 {
            self.take_all();
            let Some(due) = self.net.poll_timeout() else { break };
            self.now = self.now.max(due);
            self.net.handle_timeout(due);
        }
        for (at, expected) in self.expected.iter().enumerate() {
            assert!(expected.is_empty(), "client {at}: {} missing", expected.len());
        }
    }

    fn take_all(&mut self) {
        loop {
            let taken = (0..self.clients.len()).filter(|client| self.poll(*client)).count();
            if taken == 0 {
                break;
            }
        }
    }
}

/// The `corrId` of a frame that is a request.
fn corr_id(frame: &[u8]) -> Option<String> {
    let object = json::Object::parse(json::text(frame).ok()?).ok()?;
    object.str("cmd").ok()??;
    let id: String = object.str("corrId").ok()??.chars().collect();
    (id.len() <= MAX_CORR_ID_LEN).then_some(id)
}
