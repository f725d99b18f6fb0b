//! `agentwire call`: one call, and its answer.

use core::time::Duration;
use std::collections::BTreeMap;

use agentwire_core::a2a;
use agentwire_core::binding::{Binding, End, Standard};
use agentwire_core::chat::session::{Reply, ReplyKind};
use agentwire_core::chat::{MemberId, Sender};
use agentwire_core::mcp::{META_CLIENT_CAPABILITIES, META_PROTOCOL_VERSION, REVISION};
use agentwire_core::profile::Needs;
use agentwire_core::rpc::session::{ServiceReply, ServiceReplyKind};
use agentwire_core::rpc::{ErrorCode, Executed};
use agentwire_tokio::client::{
    CallOptions, Client, ClientError, RequestError, RequestOptions, Target,
};
use agentwire_tokio::reach::{Address, Destination, ReachError, Reached};
use serde_json::{Map, Value, json};

use crate::args::{CallArgs, ProtocolArg};
use crate::core_api::{core_of, not_connected};
use crate::exit::{ExitCode, Failure};
use crate::input;
use crate::output::Output;
use crate::signals::Shutdown;
use crate::terminal::{DIM, NAME, escape, escape_lines};
use crate::web_card::is_card_url;

pub(crate) async fn run(
    args: &CallArgs,
    output: &mut Output,
    mut end: Shutdown,
) -> Result<(), Failure> {
    let binding = match args.protocol {
        ProtocolArg::Mcp => Standard::MCP,
        ProtocolArg::A2a => Standard::A2A,
    };
    let mut request = request(args)?;
    let to = if is_card_url(&args.to) {
        let interface = tokio::select! {
            biased;
            () = end.requested() => return Ok(()),
            interface = args.web.interface(&args.to) => interface?,
        };
        repeat_tenant(&mut request, interface.tenant);
        interface.url
    } else {
        args.to.clone()
    };
    let address: Address =
        to.parse().map_err(|error| Failure::new(ExitCode::Usage, format!("--to {to}: {error}")))?;
    let request = request.to_string();
    tokio::select! {
        biased;
        () = end.requested() => {
            let problem = "given up; if the request was sent, it may have been executed";
            Err(Failure::new(ExitCode::Unknown, problem))
        }
        result = call(args, binding, &address, &request, output) => result,
    }
}

/// Names the tenant of the interface that is called, as every request of A2A has to (A2A 1.0
/// section 8.3.2).
fn repeat_tenant(request: &mut Value, tenant: Option<String>) {
    let has_version = request.get(a2a::SERVICE_PARAMETERS).is_some();
    let params = request.get_mut("params").and_then(Value::as_object_mut);
    if let (Some(tenant), Some(params), true) = (tenant, params, has_version) {
        params.entry("tenant").or_insert_with(|| json!(tenant));
    }
}

/// The protocol's request.
fn request(args: &CallArgs) -> Result<Value, Failure> {
    let usage = |problem: String| Failure::new(ExitCode::Usage, problem);
    let given: Map<String, Value> = match args.params.as_deref() {
        None => args
            .parameters
            .iter()
            .map(|parameter| (parameter.name.clone(), parameter.value.clone()))
            .collect(),
        Some(text) => {
            let text = if text == "-" { input::stdin()? } else { text.to_owned() };
            serde_json::from_str(&text)
                .map_err(|error| usage(format!("--params is no JSON object: {error}")))?
        }
    };
    let is_mcp = args.protocol == ProtocolArg::Mcp;
    if args.tool.is_some() && !is_mcp {
        return Err(usage("--tool is for --protocol mcp".into()));
    }
    if args.text.is_some() && is_mcp {
        return Err(usage("--text is for --protocol a2a".into()));
    }
    let named = match (&args.tool, &args.text) {
        (Some(_), _) => Some("tools/call"),
        (_, Some(_)) if args.stream => Some("SendStreamingMessage"),
        (_, Some(_)) => Some("SendMessage"),
        _ => None,
    };
    // With --tool and --text the first word may be a parameter: `--tool echo text=hi`.
    let mut given = given;
    let method = match (named, &args.method) {
        (None, Some(method)) => method.as_str(),
        (Some(named), None) => named,
        (Some(named), Some(word)) if args.params.is_none() && word.contains('=') => {
            let parameter = crate::args::parameter(word).map_err(usage)?;
            given.insert(parameter.name, parameter.value);
            named
        }
        (Some(named), Some(word)) if word == named => named,
        (_, word) => {
            let word = word.as_deref().unwrap_or_default();
            return Err(usage(format!("{word}: --tool and --text name the method themselves")));
        }
    };
    let mut params = match (&args.tool, &args.text) {
        (Some(tool), _) => Map::from_iter([
            (String::from("name"), json!(tool)),
            (String::from("arguments"), Value::Object(given)),
        ]),
        (_, Some(text)) => {
            let message = json!({
                "messageId": random_id()?,
                "role": "ROLE_USER",
                "parts": [{"text": text}],
            });
            given.insert("message".into(), message);
            given
        }
        _ => given,
    };
    if is_mcp {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        let Some(meta) = meta.as_object_mut() else {
            return Err(usage("the parameter _meta is no object".into()));
        };
        meta.entry(META_PROTOCOL_VERSION).or_insert_with(|| json!(REVISION));
        meta.entry(META_CLIENT_CAPABILITIES).or_insert_with(|| json!({}));
        if args.stream {
            meta.entry("progressToken").or_insert_with(|| json!(1));
        }
    }
    let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    if !is_mcp {
        request[a2a::SERVICE_PARAMETERS] = json!({a2a::VERSION_PARAMETER: a2a::VERSION});
    }
    Ok(request)
}

