//! Credentials: which service parameter carries one, and where none may be sent ("Callers and
//! authorization").
//!
//! | security scheme of the card (A2A 1.0 section 4.5) | service parameter |
//! |---|---|
//! | `httpAuthSecurityScheme`: Bearer, Basic and every other HTTP scheme | `Authorization`: the scheme's name, a space, the credential |
//! | `oauth2SecurityScheme`, `openIdConnectSecurityScheme` | `Authorization: Bearer` and the token |
//! | `apiKeySecurityScheme` in a header | the header's name |
//! | `apiKeySecurityScheme` in a cookie or in the query | none: a proxy passes on no cookies, and a request has one URL |
//! | `mtlsSecurityScheme` | none: a certificate is that of a connection |
//!
//! A credential is taken in a direct chat and over Service RPC. In a group every member sees it, so
//! the request is refused there, and nothing of it goes any further. What counts as one: a
//! parameter whose name says so ([`ServiceParameters::has_credential`]), a parameter that the card's
//! schemes name ([`ServiceParameters::has_any`]), and what a push notification configuration holds.
//!
//! `Debug` of all of these shows lengths alone.

use super::parameters::lowered;
use super::stream::field;
use super::word::is_field;
use super::{MAX_PARAMETER_NAME_LEN, ServiceParameters, passes};
use crate::json::{Kind, Object, Str, Value};

/// The service parameter of HTTP's own schemes.
pub const AUTHORIZATION: &str = "Authorization";

/// How the credential of a security scheme reaches the agent.
///
/// ```
/// use agentwire_core::a2a::Carrier;
/// use agentwire_core::json::Object;
/// let carrier = |scheme| Carrier::of(Object::parse(scheme).unwrap());
/// assert_eq!(
///     carrier(r#"{"httpAuthSecurityScheme":{"scheme":"bearer"}}"#),
///     Some(Carrier::Authorization)
/// );
/// let key = carrier(r#"{"apiKeySecurityScheme":{"location":"header","name":"X-Key"}}"#);
/// assert!(matches!(key, Some(Carrier::Parameter(name)) if name == *"X-Key"));
/// assert_eq!(carrier(r#"{"mtlsSecurityScheme":{}}"#), Some(Carrier::None("a certificate")));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Carrier<'a> {
    /// In [`AUTHORIZATION`].
    Authorization,
    /// In the service parameter of this name.
    Parameter(Str<'a>),
    /// Not at all; what cannot be carried.
    None(&'static str),
}

impl<'a> Carrier<'a> {
    /// The carrier of one scheme of the card's `securitySchemes`; `None` for an object that is no
    /// scheme of A2A 1.0.
    pub fn of(scheme: Object<'a>) -> Option<Self> {
        let (name, inner) = scheme.members().find(|(_, value)| value.kind() == Kind::Object)?;
        let is = |camel| is_field(name, camel);
        if ["httpAuthSecurityScheme", "oauth2SecurityScheme", "openIdConnectSecurityScheme"]
            .into_iter()
            .any(is)
        {
            return Some(Self::Authorization);
        }
        if is("mtlsSecurityScheme") {
            return Some(Self::None("a certificate"));
        }
        if !is("apiKeySecurityScheme") {
            return None;
        }
        let inner = inner.as_object()?;
        let text = |name| field(&inner, name).and_then(|value| value.as_str());
        let location = text("location")?;
        if location == *"header" {
            let name = text("name")?;
            let mut buffer = [0; MAX_PARAMETER_NAME_LEN];
            let is_carried = passes(lowered(name, &mut buffer));
            Some(if is_carried { Self::Parameter(name) } else { Self::None("this header") })
        } else if location == *"cookie" {
            Some(Self::None("a cookie"))
        } else {
            Some(Self::None("a parameter of the URL"))
        }
    }
}

impl ServiceParameters<'_> {
    /// Whether one of the parameters is a credential by its name: `Authorization`, `Cookie`, an
    /// API key, a token, a secret or a password, in any letter case.
    pub fn has_credential(&self) -> bool {
        const STEMS: [&[u8]; 10] = [
            b"authoriz",
            b"authent",
            b"token",
            b"secret",
            b"passw",
            b"credential",
            b"cookie",
            b"api-key",
            b"apikey",
            b"api_key",
        ];
        self.iter().any(|(name, _)| {
            let mut buffer = [0; MAX_PARAMETER_NAME_LEN];
            let lowered = lowered(name, &mut buffer).as_bytes();
            let has = |stem: &&[u8]| lowered.windows(stem.len()).any(|window| window == *stem);
            STEMS.iter().any(has)
                || lowered.split(|byte| !byte.is_ascii_alphanumeric()).any(|word| word == b"auth")
        })
    }

    /// Whether one of the parameters has one of these names, in any letter case: those that the
    /// security schemes of the agent's card give to credentials.
    pub fn has_any<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> bool {
        names.into_iter().any(|name| self.get(name).is_some())
    }
}

