//! Declarations against the document's schemas, and rewriting against what it must keep.

use alloc::string::String;
use alloc::vec::Vec;

use arbitrary::Unstructured;

use super::generate::{Generator, Vocabulary};
use super::model;
use crate::binding::ProtocolName;
use crate::json::{Object, Value};
use crate::profile::{
    AddressData, ChangeFrequency, Declaration, Declarations, Edit, GroupKind, PeerType, PeerTypes,
    Protocols, PublicGroup, Served, Source, Transports, WriteError, copy_to_business_chat,
    rewrite_audience, rewrite_change_frequency, rewrite_preferences, rewrite_serves,
};

/// The bytes as they are, and preferences made from them.
pub fn profile(data: &[u8]) {
    check(data);
    let words = Vocabulary {
        names: &[
            "protocols",
            "mcp",
            "a2a",
            "versions",
            "transports",
            "chat",
            "rpc",
            "audience",
            "serves",
            "business",
            "changeFrequency",
            "x",
        ],
        values: &[
            "[\"1.0\",\"2026-07-28\"]",
            "[\"human\",\"robot\",\"agent\"]",
            "\"weekly\"",
            "{}",
            "[]",
            "true",
            "false",
            "{\"versions\":[\"1\"],\"transports\":{\"chat\":true,\"x\":0},\"y\":[]}",
            "{\"mcp\":{\"transports\":{\"rpc\":false},\"versions\":[]},\"Q\":{\"versions\":[],\"transports\":{}}}",
        ],
    };
    let mut bytes = Unstructured::new(data);
    let mut made = Generator::new(&mut bytes, &words);
    // What was made until the bytes ran out is worth a look too.
    let _ = made.object(4);
    if let Ok(text) = made.finish() {
        check(&text);
    }
}

fn check(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    if Object::parse(text).is_err() {
        assert!(Declarations::parse(Source::Profile, text).is_err());
        assert!(PublicGroup::parse(GroupKind::Channel, text).is_err());
        assert!(AddressData::parse(text).is_err());
        return;
    }
    let members = model::members(text).expect("an object");
    protocols(text, &members);
    peers(text, &members);
}

/// A protocol as the model reads it.
struct Entry {
    name: String,
    versions: Vec<String>,
    chat: bool,
    rpc: bool,
}

type Members<'a> = [(String, &'a str)];

/// The one member of that name, if there is one; an error if there are several.
fn one<'a>(members: &Members<'a>, name: &str) -> Result<Option<&'a str>, ()> {
    match model::all(members, name).as_slice() {
        [] => Ok(None),
        [value] => Ok(Some(value)),
        _ => Err(()),
    }
}

fn strings(array: &str) -> Result<Vec<String>, ()> {
    // As elements first: an array's text is no string's.
    let elements = model::elements(array).ok_or(())?;
    elements.into_iter().map(|element| model::string(element).ok_or(())).collect()
}

fn entry(name: String, text: &str) -> Result<Entry, ()> {
    let members = model::members(text).ok_or(())?;
    let versions = strings(one(&members, "versions")?.ok_or(())?)?;
    let transports = model::members(one(&members, "transports")?.ok_or(())?).ok_or(())?;
    let transport = |name| match one(&transports, name)? {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(()),
    };
    Ok(Entry { name, versions, chat: transport("chat")?, rpc: transport("rpc")? })
}

