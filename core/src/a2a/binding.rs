//! The binding: what is a request, which reply is the last one, which error says what.

use super::credential::has_push_credential;
use super::error::{A2aError, ErrorBody};
use super::stream::StreamEvent;
use super::word::is_field;
use super::{Method, SERVICE_PARAMETERS, ServiceParameters, VERSION, VERSION_PARAMETER, Version};
use crate::binding::{
    Accepted, Binding, Class, End, Expectation, Failure, Foreign, Place, ProtocolName, Refusal,
    STANDARD_FAILURE_LEN,
};
use crate::json::{Found, Object, Value, Writer};
use crate::jsonrpc::{self, Fault, IdKind, Message, Rejected, Request};

const NAME: ProtocolName<'static> = match ProtocolName::new("a2a") {
    Some(name) => name,
    None => unreachable!(),
};

/// The A2A binding.
///
/// ```
/// use agentwire_core::a2a::A2a;
/// use agentwire_core::binding::{Binding, Failure, Place};
///
/// let request = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"},
///     "a2a-service-parameters":{"A2A-Version":"1.0","Authorization":"Bearer x"}}"#;
/// assert!(A2a.accept(request, &["1.0"], Place::Direct).is_ok());
/// let refusal = A2a.accept(request, &["1.0"], Place::Group).unwrap_err();
/// assert_eq!(refusal.failure, Failure::CredentialInGroup);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[cfg_attr(feature = "arbitrary", derive(arbitrary::Arbitrary))]
#[allow(clippy::exhaustive_structs)] // It has nothing to configure.
pub struct A2a;

/// Whether the parameters of `SendMessage` ask for one answer without a conversation. Names have
/// two spellings in ProtoJSON, and what is null or empty is unset.
fn is_one_shot(params: &Object<'_>) -> bool {
    let is_set = |value: Value<'_>| match value.as_str() {
        Some(text) => !text.raw().is_empty(),
        None => !value.is_null(),
    };
    !params.members().any(|(name, value)| {
        let Some(object) = value.as_object() else { return false };
        if name == *"message" {
            object.members().any(|(name, value)| {
                ["contextId", "taskId"].iter().any(|known| is_field(name, known)) && is_set(value)
            })
        } else if name == *"configuration" {
            object.members().any(|(name, value)| {
                is_field(name, "returnImmediately")
                    && value.as_bool() != Some(false)
                    && !value.is_null()
            })
        } else {
            false
        }
    })
}

impl A2a {
    fn check<'m>(
        request: &Request<'m>,
        parameters: &Found<Value<'m>>,
        versions: &'m [&'m str],
        place: Place,
    ) -> Result<(), Failure<'m>> {
        let parameters = ServiceParameters::of(parameters).map_err(Failure::InvalidRequest)?;
        let params = match request.params {
            None => None,
            Some(value) => match value.as_object() {
                None => return Err(Failure::InvalidParams(NO_OBJECT)),
                object => object,
            },
        };
        if place == Place::Group
            && (parameters.has_credential()
                || params.is_some_and(|params| has_push_credential(&params)))
        {
            return Err(Failure::CredentialInGroup);
        }
        let served = if versions.is_empty() { &[VERSION] } else { versions };
        let requested = parameters.get(VERSION_PARAMETER);
        let is_served = match requested.and_then(Version::of) {
            None => false,
            Some(version) if versions.is_empty() => version >= Version::V1_0,
            version => versions.iter().any(|served| Version::parse(served) == version),
        };
        if !is_served {
            return Err(Failure::version(requested, served));
        }
        if Method::of(request.method).is_some_and(Method::is_push) {
            return Err(Failure::PushNotSupported);
        }
        Ok(())
    }
}