/// Whether the request's parameters hold the credential of a push notification configuration
/// (A2A 1.0 section 4.3): its own method has it at the top, a message in its configuration.
pub(super) fn has_push_credential(params: &Object<'_>) -> bool {
    let set = |value: Value<'_>| value.as_str().is_some_and(|text| !text.raw().is_empty());
    let any = |object: &Object<'_>, camel: &str, is: &dyn Fn(Value<'_>) -> bool| {
        object.members().any(|(name, value)| is_field(name, camel) && is(value))
    };
    let any_in = |value: Value<'_>, camel: &str, is: &dyn Fn(Value<'_>) -> bool| {
        value.as_object().is_some_and(|object| any(&object, camel, is))
    };
    let in_config = |config: &Object<'_>| {
        any(config, "token", &set)
            || any(config, "authentication", &|value| any_in(value, "credentials", &set))
    };
    in_config(params)
        || any(params, "configuration", &|value| {
            any_in(value, "taskPushNotificationConfig", &|config| {
                config.as_object().is_some_and(|config| in_config(&config))
            })
        })
}

/// Whether a message asks for push notifications, which a conversation has no use for ("Push
/// notifications"). `params` are those of `SendMessage` or `SendStreamingMessage`.
///
/// ```
/// use agentwire_core::a2a::sets_push_config;
/// use agentwire_core::json::Object;
/// let sets = |params| sets_push_config(&Object::parse(params).unwrap());
/// assert!(sets(r#"{"configuration":{"taskPushNotificationConfig":{"url":"https://h/"}}}"#));
/// assert!(!sets(r#"{"configuration":{"taskPushNotificationConfig":null}}"#));
/// ```
pub fn sets_push_config(params: &Object<'_>) -> bool {
    field(params, "configuration")
        .and_then(|configuration| configuration.as_object())
        .is_some_and(|configuration| field(&configuration, "taskPushNotificationConfig").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_has_its_carrier_or_a_reason() {
        let carrier = |scheme| Carrier::of(Object::parse(scheme).unwrap());
        for scheme in [
            r#"{"httpAuthSecurityScheme":{"scheme":"Basic"}}"#,
            r#"{"http_auth_security_scheme":{"scheme":"bearer"}}"#,
            r#"{"oauth2SecurityScheme":{"flows":{}}}"#,
            r#"{"openIdConnectSecurityScheme":{"openIdConnectUrl":"https://h/"}}"#,
        ] {
            assert_eq!(carrier(scheme), Some(Carrier::Authorization), "{scheme}");
        }
        let key = |location: &str, name: &str| {
            let text = std::format!(
                r#"{{"apiKeySecurityScheme":{{"location":"{location}","name":"{name}"}}}}"#
            );
            match Carrier::of(Object::parse(&text).unwrap()) {
                Some(Carrier::Parameter(found)) => {
                    assert!(found == *name);
                    "carried"
                }
                Some(Carrier::None(what)) => what,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(key("header", "X-Acme"), "carried");
        assert_eq!(key("header", "Proxy-Authorization"), "this header");
        assert_eq!(key("cookie", "s"), "a cookie");
        assert_eq!(key("query", "k"), "a parameter of the URL");
        assert_eq!(carrier(r#"{"mtlsSecurityScheme":{}}"#), Some(Carrier::None("a certificate")));
        assert_eq!(carrier(r#"{"somethingElse":{}}"#), None);
        assert_eq!(carrier("{}"), None);
    }

    #[test]
    fn names_of_the_cards_schemes_count_in_any_case() {
        let value = Value::parse(r#"{"x-acme":"v"}"#).unwrap();
        let parameters = ServiceParameters::new(value).unwrap();
        assert!(!parameters.has_credential());
        assert!(parameters.has_any(["X-Other", "X-Acme"]));
        assert!(!parameters.has_any(["X-Other"]));
    }

    #[test]
    fn debug_shows_no_credential() {
        let value = Value::parse(r#"{"Authorization":"Bearer hunter2"}"#).unwrap();
        let parameters = ServiceParameters::new(value).unwrap();
        let shown = std::format!("{parameters:?} {:?}", parameters.get("authorization"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
