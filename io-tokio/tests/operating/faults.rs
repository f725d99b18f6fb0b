//! What a core, and the connection to it, do.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use agentwire_core::binding::{Failure, Standard};
use agentwire_core::simplex::{SessionConfig, StartError};
use agentwire_tokio::bot::{Bot, Replier, Request};
use agentwire_tokio::client::{Client, ConnectError, CoreState};
use agentwire_tokio::link::Core;
use agentwire_tokio::network::Profile;
use agentwire_tokio::server::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

use super::{Handled, Person, World, declared, outcome, result, until, within};

/// A door before a core: it counts who comes in, and can throw everybody out and stay closed.
struct Door {
    core: Core,
    opened: Arc<AtomicUsize>,
    times: Arc<Mutex<Vec<Instant>>>,
    /// Changed when everybody is thrown out.
    out: watch::Sender<u32>,
    /// Whether whoever comes in is thrown out at once.
    drops: Arc<AtomicBool>,
}

impl Door {
    async fn before(core: &Core) -> Self {
        let inner = core.url().strip_prefix("ws://").expect("plain").to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let url = format!("ws://{}", listener.local_addr().expect("bound"));
        let (out, is_out) = watch::channel(0);
        let (opened, times, drops): (Arc<AtomicUsize>, Arc<Mutex<Vec<_>>>, Arc<AtomicBool>) =
            Default::default();
        let (count, seen, is_dropped) =
            (Arc::clone(&opened), Arc::clone(&times), Arc::clone(&drops));
        tokio::spawn(async move {
            while let Ok((mut outside, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                seen.lock().expect("no panic").push(Instant::now());
                if is_dropped.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(5)).await;
                    continue;
                }
                let Ok(mut inside) = TcpStream::connect(&inner).await else { continue };
                let mut is_out = is_out.clone();
                is_out.mark_unchanged();
                tokio::spawn(async move {
                    tokio::select! {
                        _ = copy_bidirectional(&mut outside, &mut inside) => {}
                        _ = is_out.changed() => {}
                    }
                });
            }
        });
        Self { core: Core::new(url), opened, times, out, drops }
    }

    fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    fn throw_out(&self) {
        self.out.send_modify(|count| *count += 1);
    }
}

#[tokio::test]
async fn a_core_that_drops_connections_is_asked_ever_more_slowly() {
    let world = World::new(&["ann", "bot"]).await;
    let door = Door::before(&world.cores[0]).await;
    door.drops.store(true, Ordering::Relaxed);
    let mut config = SessionConfig::default();
    config.backoff.first = Duration::from_millis(20);
    config.backoff.cap = Duration::from_millis(320);
    config.backoff.stable = Duration::from_millis(600);
    let client = Client::<Standard>::connect_later(door.core.clone(), config);
    until(async || door.opened() >= 12).await;
    let times = door.times.lock().expect("no panic").clone();
    let waits: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // They double up to the cap, each shortened by chance by a half at most.
    for (number, wait) in waits.iter().enumerate() {
        let full = Duration::from_millis(20 * (1 << number.min(4)));
        assert!(*wait >= full / 2, "wait {number} of {waits:?}");
    }
    let late = &waits[5..];
    assert!(late.iter().all(|wait| *wait >= Duration::from_millis(160)), "{late:?}");
    assert!(late.iter().any(|wait| *wait != late[0]), "no chance in it");
    // One that comes about and ends at once does not make them short again.
    door.drops.store(false, Ordering::Relaxed);
    within(client.ready()).await.ok();
    until(async || matches!(client.state(), Some(CoreState::Ready(_)))).await;
    let wait = async |door: &Door| {
        let before = door.opened();
        let cut = Instant::now();
        door.throw_out();
        until(async || door.opened() > before).await;
        let wait = cut.elapsed();
        until(async || matches!(client.state(), Some(CoreState::Ready(_)))).await;
        wait
    };
    assert!(wait(&door).await >= Duration::from_millis(160));
    // After a long time in which all was well, the first wait is short.
    sleep(Duration::from_millis(900)).await;
    assert!(wait(&door).await < Duration::from_millis(160));
}

#[tokio::test]
async fn only_a_connection_that_ends_is_made_anew() {
    let world = World::new(&["ann", "bot"]).await;
    let door = Door::before(&world.cores[0]).await;
    let handled = Handled::default();
    let noted = handled.clone();
    let handler = move |request: Request, replier: Replier| {
        let noted = noted.clone();
        async move {
            noted.add(&request);
            match request.id.as_deref() {
                Some("1") => replier.fail(Failure::InvalidParams("wrong on purpose")),
                Some("2") => replier.fail(Failure::Internal),
                _ => drop(replier.respond(result(&request)).await),
            }
        }
    };
    let bot = within(Bot::connect(world.bot(), declared(), handler)).await.expect("a bot");
    let client = within(Client::connect(door.core.clone())).await.expect("a client");
    let ann = Person { client, bot: world.to_bot[0].expect("not the bot") };
    let opened = door.opened();
    for id in 1..=2 {
        let reply = within(ann.call(id)).await.expect("a reply");
        assert!(outcome(&reply).1.is_some());
    }
    assert_eq!(outcome(&within(ann.call(3)).await.expect("a reply")), (3, None));
    assert_eq!(door.opened(), opened, "an error of a caller is none of the connection");
    for id in 4..=6 {
        door.throw_out();
        until(async || door.opened() > opened + id as usize - 4).await;
        // It is sent on the new connection, once, or it says that it was not.
        let reply = within(ann.call(id)).await.expect("a reply");
        assert_eq!(outcome(&reply), (id, None));
    }
    assert_eq!(handled.ids(), [1, 2, 3, 4, 5, 6]);
    within(bot.shutdown()).await;
}

