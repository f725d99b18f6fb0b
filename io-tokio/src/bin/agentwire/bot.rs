//! `agentwire bot`: answers calls with what they say, or with what a command makes of it.

use core::time::Duration;
use std::process::Stdio;

use agentwire_core::binding::{Failure as Why, Standard};
use agentwire_core::chat::session::Declared;
use agentwire_core::json::Writer;
use agentwire_core::jsonrpc::write_result;
use agentwire_core::mcp::REVISION;
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::journal::JournalConfig;
use agentwire_tokio::bot::{Bot, BotConfig, Handler, Replier, Request, Via};
use agentwire_tokio::client::CoreState;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::admission::{ask_owners, gate};
use crate::args::{BotArgs, Words};
use crate::config::Limits;
use crate::core_api::{core_of, not_connected};
use crate::exit::{ExitCode, Failure};
use crate::journal_file;
use crate::output::Output;
use crate::signals::Shutdown;
use crate::terminal::escape;

/// How long what is open may take after the first signal.
const DRAIN: Duration = Duration::from_secs(4);

/// How much a command may print, in bytes: more than any message holds.
const MOST: u64 = 64 * 1024;

pub(crate) async fn run(
    args: &BotArgs,
    output: &mut Output,
    mut end: Shutdown,
) -> Result<(), Failure> {
    // Before the core is touched: a second bot is to change nothing.
    let opened = if args.no_journal {
        None
    } else {
        Some(journal_file::open(args.journal.as_deref(), &args.core.url)?)
    };
    let gate = gate(&args.core, &Limits::from(&args.limits)).await?;
    let declared =
        || vec![Declared::new(Standard::MCP, [REVISION]), Declared::new(Standard::A2A, ["1.0"])];
    let mut config = BotConfig::from(declared()).gate(gate.clone());
    if args.rpc {
        config = config.service(declared());
    }
    config.is_idempotent = args.idempotent;
    let mut path = None;
    if let Some(mut opened) = opened {
        let journal = opened.journal(JournalConfig::default());
        path = Some(opened.store.path().display().to_string());
        config = config.journal(journal, opened.store);
    }
    let tool = args.tool.clone();
    let tool = tool.unwrap_or_else(|| if args.exec.is_some() { "run" } else { "echo" }.into());
    let answerer = Answerer { exec: args.exec.clone(), tool };
    let started = async {
        let bot = Bot::connect(core_of(&args.core), config, answerer).await;
        let bot = bot.map_err(|error| not_connected(&args.core, &error))?;
        ask_owners(gate, &bot);
        let address = bot.address().await.map_err(|error| {
            let problem = format!("the profile has no address, and none can be made: {error}");
            Failure::new(ExitCode::Refused, problem)
        })?;
        if args.rpc {
            publish_address(&bot).await;
        }
        Ok::<_, Failure>((bot, address))
    };
    let (bot, address) = tokio::select! {
        biased;
        () = end.requested() => return Ok(()),
        started = started => started?,
    };
    if output.is_json() {
        output.json(&json!({"kind": "ready", "address": address, "journal": path}))?;
    } else {
        output.line(format_args!("ready; call it at {}", escape(&address)))?;
        match path {
            Some(path) => output.line(format_args!("call journal: {}", escape(&path)))?,
            None => output.line("no call journal: after a restart a command may run again")?,
        }
    }
    end.requested().await;
    bot.shutdown_within(DRAIN).await;
    Ok(())
}

/// Lets contacts know the address: to it they send requests over Service RPC.
async fn publish_address(bot: &Bot) {
    let client = bot.client();
    let user = match client.state() {
        Some(CoreState::Ready(ready)) => ready.user.0,
        _ => return,
    };
    let command = format!("/_profile_address {user} on");
    if let Err(error) = client.command(&Command::Raw(&command)).await {
        let error = error.to_string();
        eprintln!("agentwire: contacts do not learn the address: {}", escape(&error));
    }
}

/// Makes an answer of a text.
struct Answerer {
    exec: Option<Words>,
    tool: String,
}

/// What came of a text.
enum Made {
    Text(String),
    Failed(String),
}

