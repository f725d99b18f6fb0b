//! The client and the bot over the loopback, in real time.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use agentwire_blocking::bot::{Bot, BotConfig, Replier, ReplyError, Request};
use agentwire_blocking::client::{CallOptions, Client, ClientError, Elapsed, NotSent, Target};
use agentwire_blocking::network::{Network, Profile};
use agentwire_core::binding::{End, Failure, Standard};
use agentwire_core::chat::caller::{CallError, CallerConfig};
use agentwire_core::chat::command::MentionForm;
use agentwire_core::chat::responder::AnswerError;
use agentwire_core::chat::session::{Declared, Reply, ReplyKind, SessionConfig};
use agentwire_core::chat::{Chat, ContactId};
use agentwire_core::loopback::{Fault, GroupRef, SendError};

const PATIENCE: Duration = Duration::from_secs(10);

fn declared() -> Vec<Declared<Standard>> {
    vec![Declared::new(Standard::A2A, ["1.0"])]
}

fn get_task(id: u32) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask","params":{{"id":"t"}},"a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
    )
}

fn stream(id: u32) -> String {
    get_task(id).replace("GetTask", "SubscribeToTask")
}

fn result(request: &Request, result: &str) -> String {
    let id = request.id.as_deref().unwrap();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn status(request: &Request, state: &str) -> String {
    let update =
        format!(r#"{{"statusUpdate":{{"taskId":"t","status":{{"state":"TASK_STATE_{state}"}}}}}}"#);
    result(request, &update)
}

fn echo(request: Request, replier: Replier) {
    replier.respond(&result(&request, "{}")).unwrap();
}

fn pair() -> (Network, Profile, Profile, ContactId) {
    let network = Network::new(1);
    let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
    let (to_bot, _) = network.connect(&ann, &bot).unwrap();
    (network, ann, bot, to_bot)
}

fn member(group: GroupRef, me: &Profile, of: &Profile) -> Target {
    me.network().with(|net| {
        let known = net.member_of(group, me.id(), of.id()).unwrap();
        Target::Member {
            group: net.group_id(group, me.id()).unwrap(),
            member: known.member,
            group_member: known.group_member_id,
            name: known.name,
        }
    })
}

fn is_error(reply: &Reply, code: i64) -> bool {
    reply.kind == ReplyKind::Last(End::Error { code })
}

#[test]
fn a_stream_arrives_in_order_and_ends() {
    let (_, ann, bot, to_bot) = pair();
    let _bot = Bot::start(bot, declared(), |request: Request, mut replier: Replier| {
        replier.notify(&status(&request, "SUBMITTED")).unwrap();
        replier.notify(&status(&request, "WORKING")).unwrap();
        replier.respond(&status(&request, "COMPLETED")).unwrap();
    })
    .unwrap();
    let client = Client::start(ann);
    let replies = client.call(Standard::A2A, to_bot, &stream(1), CallOptions::default()).unwrap();
    let replies: Vec<_> = replies.map(Result::unwrap).collect();
    let states: Vec<_> = replies.iter().map(|reply| reply.text.split("STATE_").nth(1)).collect();
    assert!(states[0].unwrap().starts_with("SUBMITTED"));
    assert!(states[1].unwrap().starts_with("WORKING"));
    assert!(states[2].unwrap().starts_with("COMPLETED"));
    assert_eq!(replies[2].kind, ReplyKind::Last(End::Terminal));
    assert_eq!(replies.len(), 3);
}

#[test]
fn a_mention_is_answered_by_one_and_a_broadcast_by_all() {
    let network = Network::new(7);
    let ann = network.add_profile("ann").unwrap();
    let group = network.with(|net| net.create_group(ann.id(), "team")).unwrap();
    let bots: Vec<_> = ["first", "second"]
        .into_iter()
        .map(|name| {
            let profile = network.add_profile(name).unwrap();
            network.with(|net| net.join(group, profile.id())).unwrap();
            (profile.clone(), Bot::start(profile, declared(), echo).unwrap())
        })
        .collect();
    let client = Client::start(ann.clone());

    let target = member(group, &ann, &bots[1].0);
    let Target::Member { member, group: group_id, .. } = target else { panic!() };
    let options = CallOptions::default().wait(PATIENCE, PATIENCE);
    let replies = client.call(Standard::A2A, target, &get_task(1), options).unwrap();
    let replies: Vec<_> = replies.map(Result::unwrap).collect();
    assert_eq!(replies.len(), 1);
    assert_eq!(replies[0].sender, agentwire_core::chat::Sender::Member(member));

    let everyone = Target::Everyone(group_id);
    let replies =
        client.call(Standard::A2A, everyone.clone(), &get_task(2), options.answers(2)).unwrap();
    let senders: std::collections::BTreeSet<_> =
        replies.map(|reply| reply.unwrap().sender).collect();
    assert_eq!(senders.len(), 2);

    // Without a number of answers the wait is the end.
    let short = Duration::from_millis(200);
    let options = CallOptions::default().wait(short, short);
    let replies: Vec<_> =
        client.call(Standard::A2A, everyone, &get_task(3), options).unwrap().collect();
    assert_eq!(replies.len(), 3);
    assert!(matches!(replies[2], Err(ClientError::TimedOut(end)) if end.answers == 2));
}

#[test]
fn a_panicking_handler_is_answered_with_the_internal_error() {
    let (_, ann, bot, to_bot) = pair();
    let config = BotConfig::default().workers(1);
    let _bot = Bot::with_config(bot, declared(), config, |request: Request, replier: Replier| {
        assert!(request.id.as_deref() != Some("1"), "a handler panics on purpose");
        echo(request, replier);
    })
    .unwrap();
    let client = Client::start(ann);
    let options = CallOptions::default();
    let reply = client.call(Standard::A2A, to_bot, &get_task(1), options).unwrap().last().unwrap();
    assert!(is_error(&reply, -32603), "{}", reply.text);
    // The one worker goes on.
    let reply = client.call(Standard::A2A, to_bot, &get_task(2), options).unwrap().last().unwrap();
    assert_eq!(reply.kind, ReplyKind::Last(End::Answer));
}

#[test]
fn a_dropped_replier_answers_at_once() {
    let (_, ann, bot, to_bot) = pair();
    let _bot = Bot::start(bot, declared(), |_, replier| drop(replier)).unwrap();
    let client = Client::start(ann);
    let mut replies =
        client.call(Standard::A2A, to_bot, &get_task(1), CallOptions::default()).unwrap();
    let reply = replies.next_timeout(PATIENCE).unwrap().unwrap().unwrap();
    assert!(is_error(&reply, -32603), "{}", reply.text);
}

#[test]
fn an_answer_that_the_session_does_not_take_becomes_the_internal_error() {
    let (_, ann, bot, to_bot) = pair();
    let (seen, results) = mpsc::channel();
    let _bot = Bot::start(bot, declared(), move |_, replier: Replier| {
        seen.send(replier.respond("done!")).unwrap();
    })
    .unwrap();
    let client = Client::start(ann);
    let replies = client.call(Standard::A2A, to_bot, &get_task(1), CallOptions::default()).unwrap();
    assert!(is_error(&replies.last().unwrap(), -32603));
    assert!(matches!(
        results.recv().unwrap(),
        Err(ReplyError::Answer(AnswerError::NotAnAnswer(_)))
    ));
}

#[test]
fn an_answer_that_is_too_large_is_replaced_and_the_handler_learns_it() {
    let (_, ann, bot, to_bot) = pair();
    let (seen, results) = mpsc::channel();
    let _bot = Bot::start(bot, declared(), move |request: Request, replier: Replier| {
        let text = result(&request, &format!("\"{}\"", "a".repeat(16_000)));
        seen.send(replier.respond(&text)).unwrap();
    })
    .unwrap();
    let client = Client::start(ann);
    let replies = client.call(Standard::A2A, to_bot, &get_task(1), CallOptions::default()).unwrap();
    assert!(is_error(&replies.last().unwrap(), -32603));
    let too_large = results.recv().unwrap().unwrap().unwrap();
    assert!(too_large.needed > too_large.limit);
}

#[test]
fn a_command_that_was_deleted_cannot_be_answered_and_the_handler_learns_it() {
    let (network, ann, bot, to_bot) = pair();
    let (begun, is_begun) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    let (seen, results) = mpsc::channel();
    let _bot = Bot::start(bot, declared(), move |request: Request, replier: Replier| {
        begun.send(()).unwrap();
        may_go.lock().unwrap().recv().unwrap();
        seen.send(replier.respond(&result(&request, "{}"))).unwrap();
    })
    .unwrap();
    let command = format!("/_call a2a {}", get_task(1));
    let now = network.now();
    let sent = network
        .with(|net| net.send(now, ann.id(), Chat::Direct(to_bot), command.as_str()))
        .unwrap();
    is_begun.recv().unwrap();
    network.with(|net| net.delete(now, ann.id(), Chat::Direct(to_bot), sent.item)).unwrap();
    go.send(()).unwrap();
    assert!(matches!(
        results.recv().unwrap(),
        Err(ReplyError::NotSent(NotSent::Message(SendError::InvalidQuote { .. })))
    ));
}

#[test]
fn handlers_are_bounded_and_a_full_bot_says_that_it_is_busy() {
    let (_, ann, bot, to_bot) = pair();
    let running = AtomicUsize::new(0);
    let most = std::sync::Arc::new(AtomicUsize::new(0));
    let for_handler = most.clone();
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    let config = BotConfig::default().workers(2).max_waiting(1);
    let bot =
        Bot::with_config(bot, declared(), config, move |request: Request, replier: Replier| {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            for_handler.fetch_max(now, Ordering::SeqCst);
            may_go.lock().unwrap().recv().unwrap();
            running.fetch_sub(1, Ordering::SeqCst);
            echo(request, replier);
        })
        .unwrap();
    let client = Client::start(ann);
    let call = |id| client.call(Standard::A2A, to_bot, &get_task(id), CallOptions::default());
    // Of each burst the workers take two and the queue takes one, in some order of threads.
    let mut calls: Vec<_> = (0..8).map(|id| call(id).unwrap()).collect();
    let begin = Instant::now();
    while calls.len() > 3 {
        assert!(begin.elapsed() < PATIENCE);
        calls.retain_mut(|replies| match replies.next_timeout(Duration::from_millis(10)) {
            Ok(Some(Ok(reply))) => {
                assert!(is_error(&reply, -32603) && reply.text.contains("BUSY"));
                false
            }
            _ => true,
        });
    }
    assert!((1..=3).contains(&calls.len()), "{}", calls.len());
    for _ in 0..calls.len() {
        go.send(()).unwrap();
    }
    for replies in calls {
        assert_eq!(replies.last().unwrap().kind, ReplyKind::Last(End::Answer));
    }
    assert!(most.load(Ordering::SeqCst) <= 2);
    bot.shutdown();
}

#[test]
fn shutdown_finishes_what_is_open_and_then_meets_commands_with_silence() {
    let (_, ann, bot, to_bot) = pair();
    let (begun, is_begun) = mpsc::channel();
    let bot = Bot::start(bot, declared(), move |request: Request, replier: Replier| {
        begun.send(()).unwrap();
        thread::sleep(Duration::from_millis(100));
        echo(request, replier);
    })
    .unwrap();
    let client = Client::start(ann);
    let replies = client.call(Standard::A2A, to_bot, &get_task(1), CallOptions::default()).unwrap();
    is_begun.recv().unwrap();
    bot.shutdown();
    assert_eq!(replies.last().unwrap().kind, ReplyKind::Last(End::Answer));
    let mut replies =
        client.call(Standard::A2A, to_bot, &get_task(2), CallOptions::default()).unwrap();
    assert_eq!(replies.next_timeout(Duration::from_millis(100)), Err(Elapsed));
}

#[test]
fn shutdown_waits_for_a_replier_that_has_moved_away() {
    let (_, ann, bot, to_bot) = pair();
    let (hand_over, repliers) = mpsc::channel();
    let bot = Bot::start(bot, declared(), move |request: Request, replier: Replier| {
        hand_over.send((request, replier)).unwrap();
    })
    .unwrap();
    let client = Client::start(ann);
    let replies = client.call(Standard::A2A, to_bot, &get_task(1), CallOptions::default()).unwrap();
    let (request, replier) = repliers.recv().unwrap();
    let is_answered = std::sync::Arc::new(AtomicBool::new(false));
    let flag = is_answered.clone();
    let answering = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        flag.store(true, Ordering::SeqCst);
        echo(request, replier);
    });
    bot.shutdown();
    assert!(is_answered.load(Ordering::SeqCst));
    answering.join().unwrap();
    assert_eq!(replies.last().unwrap().kind, ReplyKind::Last(End::Answer));
}

