//! The messages that an Agent Card is made of, and when a field of them is present (A2A 1.0,
//! `specification/a2a.proto`).

use crate::a2a::is_field;
use crate::json::Str;

/// What a value is.
#[derive(Debug)]
pub(super) enum Type {
    Text,
    Bool,
    Message(&'static Message),
    List(&'static Type),
    /// Any names.
    Map(&'static Type),
    /// `google.protobuf.Struct`: any JSON object.
    Struct,
}

/// When a field is part of the canonical form (A2A 1.0 section 8.4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Presence {
    /// Always, even with its default value.
    Required,
    /// Whenever it is there: an `optional` scalar, or a single message.
    Explicit,
    /// Unless it has its default value.
    Implicit,
}

/// A field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) ty: Type,
    pub(super) presence: Presence,
}

/// A message: an object whose members are known.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
}

impl Message {
    /// The field that a member's name means, with its place, and whether it is written just so: by
    /// its name in JSON, and not by its name in the proto, which ProtoJSON takes too.
    pub(super) fn field(&self, name: Str<'_>) -> Option<(usize, &'static Field, bool)> {
        let fields = || self.fields.iter().enumerate();
        if let Some(plain) = name.as_plain() {
            // Nearly every one.
            if let Some((place, field)) = fields().find(|(_, field)| plain == field.name) {
                return Some((place, field, true));
            }
        }
        let (place, field) = fields().find(|(_, field)| is_field(name, field.name))?;
        Some((place, field, false))
    }
}

const fn field(name: &'static str, ty: Type, presence: Presence) -> Field {
    Field { name, ty, presence }
}

use Presence::{Explicit, Implicit, Required};
use Type::{Bool, List, Map, Struct, Text};

const TEXTS: Type = List(&Text);
const SCOPES: Type = Map(&Text);
const REQUIREMENTS: Type = List(&Type::Message(&SECURITY_REQUIREMENT));

/// The card itself.
pub(super) static AGENT_CARD: Message = Message {
    name: "AgentCard",
    fields: &[
        field("name", Text, Required),
        field("description", Text, Required),
        field("supportedInterfaces", List(&Type::Message(&AGENT_INTERFACE)), Required),
        field("provider", Type::Message(&AGENT_PROVIDER), Explicit),
        field("version", Text, Required),
        field("documentationUrl", Text, Explicit),
        field("capabilities", Type::Message(&AGENT_CAPABILITIES), Required),
        field("securitySchemes", Map(&Type::Message(&SECURITY_SCHEME)), Implicit),
        field("securityRequirements", REQUIREMENTS, Implicit),
        field("defaultInputModes", TEXTS, Required),
        field("defaultOutputModes", TEXTS, Required),
        field("skills", List(&Type::Message(&AGENT_SKILL)), Required),
        field(SIGNATURES, List(&Type::Message(&AGENT_CARD_SIGNATURE)), Implicit),
        field("iconUrl", Text, Explicit),
    ],
};

/// The field of a card that no signature covers.
pub(super) const SIGNATURES: &str = "signatures";

static AGENT_INTERFACE: Message = Message {
    name: "AgentInterface",
    fields: &[
        field("url", Text, Required),
        field("protocolBinding", Text, Required),
        field("tenant", Text, Implicit),
        field("protocolVersion", Text, Required),
    ],
};

static AGENT_PROVIDER: Message = Message {
    name: "AgentProvider",
    fields: &[field("url", Text, Required), field("organization", Text, Required)],
};

static AGENT_CAPABILITIES: Message = Message {
    name: "AgentCapabilities",
    fields: &[
        field("streaming", Bool, Explicit),
        field("pushNotifications", Bool, Explicit),
        field("extensions", List(&Type::Message(&AGENT_EXTENSION)), Implicit),
        field("extendedAgentCard", Bool, Explicit),
    ],
};

static AGENT_EXTENSION: Message = Message {
    name: "AgentExtension",
    fields: &[
        field("uri", Text, Implicit),
        field("description", Text, Implicit),
        field("required", Bool, Implicit),
        field("params", Struct, Explicit),
    ],
};

static SECURITY_SCHEME: Message = Message {
    name: "SecurityScheme",
    fields: &[
        field("apiKeySecurityScheme", Type::Message(&API_KEY), Explicit),
        field("httpAuthSecurityScheme", Type::Message(&HTTP_AUTH), Explicit),
        field("oauth2SecurityScheme", Type::Message(&OAUTH2), Explicit),
        field("openIdConnectSecurityScheme", Type::Message(&OPEN_ID_CONNECT), Explicit),
        field("mtlsSecurityScheme", Type::Message(&MUTUAL_TLS), Explicit),
    ],
};

static API_KEY: Message = Message {
    name: "APIKeySecurityScheme",
    fields: &[
        field("description", Text, Implicit),
        field("location", Text, Required),
        field("name", Text, Required),
    ],
};

static HTTP_AUTH: Message = Message {
    name: "HTTPAuthSecurityScheme",
    fields: &[
        field("description", Text, Implicit),
        field("scheme", Text, Required),
        field("bearerFormat", Text, Implicit),
    ],
};

