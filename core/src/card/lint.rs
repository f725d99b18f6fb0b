//! What keeps a card's signature from being accepted everywhere.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use super::schema::{AGENT_CARD, Message, Presence, SIGNATURES, Type};
use super::{Card, CardError, CardSignature, Form, Refusal};
use crate::a2a::BINDING_URI;
use crate::json::{Kind, Object, Value};

/// How many findings are listed.
pub const FINDINGS: usize = 256;

/// How much of a name stands in a path, in characters.
const PATH_NAME: usize = 64;

/// A kind of verifier that is out there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub struct VerifierKind {
    /// Whose it is.
    pub name: &'static str,
    /// The form whose signatures it accepts.
    pub form: Form,
    /// Whether it refuses a signature whose header has no `typ`.
    pub needs_typ: bool,
}

/// The verifiers that are known.
///
/// ```
/// use agentwire_core::card::{Form, VERIFIERS};
/// let js = VERIFIERS.iter().find(|verifier| verifier.name.contains("@a2a-js/sdk")).unwrap();
/// assert!(js.form == Form::Pruned && js.needs_typ);
/// ```
pub const VERIFIERS: [VerifierKind; 6] = [
    VerifierKind { name: "agentwire", form: Form::Spec, needs_typ: false },
    VerifierKind { name: "a2a-protocol-types 0.15 (Rust)", form: Form::Spec, needs_typ: false },
    VerifierKind { name: "a2a-sdk 1.3 (Python)", form: Form::Pruned, needs_typ: false },
    VerifierKind { name: "@a2a-js/sdk 1.3", form: Form::Pruned, needs_typ: true },
    VerifierKind { name: "a2a-go", form: Form::Served, needs_typ: false },
    VerifierKind { name: "a2a-python, proposed", form: Form::Injected, needs_typ: false },
];

/// What was found in a card.
///
/// ```
/// use agentwire_core::card::{Card, Form, Lint};
/// let card = Card::parse(r#"{"name":"A","iconUrl":"","skills":[{"tags":[]}]}"#).unwrap();
/// let lint = Lint::of(&card).unwrap();
/// let paths: Vec<_> = lint.findings.iter().map(|finding| finding.path.as_str()).collect();
/// assert!(paths.contains(&"iconUrl") && paths.contains(&"skills[0].tags"));
/// assert!(!lint.agrees(Form::Pruned));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lint {
    /// What stands in the way, in the card's order: at most [`FINDINGS`].
    pub findings: Vec<Finding>,
    /// Whether there was more.
    pub more: bool,
    /// For each signature, whether its header has a `typ`, or why it cannot be read.
    pub signatures: Vec<Result<bool, Refusal>>,
    differing: Vec<Form>,
}

impl Lint {
    /// Looks at a card.
    ///
    /// # Errors
    /// [`CardError`] for a card without a canonical form, which nobody can sign.
    pub fn of(card: &Card<'_>) -> Result<Self, CardError> {
        let mut look = Look { findings: Vec::new(), more: false, path: String::new() };
        look.message(card.object(), &AGENT_CARD);
        look.transports(card);
        let spec = card.canonical(Form::Spec)?;
        let mut differing = Vec::new();
        for form in Form::ALL {
            if card.canonical(form)? != spec {
                differing.push(form);
            }
        }
        let typ =
            |signature: Result<CardSignature<'_>, Refusal>| signature.map(|it| it.typ().is_some());
        let signatures = card.signatures().map(typ).collect();
        Ok(Self { findings: look.findings, more: look.more, signatures, differing })
    }

    /// Whether a form has the same text as that of the specification.
    pub fn agrees(&self, form: Form) -> bool {
        !self.differing.contains(&form)
    }

    /// Whether every known verifier accepts a signature of this card.
    pub fn is_clean(&self) -> bool {
        self.differing.is_empty()
    }

    /// The known verifiers that would refuse this card if it is signed in a form.
    pub fn refusing(&self, signed: Form) -> impl Iterator<Item = VerifierKind> {
        let same = move |form: Form| form == signed || (self.agrees(form) && self.agrees(signed));
        VERIFIERS.into_iter().filter(move |verifier| !same(verifier.form))
    }
}