/// How a text that is no request is answered: parameters that are no object are wrong parameters,
/// whatever they are instead.
pub(super) fn refusal(rejected: Rejected<'_>) -> Refusal<'_> {
    let is_params = rejected.fault == Fault::ParamsKind;
    let refusal = Refusal::from(rejected);
    if is_params { Refusal::new(Failure::InvalidParams(NO_OBJECT), refusal.id) } else { refusal }
}

const NO_OBJECT: &str = "params is not an object";

/// What the event of a reply is to its stream.
fn class(event: Option<StreamEvent<'_>>) -> Class<'_> {
    match event {
        None => Class::Foreign(Foreign::NotAStreamEvent),
        Some(event) => match event.end() {
            Some(end) => Class::Last(end),
            None => Class::Part { resume: event.task_id },
        },
    }
}

impl Binding for A2a {
    fn name(&self) -> ProtocolName<'static> {
        NAME
    }

    /// Checks the table of [`a2a`](crate::a2a). Without `versions`, every version from 1.0 on is
    /// accepted.
    fn accept<'m>(
        &self,
        request: &'m str,
        versions: &'m [&'m str],
        place: Place,
    ) -> Result<Accepted<'m>, Refusal<'m>> {
        let mut parameters = Found::default();
        let request = Request::parse_deep(request, 1, &mut |seen| {
            if seen.is(SERVICE_PARAMETERS) {
                parameters.add(seen.value());
            }
        });
        let request = request.map_err(refusal)?;
        if request.id.kind() == IdKind::Fraction {
            let why = "the id is not a string, an integer or null";
            return Err(Refusal::new(Failure::InvalidRequest(why), None));
        }
        let id = Some(request.id.get());
        Self::check(&request, &parameters, versions, place)
            .map_err(|failure| Refusal::new(failure, id))?;
        let streaming = Method::of(request.method).is_some_and(Method::is_streaming);
        let expected = Expectation { id: Some(request.id.print()), streaming };
        Ok(Accepted::new(expected, id).object(request.object))
    }

    fn classify<'m>(&self, expected: &Expectation, reply: &'m str) -> Class<'m> {
        let parsed = if expected.streaming {
            StreamEvent::read(reply).map(|(message, event)| (message, class(event)))
        } else {
            Message::parse(reply).map(|message| (message, Class::Last(End::Answer)))
        };
        let (message, class) = match parsed {
            Ok(parsed) => parsed,
            Err(rejected) => return Class::Foreign(rejected.fault.into()),
        };
        match message {
            Message::Response(response) if expected.id == Some(response.id.print()) => class,
            Message::Error(error) if error.id.is_none_or(|id| expected.id == Some(id.print())) => {
                Class::Last(End::Error { code: error.code })
            }
            Message::Response(_) | Message::Error(_) => Class::Foreign(Foreign::OtherId),
            Message::Request(_) | Message::Notification(_) => Class::Foreign(Foreign::NotAReply),
        }
    }

    /// `SendMessage` of a message with neither `contextId` nor `taskId`, that does not ask to
    /// return before the work is done ("Service RPC").
    fn is_one_shot(&self, request: &str) -> bool {
        let Ok(request) = Request::parse(request) else { return false };
        let params = request.params.and_then(|params| params.as_object());
        request.method == *"SendMessage" && params.is_none_or(|params| is_one_shot(&params))
    }

    /// "A bot that cannot finish the task within 180 seconds answers with the envelope error
    /// `conversation_required`."
    fn late_needs_conversation(&self) -> bool {
        true
    }

    fn failure_len(&self) -> usize {
        STANDARD_FAILURE_LEN
    }

    /// Every error has a google.rpc.ErrorInfo in its data (A2A 1.0 section 9.5).
    fn write_failure(&self, failure: &Failure<'_>, id: Option<&str>, out: &mut Writer<'_>) {
        // Reasons that A2A defines stand in its own domain.
        let (error, is_own) = match failure {
            Failure::UnsupportedVersion { .. } => (A2aError::VersionNotSupported, true),
            Failure::PushNotSupported => (A2aError::PushNotificationNotSupported, true),
            other => {
                let code = other.code().unwrap_or(jsonrpc::INTERNAL_ERROR);
                (A2aError::of_code(code).unwrap_or(A2aError::Internal), false)
            }
        };
        let mut body = ErrorBody::new(error).message(failure.sentence());
        if !is_own {
            body = body.reason(failure.reason());
        }
        body.write_with(out, id, &|metadata| {
            if let Failure::UnsupportedVersion { requested, served } = failure {
                // A request that names no version means 0.3 (A2A 1.0 section 3.6).
                let requested = requested.map_or("\"0.3\"", |version| version.get());
                metadata.raw("\"requested\":").raw(requested).raw(",\"supported\":\"");
                for (place, version) in served.iter().enumerate() {
                    metadata.raw(if place == 0 { "" } else { "," }).escaped(version);
                }
                metadata.raw("\"");
            }
            for (place, (name, number)) in failure.numbers().into_iter().flatten().enumerate() {
                metadata.raw(if place == 0 { "" } else { "," }).string(name).raw(":\"");
                metadata.int(i64::try_from(number).unwrap_or(i64::MAX)).raw("\"");
            }
        });
    }
}

#[cfg(test)]
mod tests;
