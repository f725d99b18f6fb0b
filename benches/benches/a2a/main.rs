//! A2A calls through the whole chain, beside the same calls made directly, in one run:
//!
//! ```text
//!  direct  client ─────────────────────HTTP────────────────────────────► agent
//!  chain   client ──HTTP──► Gateway ──► loopback cores ──► Proxy ──HTTP──► agent
//! ```
//!
//! All of it in one process and one thread, client and agent included, so a ratio is what the chain
//! takes in processor time, and an added latency what it takes on an idle machine. The loopback
//! delivers messages at once; the network between two people's devices is not part of this.

mod http;

use core::time::Duration;
use std::time::Instant;

use agentwire_benches::{host, is_measured};
use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_core::turns::TurnLimits;
use agentwire_tokio::a2a::{Gateway, GatewayConfig, Proxy, Upstream, UpstreamConfig};
use agentwire_tokio::bot::{Bot, BotConfig};
use agentwire_tokio::client::{Client, Target};
use agentwire_tokio::network::Network;
use tokio::task::JoinHandle;

use http::{Agent, Caller};

/// How many events a stream has.
const EVENTS: usize = 50;
/// How many callers call at once.
const CALLERS: [usize; 2] = [1, 64];
/// How long each row is measured, in turns.
const SPAN: Duration = Duration::from_millis(500);
const TURNS: usize = 5;

/// Everything between a client and an agent.
struct Chain {
    url: String,
    _bot: Bot,
    gateway: JoinHandle<()>,
}

impl Drop for Chain {
    fn drop(&mut self) {
        self.gateway.abort();
    }
}

impl Chain {
    async fn to(agent: &Agent) -> Self {
        let upstream = Upstream::discover(&agent.url, UpstreamConfig::default()).await;
        let network = Network::new(1);
        let [user, shop] = ["user", "shop"].map(|name| network.add_profile(name).expect("a name"));
        let (to_shop, _) = network.connect(&user, &shop).expect("two profiles");
        let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
        let turns = TurnLimits::default().running_per_caller(64);
        let config = BotConfig::from(declared).turns(turns);
        let bot = Bot::start(shop, config, Proxy::new(upstream.expect("a card")));
        let (user, target) = (Client::start(user), Target::from(to_shop));
        let card = Gateway::fetch_card(&user, &target).await.expect("a card");
        let (address, config) = (([127, 0, 0, 1], 0).into(), GatewayConfig::default());
        let gateway = Gateway::bind(address, user, target, &card, config).await.expect("a port");
        let url = format!("http://{}", gateway.address().expect("an address"));
        let gateway = tokio::spawn(gateway.run(core::future::pending()));
        Self { url, _bot: bot, gateway }
    }
}

/// What came of a span.
#[derive(Clone, Copy)]
struct Rate {
    calls: f64,
    events: f64,
    /// Seconds, the median.
    latency: f64,
}

/// So many callers, each calling for a while.
async fn rate(url: &str, method: &'static str, callers: usize) -> Rate {
    let mut running = Vec::new();
    let start = Instant::now();
    for _ in 0..callers {
        let mut caller = Caller::connect(url, method).await;
        running.push(tokio::spawn(async move {
            let (mut events, mut latencies) = (0, Vec::new());
            while start.elapsed() < SPAN {
                let begun = Instant::now();
                events += caller.call().await;
                latencies.push(begun.elapsed().as_secs_f64());
            }
            (events, latencies)
        }));
    }
    let (mut events, mut latencies) = (0, Vec::new());
    for caller in running {
        let (more, of_caller) = caller.await.expect("a caller");
        events += more;
        latencies.extend(of_caller);
    }
    let span = start.elapsed().as_secs_f64();
    latencies.sort_by(f64::total_cmp);
    Rate {
        calls: latencies.len() as f64 / span,
        events: events as f64 / span,
        latency: latencies[latencies.len() / 2],
    }
}

/// The median turn, by its calls.
fn median(mut rates: Vec<Rate>) -> Rate {
    rates.sort_by(|a, b| a.calls.total_cmp(&b.calls));
    rates[rates.len() / 2]
}

async fn table() {
    host::print(&["agentwire-tokio", "hyper"]);
    let agent = Agent::start(EVENTS).await;
    let chain = Chain::to(&agent).await;
    for (method, what) in
        [("SendMessage", "one answer"), ("SendStreamingMessage", "a stream of 50 events")]
    {
        for callers in CALLERS {
            println!("{method}, {what}, callers: {callers}");
            let (mut direct, mut through) = (Vec::new(), Vec::new());
            for _ in 0..TURNS {
                direct.push(rate(&agent.url, method, callers).await);
                through.push(rate(&chain.url, method, callers).await);
            }
            let (direct, through) = (median(direct), median(through));
            for (name, rate) in [("direct", direct), ("through the chain", through)] {
                println!(
                    "  {name:<20}{:>10.0} calls/s {:>10.0} events/s {:>9.0} µs a call",
                    rate.calls,
                    rate.events,
                    rate.latency * 1e6
                );
            }
            let added = (through.latency - direct.latency) * 1e6;
            let share = direct.calls / through.calls;
            println!("  {:<20}{added:>10.0} µs, {share:.1} times the work", "added");
        }
    }
}

/// One call of each kind, to see that it works.
async fn once() {
    let agent = Agent::start(EVENTS).await;
    let chain = Chain::to(&agent).await;
    for (method, events) in [("SendMessage", 1), ("SendStreamingMessage", EVENTS)] {
        for url in [&agent.url, &chain.url] {
            assert_eq!(Caller::connect(url, method).await.call().await, events);
        }
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        if is_measured() {
            table().await;
        } else {
            once().await;
        }
    });
}