/// An id that nobody else has.
fn random_id() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        Failure::new(ExitCode::ToolError, format!("the system gives no random numbers: {error}"))
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn call(
    args: &CallArgs,
    binding: Standard,
    address: &Address,
    request: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    let client = Client::connect(core_of(&args.core)).await;
    let client = client.map_err(|error| not_connected(&args.core, &error))?;
    let reached = Reached::find(&client, address).await.map_err(|error| lost(args, &error))?;
    let mut needs = Needs::default();
    needs.stream = args.stream;
    needs.insist = args.rpc.transport();
    let (destination, choice) =
        reached.route(&binding, request, needs).map_err(|error| lost(args, &error))?;
    let timeout = Duration::from_secs(args.timeout.into());
    match destination {
        Destination::Service(link) => {
            let options = RequestOptions::default().timeout(timeout);
            let reply = client.request(binding, link.as_str(), request, options).await;
            let reply = reply.map_err(|error| not_requested(&error))?;
            answered(binding, &reply, output)
        }
        Destination::Conversation(target) => {
            let mut names = None;
            if let Target::Everyone(group) = target {
                // Without names the members go by their ids.
                names = Some(client.member_names(group).await.unwrap_or_default());
            }
            let mut options = CallOptions::default().wait(timeout, timeout);
            if let Some(answers) = args.answers {
                options = options.answers(answers);
            }
            let called = client.call(binding, target, request, options).await;
            let mut replies = called.map_err(|error| not_called(&error))?;
            let mut heard = Heard { answers: 0, failed: None, names, args };
            while let Some(reply) = replies.next().await {
                match reply {
                    Ok(reply) => heard.reply(&reply, output)?,
                    // The usual end of a call to everyone.
                    Err(ClientError::TimedOut(_)) if heard.answers > 0 => break,
                    Err(error) => return Err(not_called(&error)),
                }
            }
            heard.failed.map_or(Ok(()), Err)
        }
        _ => Err(Failure::new(ExitCode::Refused, choice.why.to_string())),
    }
}

/// What has come of a call in a conversation.
struct Heard<'a> {
    answers: u32,
    failed: Option<Failure>,
    /// Who is in the group, where everyone is called.
    names: Option<BTreeMap<MemberId, String>>,
    args: &'a CallArgs,
}

impl Heard<'_> {
    fn reply(&mut self, reply: &Reply, output: &mut Output) -> Result<(), Failure> {
        let sender = match (reply.sender, &self.names) {
            (Sender::Member(member), Some(names)) => {
                Some(Speaker { member, name: names.get(&member).map(String::as_str) })
            }
            _ => None,
        };
        let kind = match &reply.kind {
            ReplyKind::Last(End::Error { .. }) => "error",
            ReplyKind::Last(_) => "answer",
            ReplyKind::Part(_) => "part",
            ReplyKind::Notification(_) => "notification",
            _ => "text",
        };
        let is_last = reply.kind.is_last();
        if is_last {
            self.answers += 1;
        }
        if is_last || self.args.stream {
            show(kind, sender.as_ref(), &reply.text, output)?;
        }
        let verdict = if is_last { verdict(&reply.text) } else { Ok(()) };
        if let Err(failure) = verdict {
            self.failed = self.failed.take().or(Some(failure));
        }
        Ok(())
    }
}

