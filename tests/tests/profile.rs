//! Declarations: what is written can be read, what is rewritten keeps the rest, and what is read is
//! what the document's schemas take.

use agentwire_core::binding::ProtocolName;
use agentwire_core::json::Object;
use agentwire_core::profile::{
    AddressData, Declaration, Declarations, Edit, GroupKind, PeerType, PeerTypes, Protocols,
    PublicGroup, Source, Transports, WriteError, copy_to_business_chat, rewrite_audience,
    rewrite_preferences, write_protocols,
};
use jtd::{Schema, ValidateOptions};
use proptest::prelude::*;
use proptest::{collection, option, sample};
use serde_json::{Map, Value, json};

/// The schema of `protocols`, as the document gives it.
const PROTOCOLS: &str = r#"{"values": {"properties": {"versions": {"elements": {"type": "string"}},
    "transports": {"optionalProperties": {"chat": {"type": "boolean"}, "rpc": {"type": "boolean"}},
    "additionalProperties": true}}, "additionalProperties": true}}"#;

/// The schemas of the public group record and of the link data. The record and the data have other
/// fields beside those of the document.
const RECORD: &str = r#"{"optionalProperties": {"audience": {"elements": {"type": "string"}}},
    "additionalProperties": true}"#;
const LINK_DATA: &str = r#"{"optionalProperties": {"serves": {"elements": {"type": "string"}}},
    "additionalProperties": true}"#;

fn schema_takes(schema: &str, text: &str) -> bool {
    let schema = Schema::from_serde_schema(serde_json::from_str(schema).expect("JSON"));
    let schema = schema.expect("a schema");
    let value = serde_json::from_str(text).expect("JSON");
    jtd::validate(&schema, &value, ValidateOptions::new()).expect("no recursion").is_empty()
}

/// JSON text in which names do not occur twice, with white space here and there.
#[derive(Clone, Debug)]
enum Json {
    Text(&'static str),
    Array(Vec<(Json, &'static str)>),
    Object(Vec<(String, Json, &'static str)>),
}

impl Json {
    fn write(&self, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Array(elements) => {
                out.push('[');
                for (place, (element, space)) in elements.iter().enumerate() {
                    out.push_str(if place == 0 { space } else { "," });
                    element.write(out);
                    out.push_str(space);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                let mut separator = "";
                for (place, (name, value, space)) in members.iter().enumerate() {
                    if members.iter().take(place).any(|(before, ..)| before == name) {
                        continue;
                    }
                    out.push_str(separator);
                    separator = ",";
                    out.push_str(space);
                    out.push_str(&json!(name).to_string());
                    out.push_str(space);
                    out.push(':');
                    value.write(out);
                    out.push_str(space);
                }
                out.push('}');
            }
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }
}

fn space() -> impl Strategy<Value = &'static str> {
    prop_oneof![4 => Just(""), 1 => sample::select(vec![" ", "\n", "\t \r\n"])]
}

/// A name that a declaration uses, or another.
fn member_name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => sample::select(vec![
            "protocols", "mcp", "a2a", "versions", "transports", "chat", "rpc", "audience",
            "serves", "changeFrequency", "commands",
        ])
        .prop_map(str::to_owned),
        1 => "[a-z\"é\u{1}]{0,4}",
    ]
}

fn scalar() -> impl Strategy<Value = Json> {
    sample::select(vec![
        "null",
        "true",
        "false",
        "0",
        "1e400",
        "\"\"",
        "\"1.0\"",
        "\"agent\"",
        "\"\\u0068uman\"",
        "[]",
        "{}",
        "[\"1.0\"]",
        "[\"2026-07-28\",\"1\"]",
        "[\"agent\",\"robot\"]",
        "[7]",
    ])
    .prop_map(Json::Text)
}

fn value() -> impl Strategy<Value = Json> {
    scalar().prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            1 => collection::vec((inner.clone(), space()), 0..4).prop_map(Json::Array),
            3 => collection::vec((member_name(), inner, space()), 0..5).prop_map(Json::Object),
        ]
    })
}

/// One that mostly follows the schema: a declaration of a protocol.
fn entry() -> impl Strategy<Value = Json> {
    let versions = sample::select(vec!["[]", "[\"1.0\"]", "[ \"2\", \"1\" ]"]);
    let flag = || option::of(sample::select(vec!["true", "false"]));
    let other = || option::of((member_name(), scalar()));
    (versions, flag(), flag(), other(), other(), space(), any::<bool>()).prop_map(
        |(versions, chat, rpc, inside, beside, space, turned)| {
            let member = |name: &str, value| (name.to_owned(), value, space);
            let mut transports: Vec<_> = [("chat", chat), ("rpc", rpc)]
                .into_iter()
                .filter_map(|(name, value)| Some(member(name, Json::Text(value?))))
                .collect();
            // The first of two with one name stands: ours come first here, and last where turned.
            transports.extend(inside.map(|(name, value)| (name, value, space)));
            let mut members = vec![
                member("versions", Json::Text(versions)),
                member("transports", Json::Object(transports)),
            ];
            members.extend(beside.map(|(name, value)| (name, value, space)));
            if turned && members.len() == 2 {
                members.reverse();
            }
            Json::Object(members)
        },
    )
}

