//! The other side of the socket: as little of a chat core as keeps a bot or a caller busy. It reads
//! no JSON and writes what it has written once, with the numbers and the text replaced, so that
//! what is measured is whoever talks to it.
//!
//! Its frames are those that the loopback's cores write, with every member that the published
//! clients of the API ask for: the command as an event, and the answer to the bot's `/_send` with
//! the message that it quotes.

use core::time::Duration;
use std::net::TcpListener;
use std::thread;
use std::time::Instant;

use agentwire_core::chat::Chat;
use agentwire_core::loopback::Loopback;
use agentwire_core::loopback::api::Api;
use futures_util::{FutureExt, SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

/// As far in the future that it says nothing about a command's age.
const TIME: &str = "2099-01-01T00:00:00Z";

/// What stands in a frame for the item's id, the contact's id and the texts.
const ITEM: &str = "987654321";
const CONTACT: &str = "123456789";
const TEXT: &str = "\"the text\"";
const QUOTED: &str = "\"the quoted text\"";

/// The frames of one call, as a core of the loopback writes them.
struct Frames {
    user: Value,
    received: Template,
    sent: Template,
}

impl Frames {
    fn new() -> Self {
        let mut net = Loopback::new(1);
        let (ann, bot) =
            (net.add_profile("u").expect("a name"), net.add_profile("bot").expect("a name"));
        let (to_bot, to_ann) = net.connect(ann, bot).expect("strangers");
        let mut api = Api::new(1);
        let client = api.connect(bot).expect("the first one");
        while api.poll_frame(&mut net, client).is_some() {}
        let now = agentwire_core::time::Instant::ZERO;
        net.send(now, ann, Chat::Direct(to_bot), "/_call a2a {}").expect("it is sent");
        let frame = |api: &mut Api, net: &mut Loopback| {
            let frame = api.poll_frame(net, client).expect("a frame");
            serde_json::from_str::<Value>(&frame).expect("JSON")
        };
        let received = frame(&mut api, &mut net);
        let item = &received["resp"]["chatItems"][0]["chatItem"]["meta"]["itemId"];
        let composed = json!([{
            "quotedItemId": item, "msgContent": {"type": "text", "text": "x"}, "mentions": {}
        }]);
        let send = format!("/_send @{} json {composed}", to_ann.0);
        let send = json!({"corrId": "1", "cmd": send}).to_string();
        api.handle_frame(&mut net, now, client, send.as_bytes()).expect("there is room");
        let sent = frame(&mut api, &mut net);
        let user = sent["resp"]["user"].clone();
        Self { user, received: Template::of(received), sent: Template::of(sent) }
    }
}

/// A frame with places to fill in.
struct Template(String);

impl Template {
    fn of(mut frame: Value) -> Self {
        let item = &mut frame["resp"]["chatItems"][0];
        item["chatInfo"]["contact"]["contactId"] = json!(123_456_789);
        let item = &mut item["chatItem"];
        item["meta"]["itemId"] = json!(987_654_321);
        item["meta"]["itemTs"] = json!(TIME);
        item["meta"]["itemText"] = json!("the text");
        item["content"]["msgContent"]["text"] = json!("the text");
        if let Some(quoted) = item.get_mut("quotedItem") {
            quoted["content"]["text"] = json!("the quoted text");
        }
        Self(frame["resp"].to_string())
    }

    fn fill(&self, item: u64, contact: u64, text: &str, quoted: &str) -> String {
        let text = Value::from(text).to_string();
        self.0
            .replace(ITEM, &item.to_string())
            .replace(CONTACT, &contact.to_string())
            .replace(TEXT, &text)
            .replace(QUOTED, quoted)
    }
}

/// A command as a caller sends it, with so many bytes of text.
pub(crate) fn request(id: u64, pad: usize) -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"GetTask","params":{{"id":"{}"}},"#,
            r#""a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
        ),
        id,
        "x".repeat(pad)
    )
}

/// Its answer, with the same text.
pub(crate) fn answer(id: &str, text: &str) -> String {
    format!(
        concat!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"id":"{}","contextId":"c","#,
            r#""status":{{"state":"TASK_STATE_COMPLETED"}}}}}}"#
        ),
        id, text
    )
}