#[test]
fn a_slow_handler_is_answered_for_and_its_own_answer_comes_too_late() {
    let (_, ann, bot, to_bot) = pair();
    let mut session = SessionConfig::default();
    session.responder.idle = Duration::from_millis(50);
    let (seen, results) = mpsc::channel();
    let config = BotConfig::default().session(session);
    let bot =
        Bot::with_config(bot, declared(), config, move |request: Request, replier: Replier| {
            while replier.is_open() {
                thread::sleep(Duration::from_millis(5));
            }
            seen.send(replier.respond(&result(&request, "{}"))).unwrap();
        })
        .unwrap();
    let client = Client::start(ann);
    let reply = client
        .call(Standard::A2A, to_bot, &get_task(1), CallOptions::default())
        .unwrap()
        .last()
        .unwrap();
    assert!(is_error(&reply, -32603) && reply.text.contains("TIMEOUT"), "{}", reply.text);
    assert_eq!(results.recv().unwrap(), Err(ReplyError::Answer(AnswerError::Gone)));
    bot.shutdown();
}

#[test]
fn a_call_without_an_answer_times_out_in_real_time() {
    let (_, ann, _bot, to_bot) = pair();
    let client = Client::start(ann);
    let start = Instant::now();
    let wait = Duration::from_millis(80);
    let options = CallOptions::default().wait(wait, wait);
    let mut replies = client.call(Standard::A2A, to_bot, &get_task(1), options).unwrap();
    assert_eq!(replies.next_timeout(Duration::from_millis(10)), Err(Elapsed));
    assert!(start.elapsed() >= Duration::from_millis(10));
    assert!(matches!(replies.next(), Some(Err(ClientError::TimedOut(_)))));
    // Instants are whole milliseconds.
    assert!(start.elapsed() >= wait - Duration::from_millis(1));
    assert_eq!(replies.next(), None);
    assert_eq!(replies.next_timeout(PATIENCE), Ok(None));
    assert_eq!(replies.last(), Err(ClientError::Over));
}

