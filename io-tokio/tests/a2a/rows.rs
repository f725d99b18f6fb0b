//! What was reported of other implementations of A2A, and what comes of it here. Each report is an
//! input: it goes through the gateway, a conversation and the proxy to an agent, or is refused on
//! the way.
//!
//! | reported of | what | test |
//! |---|---|---|
//! | A2A#2122, a2a-js#627, a2a-python#1174 and #1193, a2a-js#663, a2a-rs 0.4.2, a2a-java#667 | the canonical form of a card | `canonical_forms_that_others_got_wrong` of the core's `card` |
//! | A2A#2096 | a key at another host's `jku` | `keys_are_taken_from_the_cards_own_origin_alone` of `card_web` |
//! | agentgateway#2701, #2251, #3500 | a rewritten card with its old signature | [`a_card_that_is_changed_has_no_signatures`] |
//! | adk-python#6585 | a stream that ends early looks complete | `a_stream_that_is_cut_off_for_good_is_reported` and its neighbours in [`proxy`](crate::proxy) |
//! | a2a-rs#134 and #146, ggcode#446 | a JSON error to a streaming call | `a_json_error_answers_a_streaming_call` in [`proxy`](crate::proxy) |
//! | a2a-python#540, a2a-go#99, a2a-js#714, assistant-ui#4819 | comments, CR and CRLF in a stream | `each_event_is_a_reply_however_the_stream_is_cut` in [`proxy`](crate::proxy) |
//! | a2a-js#582 | the memory of one event | `an_event_of_many_megabytes_is_not_read` in [`faults`](crate::faults) |
//! | litellm#37704 | ids that are 0, null or long | `ids_come_back_as_they_were_sent` in [`gateway`](crate::gateway), and below |
//! | a2a-go#161, a2a-python#413 | ids, versions and methods of the wrong type | [`what_is_no_request_goes_no_further`] |
//! | a2a-dotnet#330, a2a-js#146 | what is no JSON | `what_is_no_request_is_answered_as_that` in [`gateway`](crate::gateway) |
//! | a2a-python#856, a2a-rs#271 | the version is not looked at | the same |
//! | A2A#2087, a2a-python#876, a2a-java#512 | what ProtoJSON takes and what it does not | [`params_are_taken_as_proto_json_has_them`], [`wrong_params_name_their_field`] |
//! | a2a-js#642 and #655 | `data` that is null | [`params_are_taken_as_proto_json_has_them`] |
//! | a2a-js#641 and #656, a2a-java#232 | times with and without a zone | both of these |
//! | a2a-dotnet#429, a2a-js#87 | a result that is null | `ids_come_back_as_they_were_written` of the core's `a2a::forward` |
//! | a2a-rs#248 and #249, a2a-java#766 and #723 | tasks that nobody made, and contexts that do not match | `a_task_of_another_caller_is_an_unknown_one` in [`proxy`](crate::proxy), [`what_the_agent_refuses_is_passed_on`] |
//! | a2a-go#438, a2a-java#741 | messages to a task that is over | [`what_the_agent_refuses_is_passed_on`] |
//! | a2a-python#1038, a2a-rs#295, A2A#1231 | parts appended to an artifact | `an_artifact_is_there_once_and_grows_by_what_is_appended` of the core's `a2a::kept` |
//! | a2a-python#1164, a2a-rs#124, a2a-js#584 and #586, a2a-go#373, a2a-java#1096 | webhooks that lead inside, and credentials of two lines | [`webhooks`](crate::webhooks) |

use crate::agent::{json, result, task};
use crate::gateway::{World, message, request, restored, wrapped};

/// The answer's error code, and the text of its id.
fn refused(body: &str) -> (i64, String) {
    let after = |name: &str| {
        let at = body.find(name).unwrap_or_else(|| panic!("{name} is not in {body}")) + name.len();
        body[at..].split([',', '}']).next().unwrap().to_owned()
    };
    (after("\"code\":").parse().unwrap(), after("\"id\":"))
}

