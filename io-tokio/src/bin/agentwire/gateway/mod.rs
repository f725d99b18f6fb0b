//! `agentwire gateway`: agents elsewhere, as servers that are here.

mod pin_file;
mod terminal;

use core::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use agentwire_core::mcp::pins::Pins;
use agentwire_tokio::client::Client;
use agentwire_tokio::gateway::{
    Action, Approver, ChatOwner, CommandHook, Decision, Gateway, GatewayConfig, Mirror, Transparent,
};
use agentwire_tokio::mcp::Answers;
use agentwire_tokio::reach::Address;
use agentwire_tokio::rmcp::Server;
use clap::{Args as Arguments, Subcommand};
use pin_file::PinFile;
use rmcp::ServiceExt as _;

use crate::a2a::{self, GatewayA2aArgs};
use crate::admission::Approve;
use crate::args::{CoreArgs, RpcArg};
use crate::core_api::{core_of, not_connected};
use crate::exit::{ExitCode, Failure};
use crate::front;
use crate::output::Output;
use crate::signals::Shutdown;
use terminal::TerminalOwner;

/// Reach agents elsewhere as if they were here.
#[derive(Debug, Arguments)]
pub(crate) struct GatewayArgs {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Debug, Subcommand)]
pub(crate) enum What {
    Mcp(GatewayMcpArgs),
    A2a(GatewayA2aArgs),
}

/// A local MCP server, through which an agent host calls agents and writes to people over SimpleX.
///
/// It speaks on standard input and output and ends when its input does; with --http it serves
/// clients on Streamable HTTP until Ctrl-C.
///
/// Its tools are connect, send, receive, list, leave, mcp_tools, mcp_call and a2a_call. Each
/// connection, message and call is approved by the owner first: on the terminal, or where --ask or
/// --ask-chat says.
#[derive(Debug, Arguments)]
pub(crate) struct GatewayMcpArgs {
    #[command(flatten)]
    pub(crate) core: CoreArgs,

    /// Serve HTTP clients here instead; port 0 is any that is free. The address is printed.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,

    /// A file with the token that HTTP clients have to show, which is needed when not only this
    /// machine is listened to.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    /// Which actions the owner is asked about; a tool that has changed is one always.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Approve::Always)]
    pub(crate) approve: Approve,

    /// Ask with a command: it gets the action as JSON on its standard input, and approves with
    /// exit code 0. Words are split as a shell splits them.
    #[arg(long, value_name = "COMMAND", conflicts_with = "ask_chat")]
    pub(crate) ask: Option<String>,

    /// Ask in the conversation with this contact, who answers with the code of the question.
    #[arg(long, value_name = "CONTACT")]
    pub(crate) ask_chat: Option<Address>,

    /// Show the tools of an agent as the gateway's own, with a prefix before their names. Can be
    /// given several times.
    #[arg(long, value_name = "ADDRESS=PREFIX", value_parser = mirror)]
    pub(crate) mirror: Vec<Mirror>,

    /// Be one agent instead: all its methods, no prefix, nothing else.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "mirror")]
    pub(crate) transparent: Option<Address>,

    /// Whether the requests to that agent go over Service RPC.
    #[arg(long, value_name = "WHEN", default_value = "auto", requires = "transparent")]
    pub(crate) rpc: RpcArg,

    /// Tell agents that it is agentwire that calls.
    #[arg(long, conflicts_with = "transparent")]
    pub(crate) client_info: bool,

    /// Keep the accepted definitions of tools in this file; by default in the state folder.
    #[arg(long, value_name = "FILE")]
    pub(crate) pins: Option<PathBuf>,
}

/// `@clock=clock_`: the prefix stands behind the last `=`, for links have some too.
fn mirror(text: &str) -> Result<Mirror, String> {
    let (address, prefix) = text.rsplit_once('=').ok_or("no = between address and prefix")?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    if prefix.is_empty() || !prefix.bytes().all(is_name) {
        return Err("a prefix is made of letters, digits and _ . -".into());
    }
    let address = address.parse::<Address>().map_err(|error| error.to_string())?;
    Ok(Mirror::new(address, prefix))
}

/// Whoever is asked.
enum Owner {
    Terminal(TerminalOwner),
    Command(CommandHook),
    Chat(ChatOwner),
}

impl Approver for Owner {
    async fn decide(&self, action: &Action) -> Decision {
        match self {
            Self::Terminal(owner) => owner.decide(action).await,
            Self::Command(owner) => owner.decide(action).await,
            Self::Chat(owner) => owner.decide(action).await,
        }
    }
}

