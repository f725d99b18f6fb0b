//! Addresses found at a core, and calls that take the way which the other side declares.

use core::time::Duration;

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_core::profile::{Needs, Obstacle, Served, Transport, Why};
use agentwire_core::rpc::session::ServiceReplyKind;
use agentwire_tokio::bot::{Bot, BotConfig, Replier, Request, Via};
use agentwire_tokio::client::{CallOptions, Client, RequestOptions};
use agentwire_tokio::link::Core;
use agentwire_tokio::network::{Network, Profile};
use agentwire_tokio::reach::{Address, Destination, ReachError, Reached};
use agentwire_tokio::server::Server;
use tokio::net::TcpListener;
use tokio::time::timeout;

const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

/// Says how it was asked.
async fn how(request: Request, replier: Replier) {
    let via = match request.via {
        Via::Service { .. } => "rpc",
        _ => "chat",
    };
    let id = request.id.unwrap_or_default();
    let result = format!(
        r#"{{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public","_meta":{{"via":"{via}"}}}}"#
    );
    let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    replier.respond(text).await.expect("an answer");
}

async fn port(server: &Server, profile: Profile) -> Core {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let url = format!("ws://{}", listener.local_addr().expect("it has one"));
    tokio::spawn(server.serve(profile, listener));
    Core::new(url)
}

/// ann's client, and a bot that serves MCP on both transports, with its address. They share the
/// group `team`, and are contacts if `are_connected`.
async fn world(are_connected: bool) -> (Client, Bot, String) {
    let network = Network::in_real_time(1);
    let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
    if are_connected {
        network.connect(&ann, &bot).unwrap();
    }
    network.with(|net| {
        let team = net.create_group(ann.id(), "team").unwrap();
        net.join(team, bot.id()).unwrap();
    });
    let server = Server::new(&network, 1);
    let (to_ann, to_bot) = (port(&server, ann).await, port(&server, bot).await);
    let declared = || vec![Declared::new(Standard::MCP, ["2026-07-28"])];
    let config = BotConfig::from(declared()).service(declared());
    let bot = Bot::connect(to_bot, config, how).await.expect("a bot");
    let address = bot.address().await.expect("an address");
    let client = Client::connect(to_ann).await.expect("a client");
    (client, bot, address)
}

/// By which way the request is answered.
async fn ask(client: &Client, to: &str, needs: Needs) -> Result<(&'static str, Why), ReachError> {
    let to: Address = to.parse().expect("an address");
    let reached = Reached::find(client, &to).await?;
    let (destination, choice) = reached.route(&Standard::MCP, REQUEST, needs)?;
    let text = match destination {
        Destination::Conversation(target) => {
            let options = CallOptions::default().answers(1);
            let call = client.call(Standard::MCP, target, REQUEST, options).await.expect("a call");
            call.last().await.expect("a reply").text
        }
        Destination::Service(link) => {
            let options = RequestOptions::default();
            let request = client.request(Standard::MCP, link.as_str(), REQUEST, options);
            match request.await.expect("a request").kind {
                ServiceReplyKind::Answer { text, .. } => text,
                other => panic!("{other:?}"),
            }
        }
        other => panic!("{other:?}"),
    };
    Ok((if text.contains(r#""via":"rpc""#) { "rpc" } else { "chat" }, choice.why))
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), future).await.expect("it comes in time")
}

fn insist(transport: Transport) -> Needs {
    let mut needs = Needs::default();
    needs.insist = Some(transport);
    needs
}

#[tokio::test]
async fn a_link_is_called_over_service_rpc_without_connecting() {
    within(async {
        let (client, bot, address) = world(false).await;
        assert_eq!(ask(&client, &address, Needs::default()).await, Ok(("rpc", Why::Declared)));
        let chat = ask(&client, &address, insist(Transport::Chat)).await;
        assert_eq!(chat, Err(ReachError::NotConnected));
        bot.shutdown().await;
    })
    .await;
}

#[tokio::test]
async fn a_link_of_a_contact_leads_to_its_conversation() {
    within(async {
        let (client, bot, address) = world(false).await;
        client.connect_to(&address, false).await.expect("it lets everybody in");
        let chat = ask(&client, &address, insist(Transport::Chat)).await;
        assert_eq!(chat, Ok(("chat", Why::Insisted)));
        assert_eq!(ask(&client, &address, Needs::default()).await, Ok(("rpc", Why::Declared)));
        bot.shutdown().await;
    })
    .await;
}

#[tokio::test]
async fn a_contact_is_called_by_what_it_declares() {
    within(async {
        let (client, bot, _) = world(true).await;
        let to: Address = "@bot".parse().unwrap();
        let reached = Reached::find(&client, &to).await.unwrap();
        let (chat, _) = reached.served(&Standard::MCP);
        assert_eq!(chat, Served::Yes);
        let (via, _) = ask(&client, "bot", insist(Transport::Chat)).await.unwrap();
        assert_eq!(via, "chat");
        assert_eq!(ask(&client, "nobody", Needs::default()).await, Err(ReachError::NoContact));
        bot.shutdown().await;
    })
    .await;
}

#[tokio::test]
async fn a_member_and_everyone_are_called_in_the_group() {
    within(async {
        let (client, bot, _) = world(false).await;
        let undeclared = Why::NotRpc(Obstacle::NoAddress);
        for to in ["#team @bot", "@team bot", "#team"] {
            assert_eq!(ask(&client, to, Needs::default()).await, Ok(("chat", undeclared)), "{to}");
        }
        let nobody = ask(&client, "#team @nobody", Needs::default()).await;
        assert_eq!(nobody, Err(ReachError::NoMember));
        assert_eq!(ask(&client, "#no", Needs::default()).await, Err(ReachError::NoGroup));
        bot.shutdown().await;
    })
    .await;
}
