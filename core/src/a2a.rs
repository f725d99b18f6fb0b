//! The A2A binding: Agent2Agent 1.0, in the messages of its JSON-RPC binding, over `/_call a2a`.
//!
//! For the two streaming methods every `StreamResponse` is one reply; for every other method one
//! reply answers ("A2A binding", "A2A messages" and "Streaming").
//!
//! | what is checked here | error |
//! |---|---|
//! | the text is JSON | -32700 |
//! | it is a request; the service parameters are names and strings, none twice | -32600 |
//! | in a group it carries no credential | -32600 |
//! | `params`, if any, is an object | -32602 |
//! | `A2A-Version` is one that is served; none means 0.3 | -32009 |
//! | it is no push notification method | -32003 |
//!
//! A stream ends with a message, with a task or a status update in a terminal or an interrupted
//! state, or with an error. Everything else is the handler's.

use core::mem;

use crate::binding::{
    Accepted, Binding, Class, End, Expectation, Failure, Foreign, MAX_VERSION_LEN, Place,
    ProtocolName, Refusal, STANDARD_FAILURE_LEN,
};
use crate::json::{Found, Kind, Object, Str, Value, Visited, Writer};
use crate::jsonrpc::{self, ErrorId, IdKind, Message, Rejected, Request};

/// The URI of this binding in an Agent Card ("Identification").
pub const BINDING_URI: &str = "https://simplex.chat/protocol/a2a/v1";
/// The version of A2A that this binding is defined for.
pub const VERSION: &str = "1.0";
/// The member of a request that carries its service parameters ("Service parameters").
pub const SERVICE_PARAMETERS: &str = "a2a-service-parameters";
/// The service parameter that names the version.
pub const VERSION_PARAMETER: &str = "A2A-Version";
/// The error code PushNotificationNotSupportedError.
pub const PUSH_NOTIFICATION_NOT_SUPPORTED: i64 = -32003;
/// The error code VersionNotSupportedError.
pub const VERSION_NOT_SUPPORTED: i64 = -32009;
/// How many service parameters a request may have.
pub const MAX_SERVICE_PARAMETERS: usize = 64;
/// How long the name of a service parameter may be, in bytes.
pub const MAX_PARAMETER_NAME_LEN: usize = 128;

const NAME: ProtocolName<'static> = match ProtocolName::new("a2a") {
    Some(name) => name,
    None => unreachable!(),
};

/// The two methods that are answered with a stream (A2A 1.0 section 9.4).
const STREAMING_METHODS: [&str; 2] = ["SendStreamingMessage", "SubscribeToTask"];
/// The four methods of push notifications (A2A 1.0 section 9.4).
const PUSH_METHODS: [&str; 4] = [
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
];

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

/// The service parameters of a request, checked: at most [`MAX_SERVICE_PARAMETERS`] members,
/// whose names are header field names (RFC 9110 section 5.1), no two alike in any letter case,
/// and whose values are strings without control characters other than the tab (section 5.5).
///
/// ```
/// use agentwire_core::a2a::ServiceParameters;
/// use agentwire_core::json::Value;
///
/// let value = Value::parse(r#"{"a2a-version": "1.0"}"#).unwrap();
/// let parameters = ServiceParameters::new(value).unwrap();
/// assert!(parameters.get("A2A-Version").unwrap() == *"1.0");
/// assert!(ServiceParameters::new(Value::parse(r#"{"a": 1}"#).unwrap()).is_err());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ServiceParameters<'a> {
    object: Option<Object<'a>>,
}

impl<'a> ServiceParameters<'a> {
    /// Checks the value of the member.
    ///
    /// # Errors
    /// A sentence that says which rule it breaks.
    pub fn new(value: Value<'a>) -> Result<Self, &'static str> {
        let object = value.as_object().ok_or("a2a-service-parameters is not an object")?;
        let mut count: usize = 0;
        for (name, value) in object.members() {
            count = count.saturating_add(1);
            if count > MAX_SERVICE_PARAMETERS {
                return Err("more than 64 service parameters");
            }
            let mut length: usize = 0;
            for char in name.chars() {
                length = length.saturating_add(1);
                if !(char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char)) {
                    return Err("the name of a service parameter is not a header field name");
                }
            }
            if length == 0 || length > MAX_PARAMETER_NAME_LEN {
                return Err("the name of a service parameter is empty or longer than 128 bytes");
            }
            let value = value.as_str().ok_or("the value of a service parameter is not a string")?;
            if value.chars().any(|char| char.is_control() && char != '\t') {
                return Err("the value of a service parameter has a control character");
            }
            let same = object.members().filter(|(other, _)| same_name(*other, name)).count();
            if same > 1 {
                return Err("a service parameter occurs twice");
            }
        }
        Ok(Self { object: Some(object) })
    }

