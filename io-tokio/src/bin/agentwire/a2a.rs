//! `agentwire serve a2a` and `agentwire gateway a2a`: A2A between HTTP and a messenger.

use core::net::SocketAddr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentwire_core::a2a::VERSION;
use agentwire_core::a2a::ownership::{Memory, Ownership};
use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_core::json::Object;
use agentwire_tokio::a2a::{
    Gateway, GatewayConfig, GatewayError, Proxy, ProxyConfig, Upstream, UpstreamConfig,
};
use agentwire_tokio::bot::{Bot, BotConfig, Handler};
use agentwire_tokio::client::{Client, Target};
use agentwire_tokio::ownership::SqliteOwnership;
use agentwire_tokio::reach::{Address, Destination, ReachError, Reached};
use clap::Args as Arguments;

use crate::args::CoreArgs;
use crate::core_api::{core_of, not_connected};
use crate::exit::{ExitCode, Failure};
use crate::output::Output;
use crate::secret::read_token;
use crate::signals::Shutdown;
use crate::terminal::escape;
use crate::web_card::{WebCardArgs, is_card_url};

/// Serve an A2A agent that is on HTTP.
///
/// The bot's address is printed. What callers of different conversations do is kept apart; with
/// --state also after a restart.
#[derive(Debug, Arguments)]
pub(crate) struct ServeA2aArgs {
    /// The agent: its URL, or that of its card.
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: String,

    /// The agent's JSON-RPC interface, where the card is not to say.
    #[arg(long, value_name = "URL")]
    pub(crate) interface: Option<String>,

    /// Allow plain HTTP to another machine.
    #[arg(long)]
    pub(crate) allow_plain_http: bool,

    /// Trust the certificates in this PEM file and no others.
    #[arg(long, value_name = "FILE")]
    pub(crate) upstream_ca_file: Option<PathBuf>,

    /// The card for callers without a credential, instead of the agent's public one.
    #[arg(long, value_name = "FILE")]
    pub(crate) card: Option<PathBuf>,

    /// Where to keep whose contexts and tasks are.
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) core: CoreArgs,
}

/// A local A2A server whose agent is in a chat. Its URL is printed.
#[derive(Debug, Arguments)]
pub(crate) struct GatewayA2aArgs {
    /// The agent: `@name` of a contact, `#group @name` of a member, a link, to which the profile
    /// connects if it has not done so, or the https:// URL of an Agent Card that names one.
    #[arg(long, value_name = "ADDRESS|URL")]
    pub(crate) to: String,

    #[command(flatten)]
    pub(crate) web: WebCardArgs,

    /// Listen here; port 0 is any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,

    /// A file with the token that clients have to show, which is needed when not only this machine
    /// is listened to.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// The URL that the card names, where the gateway stands behind something else.
    #[arg(long = "url", value_name = "URL")]
    pub(crate) public_url: Option<String>,

    /// The agent's card, instead of the one that the agent gives.
    #[arg(long, value_name = "FILE")]
    pub(crate) card: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) core: CoreArgs,
}

/// Serves an agent until it is told to end.
pub(crate) async fn serve(
    args: &ServeA2aArgs,
    output: &mut Output,
    mut shutdown: Shutdown,
) -> Result<(), Failure> {
    let mut config = UpstreamConfig::default();
    config.interface.clone_from(&args.interface);
    config.allow_plain_http = args.allow_plain_http;
    config.ca_file.clone_from(&args.upstream_ca_file);
    let mut behaviour = ProxyConfig::default();
    behaviour.card = args.card.as_deref().map(read_card).transpose()?.map(Arc::from);
    let upstream = tokio::select! {
        biased;
        () = shutdown.requested() => return Ok(()),
        upstream = Upstream::discover(&args.upstream, config) => upstream,
    };
    let upstream =
        upstream.map_err(|error| Failure::new(ExitCode::ToolError, error.to_string()))?;
    let interface = upstream.interface();
    let bot = match &args.state {
        None => {
            let ownership = Ownership::new(Memory::default());
            start(&args.core, Proxy::with_config(upstream, ownership, behaviour)).await?
        }
        Some(path) => {
            let store = SqliteOwnership::open(path).map_err(|error| {
                Failure::new(ExitCode::Corrupt, format!("{}: {error}", path.display()))
            })?;
            start(&args.core, Proxy::with_config(upstream, Ownership::new(store), behaviour))
                .await?
        }
    };
    let address = bot.address().await;
    let address = address.map_err(|error| Failure::new(ExitCode::NoCore, error.to_string()))?;
    if output.is_json() {
        let serving = serde_json::json!({
            "serving": "a2a", "upstream": interface, "address": address,
        });
        output.json(&serving)?;
    } else {
        output.line(format_args!("{address}"))?;
    }
    shutdown.requested().await;
    bot.shutdown().await;
    Ok(())
}

