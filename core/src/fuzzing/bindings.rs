//! The two bindings against the documents' tables, read naively on top of `serde_json`.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use arbitrary::{Result, Unstructured};

use super::generate::{Generator, Vocabulary};
use super::jsonrpc::Naive;
use super::model::{self, Decimal, all, one};
use crate::a2a::{MAX_PARAMETER_NAME_LEN, MAX_SERVICE_PARAMETERS};
use crate::binding::{Binding, Class, End, Expectation, Failure, Foreign, Place, Standard};
use crate::json::Writer;
use crate::jsonrpc::{Id, IdKind, Message};

const SERVED: [&[&str]; 3] = [&[], &["2026-07-28", "1.0"], &["2027-01-01", "1.1.3", "2.0"]];

/// The bytes as they are, and a request and a reply made from them: each is accepted or refused,
/// and classified, by both bindings.
pub fn bindings(data: &[u8]) {
    if let Ok(text) = core::str::from_utf8(data) {
        // A bar parts a request from a reply to it.
        let (request, reply) = text.split_once('|').unwrap_or((text, text));
        both(request, reply);
    }
    let mut bytes = Unstructured::new(data);
    if let Ok((request, reply)) = made(&mut bytes) {
        both(&String::from_utf8_lossy(&request), &String::from_utf8_lossy(&reply));
    }
}

fn both(request: &str, reply: &str) {
    for binding in [Standard::MCP, Standard::A2A] {
        for served in SERVED {
            for place in [Place::Direct, Place::Group] {
                check(binding, request, reply, served, place);
            }
        }
        for other in [
            Failure::TooLarge { needed: request.len(), limit: reply.len() },
            Failure::Busy { capacity: request.len() },
            Failure::IdTooLong { len: request.len(), limit: 64 },
            Failure::TimedOut,
            Failure::Internal,
            Failure::Expired,
            Failure::OutcomeUnknown,
            Failure::RateLimited { retry_after: u32::MAX },
            Failure::QuotaExceeded { retry_after: 1 },
            Failure::NotAllowed,
            Failure::NotApproved,
            Failure::PushNotSupported,
        ] {
            failure(binding, &other, None);
            failure(binding, &other, Some("\"a\""));
        }
    }
}

fn check(binding: Standard, request: &str, reply: &str, served: &[&str], place: Place) {
    let expected = if matches!(binding, Standard::Mcp(_)) {
        mcp(request, served)
    } else {
        a2a(request, served, place)
    };
    match binding.accept(request, served, place) {
        Ok(accepted) => {
            let (Ok(()), id) = expected else { panic!("{expected:?} expected") };
            assert_eq!(accepted.id, id, "another id is kept");
            let method = Naive::read(request)
                .and_then(|naive| one(&naive.members, "method").and_then(model::string));
            let streaming = matches!(binding, Standard::A2a(_))
                && matches!(method.as_deref(), Some("SendStreamingMessage" | "SubscribeToTask"));
            assert_eq!(accepted.expected.streaming, streaming);
            let own = Id::parse(accepted.id.unwrap()).map(|id| id.print());
            assert_eq!(accepted.expected.id, own);
            // The versions that are served change nothing after that.
            if served.is_empty() {
                for reply in [reply, request] {
                    classify(binding, &accepted.expected, accepted.id.unwrap(), reply);
                }
            }
        }
        Err(refusal) => {
            let (Err(code), id) = expected else { panic!("{:?} of a good one", refusal.failure) };
            // Of a text that is cut off, an id that was read before may be named.
            if crate::json::Value::parse(request).is_ok() {
                assert_eq!(refusal.id, id, "the error names another id");
            }
            let written = failure(binding, &refusal.failure, refusal.id);
            assert_eq!(written, code, "{:?}", refusal.failure);
        }
    }
}

