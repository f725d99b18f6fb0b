//! What callers and handlers do to a bot.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, OnceLock};

use agentwire_core::admission::AdmissionConfig;
use agentwire_core::binding::Standard;
use agentwire_core::loopback::Config;
use agentwire_core::rpc::RateLimit;
use agentwire_core::turns::TurnLimits;
use agentwire_tokio::bot::{Admitting, Bot, BotConfig, Replier, Request};
use agentwire_tokio::client::{CallOptions, Client, Target};
use agentwire_tokio::network::Network;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{Handled, World, declared, message, outcome, result, until, within};

#[tokio::test]
async fn an_odd_first_message_is_its_senders_trouble() {
    let world = World::new(&["ann", "bot", "eve", "mal"]).await;
    let (ann, eve, mal) = (world.person(0).await, world.person(2).await, world.person(3).await);
    let handled = Handled::default();
    let bot = within(Bot::connect(world.bot(), declared(), handled.answering())).await;
    let bot = bot.expect("a bot");
    // A notification, a reply that nobody waits for, half a request, JSON of great depth, nothing.
    let deep = "[".repeat(6_000) + &"]".repeat(6_000);
    let odd = [
        String::from(r#"/_call a2a {"jsonrpc":"2.0","method":"notifications/cancelled"}"#),
        String::from(r#"/_reply a2a {"jsonrpc":"2.0","id":1,"result":{}}"#),
        String::from(r#"/_call a2a {"jsonrpc":"2.0","id":1,"#),
        format!(r#"/_call a2a {{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{deep}}}"#),
        String::from("/_call a2a"),
        String::from("/_call"),
        String::from("/_call none {}"),
    ];
    for (number, text) in odd.iter().enumerate() {
        let whose = if number % 2 == 0 { &eve } else { &mal };
        whose.say(core::slice::from_ref(text)).await;
        let reply = within(ann.call(number as u64)).await.expect("a reply");
        assert_eq!(outcome(&reply), (number as u64, None), "after {number}");
    }
    // They are served as everybody is, once they ask for something.
    for whose in [&eve, &mal] {
        assert_eq!(outcome(&within(whose.call(99)).await.expect("a reply")), (99, None));
    }
    within(bot.shutdown()).await;
}

#[tokio::test]
async fn listeners_that_are_gone_hold_nobody_up() {
    let world = World::new(&["ann", "bot"]).await;
    let ann = world.person(0).await;
    let handled = Handled::default();
    let bot = within(Bot::connect(world.bot(), declared(), handled.answering())).await;
    let bot = bot.expect("a bot");
    let client = bot.client();
    // One that is gone, and one that is there and never takes anything.
    drop(client.events().expect("at a core"));
    let _idle = client.events().expect("at a core");
    drop(world.server.record());
    for id in 0..300 {
        let reply = within(ann.call(id)).await.expect("a reply");
        assert_eq!(outcome(&reply), (id, None));
        // A call whose caller goes before the answer comes.
        let left = ann.client.call(Standard::A2A, ann.bot, message(id), CallOptions::default());
        drop(within(left).await.expect("sent"));
    }
    drop(client);
    within(bot.shutdown()).await;
}

#[tokio::test]
async fn a_panic_costs_one_call() {
    let world = World::new(&["ann", "bot"]).await;
    let ann = world.person(0).await;
    let handler = |request: Request, replier: Replier| async move {
        assert!(request.id.as_deref() != Some("13"), "a handler panics on purpose");
        let _ = replier.respond(result(&request)).await;
    };
    let bot = within(Bot::connect(world.bot(), declared(), handler)).await.expect("a bot");
    for _ in 0..3 {
        let reply = within(ann.call(13)).await.expect("a reply");
        assert_eq!(outcome(&reply), (13, Some("internal".into())));
        assert_eq!(outcome(&within(ann.call(1)).await.expect("a reply")), (1, None));
    }
    within(bot.shutdown()).await;
}

#[tokio::test]
async fn two_bots_that_call_for_each_call_end_at_the_budget() {
    let world = World::new(&["ann", "bot", "eve"]).await;
    let (bot, eve) = (world.profiles[1], world.profiles[2]);
    let (of_bot, of_eve) = world.network.with(|net| {
        let team = net.create_group(bot, "team").expect("a name");
        net.join(team, eve).expect("it joins");
        let id = |of| net.group_id(team, of).expect("a member");
        (id(bot), id(eve))
    });
    let budget = 5;
    let runs = Arc::new(AtomicUsize::new(0));
    let refusals = Arc::new(Mutex::new(Vec::new()));
    let mut bots = Vec::new();
    for (core, group) in [(world.bot(), of_bot), (world.cores[2].clone(), of_eve)] {
        let mut limits = AdmissionConfig::default();
        limits.rate = Some(RateLimit::new(budget, Duration::from_secs(3_600)));
        let client: Arc<OnceLock<Client>> = Arc::default();
        let (own, runs, refusals) = (Arc::clone(&client), Arc::clone(&runs), Arc::clone(&refusals));
        let handler = move |request: Request, replier: Replier| {
            let (own, runs, refusals) =
                (Arc::clone(&own), Arc::clone(&runs), Arc::clone(&refusals));
            async move {
                let id = 100 + runs.fetch_add(1, Ordering::Relaxed) as u64;
                let _ = replier.respond(result(&request)).await;
                // For each call another one, to everybody in the group.
                let client = own.get().expect("it is set before anybody calls");
                let options = CallOptions::default().answers(1);
                let call =
                    client.call(Standard::A2A, Target::Everyone(group), message(id), options);
                let Ok(call) = call.await else { return };
                let Ok(reply) = call.last().await else { return };
                if let (_, Some(reason)) = outcome(&reply) {
                    refusals.lock().expect("no panic").push(reason);
                }
            }
        };
        let config = BotConfig::from(declared()).gate(Admitting::new(limits));
        let bot = within(Bot::connect(core, config, handler)).await.expect("a bot");
        assert!(client.set(bot.client()).is_ok());
        bots.push(bot);
    }
    let ann = world.person(0).await;
    assert_eq!(outcome(&within(ann.call(1)).await.expect("a reply")), (1, None));
    until(async || !refusals.lock().expect("no panic").is_empty()).await;
    let before = runs.load(Ordering::Relaxed);
    sleep(Duration::from_millis(500)).await;
    // It has ended, with one notice; each of both has run no more than its budget lets it.
    assert_eq!(runs.load(Ordering::Relaxed), before);
    assert!(before as u64 <= 1 + 2 * u64::from(budget), "{before}");
    assert_eq!(*refusals.lock().expect("no panic"), ["rate_limited"]);
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_answered_in_bounds_and_fairly() {
    // The loopback forgets messages of old, and what is forgotten cannot be quoted.
    let mut config = Config::default();
    config.max_items = 50_000;
    let network = Network::with_config(1, config);
    let bot = network.add_profile("bot").expect("a name");
    let client = |name| {
        let profile = network.add_profile(name).expect("a name");
        let (to_bot, _) = network.connect(&profile, &bot).expect("two profiles");
        (Client::<Standard>::start(profile), to_bot)
    };
    let (flooder, to_bot) = client("mal");
    let (ann, ann_to_bot) = client("ann");
    let most = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let handler = move |request: Request, replier: Replier| {
        let seen = Arc::clone(&seen);
        async move {
            let running = seen.0.fetch_add(1, Ordering::Relaxed) + 1;
            seen.1.fetch_max(running, Ordering::Relaxed);
            sleep(Duration::from_millis(100)).await;
            let _ = replier.respond(result(&request)).await;
            seen.0.fetch_sub(1, Ordering::Relaxed);
        }
    };
    let mut admission = AdmissionConfig::default();
    admission.max_open = Some(50);
    let turns = TurnLimits::default().running(20).running_per_caller(10);
    let config = BotConfig::from(declared()).turns(turns).gate(Admitting::new(admission));
    let bot = Bot::start(bot, config, handler);
    let mut calls = JoinSet::new();
    for id in 0..10_000 {
        let flooder = flooder.clone();
        calls.spawn(async move {
            loop {
                let options = CallOptions::default();
                let call = flooder.call(Standard::A2A, to_bot, message(id), options);
                match call.await {
                    Ok(call) => return call.last().await.expect("a reply"),
                    // The caller's own limit: it is not sent.
                    Err(_) => sleep(Duration::from_millis(1)).await,
                }
            }
        });
    }
    // Somebody else is not held up by more than what runs.
    let begun = Instant::now();
    let options = CallOptions::default();
    let call = ann.call(Standard::A2A, ann_to_bot, message(1), options);
    let reply = within(async { call.await?.last().await }).await.expect("a reply");
    assert_eq!(outcome(&reply), (1, None));
    assert!(begun.elapsed() <= Duration::from_millis(400), "{:?}", begun.elapsed());
    let (mut answered, mut limited) = (0, 0);
    while let Some(reply) = calls.join_next().await {
        let reply = reply.expect("no panic");
        match outcome(&reply).1.as_deref() {
            None => answered += 1,
            Some("rate_limited") => {
                assert!(reply.text.contains("retryAfter"), "{}", reply.text);
                limited += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(answered + limited, 10_000);
    assert!(answered >= 50 && limited >= 1_000, "{answered} answered, {limited} limited");
    assert!(most.1.load(Ordering::Relaxed) <= 20);
    bot.shutdown().await;
}
