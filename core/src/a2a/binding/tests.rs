use super::*;
use crate::a2a::{MAX_PARAMETER_NAME_LEN, MAX_SERVICE_PARAMETERS};
use std::format;
use std::string::String;

const STREAMING: [&str; 2] = ["SendStreamingMessage", "SubscribeToTask"];

fn request(method: &str, parameters: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{{}},"a2a-service-parameters":{parameters}}}"#
    )
}

fn failure(text: &str, place: Place) -> Option<&'static str> {
    let served: &[&str] = &["1.0"];
    A2a.accept(text, served, place).err().map(|refusal| refusal.failure.reason())
}

fn error(text: &str) -> String {
    let refusal = A2a.accept(text, &["1.0"], Place::Direct).unwrap_err();
    let mut buffer = [0; 512];
    let mut out = Writer::new(&mut buffer);
    A2a.write_failure(&refusal.failure, refusal.id, &mut out);
    String::from(out.finish().unwrap())
}

#[test]
fn a_version_that_is_not_served_gets_32009() {
    for version in ["1.0", "1.0.0", "1.0.17", "1.\\u0030"] {
        let text = request("GetTask", &format!(r#"{{"a2a-VERSION":"{version}"}}"#));
        assert_eq!(failure(&text, Place::Direct), None, "{version}");
    }
    for version in ["0.3", "2.0", "1", "1.1", "v1.0", " 1.0", "1.0,0.3", "", "1.0.x", "1.0.0.0"] {
        let text = request("GetTask", &format!(r#"{{"A2A-Version":"{version}"}}"#));
        assert_eq!(failure(&text, Place::Direct), Some("unsupported_version"), "{version}");
    }
    assert_eq!(
        error(&request("GetTask", r#"{"A2A-Version":"2.0"}"#)),
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32009,"message":"this version is not served","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED","domain":"a2a-protocol.org","metadata":{"requested":"2.0","supported":"1.0"}}]}}"#
    );
}

#[test]
fn every_request_must_carry_a2a_version() {
    for method in Method::ALL {
        let method = method.name();
        let absent = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"{method}"}}"#);
        for text in [absent, request(method, "{}"), request(method, r#"{"x":"1.0"}"#)] {
            assert_eq!(failure(&text, Place::Direct), Some("unsupported_version"), "{text}");
            // Absent means 0.3 (A2A, section 3.6).
            assert!(error(&text).contains(r#""requested":"0.3""#), "{text}");
        }
    }
}

#[test]
fn push_notification_methods_get_32003_in_a_conversation() {
    for method in Method::ALL.into_iter().filter(|method| method.is_push()) {
        let method = method.name();
        let answer = error(&request(method, r#"{"A2A-Version":"1.0"}"#));
        assert!(answer.contains("\"code\":-32003,"), "{answer}");
        assert!(answer.contains("\"PUSH_NOTIFICATION_NOT_SUPPORTED\""), "{answer}");
    }
}

#[test]
fn service_parameters_are_names_and_strings() {
    for parameters in [
        "[]",
        "null",
        "\"1.0\"",
        r#"{"A2A-Version":1.0}"#,
        r#"{"A2A-Version":"1.0","x":null}"#,
        r#"{"A2A-Version":"1.0","a2a-version":"1.0"}"#,
        r#"{"A2A-Version":"1.0","\u00412A-Version":"1.0"}"#,
        r#"{"A2A-Version":"1.0","":"x"}"#,
        r#"{"A2A-Version":"1.0","a b":"x"}"#,
        r#"{"A2A-Version":"1.0","é":"x"}"#,
        r#"{"A2A-Version":"1.0","x":"a\r\nHost: b"}"#,
        r#"{"A2A-Version":"1.0","x":"a\u0000"}"#,
    ] {
        let text = request("GetTask", parameters);
        assert_eq!(failure(&text, Place::Direct), Some("invalid_request"), "{parameters}");
    }
    let many = |count: usize| {
        let names: String = (1..count).map(|n| format!(",\"p{n}\":\"\"")).collect();
        request("GetTask", &format!(r#"{{"A2A-Version":"1.0"{names}}}"#))
    };
    assert_eq!(failure(&many(MAX_SERVICE_PARAMETERS), Place::Direct), None);
    assert_eq!(failure(&many(MAX_SERVICE_PARAMETERS + 1), Place::Direct), Some("invalid_request"));
    let long = |len: usize| {
        request("GetTask", &format!(r#"{{"A2A-Version":"1.0","{}":"\t"}}"#, "n".repeat(len)))
    };
    assert_eq!(failure(&long(MAX_PARAMETER_NAME_LEN), Place::Direct), None);
    assert_eq!(failure(&long(MAX_PARAMETER_NAME_LEN + 1), Place::Direct), Some("invalid_request"));
}

#[test]
fn a_credential_is_refused_in_a_group_and_only_there() {
    for name in [
        "Authorization",
        "authorization",
        "\\u0041uthorization",
        "Proxy-Authorization",
        "X-API-Key",
        "apikey",
        "Cookie",
        "X-Auth-Token",
        "X-Secret",
        "X-Auth",
        "Client-Credentials",
    ] {
        let text = request("GetTask", &format!(r#"{{"A2A-Version":"1.0","{name}":"x"}}"#));
        assert_eq!(failure(&text, Place::Direct), None, "{name}");
        assert_eq!(failure(&text, Place::Group), Some("credential_in_group"), "{name}");
    }
    for name in ["A2A-Extensions", "traceparent", "Idempotency-Key", "X-Author"] {
        let text = request("GetTask", &format!(r#"{{"A2A-Version":"1.0","{name}":"x"}}"#));
        assert_eq!(failure(&text, Place::Group), None, "{name}");
    }
    for params in [
        r#"{"url":"u","token":"t"}"#,
        r#"{"authentication":{"scheme":"Bearer","credentials":"c"}}"#,
        r#"{"configuration":{"taskPushNotificationConfig":{"token":"t"}}}"#,
        r#"{"configuration":{"task_push_notification_config":{"authentication":{"credentials":"c"}}}}"#,
    ] {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"SendMessage","params":{params},"a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
        );
        assert_eq!(failure(&text, Place::Group), Some("credential_in_group"), "{params}");
        assert_eq!(failure(&text, Place::Direct), None, "{params}");
    }
}

#[test]
fn requests_that_are_none() {
    assert!(error("{bad").starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#));
    for text in [
        r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","method":"GetTask"}"#,
        "[]",
    ] {
        assert!(error(text).contains("\"code\":-32600,"), "{text}");
    }
    assert!(error(r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}"#).contains("-32602"));
    // A request whose id is null is a request all the same, and its answer says null.
    for id in ["42", "0", "\"42\"", "null"] {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask","a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
        );
        assert_eq!(A2a.accept(&text, &["1.0"], Place::Direct).unwrap().id, Some(id));
    }
}

fn class(method: &str, result: &str) -> (bool, String) {
    let text = request(method, r#"{"A2A-Version":"1.0"}"#);
    let expected = A2a.accept(&text, &["1.0"], Place::Direct).unwrap().expected;
    let reply = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#);
    let class = A2a.classify(&expected, &reply);
    (class.is_last(), format!("{class:?}"))
}

#[test]
fn every_end_of_a_stream() {
    for method in STREAMING {
        for (result, end) in [
            (r#"{"message":{"messageId":"m"}}"#, "Message"),
            (r#"{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}"#, "Terminal"),
            (r#"{"task":{"status":{"state":"TASK_STATE_FAILED"},"id":"t"}}"#, "Terminal"),
            (
                r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_CANCELED"}}}"#,
                "Terminal",
            ),
            (r#"{"status_update":{"task_id":"t","status":{"state":7}}}"#, "Terminal"),
            (
                r#"{"task":null,"statusUpdate":{"status":{"state":"TASK_STATE_REJECTED"}}}"#,
                "Terminal",
            ),
            (r#"{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}"#, "Interrupted"),
            (r#"{"task":{"id":"t","status":{"state":"TASK_STATE_AUTH_REQUIRED"}}}"#, "Interrupted"),
            (r#"{"task":{"id":"t","status":{"state":8}}}"#, "Interrupted"),
            // Names mean what they mean, however they are written.
            (
                r#"{"\u0074ask":{"id":"t","st\u0061tus":{"state":"TASK_STATE_\u0043OMPLETED"}}}"#,
                "Terminal",
            ),
        ] {
            assert_eq!(class(method, result), (true, format!("Last({end})")), "{result}");
        }
        for result in [
            r#"{"task":{"id":"t","status":{"state":"TASK_STATE_SUBMITTED"}}}"#,
            r#"{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}"#,
            r#"{"task":{"id":"t","status":{"state":"TASK_STATE_SOMETHING_NEW"}}}"#,
            r#"{"task":{"id":"t"}}"#,
            r#"{"statusUpdate":{"taskId":"t","status":{"state":2}}}"#,
            r#"{"artifactUpdate":{"taskId":"t","artifact":{},"lastChunk":true}}"#,
        ] {
            let (last, class) = class(method, result);
            assert!(!last && class.starts_with("Part { resume: Some("), "{result} {class}");
        }
        for result in [
            "{}",
            "null",
            "[]",
            r#"{"task":{},"message":{}}"#,
            r#"{"task":[]}"#,
            r#"{"statusUpdate":{},"status_update":{}}"#,
        ] {
            assert_eq!(class(method, result).1, "Foreign(NotAStreamEvent)", "{result}");
        }
    }
}

#[test]
fn only_a_message_without_context_is_one_shot() {
    let is_one_shot = |method: &str, params: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params},"a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
        );
        A2a.is_one_shot(&text)
    };
    for params in [
        "{}",
        r#"{"message":{"messageId":"m"}}"#,
        r#"{"message":{"contextId":"","taskId":null}}"#,
        r#"{"message":{},"configuration":{"returnImmediately":false}}"#,
        r#"{"message":{},"configuration":{"return_immediately":null}}"#,
        r#"{"message":{},"metadata":{"contextId":"c","returnImmediately":true}}"#,
    ] {
        assert!(is_one_shot("SendMessage", params), "{params}");
    }
    for params in [
        r#"{"message":{"contextId":"c"}}"#,
        r#"{"message":{"context_id":"c"}}"#,
        r#"{"message":{"\u0074askId":"t"}}"#,
        r#"{"message":{"task_id":"t"}}"#,
        r#"{"configuration":{"returnImmediately":true}}"#,
        r#"{"configuration":{"returnImmediately":"yes"}}"#,
    ] {
        assert!(!is_one_shot("SendMessage", params), "{params}");
    }
    for method in STREAMING.into_iter().chain(["GetTask", "ListTasks", "CancelTask"]) {
        assert!(!is_one_shot(method, "{}"), "{method}");
    }
}

#[test]
fn every_other_method_has_one_reply() {
    for result in ["null", "{}", r#"{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}"#] {
        assert_eq!(class("SendMessage", result), (true, "Last(Answer)".into()));
    }
}

#[test]
fn an_error_ends_a_stream_whatever_its_data() {
    let text = request("SendStreamingMessage", r#"{"A2A-Version":"1.0"}"#);
    let expected = A2a.accept(&text, &["1.0"], Place::Direct).unwrap().expected;
    for data in ["", r#","data":{}"#, r#","data":[{"@type":"x"}]"#, r#","data":"s""#] {
        for id in [r#""id":2,"#, r#""id":null,"#, ""] {
            let reply =
                format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32004,"message":"m"{data}}}}}"#);
            assert_eq!(A2a.classify(&expected, &reply), Class::Last(End::Error { code: -32004 }));
        }
    }
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
    assert_eq!(A2a.classify(&expected, notification), Class::Foreign(Foreign::NotAReply));
}