#[test]
fn a_delayed_message_arrives_when_it_is_due() {
    let (network, ann, bot, to_bot) = pair();
    network.with(|net| net.fault_next(bot.id(), Fault::Delay(Duration::from_millis(60))));
    let _bot = Bot::start(bot, declared(), echo).unwrap();
    let start = Instant::now();
    let replies = Client::start(ann)
        .call(Standard::A2A, to_bot, &get_task(1), CallOptions::default())
        .unwrap();
    assert!(replies.last().unwrap().is_end);
    assert!(start.elapsed() >= Duration::from_millis(59));
}

#[test]
fn a_call_that_is_not_made_says_why() {
    let (_, ann, _bot, to_bot) = pair();
    let client = Client::start(ann);
    let error = client.call(Standard::A2A, to_bot, "[]", CallOptions::default()).unwrap_err();
    assert!(
        matches!(
            error,
            ClientError::Call(CallError::Refused(
                Failure::InvalidRequest(_) | Failure::InvalidMessage(_)
            ))
        ),
        "{error:?}"
    );
    let unknown = ContactId(-1);
    let mut replies =
        client.call(Standard::A2A, unknown, &get_task(1), CallOptions::default()).unwrap();
    assert_eq!(
        replies.next(),
        Some(Err(ClientError::NotSent(SendError::ContactNotFound { contact: unknown }.into())))
    );
    assert_eq!(replies.next(), None);
}