static OAUTH2: Message = Message {
    name: "OAuth2SecurityScheme",
    fields: &[
        field("description", Text, Implicit),
        field("flows", Type::Message(&OAUTH_FLOWS), Required),
        field("oauth2MetadataUrl", Text, Implicit),
    ],
};

static OAUTH_FLOWS: Message = Message {
    name: "OAuthFlows",
    fields: &[
        field("authorizationCode", Type::Message(&AUTHORIZATION_CODE), Explicit),
        field("clientCredentials", Type::Message(&CLIENT_CREDENTIALS), Explicit),
        field("implicit", Type::Message(&IMPLICIT), Explicit),
        field("password", Type::Message(&PASSWORD), Explicit),
        field("deviceCode", Type::Message(&DEVICE_CODE), Explicit),
    ],
};

static AUTHORIZATION_CODE: Message = Message {
    name: "AuthorizationCodeOAuthFlow",
    fields: &[
        field("authorizationUrl", Text, Required),
        field("tokenUrl", Text, Required),
        field("refreshUrl", Text, Implicit),
        field("scopes", SCOPES, Required),
        field("pkceRequired", Bool, Implicit),
    ],
};

static CLIENT_CREDENTIALS: Message = Message {
    name: "ClientCredentialsOAuthFlow",
    fields: &[
        field("tokenUrl", Text, Required),
        field("refreshUrl", Text, Implicit),
        field("scopes", SCOPES, Required),
    ],
};

static IMPLICIT: Message = Message {
    name: "ImplicitOAuthFlow",
    fields: &[
        field("authorizationUrl", Text, Implicit),
        field("refreshUrl", Text, Implicit),
        field("scopes", SCOPES, Implicit),
    ],
};

static PASSWORD: Message = Message {
    name: "PasswordOAuthFlow",
    fields: &[
        field("tokenUrl", Text, Implicit),
        field("refreshUrl", Text, Implicit),
        field("scopes", SCOPES, Implicit),
    ],
};

static DEVICE_CODE: Message = Message {
    name: "DeviceCodeOAuthFlow",
    fields: &[
        field("deviceAuthorizationUrl", Text, Required),
        field("tokenUrl", Text, Required),
        field("refreshUrl", Text, Implicit),
        field("scopes", SCOPES, Required),
    ],
};

static OPEN_ID_CONNECT: Message = Message {
    name: "OpenIdConnectSecurityScheme",
    fields: &[field("description", Text, Implicit), field("openIdConnectUrl", Text, Required)],
};

static MUTUAL_TLS: Message =
    Message { name: "MutualTlsSecurityScheme", fields: &[field("description", Text, Implicit)] };

static SECURITY_REQUIREMENT: Message = Message {
    name: "SecurityRequirement",
    fields: &[field("schemes", Map(&Type::Message(&STRING_LIST)), Implicit)],
};

static STRING_LIST: Message =
    Message { name: "StringList", fields: &[field("list", TEXTS, Implicit)] };

static AGENT_SKILL: Message = Message {
    name: "AgentSkill",
    fields: &[
        field("id", Text, Required),
        field("name", Text, Required),
        field("description", Text, Required),
        field("tags", TEXTS, Required),
        field("examples", TEXTS, Implicit),
        field("inputModes", TEXTS, Implicit),
        field("outputModes", TEXTS, Implicit),
        field("securityRequirements", REQUIREMENTS, Implicit),
    ],
};

static AGENT_CARD_SIGNATURE: Message = Message {
    name: "AgentCardSignature",
    fields: &[
        field("protected", Text, Required),
        field("signature", Text, Required),
        field("header", Struct, Explicit),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;

    #[test]
    fn a_field_is_found_by_both_its_names_and_by_no_other() {
        let find = |text: &str| {
            let name = Value::parse(text).unwrap().as_str().unwrap();
            AGENT_CARD.field(name).map(|(_, field, _)| field.name)
        };
        assert_eq!(find(r#""supportedInterfaces""#), Some("supportedInterfaces"));
        assert_eq!(find(r#""supported_interfaces""#), Some("supportedInterfaces"));
        assert_eq!(find(r#""supported\u005finterfaces""#), Some("supportedInterfaces"));
        assert_eq!(find(r#""name""#), Some("name"));
        for unknown in [
            "supported_Interfaces",
            "SupportedInterfaces",
            "supported_interfaces_",
            "nam",
            "name_",
            "",
        ] {
            assert_eq!(find(&std::format!("\"{unknown}\"")), None, "{unknown}");
        }
    }

    #[test]
    fn every_message_has_as_many_fields_as_there_are_bits() {
        fn look(message: &Message, depth: u32) {
            assert!(message.fields.len() <= 32, "{}", message.name);
            assert!(depth < 8);
            for field in message.fields {
                let mut ty = &field.ty;
                while let List(inner) | Map(inner) = ty {
                    ty = inner;
                }
                if let Type::Message(inner) = ty {
                    look(inner, depth + 1);
                }
            }
        }
        look(&AGENT_CARD, 0);
    }
}
