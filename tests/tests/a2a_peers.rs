//! The A2A SDK for Python on both ends: its client gets from its agent through the gateway, a
//! conversation and the proxy what it gets from it directly.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_tests::peers;
use agentwire_tokio::a2a::{Gateway, GatewayConfig, Proxy, Upstream, UpstreamConfig};
use agentwire_tokio::bot::{Bot, BotConfig};
use agentwire_tokio::client::{Client, Target};
use agentwire_tokio::network::Network;

fn script(name: &str) -> PathBuf {
    peers::root().join("tests/peers").join(name)
}

/// An agent made with the SDK, ended with the test.
struct Agent {
    child: Child,
    url: String,
}

impl Agent {
    fn start() -> Self {
        let mut child = Command::new(peers::program("python"))
            .arg(script("a2a_agent.py"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut url).expect("its URL");
        assert!(url.ends_with('\n'), "the agent ended: {:?}", child.wait());
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a client made with the SDK gets from the agent at a URL: one line for each call.
async fn client(url: &str) -> Vec<String> {
    let mut command = Command::new(peers::program("python"));
    command.arg(script("a2a_client.py")).arg(url).stdin(Stdio::null()).stderr(Stdio::inherit());
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("no panic");
    let output = output.expect("the client runs");
    assert!(output.status.success(), "the client failed");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn the_sdks_client_gets_from_its_agent_through_a_conversation_what_it_gets_directly() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let agent = Agent::start();
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
        let gateway = Gateway::bind(address, user, target, &card, config).await.expect("a port");
        let url = format!("http://{}", gateway.address().expect("an address"));
        let serving = tokio::spawn(gateway.run(core::future::pending()));

        let direct = client(&agent.url).await;
        let through = client(&url).await;
        assert!(direct.len() >= 25, "{direct:?}");
        for (direct, through) in direct.iter().zip(&through) {
            assert_eq!(direct, through);
        }
        assert_eq!(direct.len(), through.len());
        serving.abort();
        drop(bot);
    });
}
