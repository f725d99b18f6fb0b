//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use agentwire_core::admission::When;
use agentwire_core::profile::Transport;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args as Arguments, Command, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::admission::Approve;
use crate::card::CardArgs;
use crate::config::{ConfigArgs, Limits};
use crate::exit::ExitCode;
use crate::gateway::GatewayArgs;
use crate::loopback::LoopbackArgs;
use crate::replay::ReplayArgs;
use crate::serve::ServeArgs;
use crate::web_card::WebCardArgs;

/// Agent-to-agent protocols over chat.
#[derive(Debug, Parser)]
#[command(
    name = "agentwire",
    disable_version_flag = true,
    arg_required_else_help = true,
    after_help = ExitCode::table()
)]
pub(crate) struct Args {
    /// Print the version.
    #[arg(short = 'V', long)]
    pub(crate) version: bool,

    /// Print JSON, one object a line.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) action: Option<Action>,
}

impl Args {
    /// Reads the command line, or ends the program: with the help or with what is wrong.
    pub(crate) fn read() -> Self {
        Self::try_read(std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    fn try_read(words: impl Iterator<Item = OsString>) -> Result<Self, clap::Error> {
        let words: Vec<OsString> = words.collect();
        Self::try_parse_from(&words).map_err(|mut error| {
            name_nearest(&mut error, &words);
            error
        })
    }
}

/// Names the flag nearest to an unknown one, where clap's own measure finds none: it does not see
/// that `--mpc` is `--mcp` with two letters swapped.
fn name_nearest(error: &mut clap::Error, words: &[OsString]) {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some()
    {
        return;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return };
    let mut command = Args::command();
    command.build();
    let mut known = flags(&command);
    let mut at = &command;
    for word in words {
        if let Some(inner) = word.to_str().and_then(|word| at.find_subcommand(word)) {
            known = flags(inner);
            at = inner;
        }
    }
    let unknown = unknown.trim_start_matches('-');
    let near = |flag: &String| strsim::damerau_levenshtein(unknown, flag);
    let nearest = known.into_iter().min_by_key(near);
    if let Some(flag) = nearest.filter(|flag| near(flag) * 2 <= flag.len()) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{flag}")));
    }
}

fn flags(command: &Command) -> Vec<String> {
    command.get_arguments().filter_map(|flag| flag.get_long()).map(str::to_owned).collect()
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    Card(CardArgs),
    Demo(DemoArgs),
    Inspect(InspectArgs),
    Loopback(LoopbackArgs),
    Replay(ReplayArgs),
    Serve(ServeArgs),
    Config(ConfigArgs),
    Call(CallArgs),
    Bot(BotArgs),
    Gateway(GatewayArgs),
    Discover(DiscoverArgs),
    Connect(ConnectArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Where a chat core is that runs on this machine as its documentation says.
pub(crate) const DEFAULT_CORE: &str = "ws://127.0.0.1:5225";

/// How the chat core is reached.
#[derive(Clone, Debug, PartialEq, Eq, Arguments)]
pub(crate) struct CoreArgs {
    /// The chat core's WebSocket, as simplex-chat -p 5225 opens it. Another machine's core is
    /// reached with wss://.
    #[arg(long = "core", value_name = "URL", env = "AGENTWIRE_CORE", hide_env_values = true)]
    #[arg(default_value = DEFAULT_CORE)]
    pub(crate) url: String,

    /// Trust the certificates in this PEM file and no others, for wss://.
    #[arg(long, value_name = "FILE", env = "AGENTWIRE_CA_FILE", hide_env_values = true)]
    pub(crate) ca_file: Option<PathBuf>,
}

/// Call an agent or a bot, and print its answer.
///
/// Parameters are given as NAME=TEXT or NAME:=JSON, or all at once with --params. For MCP,
/// --tool NAME calls a tool with them as its arguments; for A2A, --text says something.
#[derive(Debug, Arguments)]
pub(crate) struct CallArgs {
    /// Whom: @contact, #group for everyone in it, '#group @member', a contact address link or the
    /// SimpleX name of one; @4 and #4 by their numbers; or the https:// URL of an Agent Card that
    /// names such a link.
    #[arg(long, value_name = "WHOM")]
    pub(crate) to: String,

    #[command(flatten)]
    pub(crate) web: WebCardArgs,

    /// The protocol.
    #[arg(long, value_name = "PROTOCOL", default_value = "mcp")]
    pub(crate) protocol: ProtocolArg,

    /// The protocol's method: tools/list, SendMessage.
    #[arg(value_name = "METHOD", required_unless_present_any = ["tool", "text"])]
    pub(crate) method: Option<String>,

    /// Parameters: NAME=TEXT, or NAME:=JSON for what is no text.
    #[arg(value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) parameters: Vec<Parameter>,

    /// All parameters as a JSON object, or - to read it from standard input.
    #[arg(long, value_name = "JSON|-", conflicts_with = "parameters")]
    pub(crate) params: Option<String>,

    /// Call this MCP tool: the method is tools/call.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["text"])]
    pub(crate) tool: Option<String>,

    /// Say this to an A2A agent: the method is SendMessage, or SendStreamingMessage with --stream.
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,

    /// Print progress and parts of a stream as they come; they need a conversation.
    #[arg(long)]
    pub(crate) stream: bool,

    /// Whether the request goes over Service RPC.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) rpc: RpcArg,

    /// How many seconds to wait for the answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub(crate) timeout: u32,

    /// End after the answers of this many members, when a group is called.
    #[arg(long, value_name = "N")]
    pub(crate) answers: Option<u32>,

    #[command(flatten)]
    pub(crate) core: CoreArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolArg {
    /// The Model Context Protocol.
    Mcp,
    /// The Agent2Agent protocol.
    A2a,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RpcArg {
    /// Where the other side declares it and the request suits it.
    Auto,
    /// Always, also where nothing is declared.
    Always,
    /// Never: in the conversation.
    Never,
}

impl RpcArg {
    /// The transport that is insisted on.
    pub(crate) fn transport(self) -> Option<Transport> {
        match self {
            Self::Auto => None,
            Self::Always => Some(Transport::Rpc),
            Self::Never => Some(Transport::Chat),
        }
    }
}

/// A parameter of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) value: serde_json::Value,
}

pub(crate) fn parameter(text: &str) -> Result<Parameter, String> {
    let (name, value) = text.split_once('=').ok_or("not NAME=TEXT or NAME:=JSON")?;
    let (name, value) = match name.strip_suffix(':') {
        Some(name) => {
            let value = serde_json::from_str(value).map_err(|error| format!("no JSON: {error}"))?;
            (name, value)
        }
        None => (name, value.into()),
    };
    if name.is_empty() {
        return Err("no name before the =".into());
    }
    Ok(Parameter { name: name.to_owned(), value })
}

/// Answer calls for the profile of a chat core, until Ctrl-C.
///
/// Without --exec it answers with what it was sent. With it, each request starts the command, with
/// the text on its standard input and AGENTWIRE_CALLER set to who asks; what it prints is the
/// answer, and an exit code other than 0 makes it an error.
#[derive(Debug, Arguments)]
pub(crate) struct BotArgs {
    /// Run this command for each request: a program and its arguments, quoted as in a shell. No
    /// shell is started.
    #[arg(long, value_name = "COMMAND", value_parser = words)]
    pub(crate) exec: Option<Words>,

    /// The name of the MCP tool that answers.
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,

    /// Answer over Service RPC too.
    #[arg(long)]
    pub(crate) rpc: bool,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// A request may be run again if the bot ended while it ran.
    #[arg(long)]
    pub(crate) idempotent: bool,

    /// Keep the call journal in this file; by default in one for this core, in the folder for
    /// states.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    /// Keep no call journal: after a restart a command may be run again.
    #[arg(long, conflicts_with = "journal")]
    pub(crate) no_journal: bool,

    #[command(flatten)]
    pub(crate) core: CoreArgs,
}

/// Who may call a bot, and how often.
#[derive(Clone, Debug, Arguments)]
pub(crate) struct LimitArgs {
    /// Answer only these: @contact, #group for its members, by name or number; may be repeated.
    #[arg(long, value_name = "WHOM")]
    pub(crate) allow: Vec<String>,

    /// How many requests of one caller are handled at once.
    #[arg(long, value_name = "N")]
    pub(crate) max_open: Option<u32>,

    /// How many requests of one caller are taken in a minute.
    #[arg(long, value_name = "N")]
    pub(crate) per_minute: Option<u32>,

    /// How many requests of one caller are taken in a day.
    #[arg(long, value_name = "N")]
    pub(crate) per_day: Option<u32>,

    /// Which calls wait until an owner approves them: the first one of a caller that calls this
    /// method or tool, or each one. Over Service RPC such a call is told to come in a conversation.
    #[arg(long, value_name = "WHEN", value_enum)]
    #[arg(requires_ifs = [("new", "owner"), ("always", "owner")])]
    pub(crate) approve: Option<Approve>,

    /// An owner who approves calls: a contact, by name or number, who is asked in the chat with
    /// the bot and answers "ok CODE" or "no CODE" there. May be repeated: the first one is asked.
    #[arg(long, value_name = "CONTACT", requires = "approve")]
    pub(crate) owner: Vec<String>,
}

impl From<&LimitArgs> for Limits {
    fn from(args: &LimitArgs) -> Self {
        let LimitArgs { allow, max_open, per_minute, per_day, approve, owner } = args.clone();
        Self { allow, max_open, per_minute, per_day, approve: approve.map(When::from), owner }
    }
}

/// Find out who can be called under a web site's llms.txt, an Agent Card, a SimpleX link or a
/// SimpleX name, with which protocols and over which transport, without connecting to anybody.
#[derive(Debug, Arguments)]
pub(crate) struct DiscoverArgs {
    /// A web address, a SimpleX link or a SimpleX name. A web site is asked for its /llms.txt; the
    /// https:// address of a .json file is that of an Agent Card.
    #[arg(value_name = "URL|LINK")]
    pub(crate) target: String,

    /// Do not ask a chat core what the links hold; what the web itself says is shown.
    #[arg(long)]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) web: WebCardArgs,

    #[command(flatten)]
    pub(crate) core: CoreArgs,
}

/// Connect to a contact, or subscribe to a group or a channel.
///
/// Prints what to call it by afterwards. Whoever is connected already is not connected again.
#[derive(Debug, Arguments)]
pub(crate) struct ConnectArgs {
    /// A SimpleX link or a SimpleX name.
    #[arg(value_name = "LINK|NAME")]
    pub(crate) target: String,

    /// Connect under a random profile, so that the other side does not learn the own one.
    #[arg(long)]
    pub(crate) incognito: bool,

    /// Stay, and print the messages that come from there, until Ctrl-C.
    #[arg(long)]
    pub(crate) follow: bool,

    /// How many seconds the other side may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) timeout: u32,

    #[command(flatten)]
    pub(crate) core: CoreArgs,
}

/// Check every step of reaching a chat core and serving from it, and say how to mend what fails.
///
/// Events that the core tells while the check runs are told to nobody else: run it while no bot is
/// at work, or have the bot look again by restarting it.
#[derive(Debug, Arguments)]
pub(crate) struct DoctorArgs {
    /// Stop the chat if it runs, and start it with Service RPC requests let in.
    #[arg(long)]
    pub(crate) restart_chat: bool,

    /// The call journal to look at; by default the one that a bot at this core uses.
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) core: CoreArgs,
}

/// Print a completion script for a shell.
///
/// For bash, for example: agentwire completions bash > ~/.local/share/bash-completion/completions/agentwire
#[derive(Debug, Arguments)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// Print the manual page of the program or of one of its commands.
///
/// To read it: agentwire man | man -l -
#[derive(Debug, Arguments)]
pub(crate) struct ManArgs {
    /// The command, and the commands within it; the program itself if there is none.
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,

    /// Write the pages of the program and of all its commands into this folder instead.
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    pub(crate) all: Option<PathBuf>,
}

/// Explain a chat message, a command, an envelope, an llms.txt or a link, read from standard input.
///
/// A line feed at its end does not count. Exit code 6 if it would be refused.
#[derive(Debug, Arguments)]
pub(crate) struct InspectArgs {
    #[command(subcommand)]
    pub(crate) subject: Subject,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Subject {
    Message(MessageArgs),
    Command(CommandArgs),
    Envelope(EnvelopeArgs),
    /// The addresses of an llms.txt, and what does not fit.
    Llms,
    /// What a SimpleX link or name leads to, and its normal form.
    Link,
    Profile(ProfileArgs),
    Signature(SignatureArgs),
}

/// The encoded size of a chat message with this text, and what takes it.
#[derive(Debug, Arguments)]
pub(crate) struct MessageArgs {
    /// The message is sent to a group.
    #[arg(long)]
    pub(crate) group: bool,

    /// The message replies to the one whose text this file holds.
    #[arg(long, value_name = "FILE")]
    pub(crate) reply_to: Option<PathBuf>,

    /// The message mentions this member; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) mention: Vec<String>,

    /// What is kept free for the group's own wrapping.
    #[arg(long, value_name = "MARGIN", default_value = "none")]
    pub(crate) margin: MarginName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum MarginName {
    /// Nothing: direct chats and groups without relays.
    None,
    /// A group whose messages are signed.
    Signed,
    /// A channel or a group with relays.
    Relayed,
}

/// The parts of a `/_call` command, or where it goes wrong.
#[derive(Debug, Arguments)]
pub(crate) struct CommandArgs {
    /// The command is sent to a group, as one with a mention always is.
    #[arg(long)]
    pub(crate) group: bool,
}

/// What preferences, a group record or the data of an address declare.
#[derive(Debug, Arguments)]
pub(crate) struct ProfileArgs {
    /// What the JSON is.
    #[arg(long = "as", value_name = "WHAT", default_value = "profile")]
    pub(crate) what: ProfileName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileName {
    /// The preferences of a profile.
    Profile,
    /// The preferences of a group.
    Group,
    /// The preferences of a business chat.
    Business,
    /// The public group record of a channel.
    Channel,
    /// The public group record of a public group.
    PublicGroup,
    /// The data of a contact address link.
    Address,
}

/// Whose a Service RPC request is: its requestKey and its signature.
#[derive(Debug, Arguments)]
pub(crate) struct SignatureArgs {
    /// The verified key that came with the request; without it the request is unsigned.
    #[arg(long, value_name = "KEY")]
    pub(crate) signer_key: Option<String>,

    /// The associated data of the ratchet session, in hexadecimal: check the signature too.
    #[arg(long, value_name = "HEX", value_parser = hex, requires_all = ["signer_key", "signature"])]
    pub(crate) ad: Option<Bytes>,

    /// The signature, in hexadecimal.
    #[arg(long, value_name = "HEX", value_parser = hex, requires = "ad")]
    pub(crate) signature: Option<Bytes>,
}

/// Bytes that were written in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

fn hex(digits: &str) -> Result<Bytes, &'static str> {
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) || !digits.len().is_multiple_of(2) {
        return Err("not pairs of hexadecimal digits");
    }
    let byte = |at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    Ok(Bytes((0..digits.len()).step_by(2).filter_map(byte).collect()))
}

/// A request or a response of Service RPC: its members, its size as the core writes it, and whether
/// it fits.
#[derive(Debug, Arguments)]
pub(crate) struct EnvelopeArgs {
    /// What it is; by default what its members say.
    #[arg(long = "as", value_name = "KIND")]
    pub(crate) kind: Option<EnvelopeKind>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EnvelopeKind {
    /// What a requester sends.
    Request,
    /// What a responder sends.
    Response,
}

/// Show agents at work: an embedded loopback, two bots, and an agent that calls them.
#[derive(Debug, Arguments)]
pub(crate) struct DemoArgs {
    /// Put this stdio MCP server behind a bot: a program and its arguments, quoted as in a shell.
    /// Up to three of its tools are called for real, with made-up arguments; those that say that
    /// they change something are not. It has to speak revision 2026-07-28 or later.
    #[arg(long, value_name = "COMMAND", value_parser = words)]
    pub(crate) mcp: Option<Words>,
}

/// A command split into words; there is at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
}

/// Splits a command as a shell would, without running one.
fn words(command: &str) -> Result<Words, &'static str> {
    let mut words = shlex::split(command).ok_or("a quote or an escape is not closed")?.into_iter();
    let program = words.next().filter(|program| !program.is_empty()).ok_or("no program")?;
    Ok(Words { program, args: words.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_flag_is_named() {
        let suggested = |line: &str| {
            let words = line.split(' ').map(OsString::from);
            let error = Args::try_read(words).expect_err(line);
            assert_eq!(error.exit_code(), 2);
            let text = error.to_string();
            text.lines().find_map(|line| line.trim().strip_prefix("tip: ")).map(str::to_owned)
        };
        let similar = |flag| Some(format!("a similar argument exists: '{flag}'"));
        assert_eq!(suggested("agentwire demo --mpc x"), similar("--mcp"));
        assert_eq!(suggested("agentwire --json demo --mc x"), similar("--mcp"));
        assert_eq!(suggested("agentwire --vresion"), similar("--version"));
        assert_eq!(suggested("agentwire demo --jsno"), similar("--json"));
        assert_eq!(suggested("agentwire demo --frobnicate"), None);
    }

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn parameters_are_texts_or_json() {
        let read = |text| parameter(text).map(|read| (read.name, read.value));
        use serde_json::json;
        assert_eq!(read("a=1"), Ok(("a".into(), json!("1"))));
        assert_eq!(read("a:=1"), Ok(("a".into(), json!(1))));
        assert_eq!(read("a=b=c"), Ok(("a".into(), json!("b=c"))));
        assert_eq!(read("a="), Ok(("a".into(), json!(""))));
        assert_eq!(read("a:={\"b\":[]}"), Ok(("a".into(), json!({"b": []}))));
        for wrong in ["", "a", "=1", ":=1", "a:=", "a:={"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_command_is_split_as_in_a_shell() {
        let split = words(r#" srv --a 'b c' "d\"e" f\ g "#).expect("well-formed");
        assert_eq!(split.program, "srv");
        assert_eq!(split.args, ["--a", "b c", "d\"e", "f g"]);
        for wrong in ["", "   ", "'srv", "''", "srv \\"] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }
}