    /// The service parameters of a request: none if it has no such member.
    fn of(member: &Found<'a>) -> Result<Self, &'static str> {
        match member.get() {
            Ok(Some(value)) => Self::new(value),
            Ok(None) => Ok(Self { object: None }),
            Err(_) => Err("a2a-service-parameters occurs twice"),
        }
    }

    /// Names and values, in the order in which they are written.
    pub fn iter(&self) -> impl Iterator<Item = (Str<'a>, Str<'a>)> + use<'a> {
        let members = self.object.map(|object| object.members());
        members.into_iter().flatten().filter_map(|(name, value)| Some((name, value.as_str()?)))
    }

    /// The value of the parameter `name`, in any letter case.
    pub fn get(&self, name: &str) -> Option<Str<'a>> {
        self.iter()
            .find(|(written, _)| {
                written.chars().map(|char| char.to_ascii_lowercase()).eq(lower(name.chars()))
            })
            .map(|(_, value)| value)
    }

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
            let mut len: usize = 0;
            for (place, char) in buffer.iter_mut().zip(lower(name.chars())) {
                *place = u8::try_from(char).unwrap_or(b'?');
                len = len.saturating_add(1);
            }
            let lowered = buffer.get(..len).unwrap_or_default();
            let has = |stem: &&[u8]| lowered.windows(stem.len()).any(|window| window == *stem);
            STEMS.iter().any(has)
                || lowered.split(|byte| !byte.is_ascii_alphanumeric()).any(|word| word == b"auth")
        })
    }
}

fn lower(chars: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    chars.map(|char| char.to_ascii_lowercase())
}

fn same_name(a: Str<'_>, b: Str<'_>) -> bool {
    lower(a.chars()).eq(lower(b.chars()))
}

/// Whether the request's parameters hold the credential of a push notification configuration
/// (A2A 1.0 section 4.3): its own method has it at the top, a message in its configuration.
fn has_push_credential(params: &Object<'_>) -> bool {
    let member = |object: &Object<'_>,
                  camel: &str,
                  snake: &str,
                  secret: &dyn Fn(Value<'_>) -> bool| {
        object.members().any(|(name, value)| (name == *camel || name == *snake) && secret(value))
    };
    let set = |value: Value<'_>| value.as_str().is_some_and(|text| !text.raw().is_empty());
    let in_config = |config: &Object<'_>| {
        member(config, "token", "token", &set)
            || member(config, "authentication", "authentication", &|value| {
                value
                    .as_object()
                    .is_some_and(|object| member(&object, "credentials", "credentials", &set))
            })
    };
    in_config(params)
        || member(params, "configuration", "configuration", &|value| {
            value.as_object().is_some_and(|configuration| {
                member(
                    &configuration,
                    "taskPushNotificationConfig",
                    "task_push_notification_config",
                    &|value| value.as_object().is_some_and(|config| in_config(&config)),
                )
            })
        })
}

