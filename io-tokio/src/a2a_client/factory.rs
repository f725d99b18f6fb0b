//! From an agent's card to its conversation.

use ::a2a::{A2AError, AgentCard, AgentInterface};
use a2a_client::{Transport, TransportFactory};
use agentwire_core::a2a::BINDING_URI;
use agentwire_core::chat::CallOptions;
use async_trait::async_trait;

use super::{ClientTransport, failed};
use crate::client::Client;

/// Makes transports for the SimpleX interfaces of cards: connects to the contact link that the
/// interface names, unless there is a conversation already.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use a2a::{A2AError, AgentCard};
/// use a2a_client::{A2AClient, A2AClientFactory, Transport};
/// use agentwire_core::a2a::BINDING_URI;
/// use agentwire_tokio::{a2a_client::ClientTransportFactory, client::Client};
///
/// async fn meet(client: Client, card: &AgentCard) -> Result<A2AClient<Box<dyn Transport>>, A2AError> {
///     let factory = A2AClientFactory::builder()
///         .register(Arc::new(ClientTransportFactory::new(client)))
///         .preferred_bindings(vec![BINDING_URI.into()])
///         .build();
///     factory.create_from_card(card).await
/// }
/// ```
#[derive(Clone, Debug)]
pub struct ClientTransportFactory {
    client: Client,
    options: CallOptions,
}

impl ClientTransportFactory {
    /// For the profile of a chat core ([`Client::connect`]).
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self::with_options(client, CallOptions::default())
    }

    /// The same with limits for each call.
    #[must_use]
    pub const fn with_options(client: Client, options: CallOptions) -> Self {
        Self { client, options }
    }
}

#[async_trait]
impl TransportFactory for ClientTransportFactory {
    fn protocol(&self) -> &str {
        BINDING_URI
    }

    async fn create(
        &self,
        _card: &AgentCard,
        interface: &AgentInterface,
    ) -> Result<Box<dyn Transport>, A2AError> {
        let contact = self.client.connect_to(&interface.url, false).await;
        let contact = contact.map_err(|error| failed("not_connected", error.to_string()))?;
        let client = self.client.clone();
        Ok(Box::new(ClientTransport::with_options(client, contact, self.options)))
    }
}