async fn start(at: &CoreArgs, proxy: impl Handler<Standard>) -> Result<Bot, Failure> {
    let declared = || vec![Declared::new(Standard::A2A, [VERSION])];
    let config = BotConfig::from(declared()).service(declared());
    let bot = Bot::connect(core_of(at), config, proxy).await;
    bot.map_err(|error| not_connected(at, &error))
}

/// Serves clients on HTTP until it is told to end.
pub(crate) async fn gateway(
    args: &GatewayA2aArgs,
    output: &mut Output,
    mut shutdown: Shutdown,
) -> Result<(), Failure> {
    let mut config = GatewayConfig::default();
    config.url.clone_from(&args.public_url);
    config.token = args.token_file.as_deref().map(read_token).transpose()?;
    let card = args.card.as_deref().map(read_card).transpose()?;
    let open = async {
        let to = match is_card_url(&args.to) {
            true => args.web.interface(&args.to).await?.url,
            false => args.to.clone(),
        };
        let address: Address = to.parse().map_err(|error| {
            Failure::new(ExitCode::Usage, format!("--to {}: {error}", escape(&to)))
        })?;
        let client = Client::connect(core_of(&args.core)).await;
        let client = client.map_err(|error| not_connected(&args.core, &error))?;
        let agent = reach(&client, &address).await?;
        let card = match card {
            Some(card) => card,
            None => Gateway::fetch_card(&client, &agent).await.map_err(no_gateway)?,
        };
        Gateway::bind(args.listen, client, agent, &card, config).await.map_err(no_gateway)
    };
    let gateway = tokio::select! {
        biased;
        () = shutdown.requested() => return Ok(()),
        gateway = open => gateway?,
    };
    if output.is_json() {
        output.json(&serde_json::json!({ "gateway": "a2a", "url": gateway.url() }))?;
    } else {
        output.line(format_args!("{}", gateway.url()))?;
    }
    gateway.run(shutdown.requested()).await;
    Ok(())
}

/// The conversation with the agent.
async fn reach(client: &Client, address: &Address) -> Result<Target, Failure> {
    let refused = |error: ReachError| Failure::new(ExitCode::Refused, error.to_string());
    let reached = Reached::find(client, address).await.map_err(refused)?;
    if let Some(Destination::Conversation(target)) = reached.conversation() {
        return Ok(target);
    }
    let Address::Link(link) = address else { return Err(refused(ReachError::NotConnected)) };
    let contact = client.connect_to(link, false).await;
    let contact = contact.map_err(|error| refused(ReachError::Core(error)))?;
    Ok(Target::Contact(contact))
}

fn read(path: &Path) -> Result<String, Failure> {
    let failed = |error| Failure::new(ExitCode::Config, format!("{}: {error}", path.display()));
    fs::read_to_string(path).map_err(failed)
}

fn read_card(path: &Path) -> Result<String, Failure> {
    let text = read(path)?;
    let failed = |error| Failure::new(ExitCode::Config, format!("{}: {error}", path.display()));
    Object::parse(&text).map_err(failed)?;
    Ok(text)
}

fn no_gateway(error: GatewayError) -> Failure {
    let code = match error {
        GatewayError::NoToken => ExitCode::Usage,
        GatewayError::Listen(_) => ExitCode::Config,
        _ => ExitCode::ToolError,
    };
    Failure::new(code, error.to_string())
}
