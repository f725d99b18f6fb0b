//! Connections to the server, made with the crate's own link or with a bare socket.

use core::num::NonZeroU64;
use core::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::link::{Core, Link, LinkError};

/// A network of two contacts, each with a port.
struct Bench {
    network: Network,
    server: Server,
    urls: [String; 2],
    served: Vec<JoinHandle<()>>,
    to_bot: i64,
}

impl Bench {
    async fn new() -> Self {
        let network = Network::new(3);
        let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
        let (to_bot, _) = network.connect(&ann, &bot).unwrap();
        let server = Server::new(&network, 3);
        let (mut urls, mut served) = (Vec::new(), Vec::new());
        for profile in [ann, bot] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            urls.push(format!("ws://{}", listener.local_addr().unwrap()));
            served.push(tokio::spawn(server.serve(profile, listener)));
        }
        let urls = urls.try_into().unwrap();
        Self { network, server, urls, served, to_bot: to_bot.0 }
    }

    async fn connect(&self, profile: usize) -> Link {
        Link::connect(&Core::new(&self.urls[profile])).await.unwrap()
    }
}

async fn frame(link: &mut Link) -> Value {
    let frame = timeout(Duration::from_secs(30), link.receive()).await.expect("in time").unwrap();
    serde_json::from_str(&frame).unwrap()
}

/// The response to a command; events before it are lost.
async fn command(link: &mut Link, command: &str) -> Value {
    link.push(json!({"corrId": "1", "cmd": command}).to_string());
    loop {
        let mut frame = frame(link).await;
        if frame["corrId"] == "1" {
            return frame["resp"].take();
        }
    }
}

/// The next event of one type.
async fn event(link: &mut Link, kind: &str) -> Value {
    loop {
        let mut frame = frame(link).await;
        if frame["resp"]["type"] == kind {
            return frame["resp"].take();
        }
    }
}

#[tokio::test]
async fn a_message_goes_from_socket_to_socket() {
    let bench = Bench::new().await;
    let (mut ann, mut bot) = (bench.connect(0).await, bench.connect(1).await);
    let sent = command(&mut ann, &format!("/_send @{} text hello", bench.to_bot)).await;
    assert_eq!(sent["type"], "newChatItems");
    let received = event(&mut bot, "newChatItems").await;
    assert_eq!(received["chatItems"][0]["chatItem"]["meta"]["itemText"], "hello");
    event(&mut ann, "chatItemsStatusesUpdated").await;
}

#[tokio::test]
async fn an_event_reaches_whichever_connection_it_is_for() {
    let bench = Bench::new().await;
    let mut ann = bench.connect(0).await;
    let mut bots = [bench.connect(1).await, bench.connect(1).await, bench.connect(1).await];
    for _ in 0..10 {
        command(&mut ann, &format!("/_send @{} text hello", bench.to_bot)).await;
        let [one, two, three] = &mut bots;
        // Whichever it is, it comes without anything else happening.
        tokio::select! {
            _ = event(one, "newChatItems") => {}
            _ = event(two, "newChatItems") => {}
            _ = event(three, "newChatItems") => {}
        }
    }
}

#[tokio::test]
async fn what_is_no_frame_is_answered_and_binary_is_as_good_as_text() {
    let bench = Bench::new().await;
    let (mut socket, _) = tokio_tungstenite::client_async(
        &bench.urls[0],
        TcpStream::connect(bench.urls[0].trim_start_matches("ws://")).await.unwrap(),
    )
    .await
    .unwrap();
    use tokio_tungstenite::tungstenite::Message;
    let mut exchange = async |message: Message| -> Value {
        let mut stream = core::pin::Pin::new(&mut socket);
        core::future::poll_fn(|cx| futures_sink::Sink::poll_ready(stream.as_mut(), cx))
            .await
            .unwrap();
        futures_sink::Sink::start_send(stream.as_mut(), message).unwrap();
        core::future::poll_fn(|cx| futures_sink::Sink::poll_flush(stream.as_mut(), cx))
            .await
            .unwrap();
        let poll =
            |cx: &mut core::task::Context<'_>| futures_core::Stream::poll_next(stream.as_mut(), cx);
        let message = core::future::poll_fn(poll).await.unwrap().unwrap();
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    };
    let answer = exchange(Message::text("garbage")).await;
    assert_eq!(answer["resp"]["chatError"]["errorType"]["message"], "invalid request");
    assert_eq!(answer.get("corrId"), None);
    let request = br#"{"corrId":"9","cmd":"/v"}"#;
    let answer = exchange(Message::binary(&request[..])).await;
    assert_eq!(answer["corrId"], "9");
}

