use super::*;
use std::format;
use std::string::{String, ToString as _};
use std::vec::Vec;

fn params(method: Method, params: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let params = Object::parse(params).unwrap();
    check_params(method, Some(params), Form::Received, &mut |violation| {
        seen.push(violation.to_string());
    });
    seen
}

fn message(rest: &str) -> Vec<String> {
    params(Method::SendMessage, &format!("{{\"message\":{{{rest}}}}}"))
}

fn parts(parts: &str) -> Vec<String> {
    message(&format!(r#""messageId":"m","role":"ROLE_USER","parts":[{parts}]"#))
}

fn result(method: Method, result: &str, form: Form) -> Vec<String> {
    let mut seen = Vec::new();
    check_result(method, Value::parse(result).unwrap(), form, &mut |violation| {
        seen.push(violation.to_string());
    });
    seen
}

const NONE: [&str; 0] = [];

#[test]
fn names_and_enums_are_received_in_each_spelling() {
    for role in ["\"ROLE_USER\"", "1", "2", "\"\\u0052OLE_AGENT\""] {
        for id in ["messageId", "message_id", "message\\u0049d"] {
            let text = format!(r#""{id}":"m","role":{role},"parts":[{{"text":"x"}}]"#);
            assert_eq!(message(&text), NONE, "{text}");
        }
    }
    for role in ["\"user\"", "\"role_user\"", "\"USER\"", "true", "1.5", "[]"] {
        let text = format!(r#""messageId":"m","role":{role},"parts":[{{"text":"x"}}]"#);
        assert_eq!(message(&text), ["message.role is not a value of the enum"], "{text}");
    }
    for role in ["0", "\"ROLE_UNSPECIFIED\"", "99", "-1", "null"] {
        let text = format!(r#""messageId":"m","role":{role},"parts":[{{"text":"x"}}]"#);
        assert_eq!(message(&text), ["message.role is required"], "{text}");
    }
    let twice = r#""messageId":"m","message_id":"m","role":1,"parts":[{"text":"x"}]"#;
    assert_eq!(message(twice), ["message.messageId occurs twice"]);
}

#[test]
fn required_fields_are_there_and_not_empty() {
    let all =
        ["message.messageId is required", "message.role is required", "message.parts is required"];
    for empty in [
        "",
        r#""messageId":"","role":0,"parts":[]"#,
        r#""messageId":null,"role":null,"parts":null"#,
    ] {
        assert_eq!(message(empty), all, "{empty}");
    }
    assert_eq!(params(Method::SendMessage, "{}"), ["message is required"]);
    assert_eq!(params(Method::SendMessage, r#"{"message":[]}"#), ["message is not an object"]);
    for method in [Method::GetTask, Method::CancelTask, Method::SubscribeToTask] {
        assert_eq!(params(method, r#"{"id":""}"#), ["id is required"]);
        assert_eq!(params(method, r#"{"id":7}"#), ["id is not a string"]);
    }
    let mut count = 0;
    check_params(Method::GetExtendedAgentCard, None, Form::Received, &mut |_| count += 1);
    assert_eq!(count, 0);
}

#[test]
fn a_part_has_exactly_one_content() {
    for part in [
        r#"{"text":""}"#,
        r#"{"raw":"AA=="}"#,
        r#"{"raw":"-_8"}"#,
        r#"{"url":"https://h/","mediaType":"a/b","filename":"f"}"#,
        r#"{"data":null}"#,
        r#"{"data":[1,{"text":7}]}"#,
        r#"{"text":"x","url":null,"raw":null}"#,
        r#"{"kind":"text","text":"x"}"#,
        r#"{"text":"x","media_type":"a/b","filename":"","metadata":{"text":1}}"#,
    ] {
        assert_eq!(parts(part), NONE, "{part}");
    }
    let none = ["message.parts[0] has none of the fields of which one is required"];
    for part in ["{}", r#"{"mediaType":"x"}"#, r#"{"text":null}"#] {
        assert_eq!(parts(part), none, "{part}");
    }
    let both = ["message.parts[0] has more than one of the fields of which one is required"];
    for part in [r#"{"text":"x","url":"y"}"#, r#"{"text":"x","data":null}"#] {
        assert_eq!(parts(part), both, "{part}");
    }
    assert_eq!(parts(r#"{"text":"x"},null"#), ["message.parts[1] is null"]);
    assert_eq!(parts("7"), ["message.parts[0] is not an object"]);
    assert_eq!(parts(r#"{"raw":"A"}"#), ["message.parts[0].raw is not base64"]);
    assert_eq!(
        parts(r#"{"text":"x","metadata":[]}"#),
        ["message.parts[0].metadata is not an object"]
    );
}

#[test]
fn lengths_and_sizes_have_their_ranges() {
    let history = |length: &str| {
        params(Method::GetTask, &format!(r#"{{"id":"t","historyLength":{length}}}"#))
    };
    for length in ["0", "\"0\"", "2147483647", "1.0", "null"] {
        assert_eq!(history(length), NONE, "{length}");
    }
    for length in ["-1", "2147483648"] {
        assert_eq!(history(length), ["historyLength is not between 0 and 2147483647"], "{length}");
    }
    assert_eq!(history("\"x\""), ["historyLength is not an integer"]);
    let page = |size: &str| params(Method::ListTasks, &format!(r#"{{"pageSize":{size}}}"#));
    for size in ["1", "100", "\"50\""] {
        assert_eq!(page(size), NONE, "{size}");
    }
    for size in ["0", "101", "-1"] {
        assert_eq!(page(size), ["pageSize is not between 1 and 100"], "{size}");
    }
    let after =
        |time| params(Method::ListTasks, &format!(r#"{{"statusTimestampAfter":"{time}"}}"#));
    assert_eq!(after("2026-01-01T00:00:00+05:30"), NONE);
    assert_eq!(after("notadate"), ["statusTimestampAfter is not an RFC 3339 timestamp"]);
}

#[test]
fn results_of_each_method() {
    let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}"#;
    for (method, text) in [
        (Method::SendMessage, format!("{{\"task\":{task}}}")),
        (Method::GetTask, task.into()),
        (Method::CancelTask, task.into()),
        (Method::SubscribeToTask, format!("{{\"task\":{task}}}")),
        (
            Method::ListTasks,
            format!(r#"{{"tasks":[{task}],"nextPageToken":"","pageSize":50,"totalSize":1}}"#),
        ),
        (Method::DeleteTaskPushNotificationConfig, "{}".into()),
        (Method::GetExtendedAgentCard, r#"{"name":"n"}"#.into()),
    ] {
        assert_eq!(result(method, &text, Form::Received), NONE, "{method:?}");
        assert_eq!(result(method, &text, Form::Emitted), NONE, "{method:?}");
    }
    let delete = Method::DeleteTaskPushNotificationConfig;
    assert_eq!(result(delete, "null", Form::Received), NONE);
    assert_eq!(result(delete, "null", Form::Emitted), ["result is not an object"]);
    assert_eq!(result(Method::GetTask, "null", Form::Received), ["result is not an object"]);
    assert_eq!(result(Method::ListTasks, "{}", Form::Received), NONE);
    assert_eq!(result(Method::ListTasks, "{}", Form::Emitted).len(), 4);
    let event = r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"parts":[{}]}}}"#;
    assert_eq!(
        result(Method::SubscribeToTask, event, Form::Received),
        [
            "artifactUpdate.artifact.parts[0] has none of the fields of which one is required",
            "artifactUpdate.artifact.artifactId is required",
        ]
    );
}

#[test]
fn what_is_emitted_is_written_in_one_way() {
    for (status, problem) in [
        (r#""state":2"#, "status.state is not written in its canonical form"),
        (r#""state":"TASK_STATE_WORKING","message":null"#, "status.message is null"),
        (
            r#""state":"TASK_STATE_WORKING","timestamp":"2026-01-01T00:00:00+00:00""#,
            "status.timestamp is not written in its canonical form",
        ),
        (
            r#""state":"TASK_STATE_WORKING","final":true"#,
            "status has a field that A2A 1.0 does not have",
        ),
    ] {
        let text = format!(r#"{{"id":"t","status":{{{status}}}}}"#);
        assert_eq!(result(Method::GetTask, &text, Form::Received), NONE, "{text}");
        assert_eq!(result(Method::GetTask, &text, Form::Emitted), [problem], "{text}");
    }
    let snake = r#"{"id":"t","context_id":"c","status":{"state":"TASK_STATE_WORKING"}}"#;
    assert_eq!(
        result(Method::GetTask, snake, Form::Emitted),
        ["contextId is not written in its canonical form"]
    );
}

#[test]
fn an_error_lists_eight_fields() {
    for (count, listed) in [(7, 7), (8, 8), (9, 8)] {
        let parts: Vec<&str> = core::iter::repeat_n("{}", count).collect();
        let text =
            format!(r#"{{"message":{{"messageId":"m","role":1,"parts":[{}]}}}}"#, parts.join(","));
        let object = Object::parse(&text).unwrap();
        let error = crate::json::to_text(|out| {
            write_invalid_params(out, Some("1"), Method::SendMessage, Some(object));
        });
        assert_eq!(error.matches("\"field\"").count(), listed);
        assert!(Value::parse(&error).is_ok(), "{error}");
    }
}
