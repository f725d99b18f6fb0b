use super::*;
use crate::a2a::{Form, Method, TaskState, check_result};
use crate::json::{Value, to_text};
use std::format;
use std::string::String;

fn after(events: &[&str]) -> KeptTask {
    let mut task = KeptTask::default();
    for event in events {
        task.add(Object::parse(event).unwrap());
    }
    task
}

fn written(task: &KeptTask) -> String {
    to_text(|out| task.write(out, None))
}

fn artifact(id: &str, text: &str, append: &str) -> String {
    format!(
        r#"{{"artifactUpdate":{{"taskId":"t","contextId":"c",{append}"artifact":{{"artifactId":"{id}","name":"{text}","parts":[{{"text":"{text}"}}]}}}}}}"#
    )
}

const WORKING: &str =
    r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
const TASK: &str = r#"{"task":{"id":"t","contextId":"c","status":{"state":1},"metadata":null,
    "history":[{"messageId":"1"},{"messageId":"2"}],"x":{"y":[1]}}}"#;

#[test]
fn a_stream_that_begins_with_an_update_is_a_task_too() {
    let task = after(&[&artifact("a", "1", ""), WORKING]);
    let expected = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a","name":"1","parts":[{"text":"1"}]}]}"#;
    assert_eq!(written(&task), expected);
    check_result(Method::GetTask, Value::parse(expected).unwrap(), Form::Emitted, &mut |it| {
        panic!("{it}");
    });
    assert_eq!((task.id(), task.state()), (Some("t"), Some(TaskState::Working)));
}