fn protocols(text: &str, members: &Members<'_>) {
    let expected = one(members, "protocols").and_then(|value| {
        let Some(value) = value else { return Ok(None) };
        let entries = model::members(value).ok_or(())?;
        let entries = entries.into_iter().map(|(name, text)| entry(name, text));
        entries.collect::<Result<Vec<Entry>, ()>>().map(Some)
    });
    let declared = Declarations::parse(Source::Profile, text);
    let (Ok(expected), Ok(declared)) = (&expected, &declared) else {
        assert_eq!(expected.is_ok(), declared.is_ok(), "the schema says otherwise");
        let error = declared.expect_err("both have one");
        assert!(text.is_char_boundary(error.offset), "{error:?} is no place in the text");
        return;
    };
    assert_eq!(declared.protocols().is_some(), expected.is_some());
    let valid = |entry: &&Entry| ProtocolName::new(&entry.name).is_some();
    let expected: Option<Vec<&Entry>> =
        expected.as_ref().map(|entries| entries.iter().filter(valid).collect());
    if let (Some(protocols), Some(expected)) = (declared.protocols(), &expected) {
        assert_eq!(
            Protocols::parse(protocols.object().get_text()).expect("well").iter().count(),
            expected.len()
        );
        for (protocol, entry) in protocols.iter().zip(expected) {
            assert!(protocol.name() == *entry.name);
            let versions: Vec<String> = protocol.versions().map(|v| v.chars().collect()).collect();
            assert_eq!(versions, entry.versions);
            let transports = protocol.transports();
            assert_eq!((transports.chat, transports.rpc), (entry.chat, entry.rpc));
            let ours = ["2026-07-28", "1.0"];
            let agreed = entry.versions.iter().find(|version| ours.contains(&version.as_str()));
            assert_eq!(protocol.versions().negotiate(&ours), agreed.map(String::as_str));
        }
    }
    let mut twice = false;
    for name in ["mcp", "a2a"] {
        let protocol = ProtocolName::new(name).expect("a name");
        let named: Option<Vec<&Entry>> = expected
            .as_ref()
            .map(|entries| entries.iter().copied().filter(|entry| entry.name == name).collect());
        let (chat, rpc) = match named.as_deref() {
            None => (Served::Unknown, Served::Unknown),
            Some([]) => (Served::No, Served::No),
            Some([entry]) => (served(entry.chat), served(entry.rpc)),
            Some(_) => {
                assert!(declared.chat(protocol).is_err() && declared.rpc(protocol).is_err());
                twice = true;
                continue;
            }
        };
        assert_eq!(declared.chat(protocol), Ok(chat));
        assert_eq!(declared.rpc(protocol), Ok(rpc));
    }
    rewrite(text, twice);
}

fn served(declared: bool) -> Served {
    if declared { Served::Yes } else { Served::No }
}

/// What is written into as much space as it says it needs.
fn written(write: impl Fn(&mut [u8]) -> Result<&str, WriteError>) -> Result<String, WriteError> {
    let Err(WriteError::Buffer(short)) = write(&mut []) else {
        return write(&mut []).map(String::from);
    };
    let mut exact = alloc::vec![0; short.needed];
    let less = write(&mut exact[1..]).expect_err("one byte short");
    assert!(matches!(less, WriteError::Buffer(again) if again.needed == short.needed));
    write(&mut exact).map(String::from)
}

/// The members besides one, byte for byte.
fn others(text: &str, name: &str) -> Vec<(String, String)> {
    let members = Object::parse(text).expect("an object").members();
    members
        .filter(|(member, _)| *member != *name)
        .map(|(member, value)| (member.get().into(), value.get().into()))
        .collect()
}

fn rewrite(text: &str, twice: bool) {
    let [mcp, a2a] = ["mcp", "a2a"].map(|name| ProtocolName::new(name).expect("a name"));
    let ours = Declaration::new(mcp, &["2", "\"1\""], Transports::new(true, false));
    let edits = [Edit::Declare(ours), Edit::Withdraw(a2a)];
    let change =
        |text: &str| written(|out| rewrite_preferences(Source::Profile, text, &edits, out));
    let same = written(|out| rewrite_preferences(Source::Profile, text, &[], out));
    assert_eq!(same.as_deref(), Ok(text), "nothing was to be changed");
    let copied = written(|out| copy_to_business_chat(text, text, out));
    assert_eq!(copied.as_deref(), Ok(text), "a copy onto itself");
    let changed = match change(text) {
        Ok(changed) => changed,
        Err(error) => {
            assert!(twice, "{error}");
            return;
        }
    };
    assert!(!twice, "one of two was chosen");
    assert_eq!(change(&changed).as_ref(), Ok(&changed), "a second time");
    assert_eq!(others(&changed, "protocols"), others(text, "protocols"));
    let declared = Declarations::parse(Source::Profile, &changed).expect("written by us");
    assert_eq!(declared.chat(mcp), Ok(Served::Yes));
    assert_eq!(declared.rpc(mcp), Ok(Served::No));
    assert_eq!(declared.chat(a2a), Ok(Served::No));
    let protocols = declared.protocols().expect("one is declared");
    let versions = protocols.get(mcp).expect("once").expect("there").versions();
    assert!(versions.map(|v| v.chars().collect::<String>()).eq(["2", "\"1\""]));
    // Entries of others are what they were.
    let rest = |text: &str| -> Vec<(String, String)> {
        let object = Object::parse(text).expect("an object");
        let protocols = object.get("protocols").expect("once").map(|value| value.get());
        let mut rest = others(protocols.unwrap_or("{}"), "mcp");
        rest.retain(|(name, _)| model::string(name).as_deref() != Some("a2a"));
        rest
    };
    assert_eq!(rest(&changed), rest(text));
}