/// Writes a failure, reads it, and gives its code.
fn failure(binding: Standard, failure: &Failure<'_>, id: Option<&str>) -> i64 {
    let needed = {
        let mut writer = Writer::new(&mut []);
        binding.write_failure(failure, id, &mut writer);
        writer.needed()
    };
    let mut out = alloc::vec![0; needed];
    let mut writer = Writer::new(&mut out);
    binding.write_failure(failure, id, &mut writer);
    let text = writer.finish().expect("as long as it said");
    serde_json::from_str::<serde_json::Value>(text).map_or_else(
        // Only a number that no f64 holds can be too much for it, and only an id is one.
        |error| assert!(error.to_string().contains("out of range"), "{error}: {text}"),
        |_| (),
    );
    let Ok(Message::Error(error)) = Message::parse(text) else { panic!("no error: {text}") };
    let null = error.id.is_none();
    assert_eq!(error.id.map(|id| id.get()), id.filter(|id| *id != "null"));
    assert!(error.data.is_some(), "an error without data: {text}");
    let own = model::members(text).expect("an object");
    let written = all(&own, "id");
    if null && matches!(binding, Standard::Mcp(_)) {
        assert!(written.is_empty(), "MCP leaves an unknown id out");
    } else if null {
        assert_eq!(written, ["null"], "A2A writes null");
    }
    error.code
}

type Expected<'m> = (core::result::Result<(), i64>, Option<&'m str>);

/// A request, or what its error says.
fn request<'m>(text: &'m str) -> core::result::Result<Naive<'m>, Expected<'m>> {
    if crate::json::Value::parse(text).is_err() {
        return Err((Err(-32700), None));
    }
    let Some(naive) = Naive::read(text) else { return Err((Err(-32600), None)) };
    if naive.faults.is_empty() && naive.kind == "request" {
        Ok(naive)
    } else {
        // Only an id of a kind that both protocols have is named.
        let id = naive.id.filter(|id| matches!(id_kind(id), IdKind::String | IdKind::Integer));
        Err((Err(-32600), id))
    }
}

fn id_kind(id: &str) -> IdKind {
    match id.as_bytes()[0] {
        b'"' => IdKind::String,
        b'n' => IdKind::Null,
        _ if Decimal::parse(id).is_integral() => IdKind::Integer,
        _ => IdKind::Fraction,
    }
}

fn mcp<'m>(text: &'m str, served: &[&str]) -> Expected<'m> {
    let naive = match request(text) {
        Ok(naive) => naive,
        Err(expected) => return expected,
    };
    let id = naive.id.expect("a request has one");
    if !matches!(id_kind(id), IdKind::String | IdKind::Integer) {
        return (Err(-32600), None);
    }
    let members = one(&naive.members, "params").and_then(model::members).unwrap_or_default();
    let metas = all(&members, "_meta");
    let meta = one(&members, "_meta").and_then(model::members);
    let result = match meta {
        None if metas.len() > 1 => Err(-32602),
        None => {
            let method = one(&naive.members, "method").and_then(model::string);
            Err(if method.as_deref() == Some("initialize") { -32022 } else { -32602 })
        }
        Some(meta) => {
            let version =
                one(&meta, "io.modelcontextprotocol/protocolVersion").and_then(model::string);
            let capabilities =
                one(&meta, "io.modelcontextprotocol/clientCapabilities").and_then(model::members);
            match (version, capabilities) {
                (Some(version), Some(_)) => {
                    let is_date = version.len() == 10
                        && version.char_indices().all(|(at, char)| match at {
                            4 | 7 => char == '-',
                            _ => char.is_ascii_digit(),
                        });
                    let ours = if served.is_empty() {
                        is_date && version.as_str() >= "2026-07-28"
                    } else {
                        served.contains(&version.as_str())
                    };
                    if ours { Ok(()) } else { Err(-32022) }
                }
                _ => Err(-32602),
            }
        }
    };
    (result, Some(id))
}

