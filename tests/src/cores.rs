//! Chat cores on ports: a network behind the loopback's server, for clients of the real API.

use agentwire_core::chat::{ContactId, GroupId};
use agentwire_core::loopback::{Loopback, ProfileId};
use agentwire_tokio::link::{Core, Link};
use agentwire_tokio::network::Network;
use agentwire_tokio::server::Server;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Profiles that are strangers to each other, each with a port. The ports are served until it is
/// dropped.
#[derive(Debug)]
pub struct Cores {
    /// What is behind the ports.
    pub network: Network,
    /// The ports in the order of the names.
    pub ports: Vec<u16>,
    _served: JoinSet<()>,
}

impl Cores {
    /// Cores of profiles with these names.
    ///
    /// # Panics
    /// If a name is none, or there is no port.
    pub async fn start(names: &[&str]) -> Self {
        let network = Network::new(11);
        let server = Server::new(&network, 11);
        let (mut ports, mut served) = (Vec::new(), JoinSet::new());
        for name in names {
            let profile = network.add_profile(name).expect("a name");
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            ports.push(listener.local_addr().expect("bound").port());
            served.spawn(server.serve(profile, listener));
        }
        Self { network, ports, _served: served }
    }

    /// Where a profile's core listens.
    #[must_use]
    pub fn url(&self, profile: usize) -> String {
        format!("ws://127.0.0.1:{}", self.ports[profile])
    }

    /// Makes the first two profiles contacts and members of a group `team` of the first one: the
    /// second as the first knows it, and the group as each of both knows it.
    ///
    /// # Panics
    /// If that was done before.
    #[must_use]
    pub fn acquaint(&self) -> (ContactId, [GroupId; 2]) {
        self.network.with(|net: &mut Loopback| {
            let ids: Vec<ProfileId> = net.profiles();
            let (contact, _) = net.connect(ids[0], ids[1]).expect("two profiles");
            let group = net.create_group(ids[0], "team").expect("a name");
            let other = net.join(group, ids[1]).expect("no member yet");
            let own = net.group_id(group, ids[0]).expect("a member");
            while net.poll_event(ids[0]).is_some() {}
            (contact, [own, other])
        })
    }

    /// A connection to a profile's core.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn connect(&self, profile: usize) -> Link {
        Link::connect(&Core::new(self.url(profile))).await.expect("a connection")
    }
}

/// The next frame that `is_wanted`.
///
/// # Panics
/// If the connection ends first.
pub async fn frame(link: &mut Link, is_wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let frame = link.receive().await.expect("a frame");
        let frame = serde_json::from_str(&frame).expect("JSON");
        if is_wanted(&frame) {
            return frame;
        }
    }
}

/// The response to a command; the events in front of it are lost.
///
/// # Panics
/// If the connection ends first.
pub async fn command(link: &mut Link, command: &str) -> Value {
    link.push(json!({"corrId": "1", "cmd": command}).to_string());
    frame(link, |frame| frame["corrId"] == "1").await["resp"].take()
}

/// The next event of a type.
///
/// # Panics
/// If the connection ends first.
pub async fn event(link: &mut Link, kind: &str) -> Value {
    frame(link, |frame| frame["resp"]["type"] == kind).await["resp"].take()
}
