//! What the call journal is for: a bot that ends, however it ends.

use core::num::NonZeroU64;
use core::time::Duration;
use std::sync::Arc;

use agentwire_core::chat::ContactId;
use agentwire_core::loopback::Faults;
use agentwire_core::turns::TurnLimits;
use agentwire_tokio::bot::BotConfig;
use agentwire_tokio::journal::{OpenError, SqliteJournal};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{Handled, Life, World, declared, journal_path, message, now, outcome, until, within};

#[tokio::test]
async fn killed_while_it_ran_a_command_is_not_run_again() {
    let world = World::new(&["ann", "bot"]).await;
    let ann = world.person(0).await;
    let path = journal_path();
    let handled = Handled::default();
    let life = Life::begin(world.bot(), &path, declared().into(), handled.hanging()).await;
    let calling = ann.clone();
    let called = tokio::spawn(async move { calling.call(1).await });
    until(async || handled.ids() == [1]).await;
    life.kill();
    let life = Life::begin(world.bot(), &path, declared().into(), handled.answering()).await;
    let reply = within(called).await.expect("no panic").expect("a reply");
    assert_eq!(outcome(&reply), (1, Some("outcome_unknown".into())));
    let reply = within(ann.call(2)).await.expect("a reply");
    assert_eq!((outcome(&reply), handled.ids()), ((2, None), vec![1, 2]));
    life.end().await;
}

#[tokio::test]
async fn a_command_that_ends_the_process_each_time_is_set_aside() {
    let world = World::new(&["ann", "bot"]).await;
    let ann = world.person(0).await;
    let path = journal_path();
    let handled = Handled::default();
    let calling = ann.clone();
    let called = tokio::spawn(async move { calling.call(1).await });
    let config = || BotConfig::from(declared()).idempotent();
    let mut lives = 0;
    while !called.is_finished() {
        lives += 1;
        assert!(lives < 20, "it is begun for ever");
        let begun = handled.ids().len();
        let life = Life::begin(world.bot(), &path, config(), handled.hanging()).await;
        until(async || handled.ids().len() > begun || called.is_finished()).await;
        life.kill();
    }
    let reply = within(called).await.expect("no panic").expect("a reply");
    assert_eq!(outcome(&reply), (1, Some("outcome_unknown".into())));
    assert!(handled.ids().len() > 1, "it may be begun again, and was not");
    // What comes after it is handled.
    let life = Life::begin(world.bot(), &path, config(), handled.answering()).await;
    assert_eq!(outcome(&within(ann.call(2)).await.expect("a reply")), (2, None));
    life.end().await;
}

#[tokio::test]
async fn what_the_core_tells_again_runs_once() {
    let world = World::new(&["ann", "bot"]).await;
    // Every message is reported twice.
    world.network.with(|net| net.set_faults(Faults::new().duplicate(1_000)));
    let ann = Arc::new(world.person(0).await);
    let path = journal_path();
    let handled = Handled::default();
    let life = Life::begin(world.bot(), &path, declared().into(), handled.answering()).await;
    let ask = async |ids: core::ops::Range<u64>| {
        let mut calls = JoinSet::new();
        for id in ids {
            let ann = Arc::clone(&ann);
            calls.spawn(async move { (id, ann.call(id).await) });
        }
        while let Some(ended) = within(calls.join_next()).await {
            let (id, reply) = ended.expect("no panic");
            // Each has one answer, and it is its own.
            assert_eq!(outcome(&reply.expect("a reply")), (id, None));
        }
    };
    ask(0..40).await;
    // Every connection is cut, again and again: the bot reads its conversations anew each time.
    let unsettled = async {
        for _ in 0..4 {
            sleep(Duration::from_millis(60)).await;
            world.server.cut_every(NonZeroU64::new(40));
        }
        world.server.cut_every(None);
    };
    // The caller's connection is cut too, so it may not know what became of a call.
    let ((), ()) = tokio::join!(
        async {
            let mut calls = JoinSet::new();
            for id in 40..80 {
                let ann = Arc::clone(&ann);
                calls.spawn(async move { ann.call(id).await });
            }
            while let Some(ended) = within(calls.join_next()).await {
                let _ = ended.expect("no panic");
            }
        },
        unsettled
    );
    life.end().await;
    let before = handled.ids();
    let life = Life::begin(world.bot(), &path, declared().into(), handled.answering()).await;
    ask(80..100).await;
    let mut ids = handled.ids();
    assert_eq!(ids[..before.len()], before[..]);
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "a command ran twice");
    assert!(count >= 60, "{count}");
    life.end().await;
}

#[tokio::test]
async fn what_came_while_the_bot_was_down_is_handled_in_its_order() {
    let world = World::new(&["ann", "bot"]).await;
    let ann = world.person(0).await;
    let path = journal_path();
    let handled = Handled::default();
    let life = Life::begin(world.bot(), &path, declared().into(), handled.answering()).await;
    assert_eq!(outcome(&within(ann.call(0)).await.expect("a reply")), (0, None));
    life.end().await;
    for hundred in 0..5 {
        let texts: Vec<String> =
            (1..=100).map(|id| format!("/_call a2a {}", message(hundred * 100 + id))).collect();
        ann.say(&texts).await;
    }
    // One at a time, so that the order is seen.
    let turns = TurnLimits::default().running_per_caller(1).waiting_per_caller(500);
    let config = || BotConfig::from(declared()).turns(turns);
    let life = Life::begin(world.bot(), &path, config(), handled.answering()).await;
    until(async || handled.ids().len() >= 250).await;
    // It is killed in the middle, and the rest follows.
    life.kill();
    let life = Life::begin(world.bot(), &path, config(), handled.answering()).await;
    until(async || handled.ids().last() == Some(&500)).await;
    let ids = handled.ids();
    assert!(ids.is_sorted(), "{ids:?}");
    let missing: Vec<u64> = (0..=500).filter(|id| !ids.contains(id)).collect();
    // What was accepted and waited had not begun: it is run. One that had may have an unknown outcome.
    assert!(missing.len() <= 1, "{missing:?}");
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
    life.end().await;
}

#[tokio::test]
async fn a_second_life_waits_for_the_end_of_the_first() {
    let world = World::new(&["ann", "bot"]).await;
    let path = journal_path();
    let handled = Handled::default();
    let life = Life::begin(world.bot(), &path, declared().into(), handled.answering()).await;
    let error = SqliteJournal::open(&path, now()).expect_err("it is in use");
    assert!(matches!(error, OpenError::Locked { pid: Some(pid), .. } if pid == std::process::id()));
    life.kill();
    let life = Life::begin(world.bot(), &path, declared().into(), handled.answering()).await;
    assert_ne!(world.of_bot[0], Some(ContactId(0)));
    life.end().await;
}