#[test]
fn a_mention_on_one_line_is_refused_by_todays_core() {
    let network = Network::new(7);
    let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
    let group = network.with(|net| net.create_group(ann.id(), "team")).unwrap();
    network.with(|net| net.join(group, bot.id())).unwrap();
    let mut caller = CallerConfig::default();
    caller.mention_form = MentionForm::OneLine;
    let mut config = SessionConfig::default();
    config.caller = caller;
    let client = Client::with_config(ann.clone(), config);
    let target = member(group, &ann, &bot);
    let replies = client.call(Standard::A2A, target, &get_task(1), CallOptions::default()).unwrap();
    assert!(matches!(
        replies.last(),
        Err(ClientError::NotSent(NotSent::Message(SendError::InvalidMention { .. })))
    ));
}

#[test]
fn whoever_does_not_take_replies_is_given_up_and_does_not_hold_up_others() {
    let (_, ann, bot, to_bot) = pair();
    let (flooded, is_flooded) = mpsc::channel();
    let _bot = Bot::start(bot, declared(), move |request: Request, mut replier: Replier| {
        if request.id.as_deref() == Some("1") {
            for _ in 0..300 {
                replier.notify(&status(&request, "WORKING")).unwrap();
            }
            replier.respond(&status(&request, "COMPLETED")).unwrap();
            flooded.send(()).unwrap();
        } else {
            echo(request, replier);
        }
    })
    .unwrap();
    let client = Client::start(ann);
    let slow = client.call(Standard::A2A, to_bot, &stream(1), CallOptions::default()).unwrap();
    is_flooded.recv_timeout(PATIENCE).unwrap();
    // One reply of another call lets all of them in.
    let other = client.call(Standard::A2A, to_bot, &get_task(2), CallOptions::default()).unwrap();
    assert!(other.last().unwrap().is_end);
    let replies: Vec<_> = slow.collect();
    assert_eq!(replies.len(), 257);
    assert_eq!(replies[256], Err(ClientError::Lagged));
}