/// Names in lower case, with their values; `None` where a rule is broken.
fn parameters(naive: &Naive<'_>) -> Option<Vec<(String, String)>> {
    let values = all(&naive.members, "a2a-service-parameters");
    let value = match values[..] {
        [] => return Some(Vec::new()),
        [value] => value,
        _ => return None,
    };
    let members = model::members(value)?;
    if members.len() > MAX_SERVICE_PARAMETERS {
        return None;
    }
    let mut parameters: Vec<(String, String)> = Vec::new();
    for (name, value) in members {
        let is_token =
            |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char);
        let value = model::string(value).filter(|_| value.starts_with('"'))?;
        let name_is_good =
            name.chars().all(is_token) && !name.is_empty() && name.len() <= MAX_PARAMETER_NAME_LEN;
        let name = name.to_ascii_lowercase();
        let is_new = parameters.iter().all(|(other, _)| *other != name);
        let value_is_good = value.chars().all(|char| char == '\t' || !char.is_control());
        if !(name_is_good && is_new && value_is_good) {
            return None;
        }
        parameters.push((name, value));
    }
    Some(parameters)
}

fn is_credential(name: &str) -> bool {
    let stems = [
        "authoriz",
        "authent",
        "token",
        "secret",
        "passw",
        "credential",
        "cookie",
        "api-key",
        "apikey",
        "api_key",
    ];
    stems.iter().any(|stem| name.contains(stem))
        || name.split(|char: char| !char.is_ascii_alphanumeric()).any(|word| word == "auth")
}

fn push_config_has_credential(config: &[(String, &str)]) -> bool {
    let set = |value: &&str| value.starts_with('"') && *value != "\"\"";
    all(config, "token").iter().any(set)
        || all(config, "authentication").iter().any(|value| {
            let members = model::members(value).unwrap_or_default();
            all(&members, "credentials").iter().any(set)
        })
}

/// Major and minor number, and a patch number that does not matter.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let parts: Vec<&str> = version.split('.').collect();
    let mut numbers = Vec::new();
    for part in &parts {
        if part.is_empty() || !part.chars().all(|char| char.is_ascii_digit()) {
            return None;
        }
        numbers.push(part.parse().ok()?);
    }
    if (2..=3).contains(&numbers.len()) { Some((numbers[0], numbers[1])) } else { None }
}

fn a2a<'m>(text: &'m str, served: &[&str], place: Place) -> Expected<'m> {
    let naive = match request(text) {
        Ok(naive) => naive,
        // Parameters that are no object are wrong ones, where nothing else is wrong.
        Err((Err(-32600), id)) if Naive::read(text).is_some_and(|it| it.has_odd_params()) => {
            return (Err(-32602), id);
        }
        Err(expected) => return expected,
    };
    let id = naive.id.expect("a request has one");
    if id_kind(id) == IdKind::Fraction {
        return (Err(-32600), None);
    }
    // MCP's error names no request whose id is null, A2A's does.
    let refuse = |code| (Err(code), Some(id));
    let Some(parameters) = parameters(&naive) else { return refuse(-32600) };
    let params = one(&naive.members, "params");
    let members = match params {
        None => Vec::new(),
        Some(params) => match model::members(params) {
            None => return refuse(-32602),
            Some(members) => members,
        },
    };
    if place == Place::Group {
        let configs: Vec<&str> = all(&members, "configuration")
            .into_iter()
            .filter_map(model::members)
            .flatten()
            .filter(|(name, _)| {
                matches!(&**name, "taskPushNotificationConfig" | "task_push_notification_config")
            })
            .map(|(_, value)| value)
            .collect();
        let inner = configs
            .into_iter()
            .filter_map(model::members)
            .any(|config| push_config_has_credential(&config));
        if parameters.iter().any(|(name, _)| is_credential(name))
            || push_config_has_credential(&members)
            || inner
        {
            return refuse(-32600);
        }
    }
    let version = parameters.iter().find(|(name, _)| name == "a2a-version");
    let version = version.and_then(|(_, version)| numbers(version));
    let ours = match version {
        None => false,
        Some(version) if served.is_empty() => version >= (1, 0),
        Some(version) => served.iter().any(|served| numbers(served) == Some(version)),
    };
    if !ours {
        return refuse(-32009);
    }
    let method = one(&naive.members, "method").and_then(model::string).unwrap();
    if method.contains("TaskPushNotificationConfig")
        && ["Create", "Get", "List", "Delete"].iter().any(|verb| {
            let plural = if *verb == "List" { "s" } else { "" };
            method == alloc::format!("{verb}TaskPushNotificationConfig{plural}")
        })
    {
        return refuse(-32003);
    }
    (Ok(()), Some(id))
}

