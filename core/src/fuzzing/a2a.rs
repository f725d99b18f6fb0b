//! Requests of A2A that are checked and passed on, and the answers to them, against what must hold
//! of each on top of `serde_json`.

use alloc::string::String;
use alloc::vec::Vec;

use super::model::{self, all};
use crate::a2a::{
    Answer, Form, Incoming, KeptTask, MAX_KEPT_TASK_LEN, MAX_VIOLATIONS, Method, check_params,
    check_result, write_invalid_params,
};
use crate::binding::Place;
use crate::json::{Object, Value, to_text};
use crate::jsonrpc::Message;

/// The id of the requests that are passed on.
const OWN: i64 = 7;

/// A text as the parameters and as the result of every method: what may be emitted may be received,
/// what is missing is missed, and the error is one that can be read.
pub fn a2a_check(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let Ok(value) = Value::parse(text) else { return };
    for method in Method::ALL {
        let params = value.as_object();
        let count = |form| {
            let mut count = 0_usize;
            check_params(method, params, form, &mut |violation| {
                assert!(!alloc::format!("{violation}").is_empty());
                count += 1;
            });
            count
        };
        let (received, emitted) = (count(Form::Received), count(Form::Emitted));
        assert!(emitted > 0 || received == 0, "{method:?}: emitted, and not received");
        assert_eq!(received, count(Form::Received), "{method:?}: not the same twice");
        if lacks(method, text) {
            assert!(received > 0, "{method:?}: something is missing");
        }
        let error = to_text(|out| write_invalid_params(out, Some("1"), method, params));
        let Ok(Message::Error(read)) = Message::parse(&error) else { panic!("no error: {error}") };
        assert_eq!(read.code, -32602);
        let fields = error.matches("\"field\":").count();
        assert!(fields <= MAX_VIOLATIONS, "{fields} fields");

        let result = |form| {
            let mut count = 0_usize;
            check_result(method, value, form, &mut |_| count += 1);
            count
        };
        assert!(result(Form::Emitted) > 0 || result(Form::Received) == 0, "{method:?}: a result");
    }
}

/// Whether parameters lack something that their method needs, whatever its spelling.
fn lacks(method: Method, text: &str) -> bool {
    let Some(members) = model::members(text) else { return false };
    let named = |members: &[(String, &str)], names: &[&str]| {
        members.iter().any(|(name, _)| names.contains(&name.as_str()))
    };
    match method {
        Method::GetTask | Method::CancelTask | Method::SubscribeToTask => !named(&members, &["id"]),
        Method::SendMessage | Method::SendStreamingMessage => {
            let [message] = all(&members, "message")[..] else {
                return !named(&members, &["message"]);
            };
            let Some(message) = model::members(message) else { return true };
            !named(&message, &["messageId", "message_id"])
                || !named(&message, &["role"])
                || !named(&message, &["parts"])
        }
        _ => false,
    }
}

/// A request, a bar, and an answer: what goes to the agent is the request without its service
/// parameters, what comes back is the answer with the caller's id, and nothing between is changed.
/// The answer is kept as well.
pub fn a2a_forward(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let (request, answer) = text.split_once('|').unwrap_or((text, text));
    for place in [Place::Direct, Place::Group] {
        match Incoming::read(request, place, &["X-Key"]) {
            Ok(incoming) => passed(request, &incoming, answer),
            Err(refused) => {
                let error = to_text(|out| refused.write(out));
                let read = Message::parse(&error);
                assert!(matches!(read, Ok(Message::Error(_))), "no error: {error}");
            }
        }
    }
    kept(answer);
}

fn passed(request: &str, incoming: &Incoming<'_>, answer: &str) {
    let members = model::members(request).expect("an object");
    let written = to_text(|out| incoming.write(out, OWN));
    let there = model::members(&written).expect("an object");
    assert_eq!(all(&there, "id"), ["7"]);
    assert_eq!(all(&there, "params"), all(&members, "params"), "the parameters are changed");
    assert_eq!(there.len(), 3 + all(&members, "params").len(), "{written}");
    // Without the ids of its message, it is a request all the same.
    let anew = to_text(|out| incoming.write_anew(out, OWN));
    let there = model::members(&anew).expect("an object");
    if incoming.method.is_send() {
        let [params] = all(&there, "params")[..] else { panic!("no parameters: {anew}") };
        let params = model::members(params).expect("an object");
        for message in all(&params, "message") {
            let names = model::members(message).unwrap_or_default();
            let ids = ["taskId", "task_id", "contextId", "context_id"];
            assert!(names.iter().all(|(name, _)| !ids.contains(&name.as_str())), "{anew}");
        }
    }
    for (name, value) in incoming.parameters.forwarded() {
        let control = |char: char| char.is_control() && char != '\t';
        assert!(name.chars().all(|char| char.is_ascii_graphic() && char != ':'), "a header's name");
        assert!(!value.chars().any(control), "a header of two lines");
    }
    if let Ok(read) = Answer::read(answer, OWN) {
        let id = incoming.id.get();
        let restored = to_text(|out| read.write(out, id));
        let (before, after) = (model::members(answer), model::members(&restored));
        let (before, after) = (before.expect("an object"), after.expect("an object"));
        assert_eq!(all(&after, "id"), [id]);
        let name = if matches!(read, Answer::Result(_)) { "result" } else { "error" };
        assert_eq!(all(&before, name), all(&after, name), "the answer is changed");
    }
}

/// What is kept of a task is within its limit, and JSON.
fn kept(text: &str) {
    let mut task = KeptTask::default();
    for line in text.lines() {
        let Ok(event) = Object::parse(line) else { continue };
        let before: Option<String> = task.id().map(Into::into);
        task.add(event);
        task.add_task(event);
        assert!(before.is_none() || before.as_deref() == task.id(), "another task");
        assert!(task.len() <= MAX_KEPT_TASK_LEN);
        if !task.is_empty() {
            let texts: Vec<String> = [None, Some(0), Some(1)]
                .map(|history| to_text(|out| task.write(out, history)))
                .into();
            assert!(texts.iter().all(|text| Object::parse(text).is_ok()), "no task: {texts:?}");
        }
    }
}