#[test]
fn threads_share_a_client_and_each_gets_its_own_replies() {
    let (network, ann, bot, to_bot) = pair();
    network.with(|net| {
        let faults =
            agentwire_core::loopback::Faults::new().delay(Duration::ZERO, Duration::from_millis(3));
        net.set_faults(faults);
    });
    let _bot = Bot::start(bot, declared(), echo).unwrap();
    let client = Client::start(ann);
    thread::scope(|scope| {
        for lane in 0..8 {
            let client = client.clone();
            scope.spawn(move || {
                for round in 0..25 {
                    let id = lane * 100 + round;
                    let replies = client
                        .call(Standard::A2A, to_bot, &get_task(id), CallOptions::default())
                        .unwrap();
                    let replies: Vec<_> = replies.map(Result::unwrap).collect();
                    assert_eq!(replies.len(), 1);
                    assert!(replies[0].text.contains(&format!("\"id\":{id},")));
                }
            });
        }
    });
}

#[test]
fn a_dropped_call_makes_room_for_another() {
    let (_, ann, _bot, to_bot) = pair();
    let mut config = SessionConfig::default();
    config.max_calls = 1;
    let client = Client::with_config(ann, config);
    let call = || client.call(Standard::A2A, to_bot, &get_task(1), CallOptions::default());
    let first = call().unwrap();
    assert_eq!(call().unwrap_err(), ClientError::Call(CallError::Full { capacity: 1 }));
    drop(first);
    drop(call().unwrap());
}