pub(crate) async fn run(
    args: &GatewayArgs,
    output: &mut Output,
    mut end: Shutdown,
) -> Result<(), Failure> {
    let args = match &args.what {
        What::A2a(args) => return a2a::gateway(args, output, end).await,
        What::Mcp(args) => args,
    };
    tokio::select! {
        biased;
        () = end.requested() => Ok(()),
        result = mcp(args, output) => result,
    }
}

async fn mcp(args: &GatewayMcpArgs, output: &mut Output) -> Result<(), Failure> {
    let file = PinFile::open(args.pins.as_deref(), &args.core.url)?;
    let pins = file.read()?;
    let client = Client::connect(core_of(&args.core)).await;
    let client = client.map_err(|error| not_connected(&args.core, &error))?;
    let owner = owner(args, &client).await?;
    match &args.transparent {
        Some(address) => {
            let when = args.approve.into();
            let (address, transport) = (address.clone(), args.rpc.transport());
            let server = Transparent::with(client, address, transport, when, owner, pins);
            let server = Arc::new(server);
            match args.http {
                Some(at) => http(args, at, &file, || server.pins(), &server, output).await,
                None => {
                    let served = server.serve(tokio::io::stdin(), tokio::io::stdout());
                    keep(&file, || server.pins(), served).await?.map_err(Failure::from)
                }
            }
        }
        None => {
            let mut config = GatewayConfig::default();
            config.approve = args.approve.into();
            config.mirrors = args.mirror.clone();
            config.client_info = args.client_info;
            let gateway = Gateway::with_pins(client, config, owner, pins);
            if let Some(at) = args.http {
                let served = gateway.clone();
                let server = Arc::new(Server::new(move || served.clone()));
                return http(args, at, &file, || gateway.pins(), &server, output).await;
            }
            let serving = gateway.clone().serve((tokio::io::stdin(), tokio::io::stdout()));
            let served = async {
                // A host that goes before it has said anything is no failure.
                if let Ok(service) = serving.await {
                    let _ = service.waiting().await;
                }
            };
            keep(&file, || gateway.pins(), served).await
        }
    }
}

/// Serves HTTP clients for ever.
async fn http<A: Answers>(
    args: &GatewayMcpArgs,
    at: SocketAddr,
    file: &PinFile,
    pins: impl Fn() -> Pins,
    server: &Arc<A>,
    output: &mut Output,
) -> Result<(), Failure> {
    let token = args.token_file.as_deref();
    let front = front::listen(at, token, Arc::clone(server)).await?;
    front::tell(output, &front.url())?;
    keep(file, pins, core::future::pending()).await
}

/// Writes what is pinned whenever it has changed, while `work` goes on.
async fn keep<T>(
    file: &PinFile,
    pins: impl Fn() -> Pins,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    let mut work = core::pin::pin!(work);
    let mut kept = file.text(&pins());
    loop {
        let done = tokio::time::timeout(pin_file::EVERY, &mut work).await.ok();
        let now = file.text(&pins());
        if now != kept {
            file.write(&now)?;
            kept = now;
        }
        if let Some(done) = done {
            return Ok(done);
        }
    }
}

async fn owner(args: &GatewayMcpArgs, client: &Client) -> Result<Owner, Failure> {
    if let Some(command) = &args.ask {
        let words = shlex::split(command).unwrap_or_default();
        let hook = CommandHook::new(words).ok_or_else(|| {
            Failure::new(ExitCode::Usage, "--ask holds no command, or a quote is not closed")
        })?;
        return Ok(Owner::Command(hook));
    }
    if let Some(address) = &args.ask_chat {
        let owner = ChatOwner::find(client.clone(), address).await;
        let owner = owner.map_err(|error| {
            Failure::new(ExitCode::Refused, format!("--ask-chat {address}: {error}"))
        })?;
        return Ok(Owner::Chat(owner));
    }
    Ok(Owner::Terminal(TerminalOwner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_is_an_address_and_a_prefix() {
        let link = "simplex:/a#abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ?h=smp.example.org";
        for address in ["@clock", "#team @bot", link] {
            let read = mirror(&format!("{address}=x_")).unwrap();
            assert_eq!(read, Mirror::new(address.parse().unwrap(), "x_"));
        }
        for bad in ["@clock", "@clock=", "@clock=a b", "=x_", "#=x"] {
            assert!(mirror(bad).is_err(), "{bad}");
        }
    }
}
