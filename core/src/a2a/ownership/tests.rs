use super::*;
use crate::chat::{ContactId, GroupId, MemberId};
use core::convert::Infallible;
use std::format;
use std::string::ToString as _;
use std::vec::Vec;

type Result<T> = core::result::Result<T, OwnershipError<Infallible>>;

fn ann() -> Owner {
    Owner::contact(ContactId(4))
}

fn bob() -> Owner {
    Owner::contact(ContactId(5))
}

fn member(group: i64, name: &str) -> Owner {
    Owner::member(GroupId(group), MemberId::new(name).unwrap())
}

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn learn(
    ownership: &mut Ownership<Memory>,
    owner: &Owner,
    task: &str,
    context: &str,
) -> Result<()> {
    let text = format!(r#"{{"task":{{"id":"{task}","contextId":"{context}"}}}}"#);
    ownership.learn(at(0), owner, Method::SendMessage, Value::parse(&text).unwrap())
}

fn admit(
    ownership: &mut Ownership<Memory>,
    owner: &Owner,
    method: Method,
    params: &str,
) -> Result<Admitted> {
    ownership.admit(at(0), Some(owner), method, Some(Object::parse(params).unwrap()))
}

#[test]
fn a_task_is_its_callers_in_its_conversation() {
    let owners = [ann(), bob(), member(1, "m"), member(1, "n"), member(2, "m")];
    for owner in &owners {
        let mut ownership = Ownership::new(Memory::default());
        learn(&mut ownership, owner, "t", "c").unwrap();
        for other in &owners {
            for (method, params) in [
                (Method::GetTask, r#"{"id":"t"}"#),
                (Method::CancelTask, r#"{"id":"t"}"#),
                (Method::SubscribeToTask, r#"{"id":"t"}"#),
                (Method::ListTasks, r#"{"contextId":"c"}"#),
                (Method::ListTasks, r#"{"context_id":"c"}"#),
                (Method::SendMessage, r#"{"message":{"taskId":"t"}}"#),
                (Method::SendMessage, r#"{"message":{"contextId":"c"}}"#),
                (Method::SendStreamingMessage, r#"{"message":{"referenceTaskIds":["t"]}}"#),
                (Method::GetTaskPushNotificationConfig, r#"{"taskId":"t"}"#),
            ] {
                let admitted = admit(&mut ownership, other, method, params);
                let expected = if owner == other {
                    Ok(Admitted::ToAgent)
                } else {
                    Err(OwnershipError::Unknown)
                };
                assert_eq!(admitted, expected, "{owner} {other} {params}");
            }
        }
        let params = Object::parse(r#"{"id":"t"}"#).ok();
        let nobody = ownership.admit(at(0), None, Method::GetTask, params);
        assert_eq!(nobody, Err(OwnershipError::Unknown));
    }
}

#[test]
fn what_nobody_has_made_is_answered_alike() {
    let mut ownership = Ownership::new(Memory::default());
    learn(&mut ownership, &bob(), "t", "c").unwrap();
    for params in [r#"{"id":"t"}"#, r#"{"id":"c"}"#, r#"{"id":"nobody's"}"#, r#"{"id":7}"#] {
        let unknown = Err(OwnershipError::Unknown);
        assert_eq!(admit(&mut ownership, &ann(), Method::GetTask, params), unknown, "{params}");
    }
    let long = format!(r#"{{"id":"{}"}}"#, "i".repeat(MAX_ID_LEN + 1));
    let unknown = Err(OwnershipError::Unknown);
    assert_eq!(admit(&mut ownership, &ann(), Method::GetTask, &long), unknown);
}

#[test]
fn no_spelling_and_no_second_field_hides_a_name() {
    let mut ownership = Ownership::new(Memory::default());
    learn(&mut ownership, &bob(), "t", "c").unwrap();
    learn(&mut ownership, &ann(), "s", "d").unwrap();
    for params in [
        r#"{"message":{"taskId":"s","task_id":"t"}}"#,
        r#"{"message":{"taskId":"t","taskId":"s"}}"#,
        r#"{"message":{"taskId":"s"},"message":{"taskId":"t"}}"#,
        r#"{"message":{"t\u0061sk_id":"\u0074"}}"#,
        r#"{"message":{"taskId":"s","contextId":"c"}}"#,
        r#"{"message":{"taskId":"s","referenceTaskIds":["s","t"]}}"#,
        r#"{"message":{"taskId":["t"]}}"#,
    ] {
        let unknown = Err(OwnershipError::Unknown);
        assert_eq!(admit(&mut ownership, &ann(), Method::SendMessage, params), unknown, "{params}");
    }
    for params in [
        "{}",
        r#"{"message":{"taskId":"","contextId":null}}"#,
        r#"{"message":{"taskId":"s","contextId":"d","metadata":{"taskId":"t"}}}"#,
        r#"{"message":{"taskId":"\u0073"}}"#,
    ] {
        let admitted = Ok(Admitted::ToAgent);
        assert_eq!(
            admit(&mut ownership, &ann(), Method::SendMessage, params),
            admitted,
            "{params}"
        );
    }
}

#[test]
fn every_kind_of_answer_makes_its_ids_the_callers() {
    for (method, result) in [
        (Method::SendMessage, r#"{"message":{"taskId":"t","contextId":"c"}}"#),
        (Method::SendStreamingMessage, r#"{"statusUpdate":{"taskId":"t","contextId":"c"}}"#),
        (Method::SubscribeToTask, r#"{"artifact_update":{"task_id":"t","context_id":"c"}}"#),
        (Method::GetTask, r#"{"id":"t","contextId":"c"}"#),
        (Method::CancelTask, r#"{"contextId":"\u0063","id":"t"}"#),
    ] {
        let mut ownership = Ownership::new(Memory::default());
        ownership.learn(at(0), &ann(), method, Value::parse(result).unwrap()).unwrap();
        let params = r#"{"message":{"taskId":"t","contextId":"c"}}"#;
        assert!(admit(&mut ownership, &ann(), Method::SendMessage, params).is_ok(), "{result}");
    }
}

#[test]
fn an_answer_with_somebody_elses_id_takes_nothing() {
    let mut ownership = Ownership::new(Memory::default());
    learn(&mut ownership, &bob(), "t", "c").unwrap();
    assert_eq!(learn(&mut ownership, &ann(), "t", "d"), Err(OwnershipError::Foreign));
    assert_eq!(learn(&mut ownership, &ann(), "s", "c"), Err(OwnershipError::Foreign));
    assert_eq!(ownership.store.count(Some(&ann())), Ok(0));
    assert!(admit(&mut ownership, &bob(), Method::GetTask, r#"{"id":"t"}"#).is_ok());
    let fits = "i".repeat(MAX_ID_LEN);
    learn(&mut ownership, &ann(), &fits, "d").unwrap();
    let too_long = Err(OwnershipError::IdTooLong { limit: MAX_ID_LEN });
    assert_eq!(learn(&mut ownership, &ann(), &format!("{fits}i"), "d"), too_long);
}

#[test]
fn what_is_not_used_is_forgotten() {
    let limits = Limits { max_age: Duration::from_millis(100), ..Limits::default() };
    let mut ownership = Ownership::with_limits(Memory::default(), limits);
    let params = Object::parse(r#"{"id":"t"}"#).ok();
    assert!(ownership.admit(at(0), Some(&ann()), Method::GetTask, params).is_err());
    let task = Value::parse(r#"{"task":{"id":"t"}}"#).unwrap();
    ownership.learn(at(0), &ann(), Method::SendMessage, task).unwrap();
    let mut get = |now| ownership.admit(at(now), Some(&ann()), Method::GetTask, params).is_ok();
    assert!(get(100));
    assert!(get(200), "a use keeps it");
    assert!(get(50), "time that runs backwards does not make it older");
    assert!(!get(301));
    // It is nobody's now.
    ownership.learn(at(301), &bob(), Method::SendMessage, task).unwrap();
    let minute = 60_000;
    ownership
        .learn(at(302 + minute), &bob(), Method::GetTask, Value::parse("{}").unwrap())
        .unwrap();
    assert_eq!(ownership.store.count(None), Ok(0));
}

#[test]
fn each_owner_and_all_of_them_have_a_limit() {
    let limits = Limits { per_owner: 2, total: 3, ..Limits::default() };
    let mut ownership = Ownership::with_limits(Memory::default(), limits);
    let take = |ownership: &mut Ownership<Memory>, owner: &Owner, task: &str, now| {
        let text = format!(r#"{{"task":{{"id":"{task}"}}}}"#);
        let task = Value::parse(&text).unwrap();
        ownership.learn(at(now), owner, Method::SendMessage, task).unwrap();
    };
    let known = |ownership: &mut Ownership<Memory>| {
        let tasks = ["a1", "a2", "a3", "b1", "b2"].into_iter();
        let is_known = |task: &&str| ownership.store.get(Kind::Task, task).unwrap().is_some();
        tasks.filter(is_known).collect::<Vec<&str>>()
    };
    take(&mut ownership, &ann(), "a1", 1);
    take(&mut ownership, &ann(), "a2", 2);
    take(&mut ownership, &ann(), "a1", 3);
    take(&mut ownership, &bob(), "b1", 4);
    assert_eq!(known(&mut ownership), ["a1", "a2", "b1"]);
    // The owner's own oldest goes first, and that is the one whose use is the longest ago.
    take(&mut ownership, &ann(), "a3", 5);
    assert_eq!(known(&mut ownership), ["a1", "a3", "b1"]);
    take(&mut ownership, &bob(), "b2", 6);
    assert_eq!(known(&mut ownership), ["a3", "b1", "b2"]);
    assert_eq!(ownership.store.count(None), Ok(3));
    assert_eq!(ownership.store.count(Some(&bob())), Ok(2));
}

#[test]
fn a_list_of_tasks_shows_the_callers_own() {
    let mut ownership = Ownership::new(Memory::default());
    learn(&mut ownership, &ann(), "a1", "c").unwrap();
    learn(&mut ownership, &bob(), "b1", "d").unwrap();
    let list = r#"{"tasks":[{"id":"a1","x": 1},{"id":"b1"},{"id":"a2","contextId":"c"},
        {"id":"b1","contextId":"c"},{"id":"n"},7,{"contextId":"c"}],
        "nextPageToken":"n","pageSize":50,"totalSize":7}"#;
    let list = Object::parse(list).unwrap();
    let own = ownership.own_tasks(at(0), &ann(), list, false).unwrap();
    assert_eq!(
        own,
        r#"{"tasks":[{"id":"a1","x": 1},{"id":"a2","contextId":"c"}],"nextPageToken":"n","pageSize":50,"totalSize":2}"#
    );
    // What stood in an own context is the caller's from then on.
    assert!(admit(&mut ownership, &ann(), Method::GetTask, r#"{"id":"a2"}"#).is_ok());
    let own = ownership.own_tasks(at(0), &ann(), list, true).unwrap();
    assert!(own.ends_with(r#""totalSize":7}"#));
}

#[test]
fn a_task_of_the_proxys_own_does_not_reach_the_agent() {
    let mut ownership = Ownership::new(Memory::default());
    ownership.learn_local(at(0), &ann(), "t", "c").unwrap();
    let local = Ok(Admitted::Local { context: Some("c".into()) });
    for method in [Method::GetTask, Method::CancelTask, Method::SubscribeToTask] {
        assert_eq!(admit(&mut ownership, &ann(), method, r#"{"id":"t"}"#), local);
        let unknown = Err(OwnershipError::Unknown);
        assert_eq!(admit(&mut ownership, &bob(), method, r#"{"id":"t"}"#), unknown);
    }
    for params in [r#"{"message":{"taskId":"t"}}"#, r#"{"message":{"contextId":"c"}}"#] {
        let anew = Ok(Admitted::Anew);
        assert_eq!(admit(&mut ownership, &ann(), Method::SendMessage, params), anew);
    }
    // A context of the agent's stays the agent's when a task of the proxy's own is put into it.
    learn(&mut ownership, &ann(), "s", "d").unwrap();
    ownership.learn_local(at(0), &ann(), "r", "d").unwrap();
    let agents = Ok(Admitted::ToAgent);
    let params = r#"{"message":{"contextId":"d"}}"#;
    assert_eq!(admit(&mut ownership, &ann(), Method::SendMessage, params), agents);
    // Once the agent has named it, it is the agent's.
    learn(&mut ownership, &ann(), "t", "c").unwrap();
    let agents = Ok(Admitted::ToAgent);
    assert_eq!(admit(&mut ownership, &ann(), Method::GetTask, r#"{"id":"t"}"#), agents);
}

#[test]
fn owners_are_written_and_read() {
    let channel = Owner::new(crate::chat::Chat::Group(GroupId(7)), crate::chat::Sender::Channel);
    for owner in [ann(), member(7, "bVJp/U2x2=="), channel, Owner::contact(ContactId(i64::MIN))] {
        assert_eq!(owner.to_string().parse(), Ok(owner.clone()), "{owner}");
    }
    let long = format!("#7/{}", "m".repeat(32));
    for text in ["", "4", "@", "@x", "#", "#x/m", "!4", "@4/m", &long] {
        assert_eq!(text.parse::<Owner>(), Err(OwnerError), "{text}");
    }
}

#[test]
fn debug_shows_no_id_of_a_context() {
    let mut ownership = Ownership::new(Memory::default());
    learn(&mut ownership, &ann(), "secret", "secret").unwrap();
    let entry = ownership.store.get(Kind::Task, "secret").unwrap();
    let shown = format!("{ownership:?} {entry:?}");
    assert!(!shown.contains("secret"), "{shown}");
}
