//! Many calls over bad connections: a seeded run, bounded in time, that counts what becomes of each
//! call. `AGENTWIRE_SOAK_SECONDS` makes it longer, `AGENTWIRE_SOAK_SEED` another one.
//!
//! Between each profile and its core stands a proxy that knows where frames end, so it cuts the
//! connection at the end of one and in the middle, says one twice, says nothing any more, and adds
//! garbage, binary frames and frames byte by byte. Every call ends once; no handler runs twice for
//! one; what was handled is answered, and what was not sent was not handled. In the middle all cores
//! go down and come back, and what the run holds in memory is bounded.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agentwire_core::binding::{End, Standard};
use agentwire_core::chat::ContactId;
use agentwire_core::chat::session::{Declared, ReplyKind};
use agentwire_core::loopback::Faults;
use agentwire_core::simplex::SessionConfig;
use agentwire_tokio::bot::{Bot, Replier, Request};
use agentwire_tokio::client::{CallOptions, Client, ClientError, NotSent};
use agentwire_tokio::link::Core;
use agentwire_tokio::network::Network;
use agentwire_tokio::server::Server;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

/// Numbers that are the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fault {
    CutBefore,
    CutWithin,
    Twice,
    Garbage,
    Binary,
    ByteByByte,
    Silence,
}

type Counts = Arc<Mutex<BTreeMap<Fault, u32>>>;

/// What the core says, frame by frame.
async fn spoil(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut random: Random,
    mut is_bad: watch::Receiver<bool>,
    counts: Counts,
) -> std::io::Result<()> {
    // The answer to the opening ends with an empty line.
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(from.read_u8().await?);
    }
    to.write_all(&head).await?;
    loop {
        let mut frame = vec![0; 2];
        from.read_exact(&mut frame).await?;
        let more = match frame[1] {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mut extended = vec![0; more];
        from.read_exact(&mut extended).await?;
        let len = match more {
            0 => usize::from(frame[1]),
            _ => extended.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)),
        };
        let mut payload = vec![0; len];
        from.read_exact(&mut payload).await?;
        frame.extend(extended);
        frame.extend(payload);
        let fault = match random.below(200) {
            _ if !*is_bad.borrow_and_update() => None,
            0 => Some(Fault::CutBefore),
            1 => Some(Fault::CutWithin),
            2..5 => Some(Fault::Twice),
            5..7 => Some(Fault::Garbage),
            7 => Some(Fault::Binary),
            8..11 => Some(Fault::ByteByByte),
            11 if random.below(8) == 0 => Some(Fault::Silence),
            _ => None,
        };
        if let Some(fault) = fault {
            *counts.lock().expect("no panic").entry(fault).or_default() += 1;
        }
        match fault {
            Some(Fault::CutBefore) => return Ok(()),
            Some(Fault::CutWithin) => return to.write_all(&frame[..frame.len() / 2]).await,
            Some(Fault::Silence) => {
                // Until the faults end; the other side may give it up before.
                while *is_bad.borrow_and_update() && is_bad.changed().await.is_ok() {}
                return Ok(());
            }
            Some(Fault::Twice) => to.write_all(&frame).await?,
            Some(Fault::Garbage) => to.write_all(b"\x81\x0b{\"resp\":[}}").await?,
            Some(Fault::Binary) => to.write_all(b"\x82\x03\x00\x01\x02").await?,
            Some(Fault::ByteByByte) => {
                for byte in &frame {
                    to.write_all(&[*byte]).await?;
                }
                continue;
            }
            None => {}
        }
        to.write_all(&frame).await?;
    }
}

/// A proxy before a core.
async fn proxy(
    core: String,
    seed: u64,
    is_bad: watch::Receiver<bool>,
    is_down: watch::Receiver<bool>,
    counts: Counts,
) -> Core {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let url = format!("ws://{}", listener.local_addr().expect("it has one"));
    tokio::spawn(async move {
        let mut connections = 0;
        while let Ok((client, _)) = listener.accept().await {
            connections += 1;
            // A core that is being restarted: nobody listens.
            if *is_down.borrow() {
                continue;
            }
            let mut is_down = is_down.clone();
            let Ok(server) = TcpStream::connect(&core).await else { continue };
            let (is_bad, counts) = (is_bad.clone(), Arc::clone(&counts));
            // A generator of this kind must not begin at zero.
            let random =
                Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(connections) | 1);
            tokio::spawn(async move {
                let (mut from_client, to_client) = client.into_split();
                let (from_server, mut to_server) = server.into_split();
                let spoiled = spoil(from_server, to_client, random, is_bad, counts);
                // Whichever ends first ends both.
                tokio::select! {
                    _ = spoiled => {}
                    _ = copy(&mut from_client, &mut to_server) => {}
                    _ = is_down.wait_for(|is_down| *is_down) => {}
                }
            });
        }
    });
    Core::new(url)
}

fn request(id: u64) -> String {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": "GetTask",
        "a2a-service-parameters": {"A2A-Version": "1.0"},
        "params": {"id": "t"},
    })
    .to_string()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Became {
    Answered,
    NotSent,
    Unknown,
    TimedOut,
    Other,
}

