//! Requests and a protocol of their own for the tests of both machines.

use alloc::format;
use alloc::string::String;

use super::SignerKey;
use super::key::{BASE64URL, SPKI_PREFIX};
use crate::binding::{
    Accepted, Binding, Class, End, Expectation, Failure, Foreign, Place, ProtocolName, Refusal,
    Standard,
};
use crate::json::{Value, Writer};
use base64::Engine;

pub(super) const KEY: &str = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";

/// The text of the key whose bytes are all this one.
pub(super) fn key(byte: u8) -> String {
    let mut der = SPKI_PREFIX.to_vec();
    der.extend([byte; 32]);
    let mut text = [0; 60];
    let len = BASE64URL.encode_slice(der, &mut text).unwrap();
    let text = core::str::from_utf8(&text[..len]).unwrap();
    assert!(SignerKey::parse(text).is_ok());
    text.into()
}

pub(super) fn mcp(id: &str, method: &str) -> String {
    mcp_of("2026-07-28", id, method)
}

pub(super) fn mcp_of(revision: &str, id: &str, method: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{revision}","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

pub(super) fn a2a(method: &str, params: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","a2a-service-parameters":{{"A2A-Version":"1.0"}},"params":{params}}}"#
    )
}

pub(super) fn send_message(more: &str) -> String {
    a2a(
        "SendMessage",
        &format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"text":"t"}}]}}{more}}}"#
        ),
    )
}

pub(super) const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;

/// One of the two standard protocols, or one whose version stands in the envelope: a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Protocol {
    Standard(Standard),
    Numbered,
    /// The same with the default reading of the version.
    Named,
}

pub(super) const MCP: Protocol = Protocol::Standard(Standard::MCP);
pub(super) const A2A: Protocol = Protocol::Standard(Standard::A2A);

impl Binding for Protocol {
    fn name(&self) -> ProtocolName<'static> {
        match self {
            Self::Standard(binding) => binding.name(),
            Self::Numbered => ProtocolName::new("numbered").unwrap(),
            Self::Named => ProtocolName::new("named").unwrap(),
        }
    }

    fn accept<'m>(
        &self,
        request: &'m str,
        versions: &'m [&'m str],
        place: Place,
    ) -> Result<Accepted<'m>, Refusal<'m>> {
        match self {
            Self::Standard(binding) => binding.accept(request, versions, place),
            // It takes everything, JSON or not.
            _ => Ok(Accepted::new(Expectation::default(), None)),
        }
    }

    fn classify<'m>(&self, expected: &Expectation, reply: &'m str) -> Class<'m> {
        match self {
            Self::Standard(binding) => binding.classify(expected, reply),
            _ if reply == "\"stranger\"" => Class::Foreign(Foreign::NotAReply),
            _ => Class::Last(End::Answer),
        }
    }

    fn write_failure(&self, failure: &Failure<'_>, id: Option<&str>, out: &mut Writer<'_>) {
        match self {
            Self::Standard(binding) => binding.write_failure(failure, id, out),
            _ => drop(out.string(failure.sentence())),
        }
    }

    fn is_one_shot(&self, request: &str) -> bool {
        match self {
            Self::Standard(binding) => binding.is_one_shot(request),
            _ => request != "\"long\"",
        }
    }

    fn late_needs_conversation(&self) -> bool {
        matches!(self, Self::Standard(binding) if binding.late_needs_conversation())
    }

    fn uses_envelope_version(&self) -> bool {
        !matches!(self, Self::Standard(_))
    }

    fn serves_envelope_version(&self, version: Option<Value<'_>>, versions: &[&str]) -> bool {
        match self {
            Self::Numbered => version.and_then(|version| version.as_integer()) == Some(3),
            Self::Standard(_) => unreachable!("its messages include their version"),
            Self::Named => {
                // The default of the trait.
                let version = version.and_then(|version| version.as_str());
                version.is_some_and(|version| versions.iter().any(|served| version == **served))
            }
        }
    }
}