/// `Major.Minor` of a version in which a patch number may follow, which does not matter
/// (A2A 1.0 section 3.6).
fn major_minor(version: &str) -> Option<(u32, u32)> {
    let number = |digits: &str| -> Option<u32> {
        let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        if plain { digits.parse().ok() } else { None }
    };
    let mut parts = version.split('.');
    let version = (number(parts.next()?)?, number(parts.next()?)?);
    if let Some(patch) = parts.next() {
        number(patch)?;
    }
    if parts.next().is_some() { None } else { Some(version) }
}

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
                let names = ["contextId", "context_id", "taskId", "task_id"];
                names.iter().any(|known| name == **known) && is_set(value)
            })
        } else if name == *"configuration" {
            object.members().any(|(name, value)| {
                (name == *"returnImmediately" || name == *"return_immediately")
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
        parameters: &Found<'m>,
        versions: &'m [&'m str],
        place: Place,
    ) -> Result<(), Failure<'m>> {
        let parameters = ServiceParameters::of(parameters).map_err(Failure::InvalidRequest)?;
        let params = match request.params {
            None => None,
            Some(value) => match value.as_object() {
                None => return Err(Failure::InvalidParams("params is not an object")),
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
        let mut scratch = [0; MAX_VERSION_LEN];
        let version = requested.and_then(|version| match version.as_plain() {
            Some(plain) => major_minor(plain),
            None => major_minor(version.decode(&mut scratch).ok()?),
        });
        let is_served = match version {
            None => false,
            Some(version) if versions.is_empty() => version >= (1, 0),
            version => versions.iter().any(|served| major_minor(served) == version),
        };
        if !is_served {
            return Err(Failure::version(requested, served));
        }
        if PUSH_METHODS.iter().any(|method| request.method == **method) {
            return Err(Failure::PushNotSupported);
        }
        Ok(())
    }
}

/// What is known of a `StreamResponse`, gathered while the response is read.
#[derive(Clone, Copy, Default)]
struct StreamEvent<'m> {
    /// The arm of the oneof that is set; null is unset.
    arm: Option<Arm>,
    /// Whether there is no such arm to speak of: several, or one that is no object.
    is_broken: bool,
    event: Event<'m>,
}

/// What is known of the object in an arm.
#[derive(Clone, Copy, Default)]
struct Event<'m> {
    id: Option<Str<'m>>,
    task_id: Option<Str<'m>>,
    status: State,
}

impl<'m> StreamEvent<'m> {
    /// Reads a message and the event in its result, in one pass.
    fn parse(text: &'m str) -> Result<(Message<'m>, Self), Rejected<'m>> {
        let mut found = Self::default();
        // What has been seen so far inside the members, one in the other, that are being read.
        let (mut result, mut event, mut state) =
            (Self::default(), Event::default(), Found::default());
        let message = Message::parse_deep(text, 4, &mut |seen| match seen.depth {
            1 => {
                if seen.is("result") {
                    found = result;
                }
                (result, event, state) = Default::default();
            }
            2 => {
                result.add(seen, mem::take(&mut event));
                state = Found::default();
            }
            3 => event.add(seen, mem::take(&mut state)),
            _ if seen.is("state") => state.add(seen.value()),
            _ => {}
        })?;
        Ok((message, found))
    }

    /// A member of the `StreamResponse`. ProtoJSON has two spellings of a name.
    fn add(&mut self, seen: &Visited<'m, '_>, event: Event<'m>) {
        let arm = match word(seen.name(), &mut [0; LONGEST_WORD]) {
            "message" => Arm::Message,
            "task" => Arm::Task,
            "statusUpdate" | "status_update" => Arm::StatusUpdate,
            "artifactUpdate" | "artifact_update" => Arm::ArtifactUpdate,
            _ => return,
        };
        let value = seen.value();
        if value.is_null() {
            return;
        }
        self.is_broken |= self.arm.is_some() || value.kind() != Kind::Object;
        self.arm = Some(arm);
        self.event = event;
    }

    /// What the event is to its stream.
    fn class(&self) -> Class<'m> {
        let Self { arm: Some(arm), is_broken: false, event } = *self else {
            return Class::Foreign(Foreign::NotAStreamEvent);
        };
        let (status, resume) = match arm {
            Arm::Message => return Class::Last(End::Message),
            Arm::Task => (event.status, event.id),
            Arm::StatusUpdate => (event.status, event.task_id),
            Arm::ArtifactUpdate => (State::Working, event.task_id),
        };
        match status {
            State::Working => Class::Part { resume },
            State::Terminal => Class::Last(End::Terminal),
            State::Interrupted => Class::Last(End::Interrupted),
        }
    }
}

