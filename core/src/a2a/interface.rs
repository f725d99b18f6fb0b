//! The interfaces in an Agent Card, what else a proxy and a gateway read in it, and the card that a
//! gateway shows (A2A 1.0 sections 4.4 and 8.3).

use super::stream::field;
use super::word::is_field;
use super::{Carrier, Version};
use crate::json::{Object, Str, Value, Writer};

/// The binding of an interface that speaks JSON-RPC over HTTP.
pub const JSONRPC_BINDING: &str = "JSONRPC";

/// An interface of an agent. One that says something twice says nothing, and is none.
///
/// ```
/// use agentwire_core::a2a::Interface;
/// use agentwire_core::json::Object;
/// let card = Object::parse(r#"{"supportedInterfaces":[
///     {"url":"grpc://h","protocolBinding":"GRPC","protocolVersion":"1.0"},
///     {"url":"https://h/old","protocolBinding":"JSONRPC","protocolVersion":"0.3"},
///     {"url":"https://h/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0.1"}]}"#).unwrap();
/// assert!(Interface::choose(card).unwrap().url == *"https://h/a2a");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Interface<'c> {
    /// Where it is.
    pub url: Str<'c>,
    /// How it is spoken to: a short name, or a URI.
    pub binding: Str<'c>,
    /// The version of A2A, if it says one.
    pub version: Option<Str<'c>>,
    /// What every request has to name, if anything (A2A 1.0 section 8.3.2).
    pub tenant: Option<Str<'c>>,
}

/// The one member of this name, in either spelling; `None` if there are two, or none.
fn only<'c>(object: Object<'c>, camel: &str) -> Option<Value<'c>> {
    let mut named = object.members().filter(|(name, _)| is_field(*name, camel));
    let (_, value) = named.next()?;
    if named.next().is_some() { None } else { Some(value) }
}