impl fmt::Debug for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lint({} findings, differing {:?})", self.findings.len(), self.differing)
    }
}

/// Something in a card, and where.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Where it is, as `skills[0].tags`; long names are shortened. It is the card's text.
    pub path: String,
    /// What it is.
    pub kind: FindingKind,
}

impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Finding({:?}, path of {} bytes)", self.kind, self.path.len())
    }
}

/// What stands in the way of one canonical text, or of an interface.
///
/// ```
/// use agentwire_core::card::FindingKind;
/// assert_eq!(FindingKind::Unknown.to_string(), "not a field of A2A 1.0: some forms drop it");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FindingKind {
    /// An empty string, array or object.
    Empty,
    /// `null`, which means that a field is not set.
    Null,
    /// `false` for a field that is false when it is absent.
    Default,
    /// A member that the schema does not have.
    Unknown,
    /// A field by its name in the proto, in snake case.
    ProtoName,
    /// A `REQUIRED` field is absent; the path is that of the field.
    Missing,
    /// A value of another type than the field's.
    Type,
    /// An object that has to have exactly one of its members has none, or several.
    OneOf,
    /// The card says that the agent sends push notifications, and its SimpleX interface refuses
    /// them ("Push notifications"): a card of its own for SimpleX says the truth.
    PushOverSimplex,
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "empty: some forms drop it",
            Self::Null => "null: some forms drop it",
            Self::Default => "false, as if it were absent: some forms drop it",
            Self::Unknown => "not a field of A2A 1.0: some forms drop it",
            Self::ProtoName => "the name in the proto: some forms write the one in JSON",
            Self::Missing => "required and absent: a proposed form adds it",
            Self::Type => "of another type than A2A 1.0 has it",
            Self::OneOf => "has to have exactly one member",
            Self::PushOverSimplex => "true, which is not so of the SimpleX interface",
        })
    }
}

struct Look {
    findings: Vec<Finding>,
    more: bool,
    path: String,
}

impl Look {
    fn find(&mut self, kind: FindingKind) {
        if self.findings.len() < FINDINGS {
            self.findings.push(Finding { path: self.path.clone(), kind });
        } else {
            self.more = true;
        }
    }

    /// Does something one step further down.
    fn at(&mut self, step: impl FnOnce(&mut String) -> fmt::Result, then: impl FnOnce(&mut Self)) {
        let len = self.path.len();
        // Writing to a string does not fail.
        let _ = step(&mut self.path);
        then(self);
        self.path.truncate(len);
    }

    fn at_name(&mut self, name: impl Iterator<Item = char>, then: impl FnOnce(&mut Self)) {
        let step = |path: &mut String| {
            if !path.is_empty() {
                path.push('.');
            }
            let mut name = name;
            path.extend(name.by_ref().take(PATH_NAME));
            if name.next().is_some() {
                path.push('…');
            }
            Ok(())
        };
        self.at(step, then);
    }

    fn message(&mut self, object: Object<'_>, message: &'static Message) {
        let mut seen: u32 = 0;
        let mut arms: usize = 0;
        for (name, value) in object.members() {
            let found = message.field(name);
            self.at_name(name.chars(), |look| {
                let Some((place, field, _)) = found else {
                    return look.find(FindingKind::Unknown);
                };
                // The signatures are in no form.
                if core::ptr::eq(message, &AGENT_CARD) && field.name == SIGNATURES {
                    return;
                }
                if name != *field.name {
                    look.find(FindingKind::ProtoName);
                }
                if value.is_null() {
                    return look.find(FindingKind::Null);
                }
                seen |= 1_u32.checked_shl(place as u32).unwrap_or(0);
                arms = arms.saturating_add(1);
                if field.presence == Presence::Implicit && value.as_bool() == Some(false) {
                    look.find(FindingKind::Default);
                }
                look.value(value, &field.ty);
            });
        }
        for (place, field) in message.fields.iter().enumerate() {
            let bit = 1_u32.checked_shl(place as u32).unwrap_or(0);
            if field.presence == Presence::Required && seen & bit == 0 {
                self.at_name(field.name.chars(), |look| look.find(FindingKind::Missing));
            }
        }
        if matches!(message.name, "SecurityScheme" | "OAuthFlows") && arms != 1 {
            self.find(FindingKind::OneOf);
        }
    }

