//! The official SDKs of A2A on both ends: each client gets from each agent through the gateway, a
//! conversation and the proxy what it gets from it directly, and the one of Rust through a
//! conversation alone.
//!
//! The clients print what has come without ids and times, which are the agent's own and differ from
//! call to call, and of an error its code alone. What else differs, and has to, is
//! [`peers::differs`].

mod peers;
mod rust;
mod table;

use a2a_client::{A2AClient, Transport};
use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_tests::interop;
use agentwire_tokio::a2a::{Gateway, GatewayConfig, Proxy, Upstream, UpstreamConfig};
use agentwire_tokio::a2a_client::ClientTransport;
use agentwire_tokio::bot::{Bot, BotConfig};
use agentwire_tokio::client::{Client, Target};
use agentwire_tokio::network::Network;
use tokio::task::JoinSet;

use peers::{AGENTS, Agent, CLIENTS, Sdk, Seen};
use table::{Run, Way};

/// An agent on HTTP, and the gateway to it: a profile of the loopback's with the proxy, and one
/// with the gateway.
struct Chain {
    agent: Agent,
    gateway: String,
    user: Client,
    to_agent: Target,
    _bot: Bot,
    _serving: JoinSet<()>,
}

impl Chain {
    async fn to(agent: Agent) -> Self {
        let upstream = Upstream::discover(&agent.url, UpstreamConfig::default()).await;
        let network = Network::new(1);
        let [user, shop] = ["user", "shop"].map(|name| network.add_profile(name).expect("a name"));
        let (to_shop, _) = network.connect(&user, &shop).expect("two profiles");
        let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
        let proxy = Proxy::new(upstream.expect("the agent's card"));
        let bot = Bot::start(shop, BotConfig::from(declared), proxy);
        let (user, target) = (Client::start(user), Target::from(to_shop));
        let card = Gateway::fetch_card(&user, &target).await.expect("a card");
        let (address, config) = (([127, 0, 0, 1], 0).into(), GatewayConfig::default());
        let gateway = Gateway::bind(address, user.clone(), target.clone(), &card, config).await;
        let gateway = gateway.expect("a port");
        let url = format!("http://{}", gateway.address().expect("an address"));
        let mut serving = JoinSet::new();
        serving.spawn(gateway.run(core::future::pending()));
        Self { agent, gateway: url, user, to_agent: target, _bot: bot, _serving: serving }
    }
}

#[test]
fn each_client_gets_from_each_agent_through_a_conversation_what_it_gets_directly() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let runs = runtime.block_on(async {
        let mut runs = Vec::new();
        for agent in AGENTS {
            let chain = Chain::to(Agent::start(agent)).await;
            for client in CLIENTS {
                let (direct, through) =
                    tokio::join!(client.run(&chain.agent.url), client.run(&chain.gateway));
                runs.push(Run { client, agent, way: Way::Gateway, direct, through });
            }
            let transport = ClientTransport::new(chain.user.clone(), chain.to_agent.clone());
            let client = A2AClient::new(Box::new(transport) as Box<dyn Transport>);
            let (direct, through) =
                tokio::join!(Sdk::Rust.run(&chain.agent.url), rust::run_with(&client));
            runs.push(Run { client: Sdk::Rust, agent, way: Way::Transport, direct, through });
        }
        runs
    });
    for run in &runs {
        let (client, agent) = (run.client.package(), run.agent.package());
        let names = |seen: &[Seen]| seen.iter().map(|it| it.call.clone()).collect::<Vec<_>>();
        assert_eq!(names(&run.direct), names(&runs[0].direct), "{client} at {agent}");
        assert!(run.direct.len() >= 30, "{client} at {agent}");
        assert_eq!(run.direct.len(), run.through.len(), "{client} at {agent}");
        for (direct, through) in run.direct.iter().zip(&run.through) {
            assert_eq!(direct.through(run.agent), *through, "{client} at {agent}");
        }
    }
    interop::check("clients", &table::clients(&runs));
    interop::check("calls", &table::calls(&runs));
    interop::check("differences", &table::differences(&runs));
}