impl<'c> Interface<'c> {
    /// The interfaces of a card, in its order, which is that of preference.
    ///
    /// ```
    /// use agentwire_core::a2a::Interface;
    /// use agentwire_core::json::Object;
    /// let card = Object::parse(r#"{"supportedInterfaces":[{},{"url":"u","protocol_binding":"B"}]}"#);
    /// let interface = Interface::all(card.unwrap()).next().unwrap();
    /// assert!(interface.binding == *"B" && interface.version.is_none());
    /// ```
    pub fn all(card: Object<'c>) -> impl Iterator<Item = Self> + use<'c> {
        let interfaces = only(card, "supportedInterfaces").and_then(|value| value.elements());
        interfaces.into_iter().flatten().filter_map(|value| Self::read(value.as_object()?))
    }

    fn read(object: Object<'c>) -> Option<Self> {
        let text = |name| only(object, name).and_then(|value| value.as_str());
        Some(Self {
            url: text("url")?,
            binding: text("protocolBinding")?,
            version: text("protocolVersion"),
            tenant: text("tenant").filter(|tenant| !tenant.raw().is_empty()),
        })
    }

    /// The first interface of the card that speaks JSON-RPC over HTTP and A2A 1.0: the order is the
    /// agent's preference (A2A 1.0 section 8.3).
    pub fn choose(card: Object<'c>) -> Option<Self> {
        let is_spoken = |interface: &Self| {
            interface.binding == *JSONRPC_BINDING
                && interface.version.and_then(Version::of) == Some(Version::V1_0)
        };
        Self::all(card).find(is_spoken)
    }
}

/// Shows each service parameter that a security scheme of the card gives to its credential, besides
/// `Authorization`.
///
/// ```
/// use agentwire_core::a2a::credential_parameters;
/// use agentwire_core::json::Object;
/// let card = Object::parse(r#"{"securitySchemes":{"k":{"apiKeySecurityScheme":
///     {"location":"header","name":"X-Acme"}},"b":{"httpAuthSecurityScheme":{"scheme":"bearer"}}}}"#);
/// let mut names = Vec::new();
/// credential_parameters(card.unwrap(), &mut |name| names.push(name.raw().to_owned()));
/// assert_eq!(names, ["X-Acme"]);
/// ```
pub fn credential_parameters<'c>(card: Object<'c>, show: &mut dyn FnMut(Str<'c>)) {
    let schemes = field(&card, "securitySchemes").and_then(|schemes| schemes.as_object());
    for (_, scheme) in schemes.iter().flat_map(Object::members) {
        if let Some(Carrier::Parameter(name)) = scheme.as_object().and_then(Carrier::of) {
            show(name);
        }
    }
}

/// Writes the card that a gateway shows for an agent behind it: the agent's own, with the gateway's
/// URL as the only interface, without push notifications, which a conversation does not use, and
/// without the signatures, which the changes have made void. Fields that A2A 0.3 had for its
/// interfaces are left out as well.
///
/// ```
/// use agentwire_core::{a2a::write_gateway_card, json::{self, Object}};
/// let card = Object::parse(r#"{"name":"Shop","signatures":[{}],"url":"https://old/",
///     "capabilities":{"streaming":true,"pushNotifications":true}}"#).unwrap();
/// assert_eq!(
///     json::to_text(|out| write_gateway_card(out, card, "http://127.0.0.1:8080/a2a")),
///     concat!(
///         r#"{"supportedInterfaces":[{"url":"http://127.0.0.1:8080/a2a","#,
///         r#""protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"name":"Shop","#,
///         r#""capabilities":{"streaming":true,"pushNotifications":false}}"#
///     )
/// );
/// ```
pub fn write_gateway_card(out: &mut Writer<'_>, card: Object<'_>, url: &str) {
    out.raw("{\"supportedInterfaces\":[{\"url\":").string(url).raw(",\"protocolBinding\":");
    out.string(JSONRPC_BINDING).raw(",\"protocolVersion\":\"1.0\"}]");
    let mut has_capabilities = false;
    for (name, value) in card.members() {
        const DROPPED: [&str; 6] = [
            "supportedInterfaces",
            "signatures",
            "url",
            "preferredTransport",
            "additionalInterfaces",
            "protocolVersion",
        ];
        if DROPPED.iter().any(|dropped| is_field(name, dropped)) {
            continue;
        }
        out.raw(",").raw(name.get()).raw(":");
        match value.as_object().filter(|_| name == *"capabilities") {
            Some(capabilities) => {
                has_capabilities = true;
                write_capabilities(out, capabilities);
            }
            None => {
                out.value(value);
            }
        }
    }
    if !has_capabilities {
        out.raw(",\"capabilities\":{\"pushNotifications\":false}");
    }
    out.raw("}");
}

fn write_capabilities(out: &mut Writer<'_>, capabilities: Object<'_>) {
    out.raw("{");
    let kept = capabilities.members().filter(|(name, _)| !is_field(*name, "pushNotifications"));
    for (name, value) in kept {
        out.raw(name.get()).raw(":").value(value).raw(",");
    }
    out.raw("\"pushNotifications\":false}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::to_text;

    #[test]
    fn only_json_rpc_of_version_1_0_is_chosen() {
        let choose = |interface: &str| {
            let card = std::format!(r#"{{"supportedInterfaces":[{interface}]}}"#);
            Interface::choose(Object::parse(&card).unwrap()).is_some()
        };
        let interface = |binding: &str, version: &str| {
            choose(&std::format!(
                r#"{{"url":"u","protocolBinding":"{binding}","protocolVersion":"{version}"}}"#
            ))
        };
        assert!(interface("JSONRPC", "1.0") && interface("JSONRPC", "1.0.7"));
        assert!(choose(r#"{"url":"u","protocol_binding":"JSONRPC","protocol_version":"1.0"}"#));
        for (binding, version) in [
            ("jsonrpc", "1.0"),
            ("GRPC", "1.0"),
            ("JSONRPC", "1.1"),
            ("JSONRPC", "0.3"),
            ("JSONRPC", ""),
        ] {
            assert!(!interface(binding, version), "{binding} {version}");
        }
        for other in ["", "7", "{}", r#"{"protocolBinding":"JSONRPC","protocolVersion":"1.0"}"#] {
            assert!(!choose(other), "{other}");
        }
        assert!(Interface::choose(Object::parse("{}").unwrap()).is_none());
        let card = r#"{"supportedInterfaces":[{"url":"u","tenant":"t","protocolBinding":"JSONRPC",
            "protocolVersion":"1.0"}]}"#;
        let chosen = Interface::choose(Object::parse(card).unwrap()).unwrap();
        assert!(chosen.tenant.unwrap() == *"t");
    }

    #[test]
    fn a_gateways_card_names_nothing_of_the_agents_own_interfaces() {
        let card = r#"{"name":"n","supported_interfaces":[{"url":"https://secret/"}],
            "preferredTransport":"JSONRPC","protocolVersion":"0.3","signatures":[{"protected":"p"}],
            "additionalInterfaces":[{"url":"https://secret/"}]}"#;
        let card =
            to_text(|out| write_gateway_card(out, Object::parse(card).unwrap(), "http://g/"));
        assert_eq!(
            card,
            r#"{"supportedInterfaces":[{"url":"http://g/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"name":"n","capabilities":{"pushNotifications":false}}"#
        );
    }
}