    fn value(&mut self, value: Value<'_>, ty: &'static Type) {
        let kind = match ty {
            Type::Text => Kind::String,
            Type::Bool => Kind::Bool,
            Type::List(_) => Kind::Array,
            Type::Message(_) | Type::Map(_) | Type::Struct => Kind::Object,
        };
        if value.kind() != kind {
            return self.find(FindingKind::Type);
        }
        if is_empty(value) {
            self.find(FindingKind::Empty);
        }
        match ty {
            Type::Text | Type::Bool => {}
            Type::List(element) => {
                for (index, value) in value.elements().into_iter().flatten().enumerate() {
                    self.at(|path| write!(path, "[{index}]"), |look| look.value(value, element));
                }
            }
            Type::Map(ty) => {
                for (name, value) in value.as_object().iter().flat_map(Object::members) {
                    self.at_name(name.chars(), |look| look.value(value, ty));
                }
            }
            Type::Message(message) => {
                if let Some(object) = value.as_object() {
                    self.message(object, message);
                }
            }
            Type::Struct => self.free(value),
        }
    }

    /// Inside of a `Struct`, where only empty values make a difference. As deep as JSON is read.
    fn free(&mut self, value: Value<'_>) {
        let inner = |look: &mut Self, value: Value<'_>| {
            if value.is_null() {
                return look.find(FindingKind::Null);
            }
            if is_empty(value) {
                return look.find(FindingKind::Empty);
            }
            look.free(value);
        };
        for (index, value) in value.elements().into_iter().flatten().enumerate() {
            self.at(|path| write!(path, "[{index}]"), |look| inner(look, value));
        }
        for (name, value) in value.as_object().iter().flat_map(Object::members) {
            self.at_name(name.chars(), |look| inner(look, value));
        }
    }

    /// Whether the card promises for SimpleX what the binding does not do.
    fn transports(&mut self, card: &Card<'_>) {
        let object = card.object();
        let capabilities = object.object("capabilities").ok().flatten();
        let push = capabilities.and_then(|object| object.get("pushNotifications").ok().flatten());
        let interfaces = object.get("supportedInterfaces").ok().flatten();
        let mut interfaces = interfaces.and_then(|value| value.elements()).into_iter().flatten();
        let over_simplex = interfaces.any(|value| {
            let binding = value.as_object().and_then(|it| it.str("protocolBinding").ok().flatten());
            binding.is_some_and(|binding| binding == *BINDING_URI)
        });
        if over_simplex && push.and_then(|push| push.as_bool()) == Some(true) {
            self.at_name("capabilities.pushNotifications".chars(), |look| {
                look.find(FindingKind::PushOverSimplex);
            });
        }
    }
}

