//! Calls that wait for the owner's word.

use core::time::Duration;

use agentwire_core::admission::{self, ApprovalsConfig, DecideError, Decision, When};
use agentwire_core::binding::Standard;
use agentwire_core::rpc::ErrorCode;
use agentwire_core::rpc::session::ServiceReplyKind;
use agentwire_tokio::bot::{Approving, Bot, BotConfig, Everybody};
use agentwire_tokio::client::RequestOptions;
use tokio::time::sleep;

use super::{
    Handled, Life, Person, World, declared, journal_path, message, outcome, until, within,
};

/// A gate with the persons of these numbers as owners.
fn owned_by(world: &World, owners: &[usize], when: When) -> Approving<Everybody> {
    let gate = Approving::new(Everybody, when, ApprovalsConfig::default());
    for owner in owners {
        gate.add_owner(owner_of(world, *owner)).expect("few owners");
    }
    gate
}

fn owner_of(world: &World, number: usize) -> admission::Person {
    admission::Person::Contact(world.of_bot[number].expect("not the bot"))
}

fn config(gate: &Approving<Everybody>) -> BotConfig<Standard, Approving<Everybody>> {
    BotConfig::from(declared()).gate(gate.clone())
}

fn ask_in_chats(gate: &Approving<Everybody>, bot: &Bot) {
    let (gate, client) = (gate.clone(), bot.client());
    tokio::spawn(async move { gate.in_chats(&client).await });
}

/// The questions that were put to somebody.
async fn questions(person: &Person) -> Vec<String> {
    let mut heard = person.heard().await;
    heard.retain(|text| text.starts_with("May "));
    heard
}

/// The code of the newest question, once there are so many.
async fn code(person: &Person, count: usize) -> String {
    until(async || questions(person).await.len() >= count).await;
    let question = questions(person).await.pop().expect("there is one");
    let (_, rest) = question.split_once("\"ok ").expect("it says how to answer");
    rest.split_once('"').expect("quoted").0.to_owned()
}

#[tokio::test]
async fn a_call_runs_once_the_owner_says_so_in_the_control_chat() {
    let world = World::new(&["ann", "bot", "olga"]).await;
    let (ann, olga) = (world.person(0).await, world.person(2).await);
    let gate = owned_by(&world, &[2], When::New);
    let handled = Handled::default();
    let bot = within(Bot::connect(world.bot(), config(&gate), handled.answering())).await;
    let bot = bot.expect("a bot");
    ask_in_chats(&gate, &bot);

    let calling = ann.clone();
    let called = tokio::spawn(async move { calling.call(1).await });
    let code = code(&olga, 1).await;
    assert!(questions(&olga).await[0].contains("call a2a SendMessage with"));
    assert!(questions(&olga).await[0].contains("\"messageId\":\"m\""));
    assert!(handled.ids().is_empty());
    // What is no answer changes nothing.
    olga.say(&[String::from("which one?"), format!("ok {code}")]).await;
    let reply = within(called).await.expect("no panic").expect("a reply");
    assert_eq!((outcome(&reply), handled.ids()), ((1, None), vec![1]));
    // The same again waits for nobody, and so does the owner's own call.
    let reply = within(ann.call(2)).await.expect("a reply");
    assert_eq!(outcome(&reply), (2, None));
    let reply = within(olga.call(3)).await.expect("a reply");
    assert_eq!(outcome(&reply), (3, None));
    assert_eq!(questions(&olga).await.len(), 1);
    // Something else is asked about, and declined.
    let calling = ann.clone();
    let called = tokio::spawn(async move {
        let stream = message(4).replace("SendMessage", "SendStreamingMessage");
        let call = calling.client.call(Standard::A2A, calling.bot, stream, Default::default());
        call.await?.last().await
    });
    let code = self::code(&olga, 2).await;
    olga.say(&[format!("no {code}")]).await;
    let reply = within(called).await.expect("no panic").expect("a reply");
    assert_eq!(outcome(&reply), (4, Some("not_approved".into())));
    assert_eq!(handled.ids(), [1, 2, 3]);
    within(bot.shutdown()).await;
}

#[tokio::test]
async fn a_callback_decides_and_a_decision_counts_once_and_in_time() {
    let world = World::new(&["ann", "bot", "olga"]).await;
    let ann = world.person(0).await;
    let mut limits = ApprovalsConfig::default();
    limits.wait = Duration::from_millis(300);
    let gate = Approving::new(Everybody, When::Always, limits);
    let olga = owner_of(&world, 2);
    let handled = Handled::default();
    let bot = within(Bot::connect(world.bot(), config(&gate), handled.answering())).await;
    let bot = bot.expect("a bot");
    // Without an owner nothing is approved.
    let reply = within(ann.call(1)).await.expect("a reply");
    assert_eq!(outcome(&reply), (1, Some("not_approved".into())));
    gate.add_owner(olga).expect("the first one");
    let calling = ann.clone();
    let called = tokio::spawn(async move { calling.call(2).await });
    let asked = within(gate.next_question()).await;
    assert_eq!((asked.question.owner, asked.subject.method()), (olga, "SendMessage"));
    let call = asked.question.call;
    gate.decide(call, olga, Decision::Approve).expect("it waits");
    assert_eq!(gate.decide(call, olga, Decision::Approve), Err(DecideError::NotWaiting));
    assert_eq!(outcome(&within(called).await.expect("no panic").expect("a reply")), (2, None));
    // Nobody answers.
    let called = tokio::spawn(async move { ann.call(3).await });
    let late = within(gate.next_question()).await.question.call;
    let reply = within(called).await.expect("no panic").expect("a reply");
    assert_eq!(outcome(&reply), (3, Some("not_approved".into())));
    assert_eq!(gate.decide(late, olga, Decision::Approve), Err(DecideError::NotWaiting));
    assert_eq!((gate.waiting(), handled.ids()), (0, vec![2]));
    within(bot.shutdown()).await;
}

