//! The checks, row by row: what real peers send, what the published schema lets through, and what
//! must pass.

use std::format;
use std::string::{String, ToString as _};

use super::*;
use crate::jsonrpc;

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

fn request(id: &str, method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}{comma}"_meta":{{{META}}}}}}}"#
    )
}

fn meta(meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{META},{meta}}}}}}}"#
    )
}

/// The code and the path of a request's fault.
fn refused(text: &str) -> (i64, String) {
    let fault = Asked::check(text).expect_err(text).fault;
    (fault.code(), fault.path(text).to_string())
}

fn accepted(text: &str) -> Asked {
    match Asked::check(text) {
        Ok((asked, _)) => asked,
        Err(rejected) => panic!("{} at {}: {text}", rejected, rejected.fault.path(text)),
    }
}

#[test]
fn ids_that_mcp_has_and_ids_that_it_has_not() {
    for id in ["1", "-1", "\"1\"", "\"\"", "8.0", "1e2", "9007199254740993", "9223372036854775808"]
    {
        let text = request(id, "tools/list", "");
        assert_eq!(Asked::check(&text).unwrap().1.id.get(), id);
    }
    for id in ["null", "1.5", "true", "{}", "[]"] {
        let text = request(id, "tools/list", "");
        let rejected = Asked::check(&text).unwrap_err();
        assert_eq!(rejected.fault.code(), jsonrpc::INVALID_REQUEST, "{id}");
        assert!(rejected.id.is_none());
    }
    assert_eq!(refused(&request("1.5", "tools/list", "")).1, "$.id");
}