#[tokio::test]
async fn what_is_no_request_goes_no_further() {
    let world = World::new(|_| result(&wrapped(&task("t", "COMPLETED")))).await;
    let good = request("SendMessage", &message(""));
    assert!(world.post(&good).await.body.contains("COMPLETED"));
    let id = "\"id\":\"x\\u0031\"";
    assert!(good.contains(id), "{good}");
    for (from, to, code, answered) in [
        (id, "\"id\":1.5", -32600, "null"),
        (id, "\"id\":true", -32600, "null"),
        (id, "\"id\":{}", -32600, "null"),
        (id, "\"id\":[1]", -32600, "null"),
        // A notification: nobody could be answered.
        (&format!("{id},"), "", -32600, "null"),
        ("\"2.0\"", "\"1.0\"", -32600, "\"x\\u0031\""),
        ("\"2.0\"", "2.0", -32600, "\"x\\u0031\""),
        ("\"jsonrpc\":\"2.0\",", "", -32600, "\"x\\u0031\""),
        ("\"method\":\"SendMessage\",", "", -32600, "\"x\\u0031\""),
        ("\"SendMessage\"", "7", -32600, "\"x\\u0031\""),
        ("\"SendMessage\"", "\"message/send\"", -32601, "\"x\\u0031\""),
        ("\"SendMessage\"", "\"sendMessage\"", -32601, "\"x\\u0031\""),
        // Of two methods or two parameters two readers take different ones.
        ("\"method\":", "\"method\":\"GetTask\",\"method\":", -32600, "\"x\\u0031\""),
        ("\"params\":", "\"params\":{\"id\":\"t\"},\"params\":", -32600, "\"x\\u0031\""),
    ] {
        let body = good.replacen(from, to, 1);
        assert_ne!(body, good);
        let answer = world.post(&body).await;
        assert_eq!(refused(&answer.body), (code, answered.to_owned()), "{body}");
    }
    for body in [String::from("[]"), format!("[{good}]"), String::from("7"), String::from("null")] {
        let answer = world.post(&body).await;
        assert_eq!(refused(&answer.body), (-32600, "null".into()), "{body}");
    }
    for params in ["null", "[]", "\"x\"", "7"] {
        let answer = world.post(&request("SendMessage", params)).await;
        assert_eq!(refused(&answer.body).0, -32602, "{params}");
    }
    assert_eq!(world.agent.requests().len(), 1);
}

