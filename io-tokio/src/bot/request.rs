//! What a bot is asked: [`Request`].

use core::fmt;

pub use agentwire_blocking::bot::Via;
use agentwire_core::binding::{Binding, Guarded, Standard};
use agentwire_core::chat::responder::Token;
use agentwire_core::chat::session;
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
