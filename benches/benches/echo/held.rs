//! Conversations that are held open, each with a contact of its own: the memory of each, and what
//! they cost while nothing happens.

use core::time::Duration;
use std::sync::Arc;

use agentwire_core::binding::Standard;
use agentwire_core::chat::ContactId;
use agentwire_core::chat::session::{Declared, SessionConfig as ChatConfig};
use agentwire_core::simplex::SessionConfig;
use agentwire_core::simplex::journal::JournalConfig;
use agentwire_core::turns::TurnLimits;
use agentwire_tokio::bot::{Bot, BotConfig, Replier, Request};
use agentwire_tokio::client::{CallOptions, Client};
use agentwire_tokio::link::Core;

use tokio::sync::Semaphore;

use super::bots::echo;
use super::measure::{processor_time, resident};
use super::wire::{Script, ScriptedCore, request};

/// How long nothing happens.
pub(crate) const IDLE: Duration = Duration::from_secs(2);

/// What conversations cost that are held open.
pub(crate) struct Held {
    /// Resident memory of each, in bytes.
    pub(crate) bytes: usize,
    /// Of the whole process, while nothing happens.
    pub(crate) idle: Duration,
}

async fn costs(conversations: usize, before: usize) -> Held {
    tokio::time::sleep(Duration::from_millis(200)).await;
    let bytes = resident().saturating_sub(before) / conversations;
    let before = processor_time();
    tokio::time::sleep(IDLE).await;
    Held { bytes, idle: processor_time().saturating_sub(before) }
}

/// As the one who has called and waits.
pub(crate) async fn by_caller(conversations: usize) -> Held {
    let (core, done) = ScriptedCore::new(Script {
        calls: 0,
        in_flight: 0,
        messages: conversations as u64,
        contacts: 1,
        pad: 0,
        begin: "/_start",
    });
    let mut config = SessionConfig::default();
    config.chat.max_calls = conversations;
    // They are made faster than the core takes them.
    config.max_queued = conversations;
    let client = Client::<Standard>::connect_later(Core::new(core.url.as_str()), config);
    client.ready().await.expect("it is ready");
    let before = resident();
    let mut calls = Vec::with_capacity(conversations);
    for id in 0..conversations {
        let day = Duration::from_secs(86_400);
        let options = CallOptions::default().wait(day, day);
        let contact = ContactId(3 + i64::try_from(id).expect("it is small"));
        let call = client.call(Standard::A2A, contact, request(id as u64, 0), options).await;
        calls.push(call.expect("there is room"));
    }
    done.wait().await;
    costs(conversations, before).await
}

/// As the one who was called by so many and works on all of it. In the end all of them are answered.
pub(crate) async fn by_bot(conversations: usize) -> Held {
    let count = conversations as u64;
    let (core, done) = ScriptedCore::new(Script {
        calls: count,
        in_flight: count,
        messages: count,
        contacts: count,
        pad: 0,
        begin: "/_start",
    });
    let (begun, end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (signal, wait) = (Arc::clone(&begun), Arc::clone(&end));
    let handler = move |request: Request, replier: Replier| {
        let (signal, wait) = (Arc::clone(&signal), Arc::clone(&wait));
        async move {
            signal.add_permits(1);
            let _end = wait.acquire().await.expect("it is not closed");
            // An error is the end of the run.
            let _ = replier.respond(echo(&request.text)).await;
        }
    };
    let (mut session, mut journal) = (ChatConfig::default(), JournalConfig::default());
    (session.max_requests, journal.max_open) = (conversations, conversations);
    let config = BotConfig::from(vec![Declared::new(Standard::A2A, ["1.0"])])
        .session(session)
        .journal_limits(journal)
        .turns(TurnLimits::default().running(conversations))
        .unpublished();
    let before = resident();
    let _bot = Bot::connect(Core::new(core.url.as_str()), config, handler).await.expect("a bot");
    let all = u32::try_from(conversations).expect("it is small");
    let _all = begun.acquire_many(all).await.expect("it is not closed");
    let held = costs(conversations, before).await;
    end.add_permits(conversations);
    done.wait().await;
    held
}