/// What a reply is, naively.
fn classify(binding: Standard, expected: &Expectation, id: &str, reply: &str) {
    let class = binding.classify(expected, reply);
    let is_mcp = matches!(binding, Standard::Mcp(_));
    let strict = crate::json::Value::parse(reply).is_ok();
    let Some(naive) = Naive::read(reply).filter(|_| strict) else {
        assert!(
            matches!(class, Class::Foreign(Foreign::Json(_))),
            "{class:?} of what is no object"
        );
        return;
    };
    let Class::Foreign(Foreign::Message(fault)) = class else {
        assert!(naive.faults.is_empty(), "{class:?} of a reply that has {:?}", naive.faults);
        let same =
            naive.id.is_some_and(|other| Id::parse(other).unwrap().same(&Id::parse(id).unwrap()));
        let value = |name| one(&naive.members, name);
        let expected_class = match naive.kind {
            "request" => Class::Foreign(Foreign::NotAReply),
            "notification" if is_mcp => {
                let Class::Notification { method } = class else { panic!("{class:?}") };
                assert_eq!(Some(method.get()), value("method"));
                return;
            }
            "notification" => Class::Foreign(Foreign::NotAReply),
            "response" if !same => Class::Foreign(Foreign::OtherId),
            "response" if expected.streaming => {
                return stream(class, value("result").unwrap());
            }
            "response" => Class::Last(End::Answer),
            _ if same || naive.id.is_none_or(|id| id == "null") => {
                let error = model::members(value("error").unwrap()).unwrap();
                let code = one(&error, "code").unwrap();
                Class::Last(End::Error { code: Decimal::parse(code).integer().unwrap() })
            }
            _ => Class::Foreign(Foreign::OtherId),
        };
        assert_eq!(class, expected_class);
        return;
    };
    assert!(naive.faults.contains(&fault), "{fault:?} is not a fault of this");
}

/// An event of a stream.
fn stream(class: Class<'_>, result: &str) {
    let arms: Vec<(&str, &str)> = model::members(result)
        .unwrap_or_default()
        .into_iter()
        .filter(|(_, value)| *value != "null")
        .filter_map(|(name, value)| {
            let arm = match &*name {
                "message" => "message",
                "task" => "task",
                "statusUpdate" | "status_update" => "status",
                "artifactUpdate" | "artifact_update" => "artifact",
                _ => return None,
            };
            Some((arm, value))
        })
        .collect();
    let event = match arms[..] {
        [(arm, value)] => model::members(value).map(|event| (arm, event)),
        _ => None,
    };
    let Some((arm, event)) = event else {
        assert_eq!(class, Class::Foreign(Foreign::NotAStreamEvent));
        return;
    };
    let last = |names: &[&str]| {
        let found = event.iter().filter(|(name, _)| names.contains(&&**name));
        found.map(|(_, value)| *value).next_back()
    };
    let state = last(&["status"])
        .and_then(model::members)
        .and_then(|status| one(&status, "state").map(String::from))
        .unwrap_or_default();
    let name = model::string(&state).unwrap_or_default();
    let number = if state.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
        Decimal::parse(&state).integer().unwrap_or(0)
    } else {
        0
    };
    let terminal = ["COMPLETED", "FAILED", "CANCELED", "REJECTED"];
    let is = |word: &str| name.strip_prefix("TASK_STATE_") == Some(word);
    let expected = if arm == "message" {
        Class::Last(End::Message)
    } else if arm != "artifact" && (terminal.into_iter().any(is) || [3, 4, 5, 7].contains(&number))
    {
        Class::Last(End::Terminal)
    } else if arm != "artifact"
        && (is("INPUT_REQUIRED") || is("AUTH_REQUIRED") || [6, 8].contains(&number))
    {
        Class::Last(End::Interrupted)
    } else {
        let id = last(if arm == "task" { &["id"] } else { &["taskId", "task_id"] });
        let Class::Part { resume } = class else { panic!("{class:?}, not a part") };
        assert_eq!(resume.map(|id| id.get()), id.filter(|id| id.starts_with('"')));
        return;
    };
    assert_eq!(class, expected);
}

