//! What a bot is asked: [`Request`].

use core::fmt;

use agentwire_core::binding::{Binding, Guarded, Standard};
use agentwire_core::chat::responder::Token;
use agentwire_core::chat::{Chat, ItemId, Sender, session};
use agentwire_core::rpc::SignerKey;
use agentwire_core::rpc::session::IncomingRequest;

/// A command to answer.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_tokio::bot::Request;
/// fn show(request: &Request<Standard>) -> String {
///     format!("{} bytes, {} left for the reply", request.text.len(), request.room)
/// }
/// ```
#[non_exhaustive]
pub struct Request<B = Standard> {
    /// The protocol.
    pub binding: B,
    /// The protocol's request, one JSON object.
    pub text: String,
    /// The JSON text with which an answer names the request, where the protocol has one.
    pub id: Option<String>,
    /// How it has come, and who asks.
    pub via: Via,
    /// Encoded bytes that one reply, or the response, has for its text.
    pub room: usize,
}

/// How a request has come.
///
/// ```
/// use agentwire_tokio::bot::Via;
/// fn who(via: &Via) -> String {
///     match via {
///         Via::Chat { sender, .. } => format!("{sender:?}"),
///         Via::Service { signer: Some(key) } => format!("the one with the key {key}"),
///         _ => String::from("anybody"),
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Via {
    /// A command in a conversation.
    Chat {
        /// The conversation.
        chat: Chat,
        /// Who asks.
        sender: Sender,
        /// The command's item.
        item: ItemId,
    },
    /// Service RPC: one request, one response.
    Service {
        /// Who signed it, if anybody did.
        signer: Option<SignerKey>,
    },
}

impl<B> Request<B> {
    /// The request, and the right to answer it.
    pub(crate) fn split(request: session::Request<Guarded<B>>) -> (Self, Token)
    where
        B: Binding,
    {
        let session::Request { token, binding, text, id, chat, sender, item, room, .. } = request;
        let binding = binding.get();
        (Self { binding, text, id, via: Via::Chat { chat, sender, item }, room }, token)
    }
}

impl<B: Binding> From<IncomingRequest<Guarded<B>>> for Request<B> {
    fn from(request: IncomingRequest<Guarded<B>>) -> Self {
        let IncomingRequest { binding, text, id, signer, room, .. } = request;
        Self { binding: binding.get(), text, id, via: Via::Service { signer }, room }
    }
}

impl<B: fmt::Debug> fmt::Debug for Request<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("binding", &self.binding)
            .field("text_len", &self.text.len())
            .field("via", &self.via)
            .finish_non_exhaustive()
    }
}