/// A member that answers.
struct Speaker<'a> {
    member: MemberId,
    name: Option<&'a str>,
}

/// Prints a message of the protocol.
fn show(
    kind: &str,
    sender: Option<&Speaker<'_>>,
    text: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    let message: Option<Value> = serde_json::from_str(text).ok();
    if output.is_json() {
        // What is no JSON is shown as the text that it is.
        let message = message.unwrap_or_else(|| Value::from(text));
        let name = sender.and_then(|sender| sender.name);
        let sender = sender.map(|sender| sender.member.get());
        return output
            .json(&json!({"kind": kind, "sender": sender, "name": name, "message": message}));
    }
    if let Some(sender) = sender {
        let shown = escape(sender.name.unwrap_or_else(|| sender.member.get()));
        let name = output.terminal().paint(NAME, format!("{shown}:"));
        output.line(name)?;
    }
    let Some(message) = message else { return output.line(escape_lines(text)) };
    if kind == "error" {
        // Standard error says it.
        return Ok(());
    }
    if kind == "notification" {
        let what = message["params"]["message"].as_str().unwrap_or_default();
        let (done, total) = (&message["params"]["progress"], &message["params"]["total"]);
        let total = if total.is_null() { String::new() } else { format!("/{total}") };
        let shown = format!("progress {done}{total} {}", escape(what));
        let line = output.terminal().paint(DIM, shown);
        return output.line(line);
    }
    let result = &message["result"];
    let texts = texts(result);
    if texts.is_empty() {
        let pretty = serde_json::to_string_pretty(result).unwrap_or_default();
        // JSON holds no control characters; what else acts on a terminal is escaped.
        return output.line(escape_lines(&pretty));
    }
    texts.iter().try_for_each(|text| output.line(escape_lines(text)))
}

/// What a result says to people: the texts of an MCP tool, of an A2A message, or of the artifacts
/// of a task; none if there is anything else in it.
fn texts(result: &Value) -> Vec<String> {
    let parts = |value: &Value| -> Option<Vec<String>> {
        value.as_array()?.iter().map(|part| Some(part["text"].as_str()?.to_owned())).collect()
    };
    let artifacts = || -> Option<Vec<String>> {
        let artifacts = result["task"]["artifacts"].as_array()?;
        let texts: Option<Vec<_>> =
            artifacts.iter().map(|artifact| parts(&artifact["parts"])).collect();
        Some(texts?.concat())
    };
    parts(&result["content"])
        .or_else(|| parts(&result["message"]["parts"]))
        .or_else(|| parts(&result["artifactUpdate"]["artifact"]["parts"]))
        .or_else(artifacts)
        .unwrap_or_default()
}

/// Whether the answer is that the other side failed.
fn verdict(text: &str) -> Result<(), Failure> {
    let Ok(message) = serde_json::from_str::<Value>(text) else { return Ok(()) };
    if let Some(error) = message.get("error") {
        let code = &error["code"];
        let what = error["message"].as_str().unwrap_or_default();
        let reason = error["data"]["reason"].as_str().or(error["data"][0]["reason"].as_str());
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let reason_code = match reason.to_ascii_lowercase().trim_matches([' ', '(', ')']) {
            "rate_limited" | "quota_exceeded" | "not_allowed" | "not_approved" | "busy"
            | "expired" => ExitCode::Refused,
            "timeout" => ExitCode::Timeout,
            "outcome_unknown" => ExitCode::Unknown,
            _ => ExitCode::ToolError,
        };
        return Err(Failure::new(reason_code, format!("error {code}: {what}{reason}")));
    }
    let result = &message["result"];
    if result["isError"] == json!(true) {
        return Err(Failure::new(ExitCode::ToolError, "the tool says that it failed"));
    }
    let state = result["task"]["status"]["state"]
        .as_str()
        .or(result["statusUpdate"]["status"]["state"].as_str());
    match state {
        Some(state @ ("TASK_STATE_FAILED" | "TASK_STATE_REJECTED" | "TASK_STATE_CANCELED")) => {
            Err(Failure::new(ExitCode::ToolError, format!("the task ended as {state}")))
        }
        _ => Ok(()),
    }
}