impl<'m> Event<'m> {
    /// A member of a task or an update; of two with one name the last one counts.
    fn add(&mut self, seen: &Visited<'m, '_>, state: Found<'m>) {
        match word(seen.name(), &mut [0; LONGEST_WORD]) {
            "id" => self.id = seen.value().as_str(),
            "taskId" | "task_id" => self.task_id = seen.value().as_str(),
            "status" => {
                let state = state.get().ok().flatten();
                self.status = state.map_or(State::Working, State::of);
            }
            _ => {}
        }
    }
}

/// The longest name or state that is looked for: `TASK_STATE_INPUT_REQUIRED`.
const LONGEST_WORD: usize = 25;

/// What a string means, where that can be one of the words that are looked for; `scratch` holds it
/// if it is written with escapes.
fn word<'w>(text: Str<'w>, scratch: &'w mut [u8; LONGEST_WORD]) -> &'w str {
    match text.as_plain() {
        Some(plain) => plain,
        None => text.decode(scratch).unwrap_or_default(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Arm {
    Message,
    Task,
    StatusUpdate,
    ArtifactUpdate,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// Not an end: submitted, working, or a state that this revision does not know.
    #[default]
    Working,
    Terminal,
    Interrupted,
}

impl State {
    /// The kind of a `TaskState`; enums are names or numbers (ProtoJSON).
    fn of(state: Value<'_>) -> Self {
        if let Some(name) = state.as_str() {
            return match word(name, &mut [0; LONGEST_WORD]) {
                "TASK_STATE_COMPLETED"
                | "TASK_STATE_FAILED"
                | "TASK_STATE_CANCELED"
                | "TASK_STATE_REJECTED" => Self::Terminal,
                "TASK_STATE_INPUT_REQUIRED" | "TASK_STATE_AUTH_REQUIRED" => Self::Interrupted,
                _ => Self::Working,
            };
        }
        match state.as_integer() {
            Some(3 | 4 | 5 | 7) => Self::Terminal,
            Some(6 | 8) => Self::Interrupted,
            _ => Self::Working,
        }
    }
}

impl Binding for A2a {
    fn name(&self) -> ProtocolName<'static> {
        NAME
    }

    /// Checks the table of the [module](self). Without `versions`, every version from 1.0 on is
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
        })?;
        if request.id.kind() == IdKind::Fraction {
            let why = "the id is not a string, an integer or null";
            return Err(Refusal::new(Failure::InvalidRequest(why), None));
        }
        let id = Some(request.id.get());
        Self::check(&request, &parameters, versions, place)
            .map_err(|failure| Refusal::new(failure, id))?;
        let streaming = STREAMING_METHODS.iter().any(|method| request.method == **method);
        let expected = Expectation { id: Some(request.id.print()), streaming };
        Ok(Accepted::new(expected, id).object(request.object))
    }

    fn classify<'m>(&self, expected: &Expectation, reply: &'m str) -> Class<'m> {
        let parsed = if expected.streaming {
            StreamEvent::parse(reply).map(|(message, event)| (message, event.class()))
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
        let id = id.map_or(ErrorId::Null, ErrorId::Known);
        // Reasons that A2A defines stand in its own domain.
        let (code, reason, domain) = match failure {
            Failure::UnsupportedVersion { .. } => {
                (VERSION_NOT_SUPPORTED, "version_not_supported", A2A_DOMAIN)
            }
            Failure::PushNotSupported => {
                (PUSH_NOTIFICATION_NOT_SUPPORTED, failure.reason(), A2A_DOMAIN)
            }
            other => (other.code().unwrap_or(jsonrpc::INTERNAL_ERROR), other.reason(), DOMAIN),
        };
        jsonrpc::write_error(
            out,
            id,
            code,
            failure.sentence(),
            Some(&|data| {
                data.raw("[{\"@type\":\"type.googleapis.com/google.rpc.ErrorInfo\",\"reason\":\"");
                for char in reason.chars() {
                    data.raw(char.to_ascii_uppercase().encode_utf8(&mut [0; 4]));
                }
                data.raw("\",\"domain\":").string(domain);
                // Metadata are strings.
                data.raw(",\"metadata\":{");
                if let Failure::UnsupportedVersion { requested, served } = failure {
                    // A request that names no version means 0.3 (A2A 1.0 section 3.6).
                    let requested = requested.map_or("\"0.3\"", |version| version.get());
                    data.raw("\"requested\":").raw(requested).raw(",\"supported\":\"");
                    for (place, version) in served.iter().enumerate() {
                        data.raw(if place == 0 { "" } else { "," }).escaped(version);
                    }
                    data.raw("\"");
                }
                for (place, (name, number)) in failure.numbers().into_iter().flatten().enumerate() {
                    data.raw(if place == 0 { "" } else { "," }).string(name).raw(":\"");
                    data.int(i64::try_from(number).unwrap_or(i64::MAX)).raw("\"");
                }
                data.raw("}}]");
            }),
        );
    }
}