/// Whether it is a string, an array or an object with nothing in it.
fn is_empty(value: Value<'_>) -> bool {
    match value.kind() {
        Kind::String => value.get().len() == 2,
        Kind::Array => value.elements().is_some_and(|mut elements| elements.next().is_none()),
        Kind::Object => value.as_object().is_some_and(|object| object.members().next().is_none()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::tests::CLEAN;

    fn findings(text: &str) -> Vec<(String, FindingKind)> {
        let lint = Lint::of(&Card::parse(text).unwrap()).unwrap();
        lint.findings.into_iter().map(|finding| (finding.path, finding.kind)).collect()
    }

    #[test]
    fn a_clean_card_has_no_findings_and_no_verifier_refuses_it() {
        let lint = Lint::of(&Card::parse(CLEAN).unwrap()).unwrap();
        assert!(lint.findings.is_empty() && lint.is_clean() && !lint.more);
        for form in Form::ALL {
            assert_eq!(lint.refusing(form).count(), 0);
        }
    }

    #[test]
    fn each_finding_is_named_with_its_place_and_makes_some_verifier_refuse() {
        use FindingKind::{Default, Empty, Missing, Null, OneOf, ProtoName, Unknown};
        for (from, to, path, kind) in [
            ("\"streaming\":true", "", "capabilities", Empty),
            ("\"d\"", "\"\"", "description", Empty),
            ("[\"t\"]", "[]", "skills[0].tags", Empty),
            ("\"version\":\"1\"", "\"version\":\"1\",\"iconUrl\":null", "iconUrl", Null),
            ("\"version\":\"1\"", "\"version\":\"1\",\"url\":\"x\"", "url", Unknown),
            ("\"version\":\"1\",", "", "version", Missing),
            (
                "\"protocolVersion\"",
                "\"protocol_version\"",
                "supportedInterfaces[0].protocol_version",
                ProtoName,
            ),
            (
                "\"streaming\":true",
                "\"extensions\":[{\"uri\":\"u\",\"required\":false}]",
                "capabilities.extensions[0].required",
                Default,
            ),
            (
                "\"streaming\":true",
                "\"extensions\":[{\"uri\":\"u\",\"params\":{\"a\":[{\"b\":null}]}}]",
                "capabilities.extensions[0].params.a[0].b",
                Null,
            ),
            (
                "\"streaming\":true",
                "\"extensions\":[{\"uri\":\"u\",\"params\":{\"a\":[{}]}}]",
                "capabilities.extensions[0].params.a[0]",
                Empty,
            ),
            (
                "\"version\":\"1\"",
                "\"version\":\"1\",\"securitySchemes\":{\"b\":{}}",
                "securitySchemes.b",
                OneOf,
            ),
            (
                "\"version\":\"1\"",
                "\"version\":\"1\",\"securityRequirements\":[{\"schemes\":{\"b\":{\"list\":[]}}}]",
                "securityRequirements[0].schemes.b.list",
                Empty,
            ),
        ] {
            let text = CLEAN.replacen(from, to, 1);
            assert_ne!(text, CLEAN, "{from}");
            let found = findings(&text);
            assert!(found.contains(&(path.into(), kind)), "{path}: {found:?}");
            let lint = Lint::of(&Card::parse(&text).unwrap()).unwrap();
            assert!(!lint.is_clean(), "{path}");
            assert!(
                lint.refusing(Form::Spec).next().is_some()
                    || lint.refusing(Form::Served).next().is_some(),
                "{path}"
            );
        }
    }

    #[test]
    fn a_promise_of_push_notifications_beside_a_simplex_interface_is_found() {
        let text =
            CLEAN.replace("JSONRPC", BINDING_URI).replace("\"streaming\"", "\"pushNotifications\"");
        assert_eq!(
            findings(&text),
            [("capabilities.pushNotifications".into(), FindingKind::PushOverSimplex)]
        );
        assert!(findings(&text.replace(":true", ":false")).is_empty());
    }

    #[test]
    fn wrong_types_are_found() {
        let text = CLEAN.replace("[\"t\"]", "\"t\"").replace("\"A\"", "7");
        let found = findings(&text);
        assert!(found.contains(&("skills[0].tags".into(), FindingKind::Type)), "{found:?}");
        assert!(found.contains(&("name".into(), FindingKind::Type)), "{found:?}");
    }

    #[test]
    fn findings_at_their_limit_and_one_more() {
        let card = |unknown: usize| {
            let members: String = (0..unknown).map(|at| std::format!(",\"x{at}\":1")).collect();
            CLEAN.replacen(",", &(members + ","), 1)
        };
        for (unknown, more) in [(FINDINGS - 1, false), (FINDINGS, false), (FINDINGS + 1, true)] {
            let text = card(unknown);
            let lint = Lint::of(&Card::parse(&text).unwrap()).unwrap();
            assert_eq!((lint.findings.len(), lint.more), (unknown.min(FINDINGS), more));
        }
        let long = CLEAN.replacen(",", &std::format!(",\"{}\":1,", "x".repeat(1000)), 1);
        assert_eq!(findings(&long)[0].0.chars().count(), PATH_NAME + 1);
    }

    #[test]
    fn the_deepest_card_is_looked_at_to_its_end() {
        let deep = "[".repeat(120) + "null" + &"]".repeat(120);
        let text = CLEAN.replace(
            "\"streaming\":true",
            &std::format!("\"extensions\":[{{\"uri\":\"u\",\"params\":{{\"a\":{deep}}}}}]"),
        );
        let found = findings(&text);
        assert_eq!(found.len(), 1);
        assert!(found[0].0.ends_with("[0][0]") && found[0].1 == FindingKind::Null);
    }
}