#[test]
fn an_artifact_is_there_once_and_grows_by_what_is_appended() {
    let append = r#""append":true,"#;
    let artifacts = |events: &[String]| {
        let mut task = after(&[TASK]);
        for event in events {
            task.add(Object::parse(event).unwrap());
        }
        let text = written(&task);
        let start = text.find("\"artifacts\":").unwrap() + 12;
        let end = text.find(",\"history\"").unwrap();
        String::from(&text[start..end])
    };
    // Replaced by one of its id, in its place.
    let all = [artifact("a", "1", ""), artifact("b", "2", ""), artifact("a", "3", "")];
    assert_eq!(
        artifacts(&all),
        r#"[{"artifactId":"a","name":"3","parts":[{"text":"3"}]},{"artifactId":"b","name":"2","parts":[{"text":"2"}]}]"#
    );
    let all = [artifact("a", "1", ""), artifact("a", "2", append), artifact("a", "3", append)];
    assert_eq!(
        artifacts(&all),
        r#"[{"artifactId":"a","name":"1","parts":[{"text":"1"},{"text":"2"},{"text":"3"}]}]"#
    );
    // What is appended to one that is not there makes it.
    let made = artifacts(&[artifact("a", "1", append)]);
    assert_eq!(made, r#"[{"artifactId":"a","name":"1","parts":[{"text":"1"}]}]"#);
    let null = artifacts(&[artifact("a", "1", ""), artifact("a", "2", r#""append":null,"#)]);
    assert_eq!(null, r#"[{"artifactId":"a","name":"2","parts":[{"text":"2"}]}]"#);
}

#[test]
fn a_whole_task_counts_for_what_was_before() {
    let done = r#"{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"z","parts":[]}]}}"#;
    let task = after(&[TASK, &artifact("a", "1", ""), done]);
    assert_eq!(
        written(&task),
        r#"{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"z","parts":[]}]}"#
    );
    assert_eq!(task.state(), Some(TaskState::Completed));
    let mut task = task;
    task.add_task(Object::parse(r#"{"id":"t","status":{"state":2}}"#).unwrap());
    assert_eq!(written(&task), r#"{"id":"t","status":{"state":2}}"#);
}

#[test]
fn the_history_is_as_long_as_it_is_asked_for() {
    let task = after(&[TASK]);
    let history = |length| to_text(|out| task.write(out, length));
    let all = r#"{"id":"t","contextId":"c","x":{"y":[1]},"status":{"state":1},"history":[{"messageId":"1"},{"messageId":"2"}]}"#;
    assert_eq!(history(None), all);
    assert_eq!(history(Some(3)), all);
    assert!(history(Some(1)).ends_with(r#","history":[{"messageId":"2"}]}"#));
    assert!(history(Some(0)).ends_with(r#""status":{"state":1}}"#));
}

#[test]
fn what_is_about_something_else_changes_nothing() {
    let before = written(&after(&[TASK]));
    for event in [
        r#"{"message":{"messageId":"m","taskId":"t","role":2,"parts":[]}}"#,
        r#"{"task":{"id":"u","status":{"state":3}}}"#,
        r#"{"task":{"status":{"state":3}}}"#,
        r#"{"statusUpdate":{"taskId":"u","status":{"state":3}}}"#,
        r#"{"statusUpdate":{"status":{"state":3}}}"#,
        r#"{"artifactUpdate":{"taskId":"t"}}"#,
        r#"{"artifactUpdate":{"taskId":"u","artifact":{"artifactId":"a","parts":[]}}}"#,
        r#"{"statusUpdate":null}"#,
        "{}",
    ] {
        assert_eq!(written(&after(&[TASK, event])), before, "{event}");
    }
    assert!(after(&["{}"]).is_empty());
    assert!(after(&[&artifact("a", "1", "")]).is_empty(), "no status has come");
}

#[test]
fn a_task_that_is_too_large_is_not_kept() {
    let filled = |len: usize| {
        let empty = after(&[TASK, &artifact("a", "", "")]).len();
        let text = format!(r#"{{"text":"{}"}}"#, "x".repeat(len - empty));
        let update = artifact("a", "", "").replace(r#"{"text":""}"#, &text);
        after(&[TASK, &update])
    };
    let limit = MAX_KEPT_TASK_LEN;
    assert_eq!(filled(limit - 1).len(), limit - 1);
    assert!(!filled(limit).is_empty());
    let mut over = filled(limit + 1);
    assert!(over.is_empty() && over.len() < 2 && over.id() == Some("t"));
    // Nor after that, for what came before is missing; a whole task is whole again.
    over.add(Object::parse(WORKING).unwrap());
    assert!(over.is_empty());
    over.add(Object::parse(TASK).unwrap());
    assert!(!over.is_empty());
}

#[test]
fn the_newest_are_kept_and_none_for_too_long() {
    let task = |id: &str| {
        let event = format!(r#"{{"task":{{"id":"{id}","status":{{"state":2}}}}}}"#);
        after(&[&event])
    };
    let at = Instant::from_millis;
    let mut kept = KeptTasks::new(2, Duration::from_millis(10));
    kept.keep(at(0), task("a"));
    kept.keep(at(1), task("b"));
    kept.keep(at(2), task("a"));
    assert_eq!(kept.len(), 2, "the same one again");
    kept.keep(at(3), task("c"));
    assert!(kept.get(at(3), "b").is_none() && kept.get(at(3), "a").is_some());
    // A reply makes it younger.
    let done = r#"{"statusUpdate":{"taskId":"a","status":{"state":3}}}"#;
    kept.add(at(4), "a", Object::parse(done).unwrap());
    kept.add(at(4), "b", Object::parse(done).unwrap());
    assert!(kept.get(at(13), "c").is_some() && kept.get(at(14), "c").is_none());
    assert_eq!(kept.get(at(14), "a").unwrap().state(), Some(TaskState::Completed));
    assert!(kept.get(at(15), "a").is_none() && kept.is_empty());
    let mut none = KeptTasks::new(0, Duration::MAX);
    none.keep(at(0), task("a"));
    none.keep(at(0), KeptTask::default());
    assert!(none.is_empty());
}