#[tokio::test]
async fn a_waiting_command_holds_its_connection_and_no_other() {
    let bench = Bench::new().await;
    let (mut ann, mut second) = (bench.connect(0).await, bench.connect(0).await);
    let mut bot = bench.connect(1).await;
    command(&mut bot, "/_stop").await;
    command(&mut bot, "/_start main=on service_requests=on").await;
    let created = command(&mut bot, "/_address 1 pq_ratchet=on").await;
    let link = created["connLinkContact"]["connShortLink"].as_str().unwrap();

    let request = format!("/_service_request 1 {link} timeout=60 {{\"a\":1}}");
    ann.push(json!({"corrId": "r", "cmd": request}).to_string());
    // The frame behind it waits for its turn.
    ann.push(json!({"corrId": "v", "cmd": "/v"}).to_string());
    // A link writes while it is asked to receive.
    let asked = tokio::select! {
        frame = frame(&mut ann) => panic!("{frame}"),
        asked = event(&mut bot, "serviceRequest") => asked,
    };
    assert_eq!(command(&mut second, "/v").await["type"], "versionInfo");
    let id = asked["requestId"].as_str().unwrap();
    let answered = command(&mut bot, &format!("/_service_response 1 {id} {{\"b\":2}}")).await;
    assert_eq!(answered["type"], "serviceReplyAccepted");
    let response = frame(&mut ann).await;
    assert_eq!(
        (&response["corrId"], &response["resp"]["responseData"]),
        (&json!("r"), &json!({"b": 2}))
    );
    assert_eq!(frame(&mut ann).await["corrId"], "v");

    // Nobody answers: the command fails when its time is over, with nothing else happening.
    let request = format!("/_service_request 1 {link} timeout=0.05 {{}}");
    let failed = command(&mut ann, &request).await;
    assert_eq!(failed["chatError"]["agentError"]["agentErr"]["serviceError"]["type"], "timeout");
}

#[tokio::test]
async fn connections_are_cut_when_told_so() {
    let bench = Bench::new().await;
    bench.server.cut_every(NonZeroU64::new(3));
    let mut ann = bench.connect(0).await;
    for _ in 0..3 {
        command(&mut ann, "/v").await;
    }
    ann.push(json!({"corrId": "1", "cmd": "/v"}).to_string());
    let broken = timeout(Duration::from_secs(30), ann.receive()).await.unwrap();
    assert!(broken.is_err());
    bench.server.cut_every(None);
    let mut again = bench.connect(0).await;
    for _ in 0..5 {
        command(&mut again, "/v").await;
    }
}

#[tokio::test]
async fn what_is_no_web_socket_harms_nobody() {
    let bench = Bench::new().await;
    let address = bench.urls[0].trim_start_matches("ws://");
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x00\xff", b""] {
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(bytes).await.unwrap();
        socket.shutdown().await.unwrap();
        let mut answer = Vec::new();
        // Whatever it is; the connection ends.
        let _ = socket.read_to_end(&mut answer).await;
    }
    assert_eq!(command(&mut bench.connect(0).await, "/v").await["type"], "versionInfo");
}

#[tokio::test]
async fn a_recording_has_every_frame_in_order() {
    let bench = Bench::new().await;
    let mut recorded = bench.server.record();
    let mut ann = bench.connect(0).await;
    command(&mut ann, "/_check running").await;
    ann.close().await;
    let mut lines = Vec::new();
    while lines.len() < 4 {
        lines.push(recorded.recv().await.unwrap());
    }
    let seen: Vec<Value> =
        lines.iter().map(|line| serde_json::from_str(&line.to_string()).unwrap()).collect();
    let directions: Vec<_> = seen.iter().map(|line| &line["direction"]).collect();
    assert_eq!(directions, ["open", "to_core", "from_core", "close"]);
    assert!(seen.iter().all(|line| line["profile"] == "ann" && line["at"].is_u64()));
    let frame: Value = serde_json::from_str(seen[2]["frame"].as_str().unwrap()).unwrap();
    assert_eq!(frame, json!({"corrId": "1", "resp": {"type": "chatRunning"}}));
    assert!(!format!("{lines:?}").contains("chatRunning"));
}

#[tokio::test]
async fn the_end_is_said_to_every_connection() {
    let bench = Bench::new().await;
    let (mut ann, mut bot) = (bench.connect(0).await, bench.connect(1).await);
    command(&mut ann, "/v").await;
    bench.server.close();
    for link in [&mut ann, &mut bot] {
        let closed = timeout(Duration::from_secs(30), link.receive()).await.unwrap();
        assert!(matches!(closed, Err(LinkError::Closed(_))), "{closed:?}");
    }
    for served in bench.served {
        timeout(Duration::from_secs(30), served).await.expect("in time").unwrap();
    }
    assert!(TcpStream::connect(bench.urls[0].trim_start_matches("ws://")).await.is_err());
    assert_eq!(bench.network.with(|net| net.in_flight()), 0);
}

#[tokio::test]
async fn who_does_not_read_holds_up_nobody_else() {
    let bench = Bench::new().await;
    let silent = bench.connect(1).await;
    let mut bot = bench.connect(1).await;
    let mut ann = bench.connect(0).await;
    let text = "x".repeat(15_000);
    let mut got = 0;
    for _ in 0..40 {
        let sent = command(&mut ann, &format!("/_send @{} text {text}", bench.to_bot)).await;
        assert_eq!(sent["type"], "newChatItems");
    }
    // The silent one takes what fits into its socket and one more.
    while timeout(Duration::from_millis(300), event(&mut bot, "newChatItems")).await.is_ok() {
        got += 1;
    }
    assert!(got > 0, "{got}");
    drop(silent);
    assert_eq!(command(&mut bot, "/v").await["type"], "versionInfo");
}
