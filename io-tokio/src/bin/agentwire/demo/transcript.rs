//! What a person reads: who sent what, and how much of the one message it takes.

use core::fmt::Write as _;
use core::time::Duration;
use std::borrow::Cow;
use std::collections::HashMap;

use agentwire_core::chat::command::Command;
use agentwire_core::chat::size::MAX_ENCODED_MSG_LEN;
use agentwire_core::chat::{Chat, session::Origin};
use agentwire_core::loopback::{SentMessage, SentService, ServiceOrigin};
use agentwire_core::rpc::{ADVISED_LEN, PADDED_LEN};
use agentwire_core::time::Instant;
use agentwire_tokio::network::{Network, Observed, ObservedService};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::exit::Failure;
use crate::output::Output;
use crate::terminal::{DIM, NAME, escape, escape_lines, width, wrap};

/// How many lines of one text are shown.
const LINES: usize = 4;

/// Lines are no longer on a wide terminal: the eye has to find the size beside the name.
const MAX_WIDTH: usize = 100;

/// Prints what a network's profiles send.
pub(super) struct Transcript<'o> {
    output: &'o mut Output,
    seen: mpsc::UnboundedReceiver<Observed>,
    services: mpsc::UnboundedReceiver<ObservedService>,
    /// The names of direct chats' other sides, and of groups, by profile and conversation.
    chats: HashMap<(String, Chat), String>,
    start: Instant,
    messages: usize,
    bytes: usize,
}

impl<'o> Transcript<'o> {
    pub(super) fn new(output: &'o mut Output, network: &Network) -> Self {
        Self {
            output,
            seen: network.observe(),
            services: network.observe_services(),
            chats: HashMap::new(),
            start: Instant::ZERO,
            messages: 0,
            bytes: 0,
        }
    }

    /// Names a conversation as a profile has it.
    pub(super) fn name(&mut self, profile: &str, chat: Chat, name: &str) {
        self.chats.insert((profile.to_owned(), chat), name.to_owned());
    }

    /// Begins a scene.
    pub(super) fn scene(&mut self, now: Instant, title: &str, about: &str) -> Result<(), Failure> {
        self.start = now;
        if self.output.is_json() {
            return self.output.json(&json!({"scene": title}));
        }
        let terminal = self.output.terminal();
        self.output.line("")?;
        for line in wrap(title, self.width()) {
            self.output.line(terminal.paint(NAME, line))?;
        }
        for line in wrap(about, self.width()) {
            self.output.line(terminal.paint(DIM, line))?;
        }
        Ok(())
    }

    /// Prints all that has been sent meanwhile.
    pub(super) fn show(&mut self) -> Result<(), Failure> {
        while let Ok(seen) = self.seen.try_recv() {
            self.print(&seen)?;
        }
        while let Ok(seen) = self.services.try_recv() {
            self.print_service(&seen)?;
        }
        Ok(())
    }

    /// Waits for the next message, and prints it.
    pub(super) async fn follow(&mut self) -> Result<(), Failure> {
        // The network outlives its transcript.
        tokio::select! {
            Some(seen) = self.seen.recv() => self.print(&seen),
            Some(seen) = self.services.recv() => self.print_service(&seen),
            else => core::future::pending().await,
        }
    }

    fn width(&self) -> usize {
        self.output.terminal().width().min(MAX_WIDTH)
    }

    fn print(&mut self, seen: &Observed) -> Result<(), Failure> {
        match &seen.message {
            Ok(sent) => self.message(seen, sent),
            Err(error) => self.remark(&format!("{} could not send: {error}", seen.profile)),
        }
    }

    /// A sentence between the messages.
    pub(super) fn remark(&mut self, text: &str) -> Result<(), Failure> {
        if self.output.is_json() {
            return self.output.json(&json!({"remark": text}));
        }
        for line in wrap(&escape(text), self.width() - 4) {
            self.output.line(format_args!("    {line}"))?;
        }
        Ok(())
    }