#[tokio::test]
async fn only_the_owner_who_was_asked_decides() {
    let world = World::new(&["ann", "bot", "olga", "otto"]).await;
    let (ann, olga, otto) = (world.person(0).await, world.person(2).await, world.person(3).await);
    let gate = owned_by(&world, &[2, 3], When::Always);
    let handled = Handled::default();
    let bot = within(Bot::connect(world.bot(), config(&gate), handled.answering())).await;
    let bot = bot.expect("a bot");
    ask_in_chats(&gate, &bot);
    let calling = ann.clone();
    let called = tokio::spawn(async move { calling.call(1).await });
    let code = code(&olga, 1).await;
    // The caller and the other owner say it too; neither decides anything.
    for other in [&ann, &otto] {
        other.say(&[format!("ok {code}")]).await;
    }
    sleep(Duration::from_millis(1_200)).await;
    assert_eq!((gate.waiting(), handled.ids()), (1, vec![]));
    assert_eq!(questions(&olga).await.len(), 1);
    olga.say(&[format!("ok {code}")]).await;
    let reply = within(called).await.expect("no panic").expect("a reply");
    assert_eq!((outcome(&reply), handled.ids()), ((1, None), vec![1]));
    // Whoever answers a second time is told.
    let calling = ann.clone();
    let called = tokio::spawn(async move { calling.call(2).await });
    let next = self::code(&olga, 2).await;
    olga.say(&[format!("ok {code}"), format!("ok {next}")]).await;
    assert_eq!(outcome(&within(called).await.expect("no panic").expect("a reply")), (2, None));
    let refusal = format!("{code}: no such call waits for a decision.");
    until(async || olga.heard().await.contains(&refusal)).await;
    within(bot.shutdown()).await;
}

#[tokio::test]
async fn who_was_removed_decides_nothing_and_the_next_owner_is_asked() {
    let world = World::new(&["ann", "bot", "olga", "otto"]).await;
    let (ann, olga, otto) = (world.person(0).await, world.person(2).await, world.person(3).await);
    let gate = owned_by(&world, &[2, 3], When::Always);
    let handled = Handled::default();
    let bot = within(Bot::connect(world.bot(), config(&gate), handled.answering())).await;
    let bot = bot.expect("a bot");
    ask_in_chats(&gate, &bot);
    let called = tokio::spawn(async move { ann.call(1).await });
    let code = code(&olga, 1).await;
    assert!(gate.remove_owner(&owner_of(&world, 2)));
    olga.say(&[format!("ok {code}")]).await;
    assert_eq!(self::code(&otto, 1).await, code);
    let refusal = format!("{code}: the person is no owner.");
    until(async || olga.heard().await.contains(&refusal)).await;
    assert_eq!((gate.waiting(), handled.ids()), (1, vec![]));
    otto.say(&[format!("yes {code}")]).await;
    let reply = within(called).await.expect("no panic").expect("a reply");
    assert_eq!((outcome(&reply), handled.ids()), ((1, None), vec![1]));
    within(bot.shutdown()).await;
}

#[tokio::test]
async fn a_call_that_waited_when_the_bot_was_killed_is_decided_once_after_it() {
    let world = World::new(&["ann", "bot", "olga"]).await;
    let (ann, olga) = (world.person(0).await, world.person(2).await);
    let path = journal_path();
    let handled = Handled::default();
    let gate = owned_by(&world, &[2], When::Always);
    let life = Life::begin(world.bot(), &path, config(&gate), handled.answering()).await;
    let (asking, client) = (gate.clone(), life.bot.client());
    life.runtime.spawn(async move { asking.in_chats(&client).await });
    let called = tokio::spawn(async move { ann.call(1).await });
    let code = code(&olga, 1).await;
    life.kill();
    // The answer comes when nobody is there to hear it.
    olga.say(&[format!("ok {code}")]).await;
    assert!(handled.ids().is_empty());

    let gate = owned_by(&world, &[2], When::Always);
    let life = Life::begin(world.bot(), &path, config(&gate), handled.answering()).await;
    let (asking, client) = (gate.clone(), life.bot.client());
    life.runtime.spawn(async move { asking.in_chats(&client).await });
    let reply = within(called).await.expect("no panic").expect("a reply");
    assert_eq!((outcome(&reply), handled.ids()), ((1, None), vec![1]));
    // Nobody was asked twice.
    assert_eq!(questions(&olga).await.len(), 1);
    life.end().await;
}

#[tokio::test]
async fn over_service_rpc_nobody_is_asked() {
    let world = World::new(&["ann", "bot", "olga"]).await;
    let (ann, olga) = (world.person(0).await, world.person(2).await);
    let gate = owned_by(&world, &[2], When::Always);
    let handled = Handled::default();
    let config = config(&gate).service(declared());
    let bot = within(Bot::connect(world.bot(), config, handled.answering())).await.expect("a bot");
    ask_in_chats(&gate, &bot);
    let link = within(bot.address()).await.expect("an address");
    let options = RequestOptions::default();
    let asked = ann.client.request(Standard::A2A, &*link, message(1), options);
    let reply = within(asked).await.expect("it is made");
    let ServiceReplyKind::Error { code, .. } = &reply.kind else { panic!("{reply:?}") };
    assert_eq!(*code, ErrorCode::ConversationRequired);
    assert!(handled.ids().is_empty() && questions(&olga).await.is_empty());
    within(bot.shutdown()).await;
}