/// Preferences whose `protocols` mostly follow the schema.
fn preferences() -> impl Strategy<Value = String> {
    let name = sample::select(vec!["mcp", "a2a", "x-1", "Not A Name", "é", ""]);
    let protocols = collection::vec((name.prop_map(str::to_owned), entry(), space()), 0..4);
    let others = || collection::vec((member_name(), value(), space()), 0..3);
    (others(), option::of(protocols), others(), space()).prop_map(
        |(before, protocols, after, space)| {
            let mut members: Vec<_> =
                before.into_iter().filter(|(name, ..)| name != "protocols").collect();
            members.extend(
                protocols.map(|members| ("protocols".to_owned(), Json::Object(members), space)),
            );
            members.extend(after.into_iter().filter(|(name, ..)| name != "protocols"));
            format!("{space}{}{space}", Json::Object(members).text())
        },
    )
}

const VERSIONS: [&[&str]; 4] = [&[], &["1.0"], &["2026-07-28", "2027-01-01"], &["\"\n\u{1}é"]];

fn declaration(name: &'static str) -> impl Strategy<Value = Declaration<'static>> {
    (sample::select(VERSIONS.to_vec()), any::<bool>(), any::<bool>()).prop_map(
        move |(versions, chat, rpc)| {
            let name = ProtocolName::new(name).expect("a name");
            Declaration::new(name, versions, Transports::new(chat, rpc))
        },
    )
}

fn edit(name: &'static str) -> impl Strategy<Value = Option<Edit<'static>>> {
    prop_oneof![
        1 => Just(None),
        3 => declaration(name).prop_map(|declaration| Some(Edit::Declare(declaration))),
        1 => Just(Some(Edit::Withdraw(ProtocolName::new(name).expect("a name")))),
    ]
}

/// What is written into as much space as it needs.
fn written(write: impl Fn(&mut [u8]) -> Result<&str, WriteError>) -> Result<String, WriteError> {
    match write(&mut []) {
        Err(WriteError::Buffer(short)) => {
            let mut exact = vec![0; short.needed];
            assert!(write(&mut vec![0; short.needed - 1]).is_err(), "it said how much it needs");
            write(&mut exact).map(str::to_owned)
        }
        other => other.map(str::to_owned),
    }
}

/// What an edit makes of preferences, on a tree.
fn model(preferences: &mut Value, edit: &Edit<'_>) {
    let members = preferences.as_object_mut().expect("an object");
    match edit {
        Edit::Declare(declaration) => {
            let protocols = members.entry("protocols").or_insert_with(|| json!({}));
            let protocols = protocols.as_object_mut().expect("an object");
            let entry = protocols
                .entry(declaration.name.get())
                .or_insert_with(|| json!({"transports": {}}));
            entry["versions"] = json!(declaration.versions);
            let transports: &mut Map<_, _> =
                entry["transports"].as_object_mut().expect("an object");
            let Transports { chat, rpc, .. } = declaration.transports;
            for (name, served) in [("chat", chat), ("rpc", rpc)] {
                if served || transports.contains_key(name) {
                    transports.insert(name.into(), served.into());
                }
            }
        }
        Edit::Withdraw(name) => {
            if let Some(protocols) = members.get_mut("protocols") {
                protocols.as_object_mut().expect("an object").remove(name.get());
            }
        }
        _ => unreachable!("no other edit is made here"),
    }
}

/// `1e400` is no number of the tree's, and `chat` of an entry may be no truth value.
fn tree(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

proptest! {
    #[test]
    fn what_is_written_can_be_read(mcp in declaration("mcp"), a2a in declaration("a2a")) {
        let text = written(|out| write_protocols(Source::Profile, &[mcp, a2a], out)).unwrap();
        prop_assert!(schema_takes(PROTOCOLS, &text));
        let protocols = Protocols::parse(&text).unwrap();
        prop_assert_eq!(protocols.iter().count(), 2);
        for declared in [mcp, a2a] {
            let protocol = protocols.get(declared.name).unwrap().unwrap();
            prop_assert_eq!(protocol.transports(), declared.transports);
            let versions: Vec<String> =
                protocol.versions().map(|version| version.chars().collect()).collect();
            prop_assert_eq!(versions, declared.versions.to_vec());
            prop_assert_eq!(
                protocol.versions().negotiate(declared.versions),
                declared.versions.first().copied()
            );
        }
    }

    #[test]
    fn what_is_rewritten_is_what_was_asked_and_keeps_the_rest(
        text in preferences(),
        mcp in edit("mcp"),
        a2a in edit("a2a"),
    ) {
        let edits: Vec<Edit<'_>> = mcp.into_iter().chain(a2a).collect();
        let rewrite = |text: &str| {
            written(|out| rewrite_preferences(Source::Profile, text, &edits, out))
        };
        let readable = Declarations::parse(Source::Profile, &text).is_ok();
        let changed = rewrite(&text);
        prop_assert_eq!(changed.is_ok(), readable);
        let Ok(changed) = changed else { return Ok(()) };
        prop_assert_eq!(rewrite(&changed), Ok(changed.clone()), "a second time");
        if edits.is_empty() {
            prop_assert_eq!(&changed, &text);
        }
        if let Some(mut expected) = tree(&text) {
            for edit in &edits {
                model(&mut expected, edit);
            }
            prop_assert_eq!(tree(&changed), Some(expected));
        }
        // Other members are where they were, byte for byte.
        let others = |text: &str| -> Vec<(String, String)> {
            Object::parse(text).unwrap().members()
                .filter(|(name, _)| *name != *"protocols")
                .map(|(name, value)| (name.get().into(), value.get().into()))
                .collect()
        };
        prop_assert_eq!(others(&changed), others(&text));
    }

    #[test]
    fn a_business_chat_gets_the_very_text(profile in preferences(), group in preferences()) {
        let copied = written(|out| copy_to_business_chat(&profile, &group, out));
        let Ok(declared) = Declarations::parse(Source::Profile, &profile) else {
            prop_assert!(copied.is_err());
            return Ok(());
        };
        let copied = copied.unwrap();
        let copy = Object::parse(&copied).unwrap().get("protocols").unwrap();
        prop_assert_eq!(
            copy.map(|value| value.get()),
            declared.protocols().map(|protocols| protocols.object().get_text())
        );
        let again = written(|out| copy_to_business_chat(&profile, &copied, out)).unwrap();
        prop_assert_eq!(again, copied);
    }

    #[test]
    fn protocols_are_what_the_schema_takes(value in prop_oneof![value(), entry()]) {
        for text in [value.text(), format!("{{\"mcp\":{}}}", value.text())] {
            if tree(&text).is_some() {
                prop_assert_eq!(
                    Protocols::parse(&text).is_ok(),
                    schema_takes(PROTOCOLS, &text),
                    "{}", text
                );
            }
        }
    }

    #[test]
    fn audience_and_serves_are_what_the_schemas_take(value in value()) {
        for text in [
            value.text(),
            format!("{{\"audience\":{0}, \"serves\":{0}}}", value.text()),
        ] {
            let Some(tree) = tree(&text) else { continue };
            // The schema of the whole takes nothing but objects; so do we.
            let record = PublicGroup::parse(GroupKind::Group, &text);
            prop_assert_eq!(record.is_ok(), schema_takes(RECORD, &text));
            prop_assert_eq!(AddressData::parse(&text).is_ok(), schema_takes(LINK_DATA, &text));
            if let (Ok(record), Some(array)) = (record, tree["audience"].as_array()) {
                for peer in PeerType::ALL {
                    let there = array.iter().any(|value| value == peer.name());
                    prop_assert_eq!(record.audience().contains(peer), there);
                }
            }
        }
    }

    #[test]
    fn a_rewritten_audience_has_these_known_values_and_all_unknown_ones(
        values in collection::vec(sample::select(vec!["human", "agent", "robot", "x\"y", "bot"]), 0..5),
        peers in collection::vec(sample::select(PeerType::ALL.to_vec()), 0..4),
    ) {
        let peers = PeerTypes::new(&peers);
        let text = json!({"audience": values, "z": 1}).to_string();
        let changed = written(|out| rewrite_audience(&text, peers, out)).unwrap();
        let record = PublicGroup::parse(GroupKind::Channel, &changed).unwrap();
        prop_assert_eq!(record.audience, Some(peers));
        let unknown = |text: &str| -> Vec<Value> {
            tree(text).unwrap()["audience"].as_array().unwrap().iter()
                .filter(|value| PeerType::named(value.as_str().unwrap()).is_none())
                .cloned()
                .collect()
        };
        prop_assert_eq!(unknown(&changed), unknown(&text));
        prop_assert_eq!(written(|out| rewrite_audience(&changed, peers, out)).unwrap(), changed);
    }
}