async fn call(client: &Client, bot: ContactId, id: u64) -> Became {
    let wait = CallOptions::default().wait(Duration::from_secs(60), Duration::from_secs(60));
    let mut replies = match client.call(Standard::A2A, bot, request(id), wait).await {
        Ok(replies) => replies,
        Err(_) => return Became::NotSent,
    };
    let mut became = None;
    while let Some(reply) = replies.next().await {
        assert_eq!(became, None, "call {id} has ended before");
        match reply {
            Ok(reply) if reply.kind == ReplyKind::Last(End::Answer) => {
                let value: Value = serde_json::from_str(&reply.text).expect("JSON");
                assert_eq!(value["id"], id, "the answer to another call");
                became = Some(Became::Answered);
            }
            Ok(reply) => panic!("{reply:?}"),
            Err(ClientError::NotSent(NotSent::Unknown)) => became = Some(Became::Unknown),
            Err(ClientError::NotSent(_)) => became = Some(Became::NotSent),
            Err(ClientError::TimedOut(_)) => became = Some(Became::TimedOut),
            Err(_) => became = Some(Became::Other),
        }
    }
    became.expect("it ends")
}

/// What this process holds, in kB; 0 where that is not told.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test]
async fn nothing_is_lost_and_nothing_comes_twice() {
    let seed = setting("AGENTWIRE_SOAK_SEED", 7);
    let span = Duration::from_secs(setting("AGENTWIRE_SOAK_SECONDS", 4));
    let network = Network::in_real_time(seed);
    let (ann, bob) = (network.add_profile("ann").unwrap(), network.add_profile("bob").unwrap());
    let (to_bob, _) = network.connect(&ann, &bob).expect("two profiles");
    let faults = Faults::new().delay(Duration::ZERO, Duration::from_millis(3)).duplicate(50);
    network.with(|net| net.set_faults(faults));
    let server = Server::new(&network, seed);
    let (bad, is_bad) = watch::channel(false);
    let (down, is_down) = watch::channel(false);
    let counts = Counts::default();
    let mut cores = Vec::new();
    for (number, profile) in [ann, bob].into_iter().enumerate() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("it has one").to_string();
        tokio::spawn(server.serve(profile, listener));
        let seed = seed.wrapping_add(number as u64);
        let (is_bad, is_down) = (is_bad.clone(), is_down.clone());
        cores.push(proxy(address, seed, is_bad, is_down, Arc::clone(&counts)).await);
    }

    let handled = Arc::new(Mutex::new(BTreeMap::<String, u32>::new()));
    let seen = Arc::clone(&handled);
    let handler = move |request: Request, replier: Replier| {
        let seen = Arc::clone(&seen);
        async move {
            let id = request.id.expect("it has one");
            *seen.lock().expect("no panic").entry(id.clone()).or_default() += 1;
            let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}"#;
            // A core that refuses it is counted as an answer that is lost.
            let _ =
                replier.respond(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{task}}}"#)).await;
        }
    };
    let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
    let bot = Bot::connect(cores.remove(1), declared, handler).await.expect("a bot");
    // A core that says nothing is given up soon, so that there is time for more of them.
    let mut config = SessionConfig::default();
    config.answer_timeout = Duration::from_secs(2);
    let client = Client::<Standard>::connect_later(cores.remove(0), config);
    client.ready().await.expect("it is ready");

    bad.send_replace(true);
    let until = Instant::now() + span;
    let mut callers = JoinSet::new();
    for caller in 0..16_u64 {
        let client = client.clone();
        callers.spawn(async move {
            let mut ended = Vec::new();
            while Instant::now() < until {
                let id = caller * 1_000_000 + ended.len() as u64;
                ended.push((id, call(&client, to_bob, id).await));
                sleep(Duration::from_millis(2)).await;
            }
            ended
        });
    }
    sleep(span / 2).await;
    // In the middle all cores go down, and come back.
    let before = memory();
    down.send_replace(true);
    sleep(Duration::from_millis(300)).await;
    down.send_replace(false);
    sleep(span / 2).await;
    bad.send_replace(false);
    let mut ended = Vec::new();
    let all = async {
        while let Some(calls) = callers.join_next().await {
            ended.extend(calls.expect("no panic"));
        }
    };
    timeout(Duration::from_secs(120), all).await.expect("every call ends");
    bot.shutdown_within(Duration::from_secs(5)).await;

    let after = memory();
    println!("memory: {before} kB in the middle, {after} kB at the end");
    // What the second half leaves is bounded: the loopback keeps its messages, and little else stays.
    assert!(after < before + 64 * 1_024, "{before} kB became {after} kB");
    let handled = handled.lock().expect("no panic");
    let runs = |id: u64| handled.get(&id.to_string()).copied().unwrap_or_default();
    let count = |wanted| ended.iter().filter(|(_, became)| *became == wanted).count();
    println!("seed {seed}: {} calls in {span:?}, {:?}", ended.len(), counts.lock().unwrap());
    for wanted in
        [Became::Answered, Became::NotSent, Became::Unknown, Became::TimedOut, Became::Other]
    {
        println!("  {wanted:?}: {}", count(wanted));
    }
    let twice = handled.values().filter(|runs| **runs > 1).count();
    println!("  handled: {}, of them twice: {twice}", handled.len());
    assert_eq!(twice, 0);
    for (id, became) in &ended {
        match became {
            Became::Answered => assert_eq!(runs(*id), 1, "call {id}"),
            Became::NotSent => assert_eq!(runs(*id), 0, "call {id} was handled"),
            Became::Unknown => {}
            Became::TimedOut | Became::Other => panic!("call {id}: {became:?}, {}", runs(*id)),
        }
    }
    assert!(count(Became::Answered) > 10, "hardly anything was answered");
    assert!(counts.lock().expect("no panic").len() >= 3, "hardly anything went wrong");
}