const A2A_DOMAIN: &str = "a2a-protocol.org";
const DOMAIN: &str = "simplex.chat";

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;
    use std::string::String;

    fn request(method: &str, parameters: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{{}},"a2a-service-parameters":{parameters}}}"#
        )
    }

    fn failure(text: &str, place: Place) -> Option<&'static str> {
        let served: &[&str] = &["1.0"];
        A2a.accept(text, served, place).err().map(|refusal| refusal.failure.reason())
    }

    fn error(text: &str) -> String {
        let refusal = A2a.accept(text, &["1.0"], Place::Direct).unwrap_err();
        let mut buffer = [0; 512];
        let mut out = Writer::new(&mut buffer);
        A2a.write_failure(&refusal.failure, refusal.id, &mut out);
        String::from(out.finish().unwrap())
    }

    #[test]
    fn a_version_that_is_not_served_gets_32009() {
        for version in ["1.0", "1.0.0", "1.0.17", "1.\\u0030"] {
            let text = request("GetTask", &format!(r#"{{"a2a-VERSION":"{version}"}}"#));
            assert_eq!(failure(&text, Place::Direct), None, "{version}");
        }
        for version in ["0.3", "2.0", "1", "1.1", "v1.0", " 1.0", "1.0,0.3", "", "1.0.x", "1.0.0.0"]
        {
            let text = request("GetTask", &format!(r#"{{"A2A-Version":"{version}"}}"#));
            assert_eq!(failure(&text, Place::Direct), Some("unsupported_version"), "{version}");
        }
        assert_eq!(
            error(&request("GetTask", r#"{"A2A-Version":"2.0"}"#)),
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32009,"message":"this version is not served","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED","domain":"a2a-protocol.org","metadata":{"requested":"2.0","supported":"1.0"}}]}}"#
        );
        // Absent means 0.3.
        let absent = r#"{"jsonrpc":"2.0","id":2,"method":"GetTask"}"#;
        assert!(error(absent).contains(r#""requested":"0.3""#));
    }

    #[test]
    fn push_notification_methods_get_32003_in_a_conversation() {
        for method in PUSH_METHODS {
            let answer = error(&request(method, r#"{"A2A-Version":"1.0"}"#));
            assert!(answer.contains("\"code\":-32003,"), "{answer}");
            assert!(answer.contains("\"PUSH_NOTIFICATION_NOT_SUPPORTED\""), "{answer}");
        }
    }

    #[test]
    fn service_parameters_are_names_and_strings() {
        for parameters in [
            "[]",
            "null",
            "\"1.0\"",
            r#"{"A2A-Version":1.0}"#,
            r#"{"A2A-Version":"1.0","x":null}"#,
            r#"{"A2A-Version":"1.0","a2a-version":"1.0"}"#,
            r#"{"A2A-Version":"1.0","\u00412A-Version":"1.0"}"#,
            r#"{"A2A-Version":"1.0","":"x"}"#,
            r#"{"A2A-Version":"1.0","a b":"x"}"#,
            r#"{"A2A-Version":"1.0","é":"x"}"#,
            r#"{"A2A-Version":"1.0","x":"a\r\nHost: b"}"#,
            r#"{"A2A-Version":"1.0","x":"a\u0000"}"#,
        ] {
            let text = request("GetTask", parameters);
            assert_eq!(failure(&text, Place::Direct), Some("invalid_request"), "{parameters}");
        }
        let many = |count: usize| {
            let names: String = (1..count).map(|n| format!(",\"p{n}\":\"\"")).collect();
            request("GetTask", &format!(r#"{{"A2A-Version":"1.0"{names}}}"#))
        };
        assert_eq!(failure(&many(MAX_SERVICE_PARAMETERS), Place::Direct), None);
        assert_eq!(
            failure(&many(MAX_SERVICE_PARAMETERS + 1), Place::Direct),
            Some("invalid_request")
        );
        let long = |len: usize| {
            request("GetTask", &format!(r#"{{"A2A-Version":"1.0","{}":"\t"}}"#, "n".repeat(len)))
        };
        assert_eq!(failure(&long(MAX_PARAMETER_NAME_LEN), Place::Direct), None);
        assert_eq!(
            failure(&long(MAX_PARAMETER_NAME_LEN + 1), Place::Direct),
            Some("invalid_request")
        );
    }

    #[test]
    fn a_credential_is_refused_in_a_group_and_only_there() {
        for name in [
            "Authorization",
            "authorization",
            "\\u0041uthorization",
            "Proxy-Authorization",
            "X-API-Key",
            "apikey",
            "Cookie",
            "X-Auth-Token",
            "X-Secret",
            "X-Auth",
            "Client-Credentials",
        ] {
            let text = request("GetTask", &format!(r#"{{"A2A-Version":"1.0","{name}":"x"}}"#));
            assert_eq!(failure(&text, Place::Direct), None, "{name}");
            assert_eq!(failure(&text, Place::Group), Some("credential_in_group"), "{name}");
        }
        for name in ["A2A-Extensions", "traceparent", "Idempotency-Key", "X-Author"] {
            let text = request("GetTask", &format!(r#"{{"A2A-Version":"1.0","{name}":"x"}}"#));
            assert_eq!(failure(&text, Place::Group), None, "{name}");
        }
        for params in [
            r#"{"url":"u","token":"t"}"#,
            r#"{"authentication":{"scheme":"Bearer","credentials":"c"}}"#,
            r#"{"configuration":{"taskPushNotificationConfig":{"token":"t"}}}"#,
            r#"{"configuration":{"task_push_notification_config":{"authentication":{"credentials":"c"}}}}"#,
        ] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"SendMessage","params":{params},"a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
            );
            assert_eq!(failure(&text, Place::Group), Some("credential_in_group"), "{params}");
            assert_eq!(failure(&text, Place::Direct), None, "{params}");
        }
    }

    #[test]
    fn requests_that_are_none() {
        assert!(error("{bad").starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#));
        for text in [
            r#"{"jsonrpc":"1.0","id":1,"method":"GetTask"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"GetTask"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"GetTask"}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","method":"GetTask"}"#,
            "[]",
        ] {
            assert!(error(text).contains("\"code\":-32600,"), "{text}");
        }
        assert!(
            error(r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}"#).contains("-32602")
        );
        // A request whose id is null is a request all the same, and its answer says null.
        for id in ["42", "0", "\"42\"", "null"] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"GetTask","a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
            );
            assert_eq!(A2a.accept(&text, &["1.0"], Place::Direct).unwrap().id, Some(id));
        }
    }

    fn class(method: &str, result: &str) -> (bool, String) {
        let text = request(method, r#"{"A2A-Version":"1.0"}"#);
        let expected = A2a.accept(&text, &["1.0"], Place::Direct).unwrap().expected;
        let reply = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#);
        let class = A2a.classify(&expected, &reply);
        (class.is_last(), format!("{class:?}"))
    }

    #[test]
    fn every_end_of_a_stream() {
        for method in STREAMING_METHODS {
            for (result, end) in [
                (r#"{"message":{"messageId":"m"}}"#, "Message"),
                (r#"{"task":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"}}}"#, "Terminal"),
                (r#"{"task":{"status":{"state":"TASK_STATE_FAILED"},"id":"t"}}"#, "Terminal"),
                (
                    r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_CANCELED"}}}"#,
                    "Terminal",
                ),
                (r#"{"status_update":{"task_id":"t","status":{"state":7}}}"#, "Terminal"),
                (
                    r#"{"task":null,"statusUpdate":{"status":{"state":"TASK_STATE_REJECTED"}}}"#,
                    "Terminal",
                ),
                (
                    r#"{"statusUpdate":{"status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}"#,
                    "Interrupted",
                ),
                (
                    r#"{"task":{"id":"t","status":{"state":"TASK_STATE_AUTH_REQUIRED"}}}"#,
                    "Interrupted",
                ),
                (r#"{"task":{"id":"t","status":{"state":8}}}"#, "Interrupted"),
                // Names mean what they mean, however they are written.
                (
                    r#"{"\u0074ask":{"id":"t","st\u0061tus":{"state":"TASK_STATE_\u0043OMPLETED"}}}"#,
                    "Terminal",
                ),
            ] {
                assert_eq!(class(method, result), (true, format!("Last({end})")), "{result}");
            }
            for result in [
                r#"{"task":{"id":"t","status":{"state":"TASK_STATE_SUBMITTED"}}}"#,
                r#"{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}"#,
                r#"{"task":{"id":"t","status":{"state":"TASK_STATE_SOMETHING_NEW"}}}"#,
                r#"{"task":{"id":"t"}}"#,
                r#"{"statusUpdate":{"taskId":"t","status":{"state":2}}}"#,
                r#"{"artifactUpdate":{"taskId":"t","artifact":{},"lastChunk":true}}"#,
            ] {
                let (last, class) = class(method, result);
                assert!(!last && class.starts_with("Part { resume: Some("), "{result} {class}");
            }
            for result in [
                "{}",
                "null",
                "[]",
                r#"{"task":{},"message":{}}"#,
                r#"{"task":[]}"#,
                r#"{"statusUpdate":{},"status_update":{}}"#,
            ] {
                assert_eq!(class(method, result).1, "Foreign(NotAStreamEvent)", "{result}");
            }
        }
    }

    #[test]
    fn only_a_message_without_context_is_one_shot() {
        let is_one_shot = |method: &str, params: &str| {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params},"a2a-service-parameters":{{"A2A-Version":"1.0"}}}}"#
            );
            A2a.is_one_shot(&text)
        };
        for params in [
            "{}",
            r#"{"message":{"messageId":"m"}}"#,
            r#"{"message":{"contextId":"","taskId":null}}"#,
            r#"{"message":{},"configuration":{"returnImmediately":false}}"#,
            r#"{"message":{},"configuration":{"return_immediately":null}}"#,
            r#"{"message":{},"metadata":{"contextId":"c","returnImmediately":true}}"#,
        ] {
            assert!(is_one_shot("SendMessage", params), "{params}");
        }
        for params in [
            r#"{"message":{"contextId":"c"}}"#,
            r#"{"message":{"context_id":"c"}}"#,
            r#"{"message":{"\u0074askId":"t"}}"#,
            r#"{"message":{"task_id":"t"}}"#,
            r#"{"configuration":{"returnImmediately":true}}"#,
            r#"{"configuration":{"returnImmediately":"yes"}}"#,
        ] {
            assert!(!is_one_shot("SendMessage", params), "{params}");
        }
        for method in STREAMING_METHODS.into_iter().chain(["GetTask", "ListTasks", "CancelTask"]) {
            assert!(!is_one_shot(method, "{}"), "{method}");
        }
    }

    #[test]
    fn every_other_method_has_one_reply() {
        for result in
            ["null", "{}", r#"{"task":{"id":"t","status":{"state":"TASK_STATE_WORKING"}}}"#]
        {
            assert_eq!(class("SendMessage", result), (true, "Last(Answer)".into()));
        }
    }

    #[test]
    fn an_error_ends_a_stream_whatever_its_data() {
        let text = request("SendStreamingMessage", r#"{"A2A-Version":"1.0"}"#);
        let expected = A2a.accept(&text, &["1.0"], Place::Direct).unwrap().expected;
        for data in ["", r#","data":{}"#, r#","data":[{"@type":"x"}]"#, r#","data":"s""#] {
            for id in [r#""id":2,"#, r#""id":null,"#, ""] {
                let reply = format!(
                    r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32004,"message":"m"{data}}}}}"#
                );
                assert_eq!(
                    A2a.classify(&expected, &reply),
                    Class::Last(End::Error { code: -32004 })
                );
            }
        }
        let notification = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
        assert_eq!(A2a.classify(&expected, notification), Class::Foreign(Foreign::NotAReply));
    }
}
