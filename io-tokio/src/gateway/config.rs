//! How a gateway behaves: [`GatewayConfig`].

use core::time::Duration;

use super::When;
use crate::reach::Address;

/// An agent whose tools the gateway shows as its own.
///
/// ```
/// use agentwire_tokio::gateway::Mirror;
/// let mirror = Mirror::new("@clock".parse().unwrap(), "clock_");
/// assert_eq!(mirror.prefix, "clock_");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Mirror {
    /// The agent.
    pub address: Address,
    /// What stands before the names of its tools.
    pub prefix: String,
}

impl Mirror {
    /// The tools of `address`, with `prefix` before their names.
    pub fn new(address: Address, prefix: impl Into<String>) -> Self {
        Self { address, prefix: prefix.into() }
    }
}

/// How a gateway behaves.
///
/// ```
/// use agentwire_tokio::gateway::{GatewayConfig, When};
/// let mut config = GatewayConfig::default();
/// assert_eq!(config.approve, When::Always);
/// config.approve = When::New;
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// Which actions the owner is asked about; all by default.
    pub approve: When,
    /// The agents whose tools are shown as the gateway's own.
    pub mirrors: Vec<Mirror>,
    /// Whether requests carry a `clientInfo`: the same for all gateways, so it tells nothing of
    /// the host or its owner. It is left out by default.
    pub client_info: bool,
    /// How long `connect` waits for the other side; two minutes by default.
    pub connect_wait: Duration,
    /// How long a call to everyone in a group collects answers after the last one; 15 seconds by
    /// default. Nobody knows how many there will be.
    pub broadcast_wait: Duration,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            approve: When::Always,
            mirrors: Vec::new(),
            client_info: false,
            connect_wait: Duration::from_secs(120),
            broadcast_wait: Duration::from_secs(15),
        }
    }
}