/// What has come of a request over Service RPC.
fn answered(binding: Standard, reply: &ServiceReply, output: &mut Output) -> Result<(), Failure> {
    match &reply.kind {
        ServiceReplyKind::Answer { text, end } => {
            let kind = if matches!(end, End::Error { .. }) { "error" } else { "answer" };
            show(kind, None, text, output)?;
            verdict(text)
        }
        ServiceReplyKind::Error { code, .. } => {
            let (exit, mend) = match code {
                ErrorCode::ConversationRequired => (
                    ExitCode::Refused,
                    "; connect to it with agentwire connect, and call with --rpc never",
                ),
                ErrorCode::UnsupportedProtocol => {
                    (ExitCode::Refused, "; agentwire discover lists what it serves")
                }
                ErrorCode::Internal => (ExitCode::ToolError, ""),
                _ => (ExitCode::Refused, ""),
            };
            let problem = format!("{}: {}{mend}", binding.name(), reply.kind);
            Err(Failure::new(exit, problem))
        }
        other => {
            let code = match reply.executed {
                Executed::Unknown => ExitCode::Unknown,
                _ => ExitCode::Refused,
            };
            Err(Failure::new(code, other.to_string()))
        }
    }
}

/// Whom to call cannot be found, or not reached.
fn lost(args: &CallArgs, error: &ReachError) -> Failure {
    let mend = match error {
        ReachError::NotConnected => "; agentwire connect makes one",
        ReachError::NoContact => "; agentwire connect LINK makes one",
        ReachError::NoGroup => "; agentwire connect LINK joins one",
        ReachError::NotAContact => "; agentwire connect joins what it leads to",
        ReachError::NoDirectChat => "; ask it for an address, and connect with agentwire connect",
        ReachError::NoAddress => "; name the address itself, or call with --rpc never",
        ReachError::NoRoute(_) => "; agentwire discover lists what is served, and --rpc insists",
        _ => "",
    };
    Failure::new(ExitCode::Refused, format!("{}: {error}{mend}", args.to))
}

fn not_called(error: &ClientError) -> Failure {
    let code = match error {
        ClientError::TimedOut(_) => ExitCode::Timeout,
        ClientError::Call(_) | ClientError::NotSent(_) => ExitCode::Refused,
        _ => ExitCode::Unknown,
    };
    Failure::new(code, error.to_string())
}

fn not_requested(error: &RequestError) -> Failure {
    let code = match error {
        RequestError::Closed => ExitCode::Unknown,
        _ => ExitCode::Refused,
    };
    Failure::new(code, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_known_by_its_code() {
        let code = |text: &str| verdict(text).map_err(|failure| failure.code()).err();
        assert_eq!(code(r#"{"result":{"content":[]}}"#), None);
        assert_eq!(code(r#"{"result":{"isError":true}}"#), Some(ExitCode::ToolError));
        let error =
            |data: &str| format!(r#"{{"error":{{"code":-32603,"message":"m","data":{data}}}}}"#);
        assert_eq!(code(&error("null")), Some(ExitCode::ToolError));
        assert_eq!(code(&error(r#"{"reason":"rate_limited"}"#)), Some(ExitCode::Refused));
        assert_eq!(code(&error(r#"[{"reason":"OUTCOME_UNKNOWN"}]"#)), Some(ExitCode::Unknown));
        let state =
            |state: &str| format!(r#"{{"result":{{"task":{{"status":{{"state":"{state}"}}}}}}}}"#);
        assert_eq!(code(&state("TASK_STATE_COMPLETED")), None);
        assert_eq!(code(&state("TASK_STATE_FAILED")), Some(ExitCode::ToolError));
    }

    #[test]
    fn what_is_said_to_people_is_found() {
        let text = json!([{"type": "text", "text": "hi"}]);
        for result in [
            json!({"content": text}),
            json!({"message": {"parts": text}}),
            json!({"task": {"artifacts": [{"parts": text}]}}),
            json!({"artifactUpdate": {"artifact": {"parts": text}}}),
        ] {
            assert_eq!(texts(&result), ["hi"]);
        }
        assert!(texts(&json!({"tools": []})).is_empty());
        assert!(texts(&json!({"content": [{"type": "image"}]})).is_empty());
    }
}