#[tokio::test]
async fn a_bot_is_ready_once_its_core_is_started() {
    // A core that was stopped is started.
    let stop = |server: &Server, profile: &Profile| {
        if profile.name() == "bot" {
            server.stop(profile);
        }
    };
    let world = World::with(&["ann", "bot"], stop).await;
    let ann = world.person(0).await;
    let handled = Handled::default();
    let bot = within(Bot::connect(world.bot(), declared(), handled.answering())).await;
    let bot = bot.expect("a bot");
    assert_eq!(outcome(&within(ann.call(1)).await.expect("a reply")), (1, None));
    within(bot.shutdown()).await;

    // One that refuses the start is no core to serve at, whatever else it answers.
    let core = refusing("/_start").await;
    let error = within(Bot::connect(core, declared(), handled.answering())).await.map(drop);
    assert!(matches!(error, Err(ConnectError::Start(StartError::Refused { .. }))), "{error:?}");
}

/// A core that says who it is, and refuses this command.
async fn refusing(start: &'static str) -> Core {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let url = format!("ws://{}", listener.local_addr().expect("bound"));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let opened = tokio_tungstenite::accept_async(socket).await.expect("a client");
                let mut socket = opened.into_inner();
                while let Some(text) = read(&mut socket).await {
                    let asked: serde_json::Value = serde_json::from_str(&text).expect("JSON");
                    let cmd = asked["cmd"].as_str().expect("text");
                    let resp = if cmd.starts_with(start) {
                        r#"{"type":"chatCmdError","chatError":{"type":"error","errorType":{"type":"commandError","message":"no"}}}"#
                    } else if cmd.starts_with("/v") {
                        r#"{"type":"versionInfo","versionInfo":{"version":"7.0.0.5"}}"#
                    } else {
                        r#"{"type":"activeUser","user":{"userId":1,"agentUserId":"1","userContactId":1,"localDisplayName":"bot","profile":{"profileId":1,"displayName":"bot","fullName":"","localAlias":""},"fullPreferences":{},"activeUser":true,"activeOrder":1,"showNtfs":true,"sendRcptsContacts":true,"sendRcptsSmallGroups":true}}"#
                    };
                    let text = format!(r#"{{"corrId":{},"resp":{resp}}}"#, asked["corrId"]);
                    let mut frame = vec![0x81, 126];
                    frame.extend(u16::try_from(text.len()).expect("short").to_be_bytes());
                    frame.extend(text.as_bytes());
                    if socket.write_all(&frame).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    Core::new(url)
}

/// The text of the next frame of a client.
async fn read(socket: &mut TcpStream) -> Option<String> {
    let mut head = [0; 2];
    socket.read_exact(&mut head).await.ok()?;
    let len = match head[1] & 0x7f {
        126 => usize::from(socket.read_u16().await.ok()?),
        127 => usize::try_from(socket.read_u64().await.ok()?).ok()?,
        len => usize::from(len),
    };
    let mut mask = [0; 4];
    socket.read_exact(&mut mask).await.ok()?;
    let mut payload = vec![0; len];
    socket.read_exact(&mut payload).await.ok()?;
    payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    String::from_utf8(payload).ok().filter(|_| head[0] & 0x0f == 1)
}

#[tokio::test]
async fn a_core_that_answers_nothing_or_nonsense_is_given_up_and_asked_again() {
    let mut huge = vec![0x81, 127];
    huge.extend(100_000_000_u64.to_be_bytes());
    for (what, said) in [
        ("nothing", Vec::new()),
        ("garbage", frame(1, b"{\"resp\":[}}")),
        ("an event before any answer", frame(1, br#"{"resp":{"type":"chatStarted"}}"#)),
        ("an answer to nothing, twice", frame(1, br#"{"corrId":"99","resp":{}}"#).repeat(2)),
        ("bytes", frame(2, &[0, 1, 2])),
        ("no text", frame(1, &[0xff, 0xfe])),
        ("a hundred million bytes", huge),
        ("half a frame", frame(1, b"{\"corrId\":\"1\"}")[..7].to_vec()),
    ] {
        let opened = Arc::new(AtomicUsize::new(0));
        let core = saying(said, Arc::clone(&opened)).await;
        let mut config = SessionConfig::default();
        config.answer_timeout = Duration::from_millis(100);
        config.backoff.first = Duration::from_millis(20);
        let client = Client::<Standard>::connect_later(core, config);
        let error = within(client.ready()).await.map(drop);
        let is_named = matches!(error, Err(ConnectError::Link(_) | ConnectError::Lost(_)));
        assert!(is_named, "{what}: {error:?}");
        until(async || opened.load(Ordering::Relaxed) >= 3).await;
    }
}

/// A frame as a server sends it: no mask.
fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80 | opcode, u8::try_from(payload.len()).expect("short")];
    frame.extend(payload);
    frame
}

/// A core that says this to whoever comes, and nothing else.
async fn saying(bytes: Vec<u8>, opened: Arc<AtomicUsize>) -> Core {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let url = format!("ws://{}", listener.local_addr().expect("bound"));
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            opened.fetch_add(1, Ordering::Relaxed);
            let bytes = bytes.clone();
            tokio::spawn(async move {
                let Ok(opened) = tokio_tungstenite::accept_async(socket).await else { return };
                let mut socket = opened.into_inner();
                let _ = socket.write_all(&bytes).await;
                // It hears what it is asked.
                while read(&mut socket).await.is_some() {}
            });
        }
    });
    Core::new(url)
}
