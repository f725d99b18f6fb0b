//! What a person reads: who sent what, and how much of the one message it takes.

use core::fmt::Write as _;
use std::collections::HashMap;

use agentwire_core::chat::command::Command;
use agentwire_core::chat::size::MAX_ENCODED_MSG_LEN;
use agentwire_core::chat::{Chat, session::Origin};
use agentwire_core::loopback::SentMessage;
use agentwire_core::time::Instant;
use agentwire_tokio::network::Observed;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::exit::Failure;
use crate::output::Output;
use crate::terminal::{DIM, NAME, escape, escape_lines, truncate, width, wrap};

/// Prints what a network's profiles send.
pub(super) struct Transcript<'o> {
    output: &'o mut Output,
    seen: mpsc::UnboundedReceiver<Observed>,
    /// The names of direct chats' other sides, and of groups, by profile and conversation.
    chats: HashMap<(String, Chat), String>,
    start: Instant,
    messages: usize,
    bytes: usize,
}

impl<'o> Transcript<'o> {
    pub(super) fn new(output: &'o mut Output, seen: mpsc::UnboundedReceiver<Observed>) -> Self {
        let chats = HashMap::new();
        Self { output, seen, chats, start: Instant::ZERO, messages: 0, bytes: 0 }
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
        self.output.line(terminal.paint(NAME, title))?;
        for line in wrap(about, terminal.width()) {
            self.output.line(terminal.paint(DIM, line))?;
        }
        Ok(())
    }

    /// Prints all that has been sent meanwhile.
    pub(super) fn show(&mut self) -> Result<(), Failure> {
        while let Ok(seen) = self.seen.try_recv() {
            match &seen.message {
                Ok(sent) => self.message(&seen, sent)?,
                Err(error) => {
                    let text = format!("{} could not send: {error}", seen.profile);
                    self.remark(&text)?;
                }
            }
        }
        Ok(())
    }

    /// A sentence between the messages.
    pub(super) fn remark(&mut self, text: &str) -> Result<(), Failure> {
        if self.output.is_json() {
            return self.output.json(&json!({"remark": text}));
        }
        let terminal = self.output.terminal();
        for line in wrap(&escape(text), terminal.width() - 4) {
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
        let terminal = self.output.terminal();
        let is_command = matches!(sent.origin, Origin::Command(_));
        let arrow = if is_command { "─▶" } else { "↩ " };
        let time = format!("{:>5} ms", since.as_millis());
        let size = format!("{:>7} of 15,602 bytes", grouped(sent.encoded_len));
        let who = format!("{} {arrow} {}", escape(&seen.profile), escape(to));
        let gap =
            terminal.width().saturating_sub(width(&time) + width(&who) + width(&size) + 4).max(1);
        self.output.line(format_args!(
            "{}  {}{}{}",
            terminal.paint(DIM, time),
            terminal.paint(NAME, who),
            " ".repeat(gap + 2),
            terminal.paint(DIM, size),
        ))?;
        let room = terminal.width().saturating_sub(10);
        let headline = escape(&what.headline);
        self.output.line(format_args!("          {}", truncate(&headline, room)))?;
        for text in what.detail {
            let text = escape_lines(text.trim());
            let lines = wrap(&text, room.saturating_sub(2));
            for line in lines.iter().take(4) {
                self.output.line(format_args!("            {line}"))?;
            }
            if lines.len() > 4 {
                self.output.line(terminal.paint(DIM, "            …"))?;
            }
        }
        Ok(())
    }
}

/// What a message says, in short.
struct Summary {
    headline: String,
    detail: Vec<String>,
}

fn summary(sent: &SentMessage) -> Summary {
    if let Ok(command) = Command::parse(&sent.text) {
        let request: Value = serde_json::from_str(command.request()).unwrap_or_default();
        let mut headline = format!("/_call {} ", command.protocol());
        if let Some(name) = command.member() {
            headline = format!("/_call @{name} {} ", command.protocol());
        }
        let params = &request["params"];
        headline.push_str(request["method"].as_str().unwrap_or_default());
        if let Some(name) = params["name"].as_str() {
            // Writing to a string does not fail.
            let _ = write!(headline, " {name}");
            if let Some(arguments) = params.get("arguments") {
                let _ = write!(headline, " {arguments}");
            }
        }
        let parts = params["message"]["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let detail = parts.iter().filter_map(|part| part["text"].as_str().map(quoted)).collect();
        return Summary { headline, detail };
    }
    let Ok(reply) = serde_json::from_str::<Value>(&sent.text) else {
        return Summary { headline: String::from("text"), detail: vec![sent.text.clone()] };
    };
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
        let parts = event["artifact"]["parts"].as_array().unwrap_or(&none);
        let detail = parts.iter().filter_map(|part| part["text"].as_str().map(quoted));
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
    fn thousands_are_grouped() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (15_602, "15,602"), (1_234_567, "1,234,567")]
        {
            assert_eq!(grouped(number), text);
        }
    }
}