fn made(bytes: &mut Unstructured<'_>) -> Result<(Vec<u8>, Vec<u8>)> {
    let words = Vocabulary {
        names: &[
            "_meta",
            "io.modelcontextprotocol/protocolVersion",
            "io.modelcontextprotocol/clientCapabilities",
            "token",
            "authentication",
            "credentials",
            "configuration",
            "taskPushNotificationConfig",
            "task",
            "message",
            "statusUpdate",
            "status_update",
            "artifactUpdate",
            "status",
            "state",
            "id",
            "taskId",
            "A2A-Version",
            "Authorization",
        ],
        values: &[
            "\"2026-07-28\"",
            "\"2027-01-01\"",
            "\"1.0\"",
            "\"1.0.7\"",
            "{}",
            "\"TASK_STATE_COMPLETED\"",
            "\"TASK_STATE_WORKING\"",
            "\"TASK_STATE_INPUT_REQUIRED\"",
            "7",
            "8",
            "\"t\"",
            "{\"state\":7}",
            "{\"id\":\"t\",\"status\":{\"state\":\"TASK_STATE_WORKING\"}}",
            "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}",
        ],
    };
    let ids = ["1", "1.0", "\"a\"", "null", "1.5", "7", "\"\\u0061\""];
    let methods = [
        "\"tools/list\"",
        "\"initialize\"",
        "\"SendMessage\"",
        "\"SendStreamingMessage\"",
        "\"SubscribeToTask\"",
        "\"GetTaskPushNotificationConfig\"",
        "\"notifications/progress\"",
    ];
    let request_id = *bytes.choose(&ids)?;
    let mut texts = Vec::new();
    for is_reply in [false, true] {
        let mut made = Generator::new(bytes, &words);
        made.out.push_str("{\"jsonrpc\":\"2.0\"");
        if !made.bytes.ratio(1, 8)? {
            let other = made.bytes.ratio(1, 8)?;
            let id = if other { *made.bytes.choose(&ids)? } else { request_id };
            made.out.push_str(",\"id\":");
            made.out.push_str(id);
        }
        if is_reply && !made.bytes.ratio(1, 8)? {
            if made.bytes.ratio(1, 4)? {
                made.out.push_str(",\"error\":{\"code\":-32000,\"message\":\"m\"}");
            } else {
                made.out.push_str(",\"result\":");
                made.object(3)?;
            }
        } else {
            made.out.push_str(",\"method\":");
            let method = *made.bytes.choose(&methods)?;
            made.out.push_str(method);
            if !made.bytes.ratio(1, 8)? {
                made.out.push_str(",\"params\":");
                made.object(3)?;
            }
            if made.bytes.arbitrary()? {
                made.out.push_str(",\"a2a-service-parameters\":");
                if made.bytes.arbitrary()? {
                    made.out.push_str("{\"A2A-Version\":\"1.0\"}");
                } else {
                    made.object(1)?;
                }
            }
        }
        made.out.push('}');
        texts.push(made.finish()?);
    }
    let reply = texts.pop().unwrap_or_default();
    Ok((texts.pop().unwrap_or_default(), reply))
}