impl Handler<Standard> for Answerer {
    async fn handle(&self, request: Request, replier: Replier) {
        let Ok(message) = serde_json::from_str::<Value>(&request.text) else {
            return replier.fail(Why::Internal);
        };
        let params = &message["params"];
        let method = message["method"].as_str().unwrap_or_default();
        let result = match (&request.binding, method) {
            (Standard::Mcp(_), "server/discover") => json!({
                "resultType": "complete",
                "supportedVersions": [REVISION],
                "capabilities": {"tools": {}},
                "ttlMs": 3_600_000,
                "cacheScope": "public",
            }),
            (Standard::Mcp(_), "tools/list") => self.tools(),
            (Standard::Mcp(_), "tools/call") => {
                if params["name"] != *self.tool {
                    return replier.fail(Why::InvalidParams("there is no such tool"));
                }
                let Some(text) = params["arguments"]["text"].as_str() else {
                    return replier.fail(Why::InvalidParams("the argument text is missing"));
                };
                let (text, is_error) = match self.make(text, &request.via).await {
                    Made::Text(text) => (text, false),
                    Made::Failed(text) => (text, true),
                };
                json!({
                    "resultType": "complete",
                    "content": [{"type": "text", "text": text}],
                    "isError": is_error,
                })
            }
            (Standard::A2a(_), "SendMessage") => {
                let parts = params["message"]["parts"].as_array();
                let texts = parts.into_iter().flatten().filter_map(|part| part["text"].as_str());
                let text = texts.collect::<Vec<_>>().join("\n");
                match self.make(&text, &request.via).await {
                    Made::Text(text) => json!({
                        "message": {
                            "messageId": format!("re-{}", params["message"]["messageId"].as_str().unwrap_or_default()),
                            "role": "ROLE_AGENT",
                            "parts": [{"text": text}],
                        }
                    }),
                    Made::Failed(_) => return replier.fail(Why::Internal),
                }
            }
            _ => return replier.fail(Why::MethodNotFound),
        };
        let text = response(request.id.as_deref().unwrap_or("null"), &result.to_string());
        // The session has answered with an error if it did not fit.
        if let Err(error) = replier.respond(text).await {
            eprintln!("agentwire: an answer was not sent: {error}");
        }
    }
}

impl Answerer {
    fn tools(&self) -> Value {
        let description = match &self.exec {
            Some(_) => "Runs the bot's command with the text, and gives what it prints",
            None => "Gives the text back",
        };
        json!({
            "resultType": "complete",
            "tools": [{
                "name": self.tool,
                "description": description,
                "inputSchema": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                },
            }],
            "ttlMs": 300_000,
            "cacheScope": "public",
        })
    }

    async fn make(&self, text: &str, via: &Via) -> Made {
        match &self.exec {
            None => Made::Text(text.to_owned()),
            Some(words) => match execute(words, text, via).await {
                Ok(made) => made,
                Err(error) => {
                    eprintln!("agentwire: {} could not be run: {error}", escape(&words.program));
                    Made::Failed("the command could not be run".into())
                }
            },
        }
    }
}

/// Who asks, for a command's environment.
fn caller(via: &Via) -> String {
    match via {
        Via::Chat { chat, sender: agentwire_core::chat::Sender::Member(member), .. } => {
            format!("{chat} {}", member.get())
        }
        Via::Chat { chat, .. } => chat.to_string(),
        Via::Service { signer: Some(key) } => key.to_string(),
        _ => String::new(),
    }
}

/// Runs the command. It is ended with the request, when that is answered otherwise.
async fn execute(words: &Words, text: &str, via: &Via) -> std::io::Result<Made> {
    let mut command = tokio::process::Command::new(&words.program);
    command.args(&words.args).env("AGENTWIRE_CALLER", caller(via)).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    // A Ctrl-C on the terminal is for the bot, which lets its requests finish.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A command need not read what it was asked.
            let _ = stdin.write_all(text.as_bytes()).await;
        }
    };
    let read = async {
        let mut printed = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(MOST).read_to_end(&mut printed).await?;
        }
        Ok::<_, std::io::Error>(printed)
    };
    let ((), printed) = tokio::join!(write, read);
    let printed = printed?;
    let status = child.wait().await?;
    let text = String::from_utf8_lossy(&printed);
    let text = text.strip_suffix('\n').unwrap_or(&text).to_owned();
    Ok(if status.success() {
        Made::Text(text)
    } else {
        eprintln!("agentwire: {} ended with {status}", escape(&words.program));
        Made::Failed(if text.is_empty() { format!("it ended with {status}") } else { text })
    })
}

fn response(id: &str, result: &str) -> String {
    let mut counter = Writer::new(&mut []);
    write_result(&mut counter, id, result);
    let mut buffer = vec![0; counter.needed()];
    let mut out = Writer::new(&mut buffer);
    write_result(&mut out, id, result);
    // It was measured before.
    out.finish().map(str::to_owned).unwrap_or_default()
}