    /// The sum of it.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        self.show()?;
        let (messages, bytes) = (self.messages, self.bytes);
        if self.output.is_json() {
            return self.output.json(&json!({"messages": messages, "bytes": bytes}));
        }
        self.output.line("")?;
        self.output.line(format_args!("{messages} messages, {} bytes in all.", grouped(bytes)))
    }

    fn message(&mut self, seen: &Observed, sent: &SentMessage) -> Result<(), Failure> {
        self.messages += 1;
        self.bytes += sent.encoded_len;
        let since = seen.at.duration_since(self.start);
        let key = (seen.profile.to_string(), sent.chat);
        let to = self.chats.get(&key).map_or("?", String::as_str);
        let what = summary(sent);
        if self.output.is_json() {
            return self.output.json(&json!({
                "ms": since.as_millis() as u64,
                "from": &*seen.profile,
                "to": to,
                "what": what.headline,
                "bytes": sent.encoded_len,
                "limit": MAX_ENCODED_MSG_LEN,
                "text": sent.text,
            }));
        }
        let is_command = matches!(sent.origin, Origin::Command(_));
        let who = who(&seen.profile, is_command, to);
        self.headline(since, &who, sent.encoded_len, MAX_ENCODED_MSG_LEN)?;
        self.summary(what)
    }

    fn print_service(&mut self, seen: &ObservedService) -> Result<(), Failure> {
        match &seen.message {
            Ok(sent) => self.service(seen, sent),
            Err(error) => self.remark(&format!("{} could not send: {error}", seen.profile)),
        }
    }

    /// A request or a response of Service RPC.
    fn service(&mut self, seen: &ObservedService, sent: &SentService) -> Result<(), Failure> {
        self.messages += 1;
        self.bytes += sent.json_len;
        let since = seen.at.duration_since(self.start);
        let to = seen.to.as_deref().unwrap_or("?");
        let what = service_summary(sent);
        let is_request = matches!(sent.origin, ServiceOrigin::Request { .. });
        if self.output.is_json() {
            let is_signed = matches!(sent.origin, ServiceOrigin::Request { is_signed: true, .. });
            return self.output.json(&json!({
                "ms": since.as_millis() as u64,
                "transport": "rpc",
                "from": &*seen.profile,
                "to": to,
                "what": what.headline,
                "signed": is_signed,
                "bytes": sent.json_len,
                "advised": ADVISED_LEN,
                "framed": sent.framed_len,
                "padded": PADDED_LEN,
                "text": sent.text,
            }));
        }
        let who = who(&seen.profile, is_request, to);
        self.headline(since, &who, sent.json_len, ADVISED_LEN)?;
        self.summary(what)?;
        let framed =
            format!("framed {}, padded to {}", grouped(sent.framed_len), grouped(PADDED_LEN));
        let terminal = self.output.terminal();
        for line in wrap(&framed, self.width().saturating_sub(10)) {
            self.output.line(format_args!("{:10}{}", "", terminal.paint(DIM, line)))?;
        }
        Ok(())
    }

    /// When, who to whom, and how many bytes of how many.
    fn headline(
        &mut self,
        since: Duration,
        who: &str,
        bytes: usize,
        limit: usize,
    ) -> Result<(), Failure> {
        let terminal = self.output.terminal();
        let time = format!("{:>5} ms", since.as_millis());
        let size = format!("{:>7} of {} bytes", grouped(bytes), grouped(limit));
        let taken = width(&time) + width(who) + width(&size) + 4;
        let (time, who) = (terminal.paint(DIM, &time), terminal.paint(NAME, who));
        match self.width().checked_sub(taken) {
            Some(gap) => {
                let gap = " ".repeat(gap + 2);
                let size = terminal.paint(DIM, &size);
                self.output.line(format_args!("{time}  {who}{gap}{size}"))?;
            }
            None => {
                self.output.line(format_args!("{time}  {who}"))?;
                self.output.line(terminal.paint(DIM, format!("{:10}{}", "", size.trim_start())))?;
            }
        }
        Ok(())
    }

    fn summary(&mut self, what: Summary) -> Result<(), Failure> {
        self.indented(10, &escape(&what.headline))?;
        for text in what.detail {
            self.indented(12, &escape_lines(&compact(text.trim())))?;
        }
        Ok(())
    }

    /// Escaped text, in a few lines.
    fn indented(&mut self, indent: usize, text: &str) -> Result<(), Failure> {
        let terminal = self.output.terminal();
        let lines = wrap(text, self.width().saturating_sub(indent));
        for line in lines.iter().take(LINES) {
            self.output.line(format_args!("{:indent$}{line}", ""))?;
        }
        if lines.len() > LINES {
            self.output.line(format_args!("{:indent$}{}", "", terminal.paint(DIM, "…")))?;
        }
        Ok(())
    }
}

/// JSON without the white space between its values: many tools spread it over many lines.
fn compact(text: &str) -> Cow<'_, str> {
    if !text.starts_with(['{', '[']) || serde_json::from_str::<Value>(text).is_err() {
        return Cow::Borrowed(text);
    }
    let (mut in_string, mut escaped) = (false, false);
    let stays = move |char: &char| {
        let stays = in_string || !char.is_ascii_whitespace();
        in_string ^= *char == '"' && !escaped;
        escaped = in_string && *char == '\\' && !escaped;
        stays
    };
    Cow::Owned(text.chars().filter(stays).collect())
}

/// What a message says, in short.
struct Summary {
    headline: String,
    detail: Vec<String>,
}

/// One side to the other.
fn who(from: &str, is_request: bool, to: &str) -> String {
    let arrow = if is_request { "─▶" } else { "↩ " };
    format!("{} {arrow} {}", escape(from), escape(to))
}

fn summary(sent: &SentMessage) -> Summary {
    if let Ok(command) = Command::parse(&sent.text) {
        let request: Value = serde_json::from_str(command.request()).unwrap_or_default();
        return match command.member() {
            Some(name) => {
                request_summary(&format!("/_call @{name} {}", command.protocol()), &request)
            }
            None => request_summary(&format!("/_call {}", command.protocol()), &request),
        };
    }
    match serde_json::from_str::<Value>(&sent.text) {
        Ok(reply) => reply_summary(&reply),
        Err(_) => Summary { headline: String::from("text"), detail: vec![sent.text.clone()] },
    }
}