/// What the core says to the commands of a start.
fn start(cmd: &str, user: &Value) -> Option<String> {
    let resp = match cmd.split(' ').next().unwrap_or_default() {
        "/v" | "/version" => {
            json!({"type": "versionInfo", "versionInfo": {"version": "7.0.0.11"}})
        }
        "/u" | "/user" => json!({"type": "activeUser", "user": user}),
        "/_start" => json!({"type": "chatStarted"}),
        "/_get" => json!({"type": "apiChats", "chats": []}),
        _ => return None,
    };
    Some(resp.to_string())
}

/// What stands behind a member's name, up to the next quotation mark.
fn member<'f>(frame: &'f str, name: &str) -> &'f str {
    let (_, rest) = frame.split_once(name).expect("a command has it");
    rest.split('"').next().unwrap_or_default()
}

/// What the core does.
#[derive(Clone, Copy)]
pub(crate) struct Script {
    /// How many commands it lets others send in all.
    pub(crate) calls: u64,
    /// How many of them are open at once.
    pub(crate) in_flight: u64,
    /// How many of the messages of this side it waits for.
    pub(crate) messages: u64,
    /// How many contacts they come from.
    pub(crate) contacts: u64,
    /// How many bytes of text they carry.
    pub(crate) pad: usize,
    /// The command after whose answer it begins.
    pub(crate) begin: &'static str,
}

/// A core in a thread of its own.
pub(crate) struct ScriptedCore {
    pub(crate) url: String,
    pub(crate) port: u16,
}

/// How long the script of a core has taken.
pub(crate) struct Done(oneshot::Receiver<Duration>);

impl Done {
    /// Waits until the core is done.
    pub(crate) async fn wait(self) -> Duration {
        let limit = Duration::from_secs(120);
        tokio::time::timeout(limit, self.0).await.expect("it ends").expect("the core has no fault")
    }
}

impl ScriptedCore {
    /// It serves one connection, and holds it until the process ends.
    pub(crate) fn new(script: Script) -> (Self, Done) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        listener.set_nonblocking(true).expect("it can be set");
        let port = listener.local_addr().expect("it has one").port();
        let (sender, done) = oneshot::channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                let (socket, _) = listener.accept().await.expect("a client");
                socket.set_nodelay(true).expect("it can be set");
                let mut socket = accept_async(socket).await.expect("a WebSocket");
                let span = serve(&mut socket, script).await;
                // Whoever has waited may have gone.
                let _ = sender.send(span);
                while let Some(Ok(_)) = socket.next().await {}
            });
        });
        (Self { url: format!("ws://127.0.0.1:{port}"), port }, Done(done))
    }
}

/// Sends the script's commands and takes what is sent; how long that took.
async fn serve(socket: &mut WebSocketStream<TcpStream>, script: Script) -> Duration {
    let frames = Frames::new();
    let answer = answer("1", &"x".repeat(script.pad));
    let quoted = Value::from(format!("/_call a2a {}", request(1, script.pad))).to_string();
    let (mut asked, mut taken, mut begin) = (0, 0, None);
    while taken < script.messages || asked < script.calls || begin.is_none() {
        if begin.is_some() {
            while asked < script.calls && asked - taken < script.in_flight {
                asked += 1;
                let text = format!("/_call a2a {}", request(asked, script.pad));
                let resp = frames.received.fill(asked * 2, 3 + asked % script.contacts, &text, "");
                let frame = Message::text(format!(r#"{{"resp":{resp}}}"#));
                socket.feed(frame).await.expect("it is heard");
            }
        }
        socket.flush().await.expect("it is heard");
        let mut next = socket.next().await;
        while let Some(frame) = next {
            if let Message::Text(text) = frame.expect("no fault") {
                let (corr_id, cmd) = (member(&text, r#""corrId":""#), member(&text, r#""cmd":""#));
                let resp = start(cmd, &frames.user).unwrap_or_else(|| {
                    assert!(cmd.starts_with("/_send @"), "{cmd}");
                    taken += 1;
                    frames.sent.fill(taken * 2 + 1, 3, &answer, &quoted)
                });
                if cmd.split(' ').next() == Some(script.begin) {
                    begin = Some(Instant::now());
                }
                let frame = format!(r#"{{"corrId":"{corr_id}","resp":{resp}}}"#);
                socket.feed(Message::text(frame)).await.expect("it is heard");
            }
            // All that is there, before anything is flushed.
            match socket.next().now_or_never() {
                Some(following) => next = following,
                None => break,
            }
        }
    }
    socket.flush().await.expect("it is heard");
    begin.expect("it has begun").elapsed()
}