fn peers(text: &str, members: &Members<'_>) {
    let set = |name| -> Result<Option<PeerTypes>, ()> {
        let Some(value) = one(members, name)? else { return Ok(None) };
        let known = strings(value)?.into_iter().filter_map(|value| PeerType::named(&value));
        Ok(Some(PeerTypes::new(&known.collect::<Vec<_>>())))
    };
    let frequency = one(members, "changeFrequency").and_then(|value| match value {
        None => Ok(None),
        Some(value) => model::string(value).ok_or(()).map(|value| ChangeFrequency::named(&value)),
    });
    let audience = set("audience");
    let group = PublicGroup::parse(GroupKind::Group, text);
    assert_eq!(group.map(|record| record.audience).map_err(drop), audience);
    assert!(group.is_err() || group.is_ok_and(|record| record.change_frequency.is_none()));
    let channel = PublicGroup::parse(GroupKind::Channel, text);
    assert_eq!(channel.is_ok(), audience.is_ok() && frequency.is_ok());
    if let Ok(record) = channel {
        assert_eq!((Ok(record.audience), Ok(record.change_frequency)), (audience, frequency));
    }
    let business = one(members, "business");
    let data = AddressData::parse(text);
    assert_eq!(data.is_ok(), set("serves").is_ok() && business.is_ok());
    if let Ok(data) = data {
        assert_eq!(Ok(data.serves), set("serves"));
        assert_eq!(data.business, business == Ok(Some("true")));
    }

    let peers = PeerTypes::new(&[PeerType::Agent, PeerType::Bot]);
    let changed = written(|out| rewrite_audience(text, peers, out));
    assert_eq!(changed.is_ok(), audience.is_ok());
    if let Ok(changed) = changed {
        let record = PublicGroup::parse(GroupKind::Group, &changed).expect("written by us");
        assert_eq!(record.audience, Some(peers));
        assert_eq!(others(&changed, "audience"), others(text, "audience"));
        let unknown = |text: &str| -> Vec<String> {
            let value = Object::parse(text).expect("an object").get("audience").expect("once");
            let values = value.map_or("[]", |value: Value<'_>| value.get());
            let mut values = strings(values).expect("strings");
            values.retain(|value| PeerType::named(value).is_none());
            values
        };
        assert_eq!(unknown(&changed), unknown(text));
    }
    if let Ok(changed) = written(|out| rewrite_serves(text, PeerTypes::EMPTY, out)) {
        assert_eq!(
            AddressData::parse(&changed).map(|data| data.serves),
            match business {
                Ok(_) => Ok(Some(PeerTypes::EMPTY)),
                Err(()) => AddressData::parse(&changed).map(|data| data.serves),
            }
        );
        assert_eq!(others(&changed, "serves"), others(text, "serves"));
    }
    for frequency in [None, Some(ChangeFrequency::Yearly)] {
        let write = |out: &mut [u8]| -> Result<String, WriteError> {
            rewrite_change_frequency(GroupKind::Channel, text, frequency, out).map(String::from)
        };
        let Err(WriteError::Buffer(short)) = write(&mut []) else {
            assert!(channel.is_err(), "it is never empty");
            continue;
        };
        let changed = write(&mut alloc::vec![0; short.needed]).expect("as long as it said");
        let record = PublicGroup::parse(GroupKind::Channel, &changed).expect("written by us");
        assert_eq!(record.change_frequency, frequency);
        assert_eq!(others(&changed, "changeFrequency"), others(text, "changeFrequency"));
    }
}