/// What an envelope says, in short.
fn service_summary(sent: &SentService) -> Summary {
    let envelope: Value = serde_json::from_str(&sent.text).unwrap_or_default();
    if let ServiceOrigin::Request { is_signed, .. } = sent.origin {
        let kind = if is_signed { "signed request" } else { "request" };
        let protocol = envelope["protocol"].as_str().unwrap_or_default();
        return request_summary(&format!("{kind} {protocol}"), &envelope["request"]);
    }
    match envelope.get("error") {
        None => reply_summary(&envelope["response"]),
        Some(error) => {
            let text = |name: &str| error[name].as_str().unwrap_or_default();
            let headline = format!("error {}: {}", text("code"), text("message"));
            Summary { headline, detail: none_text() }
        }
    }
}

/// A request, and what leads to it.
fn request_summary(to: &str, request: &Value) -> Summary {
    let mut headline = format!("{to} {}", request["method"].as_str().unwrap_or_default());
    let params = &request["params"];
    if let Some(name) = params["name"].as_str() {
        // Writing to a string does not fail.
        let _ = write!(headline, " {name}");
        if let Some(arguments) = params.get("arguments") {
            let _ = write!(headline, " {arguments}");
        }
    }
    let parts = params["message"]["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let detail = parts.iter().filter_map(|part| part["text"].as_str().map(quoted)).collect();
    Summary { headline, detail }
}

fn reply_summary(reply: &Value) -> Summary {
    if let Some(error) = reply.get("error") {
        let headline =
            format!("error {}: {}", error["code"], error["message"].as_str().unwrap_or_default());
        let detail = error.get("data").map(|data| format!("data {data}")).into_iter().collect();
        return Summary { headline, detail };
    }
    if let Some(method) = reply["method"].as_str() {
        let params = &reply["params"];
        let headline = match (params["progress"].as_f64(), params["total"].as_f64()) {
            (Some(progress), Some(total)) => format!("{method} {progress} of {total}"),
            (Some(progress), None) => format!("{method} {progress}"),
            _ => method.to_owned(),
        };
        let detail = params["message"].as_str().map(str::to_owned).into_iter().collect();
        return Summary { headline, detail };
    }
    result(&reply["result"])
}

fn result(result: &Value) -> Summary {
    let none = Vec::new();
    if let Some(tools) = result["tools"].as_array() {
        let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        let headline = format!("result: {} tools", tools.len());
        return Summary { headline, detail: vec![names.join(", ")] };
    }
    if let Some(content) = result["content"].as_array() {
        let is_error = result["isError"] == true;
        let headline = if is_error { "result: the tool failed" } else { "result" };
        let detail = content.iter().filter_map(|block| block["text"].as_str().map(str::to_owned));
        return Summary { headline: headline.into(), detail: detail.collect() };
    }
    for (arm, what) in
        [("task", "task"), ("statusUpdate", "status"), ("artifactUpdate", "artifact")]
    {
        let Some(event) = result.get(arm) else { continue };
        let id = event["id"].as_str().or(event["taskId"].as_str()).unwrap_or_default();
        let state = event["status"]["state"].as_str().unwrap_or_default();
        let state = state.trim_start_matches("TASK_STATE_").to_lowercase();
        let artifacts = event["artifacts"].as_array().unwrap_or(&none).iter();
        let parts = artifacts.chain([&event["artifact"]]);
        let parts = parts.flat_map(|artifact| artifact["parts"].as_array().unwrap_or(&none));
        let detail = parts.filter_map(|part| part["text"].as_str().map(quoted));
        let headline = format!("{what} of task {id} {state}");
        let headline = if arm == "task" { format!("task {id} {state}") } else { headline };
        return Summary { headline: headline.trim_end().into(), detail: detail.collect() };
    }
    if let Some(versions) = result.get("supportedVersions") {
        return Summary { headline: format!("result: serves {versions}"), detail: none_text() };
    }
    Summary { headline: String::from("result"), detail: vec![result.to_string()] }
}

fn none_text() -> Vec<String> {
    Vec::new()
}

fn quoted(text: &str) -> String {
    format!("“{text}”")
}

/// A number with commas between its thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_shown_without_its_white_space() {
        let spread = "{\n  \"a b\": [1,\t\"c \\\" \\\\\" ,\"d e\"]\r\n}";
        assert_eq!(compact(spread), r#"{"a b":[1,"c \" \\","d e"]}"#);
        for text in ["{ not JSON }", "[1, 2", "one two", ""] {
            assert_eq!(compact(text), text);
        }
    }

    #[test]
    fn thousands_are_grouped() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (15_602, "15,602"), (1_234_567, "1,234,567")]
        {
            assert_eq!(grouped(number), text);
        }
    }
}