#[tokio::test]
async fn params_are_taken_as_proto_json_has_them() {
    let world = World::new(|_| result(&wrapped(&task("t", "COMPLETED")))).await;
    let sent = |message: &str| format!(r#"{{"message":{{{message}}}}}"#);
    let plain = r#""messageId":"m","role":"ROLE_USER","#;
    for params in [
        sent(r#""message_id":"m","role":1,"parts":[{"text":"hi"}]"#),
        sent(&format!(r#"{plain}"parts":[{{"kind":"text","text":"hi"}}]"#)),
        sent(&format!(r#"{plain}"parts":[{{"data":null}}]"#)),
        sent(&format!(
            r#"{plain}"parts":[{{"raw":"-_8"}},{{"raw":"+/8="}},{{"text":"","url":null}}]"#
        )),
        sent(&format!(
            r#"{plain}"parts":[{{"text":"hi"}}],"taskId":null,"contextId":"","extensions":[]"#
        )),
        sent(&format!(r#"{plain}"parts":[{{"text":"hi"}}],"nobody":{{"knows":[1]}}"#)),
    ] {
        let answer = world.post(&request("SendMessage", &params)).await;
        assert!(answer.body.contains("COMPLETED"), "{params} {}", answer.body);
        // To the byte.
        let got = world.agent.requests().pop().unwrap();
        assert!(got.body.ends_with(&format!("\"params\":{params}}}")), "{}", got.body);
    }
    // The task is the caller's now.
    for params in [
        r#"{"id":"t","historyLength":"0"}"#,
        r#"{"id":"t","history_length":1e1}"#,
        r#"{"id":"t","historyLength":null}"#,
    ] {
        let answer = world.post(&request("GetTask", params)).await;
        assert!(answer.body.contains("COMPLETED"), "{params} {}", answer.body);
    }
    for params in [
        r#"{"pageSize":"100"}"#,
        r#"{"statusTimestampAfter":"2026-12-01T00:00:00+05:30"}"#,
        r#"{"statusTimestampAfter":"2026-12-01T00:00:00.123456789Z"}"#,
    ] {
        world.post(&request("ListTasks", params)).await;
        let got = world.agent.requests().pop().unwrap();
        assert!(got.body.ends_with(&format!("\"params\":{params}}}")), "{}", got.body);
    }
}

#[tokio::test]
async fn wrong_params_name_their_field() {
    let world = World::new(|_| result(&wrapped(&task("t", "COMPLETED")))).await;
    let sent = |message: &str| format!(r#"{{"message":{{{message}}}}}"#);
    let text = r#""parts":[{"text":"hi"}]"#;
    let plain = r#""messageId":"m","role":"ROLE_USER","#;
    for (method, params, field) in [
        ("SendMessage", String::from("{}"), "message"),
        ("SendMessage", sent(&format!(r#""role":"ROLE_USER",{text}"#)), "message.messageId"),
        ("SendMessage", sent(&format!(r#""messageId":"m",{text}"#)), "message.role"),
        ("SendMessage", sent(&format!(r#""messageId":"m","role":"user",{text}"#)), "message.role"),
        ("SendMessage", sent(r#""messageId":"m","role":"ROLE_USER""#), "message.parts"),
        ("SendMessage", sent(&format!(r#"{plain}"parts":[]"#)), "message.parts"),
        ("SendMessage", sent(&format!(r#"{plain}"parts":null"#)), "message.parts"),
        (
            "SendMessage",
            sent(&format!(r#"{plain}"parts":[{{"mediaType":"x"}}]"#)),
            "message.parts[0]",
        ),
        (
            "SendMessage",
            sent(&format!(r#"{plain}"parts":[{{"text":"a","data":1}}]"#)),
            "message.parts[0]",
        ),
        (
            "SendMessage",
            sent(&format!(r#"{plain}"parts":[{{"text":"a","data":null}}]"#)),
            "message.parts[0]",
        ),
        ("SendMessage", sent(&format!(r#"{plain}"parts":[null]"#)), "message.parts[0]"),
        ("SendMessage", sent(&format!(r#"{plain}"message_id":"n",{text}"#)), "message.messageId"),
        ("GetTask", String::from(r#"{"id":7}"#), "id"),
        ("GetTask", String::from(r#"{"id":"t","historyLength":-1}"#), "historyLength"),
        ("GetTask", String::from(r#"{"id":"t","historyLength":1.5}"#), "historyLength"),
        ("ListTasks", String::from(r#"{"pageSize":0}"#), "pageSize"),
        ("ListTasks", String::from(r#"{"pageSize":101}"#), "pageSize"),
        (
            "ListTasks",
            String::from(r#"{"statusTimestampAfter":"notadate"}"#),
            "statusTimestampAfter",
        ),
        (
            "ListTasks",
            String::from(r#"{"statusTimestampAfter":"2026-12-01T00:00:00"}"#),
            "statusTimestampAfter",
        ),
        ("ListTasks", String::from(r#"{"status":"completed"}"#), "status"),
    ] {
        let answer = world.post(&request(method, &params)).await;
        assert_eq!(refused(&answer.body).0, -32602, "{params} {}", answer.body);
        let named = format!("{{\"field\":\"{field}\",");
        assert!(answer.body.contains(&named), "{params} {}", answer.body);
        assert!(answer.body.contains("google.rpc.BadRequest"), "{}", answer.body);
    }
    assert_eq!(world.agent.requests().len(), 0);
}

#[tokio::test]
async fn what_the_agent_refuses_is_passed_on() {
    for (code, reason) in [
        (-32004, "UNSUPPORTED_OPERATION"),
        (-32602, "INVALID_PARAMS"),
        (-32002, "TASK_NOT_CANCELABLE"),
        (-32001, "TASK_NOT_FOUND"),
    ] {
        let error = format!(
            r#"{{"code":{code},"message":"no","data":[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"{reason}","domain":"a2a-protocol.org"}}]}}"#
        );
        let body = format!(r#"{{"jsonrpc":"2.0","id":@ID,"error":{error}}}"#);
        let world = World::new(move |got| match got.body.contains("\"taskId\"") {
            false if got.method() == "SendMessage" => result(&wrapped(&task("t", "COMPLETED"))),
            _ => json("200 OK", &body),
        })
        .await;
        world.post(&request("SendMessage", &message(""))).await;
        let expected = format!(r#"{{"jsonrpc":"2.0","id":"x\u0031","error":{error}}}"#);
        // A message to a task that is over, one whose context is another, and a subscription.
        for (method, params) in [
            ("SendMessage", message(r#""taskId":"t","contextId":"c-t","#)),
            ("SendStreamingMessage", message(r#""taskId":"t","#)),
            ("CancelTask", String::from(r#"{"id":"t"}"#)),
            ("SubscribeToTask", String::from(r#"{"id":"t"}"#)),
        ] {
            assert_eq!(world.post(&request(method, &params)).await.body, expected, "{method}");
        }
    }
}

#[tokio::test]
async fn a_card_that_is_changed_has_no_signatures() {
    let signed = crate::agent::CARD.replacen(
        '{',
        r#"{"signatures":[{"protected":"p","signature":"s"}],"#,
        1,
    );
    let world = World::behind(&signed, |_| result("{}")).await;
    let card = world.card().await;
    assert!(card.contains("Shop") && !card.contains("signatures"), "{card}");
    // What the agent shows in the conversation is its own, to the byte, with its signatures.
    let answer = world.post(&request("GetExtendedAgentCard", "{}")).await;
    let port = world.agent.url.rsplit_once(':').unwrap().1;
    assert_eq!(answer.body, restored(&signed.replace("PORT", port)));
}