#[test]
fn what_is_no_request_is_answered_as_one_that_cannot_be_read() {
    for (text, code) in [
        ("not JSON", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"a":"#, -32700),
        ("\u{feff}{}", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\ud83d"}}"#, -32700),
        ("[]", -32600),
        ("7", -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"m"}]"#, -32600),
        (r#"{"id":1,"method":"m"}"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"m"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            -32600,
        ),
    ] {
        assert_eq!(refused(text).0, code, "{text}");
    }
}

#[test]
fn the_envelope_of_a_request() {
    let plain = |params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{params}}}"#)
    };
    for (text, path) in [
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_string(), "$"),
        (plain("[]"), "$.params"),
        (plain("{}"), "$.params"),
        (plain(r#"{"_meta":null}"#), "$.params._meta"),
        (plain(r#"{"_meta":{},"_meta":{}}"#), "$.params"),
        (plain(r#"{"_meta":{}}"#), "$.params._meta"),
        (
            plain(r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#),
            "$.params._meta",
        ),
        (
            plain(
                r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":7,"io.modelcontextprotocol/clientCapabilities":{}}}"#,
            ),
            "$.params._meta.io.modelcontextprotocol/protocolVersion",
        ),
        (
            plain(
                r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null}}"#,
            ),
            "$.params._meta.io.modelcontextprotocol/clientCapabilities",
        ),
        (meta(r#""progressToken":null"#), "$.params._meta.progressToken"),
        (meta(r#""progressToken":1.5"#), "$.params._meta.progressToken"),
        (meta(r#""progressToken":1,"progressToken":2"#), "$.params._meta.progressToken"),
        (
            meta(r#""io.modelcontextprotocol/clientInfo":null"#),
            "$.params._meta.io.modelcontextprotocol/clientInfo",
        ),
        (
            meta(r#""io.modelcontextprotocol/clientInfo":{"name":"n"}"#),
            "$.params._meta.io.modelcontextprotocol/clientInfo",
        ),
        (
            meta(r#""io.modelcontextprotocol/logLevel":"loud""#),
            "$.params._meta.io.modelcontextprotocol/logLevel",
        ),
    ] {
        assert_eq!(refused(&text), (-32602, path.to_string()), "{text}");
    }
    for version in ["2025-11-25", "draft", "2026-07-2", ""] {
        let text = request("1", "tools/list", "").replace("2026-07-28", version);
        let path = "$.params._meta.io.modelcontextprotocol/protocolVersion";
        assert_eq!(refused(&text), (-32022, path.to_string()), "{version}");
    }
}

#[test]
fn zero_and_nothing_are_progress_tokens() {
    for token in ["0", "\"\"", "\"1\"", "1", "-3", "1e2"] {
        let asked = accepted(&meta(&format!("\"progressToken\":{token}")));
        assert_eq!(asked.token, jsonrpc::Id::parse(token).map(|token| token.print()), "{token}");
    }
    assert_eq!(accepted(&request("1", "tools/list", "")).token, None);
    // Other members of the envelope pass, prefixed or not.
    accepted(&meta(r#""traceparent":"00-1","example.com/a":[1]"#));
}

#[test]
fn a_later_revision_passes_with_what_all_have_in_common() {
    let odd = request("1", "tools/call", r#""name":7"#);
    assert_eq!(refused(&odd).1, "$.params.name");
    let later = accepted(&odd.replace("2026-07-28", "2027-01-01"));
    assert!(later.revision.is_later());
    let text = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"streamed"}}"#;
    assert!(matches!(later.check_answer(text), Ok(Answer::Later(_))));
    let escaped = odd.replace("2026-07-28", "2027-01-0\\u0031");
    assert_eq!(accepted(&escaped).revision.get(), "2027-01-01");
}

#[test]
fn parameters_of_each_method() {
    for (method, params) in [
        ("server/discover", ""),
        ("tools/list", r#""cursor":"""#),
        ("tools/list", r#""cursor":"zzz""#),
        ("tools/call", r#""name":"n""#),
        (
            "tools/call",
            r#""name":"n","arguments":{"a":null},"requestState":"","inputResponses":{}"#,
        ),
        (
            "tools/call",
            r#""name":"n","inputResponses":{"a":{"action":"accept","content":{"n":1.5,"s":"","b":true,"l":["x"]}},"r":{"roots":[{"uri":"file:///"}]},"s":{"role":"assistant","content":{"type":"text","text":""},"model":"m"}}"#,
        ),
        ("resources/read", r#""uri":"file:///a""#),
        ("prompts/get", r#""name":"n","arguments":{"a":"b"}"#),
        (
            "completion/complete",
            r#""ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":""}"#,
        ),
        (
            "subscriptions/listen",
            r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["u"]}"#,
        ),
        ("tasks/get", r#""taskId":"7""#),
    ] {
        accepted(&request("1", method, params));
    }
    for (method, params, path) in [
        ("tools/list", r#""cursor":null"#, "$.params.cursor"),
        ("tools/list", r#""cursor":"a","cursor":"b""#, "$.params.cursor"),
        ("tools/call", "", "$.params"),
        ("tools/call", r#""name":null"#, "$.params.name"),
        ("tools/call", r#""name":"n","arguments":[]"#, "$.params.arguments"),
        ("tools/call", r#""name":"n","arguments":null"#, "$.params.arguments"),
        ("tools/call", r#""name":"n","requestState":7"#, "$.params.requestState"),
        ("tools/call", r#""name":"n","inputResponses":{"k":{}}"#, "$.params.inputResponses.k"),
        (
            "tools/call",
            r#""name":"n","inputResponses":{"k":{"action":"maybe"}}"#,
            "$.params.inputResponses.k.action",
        ),
        ("resources/read", "", "$.params"),
        ("prompts/get", r#""name":"n","arguments":{"a":1}"#, "$.params.arguments.a"),
        ("completion/complete", r#""ref":{"type":"ref/tool"},"argument":{}"#, "$.params.ref.type"),
        (
            "subscriptions/listen",
            r#""notifications":{"toolsListChanged":1}"#,
            "$.params.notifications.toolsListChanged",
        ),
    ] {
        assert_eq!(
            refused(&request("1", method, params)),
            (-32602, path.to_string()),
            "{method} {params}"
        );
    }
}

fn asked(method: &str, capabilities: &str) -> Asked {
    let params = match method {
        "tools/call" | "prompts/get" => r#""name":"n""#,
        "resources/read" => r#""uri":"u""#,
        "subscriptions/listen" => r#""notifications":{}"#,
        "completion/complete" => {
            r#""ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":""}"#
        }
        _ => "",
    };
    let text = request("1", method, params).replace(
        "\"io.modelcontextprotocol/clientCapabilities\":{}",
        &format!("\"io.modelcontextprotocol/clientCapabilities\":{capabilities}"),
    );
    accepted(&text)
}

/// Checks a result and gives the fault's flaw and path.
fn result(asked: &Asked, result: &str) -> Result<(), (Flaw, String)> {
    let text = format!(r#"{{"result":{result},"jsonrpc":"2.0","id":1}}"#);
    let checked = asked.check_answer(&text).map(|_| ());
    checked.map_err(|fault| (fault.flaw, fault.path(&text).to_string()))
}

#[test]
fn the_weak_spots_of_the_published_schema() {
    let call = asked("tools/call", "{}");
    let bad = |text: &str| call.check_answer(text).map(|_| ()).unwrap_err().flaw;
    assert_eq!(
        bad(
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]},"error":{"code":1,"message":""}}"#
        ),
        Flaw::Framing(jsonrpc::Fault::ResultAndError)
    );
    assert_eq!(
        bad(
            r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]},"error":null}"#
        ),
        Flaw::Framing(jsonrpc::Fault::ResultAndError)
    );
    assert_eq!(
        result(&call, r#"{"resultType":"complete"}"#),
        Err((Flaw::Missing("content"), "$.result".into()))
    );
    assert_eq!(
        result(&call, r#"{"resultType":"input_required"}"#).unwrap_err().0,
        Flaw::MissingAny(&["inputRequests", "requestState"])
    );
    for kind in ["task", "", "Complete", "completed"] {
        assert_eq!(
            result(&call, &format!(r#"{{"resultType":"{kind}","content":[]}}"#)),
            Err((Flaw::ResultType, "$.result.resultType".into())),
            "{kind}"
        );
    }
    let with_tasks = asked("tools/call", r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#);
    assert_eq!(result(&with_tasks, r#"{"resultType":"task","taskId":"7"}"#), Ok(()));
    // A notification with an id is a request, and the server has none to make.
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    assert!(Notice::check(text, Way::FromServer).is_err());
}

#[test]
fn what_real_servers_answer_to_a_call() {
    let call = asked("tools/call", "{}");
    for good in [
        r#"{"resultType":"complete","content":[]}"#,
        r#"{"resultType":"complete","content":[],"structuredContent":null,"isError":true}"#,
        r#"{"resultType":"complete","content":[{"type":"text","text":""},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"resource_link","uri":"u","name":"n"},{"type":"resource","resource":{"uri":"u","text":""}}],"more":1}"#,
        r#"{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}}}"#,
    ] {
        assert_eq!(result(&call, good), Ok(()), "{good}");
    }
    for (bad, path) in [
        ("null", "$.result"),
        ("[]", "$.result"),
        (r#"{"content":[]}"#, "$.result"),
        (r#"{"resultType":"complete","content":null}"#, "$.result.content"),
        (r#"{"resultType":"complete","content":[{"type":"video"}]}"#, "$.result.content[0].type"),
        (r#"{"resultType":"complete","content":[{"text":"t"}]}"#, "$.result.content[0]"),
        (
            r#"{"resultType":"complete","content":[{"type":"image","data":"A","mimeType":"m"}]}"#,
            "$.result.content[0].data",
        ),
        (
            r#"{"resultType":"complete","content":[{"type":"resource","resource":{"uri":"u"}}]}"#,
            "$.result.content[0].resource",
        ),
        (r#"{"resultType":"complete","content":[],"isError":null}"#, "$.result.isError"),
        (r#"{"resultType":"complete","content":[],"_meta":null}"#, "$.result._meta"),
        (
            r#"{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#,
            "$.result._meta.io.modelcontextprotocol/serverInfo",
        ),
    ] {
        assert_eq!(result(&call, bad).unwrap_err().1, path, "{bad}");
    }
}

#[test]
fn results_of_the_other_methods() {
    const KEPT: &str = r#""resultType":"complete","ttlMs":0,"cacheScope":"private""#;
    for (method, good, without) in [
        (
            "server/discover",
            r#""supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}"#,
            "supportedVersions",
        ),
        (
            "tools/list",
            r#""tools":[{"name":"n","inputSchema":{"type":"object"}}],"nextCursor":"""#,
            "tools",
        ),
        ("prompts/list", r#""prompts":[{"name":"n","arguments":[{"name":"a"}]}]"#, "prompts"),
        ("resources/list", r#""resources":[{"name":"n","uri":"u","size":3}]"#, "resources"),
        (
            "resources/templates/list",
            r#""resourceTemplates":[{"name":"n","uriTemplate":"u"}]"#,
            "resourceTemplates",
        ),
        ("resources/read", r#""contents":[{"uri":"u","blob":"AAAA"}]"#, "contents"),
    ] {
        let asked = asked(method, "{}");
        assert_eq!(result(&asked, &format!("{{{KEPT},{good}}}")), Ok(()), "{method}");
        assert_eq!(
            result(&asked, &format!("{{{KEPT}}}")).unwrap_err().0,
            Flaw::Missing(without),
            "{method}"
        );
        for member in ["\"ttlMs\":0,", ",\"cacheScope\":\"private\""] {
            let kept = KEPT.replace(member, "");
            let fault = result(&asked, &format!("{{{kept},{good}}}")).unwrap_err().0;
            assert!(matches!(fault, Flaw::Missing("ttlMs" | "cacheScope")), "{method} {fault:?}");
        }
        for (from, to, at) in [
            ("\"ttlMs\":0", "\"ttlMs\":-1", "$.result.ttlMs"),
            ("\"ttlMs\":0", "\"ttlMs\":0.5", "$.result.ttlMs"),
            ("private", "", "$.result.cacheScope"),
        ] {
            let kept = KEPT.replace(from, to);
            assert_eq!(result(&asked, &format!("{{{kept},{good}}}")).unwrap_err().1, at);
        }
    }
    let complete = asked("completion/complete", "{}");
    for (count, good) in [(0, true), (100, true), (101, false)] {
        let values = std::vec!["\"v\""; count].join(",");
        let text = format!(r#"{{"resultType":"complete","completion":{{"values":[{values}]}}}}"#);
        assert_eq!(result(&complete, &text).is_ok(), good, "{count}");
    }
    let total = r#"{"resultType":"complete","completion":{"values":[],"total":null}}"#;
    assert_eq!(result(&complete, total).unwrap_err().1, "$.result.completion.total");
    let prompt = asked("prompts/get", "{}");
    let text = r#"{"resultType":"complete","messages":[{"role":"user","content":{"type":"text","text":""}}]}"#;
    assert_eq!(result(&prompt, text), Ok(()));
    let tools = asked("tools/list", "{}");
    let text = format!(r#"{{{KEPT},"tools":[{{"name":"n","inputSchema":{{"type":"array"}}}}]}}"#);
    assert_eq!(result(&tools, &text).unwrap_err().1, "$.result.tools[0].inputSchema.type");
    let text = format!(r#"{{{KEPT},"tools":[],"nextCursor":null}}"#);
    assert_eq!(result(&tools, &text).unwrap_err().1, "$.result.nextCursor");
}

#[test]
fn input_is_asked_for_where_it_may_be_and_as_it_was_declared() {
    const FORM: &str = r#"{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}}"#;
    const URL: &str = r#"{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com"}}"#;
    const ROOTS: &str = r#"{"method":"roots/list"}"#;
    const SAMPLE: &str = r#"{"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}}"#;
    let required = |request: &str| {
        format!(r#"{{"resultType":"input_required","inputRequests":{{"k":{request}}}}}"#)
    };
    for (request, capability, flaw) in [
        (FORM, r#"{"elicitation":{}}"#, "elicitation.form"),
        (FORM, r#"{"elicitation":{"form":{},"url":{}}}"#, "elicitation.form"),
        (URL, r#"{"elicitation":{"url":{}}}"#, "elicitation.url"),
        (ROOTS, r#"{"roots":{}}"#, "roots"),
        (SAMPLE, r#"{"sampling":{}}"#, "sampling"),
    ] {
        for method in ["tools/call", "prompts/get", "resources/read"] {
            assert_eq!(result(&asked(method, capability), &required(request)), Ok(()), "{request}");
            assert_eq!(
                result(&asked(method, "{}"), &required(request)),
                Err((Flaw::Undeclared(flaw), "$.result.inputRequests.k".into()))
            );
        }
        let list = asked("tools/list", capability);
        assert_eq!(result(&list, &required(request)).unwrap_err().0, Flaw::InputNotAllowed);
    }
    let can = asked("tools/call", r#"{"elicitation":{"url":{}},"roots":{},"sampling":{}}"#);
    assert_eq!(result(&can, &required(FORM)).unwrap_err().0, Flaw::Undeclared("elicitation.form"));
    assert_eq!(result(&can, r#"{"resultType":"input_required","requestState":""}"#), Ok(()));
    for (bad, path) in [
        (
            r#"{"resultType":"input_required","requestState":null}"#.to_string(),
            "$.result.requestState",
        ),
        (
            r#"{"resultType":"input_required","requestState":"s","ttlMs":0}"#.to_string(),
            "$.result.ttlMs",
        ),
        (required(r#"{"method":"roots/list","id":1}"#), "$.result.inputRequests.k.id"),
        (
            required(r#"{"jsonrpc":"2.0","method":"roots/list"}"#),
            "$.result.inputRequests.k.jsonrpc",
        ),
        (required(r#"{"method":"tools/list"}"#), "$.result.inputRequests.k.method"),
        (required(r#"{"method":"elicitation/create"}"#), "$.result.inputRequests.k"),
        (
            required(r#"{"method":"elicitation/create","params":{"mode":"url","message":"m"}}"#),
            "$.result.inputRequests.k.params",
        ),
    ] {
        assert_eq!(result(&can, &bad).unwrap_err().1, path, "{bad}");
    }
}

#[test]
fn a_retry_drops_what_an_earlier_round_has_added() {
    let first = request(
        "\"a\"",
        "tools/call",
        r#""inputResponses":{"old":{}},"name":"n","requestState":"old","arguments":{"x":[1]}"#,
    );
    let first = jsonrpc::Request::parse(&first).unwrap();
    let write = |result: &str, retry: Retry<'_>| {
        let required = InputRequired::of(crate::json::Object::parse(result).unwrap());
        let mut buffer = [0; 512];
        let mut out = crate::json::Writer::new(&mut buffer);
        required.write_retry(&mut out, &first, &retry);
        let text = out.finish().unwrap();
        let (asked, request) = Asked::check(text).unwrap();
        assert_eq!((asked.method, request.id.get()), (Method::CallTool, "2"));
        String::from(text)
    };
    let text = write(
        r#"{"resultType":"input_required","requestState":"\u006eew"}"#,
        Retry { id: "2", meta: None, responses: None },
    );
    assert!(text.contains(r#""requestState":"\u006eew""#) && !text.contains("old"), "{text}");
    assert!(!text.contains("inputResponses"));
    // Without a state there is none in the retry either.
    let responses = crate::json::Object::parse(r#"{"k":{"action":"cancel"}}"#).unwrap();
    let text = write(
        r#"{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"},"l":{"method":"roots/list"}}}"#,
        Retry { id: "2", meta: None, responses: Some(responses) },
    );
    assert!(!text.contains("requestState"), "{text}");
    assert!(
        text.contains(r#""arguments":{"x":[1]}"#)
            && text.contains(r#""inputResponses":{"k":{"action":"cancel"}}"#)
    );
    let required = InputRequired::of(
        crate::json::Object::parse(r#"{"inputRequests":{"k":{"method":"roots/list"},"l":{}}}"#)
            .unwrap(),
    );
    let left: std::vec::Vec<_> =
        required.unanswered(Some(responses)).map(|key| key.raw()).collect();
    assert_eq!(left, ["l"]);
    assert_eq!(required.unanswered(None).count(), 2);
}

#[test]
fn answers_belong_to_their_request() {
    let call = asked("tools/call", "{}");
    let answer = |id: &str| {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[]}}}}"#
        );
        call.check_answer(&text).map(|_| ()).map_err(|fault| fault.flaw)
    };
    assert_eq!(answer("1"), Ok(()));
    assert_eq!(answer("1.0"), Ok(()));
    for other in ["2", "\"1\"", "\"\""] {
        assert_eq!(answer(other), Err(Flaw::OtherId), "{other}");
    }
    // An error may leave the id out, or say null, when it could not be read.
    for id in ["", "\"id\":null,", "\"id\":1,"] {
        let text = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":""}}}}"#);
        assert!(matches!(call.check_answer(&text), Ok(Answer::Error(_))), "{id}");
    }
}

#[test]
fn errors_have_the_codes_and_the_data_of_the_revision() {
    let call = asked("tools/call", "{}");
    let error = |code: i64, data: &str| {
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"m"{data}}}}}"#);
        call.check_answer(&text).map(|_| ()).map_err(|fault| fault.path(&text).to_string())
    };
    for code in [-32700, -32600, -32601, -32602, -32603, -32020, -32000, -32019, 7, -31999] {
        assert_eq!(error(code, ""), Ok(()), "{code}");
    }
    for code in [-32023, -32099, -32050, -32002, -32042] {
        assert!(error(code, "").is_err(), "{code}");
    }
    assert_eq!(error(-32022, r#","data":{"supported":["2026-07-28"],"requested":"x"}"#), Ok(()));
    assert_eq!(
        error(-32022, r#","data":{"supportedVersions":["2026-07-28"],"requested":"x"}"#),
        Err("$.error.data".into())
    );
    assert_eq!(error(-32022, ""), Err("$.error".into()));
    assert_eq!(error(-32021, r#","data":{"requiredCapabilities":{"elicitation":{}}}"#), Ok(()));
    assert_eq!(
        error(-32021, r#","data":{"requiredCapabilities":["elicitation"]}"#),
        Err("$.error.data.requiredCapabilities".into())
    );
}

#[test]
fn what_the_builders_write_passes_the_check() {
    let call = asked("tools/call", "{}");
    let mut buffer = [0; 512];
    let mut out = crate::json::Writer::new(&mut buffer);
    let id = jsonrpc::ErrorId::Known("1");
    write_unsupported_version(&mut out, id, "m", ["2026-07-28", "2027-01-01"], "\"x\"");
    assert!(matches!(call.check_answer(out.finish().unwrap()), Ok(Answer::Error(_))));
    let mut out = crate::json::Writer::new(&mut buffer);
    write_missing_capability(&mut out, id, "m", r#"{"sampling":{"tools":{}}}"#);
    assert!(matches!(call.check_answer(out.finish().unwrap()), Ok(Answer::Error(_))));
    let mut out = crate::json::Writer::new(&mut buffer);
    write_cancelled(&mut out, "\"a\"");
    assert!(Notice::check(out.finish().unwrap(), Way::FromClient).is_ok());
}

#[test]
fn notifications_and_what_ties_them() {
    let note = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{params}}}"#)
    };
    for (method, bad, path) in [
        ("progress", r#"{"progress":1}"#, "$.params"),
        ("progress", r#"{"progressToken":1}"#, "$.params"),
        ("progress", r#"{"progressToken":null,"progress":1}"#, "$.params.progressToken"),
        ("progress", r#"{"progressToken":1,"progress":"1"}"#, "$.params.progress"),
        ("progress", r#"{"progressToken":1,"progress":1,"total":null}"#, "$.params.total"),
        ("message", r#"{"level":"info"}"#, "$.params"),
        ("message", r#"{"level":"loud","data":1}"#, "$.params.level"),
        ("cancelled", r#"{"requestId":null}"#, "$.params.requestId"),
        ("resources/updated", "{}", "$.params"),
        (
            "tools/list_changed",
            r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":1.5}}"#,
            "$.params._meta.io.modelcontextprotocol/subscriptionId",
        ),
    ] {
        let text = note(method, bad);
        let fault = Notice::check(&text, Way::FromServer).unwrap_err();
        assert_eq!(fault.path(&text).to_string(), path, "{text}");
    }
    let bare = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert!(matches!(Notice::check(bare, Way::FromServer).unwrap().tie, Tie::None));
    assert!(
        Notice::check(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#, Way::FromServer)
            .is_err()
    );

    let quiet = asked("tools/call", "{}");
    let loud = accepted(&meta(r#""progressToken":"1","io.modelcontextprotocol/logLevel":"info""#));
    let listen = asked("subscriptions/listen", "{}");
    let flaw = |asked: &Asked, text: &str| {
        let notice = Notice::check(text, Way::FromServer).unwrap();
        asked.check_notice(text, &notice).map_err(|fault| fault.flaw)
    };
    let progress = note("progress", r#"{"progressToken":"1","progress":1}"#);
    assert_eq!(flaw(&loud, &progress), Ok(()));
    assert_eq!(flaw(&quiet, &progress), Err(Flaw::OtherToken));
    let number = note("progress", r#"{"progressToken":1,"progress":1}"#);
    assert_eq!(flaw(&loud, &number), Err(Flaw::OtherToken));
    let message = note("message", r#"{"level":"info","data":null}"#);
    assert_eq!(flaw(&loud, &message), Ok(()));
    assert_eq!(flaw(&quiet, &message), Err(Flaw::Unasked));
    let changed =
        note("tools/list_changed", r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#);
    assert_eq!(flaw(&listen, &changed), Ok(()));
    assert_eq!(flaw(&quiet, &changed), Err(Flaw::Unasked));
    let other = changed.replace(":1}", ":\"1\"}");
    assert_eq!(flaw(&listen, &other), Err(Flaw::OtherSubscription));
    // A server cancels a subscription and nothing else.
    let cancelled = note("cancelled", r#"{"requestId":1}"#);
    assert_eq!(flaw(&listen, &cancelled), Ok(()));
    assert_eq!(flaw(&quiet, &cancelled), Err(Flaw::Unasked));
}
