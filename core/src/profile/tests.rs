//! Every sentence of "Profile declarations", by its own name, and the decisions of the module.

use std::string::{String, ToString as _};
use std::vec::Vec;
use std::{format, vec};

use super::*;
use crate::binding::ProtocolName;
use crate::json::{BufferTooSmall, ErrorKind};

const EXAMPLE: &str = r#"{
  "protocols": {
    "mcp": {
      "versions": ["2026-07-28"],
      "transports": {"chat": true, "rpc": true}
    },
    "a2a": {
      "versions": ["1.0"],
      "transports": {"chat": true, "rpc": true}
    }
  }
}"#;

fn name(name: &str) -> ProtocolName<'_> {
    ProtocolName::new(name).unwrap()
}

fn declared(source: Source, protocols: &str) -> Declarations<'static> {
    let text = format!("{{\"protocols\":{protocols}}}");
    Declarations::parse(source, String::leak(text)).unwrap()
}

fn entry(transports: &str) -> String {
    format!(r#"{{"mcp":{{"versions":["2026-07-28"],"transports":{transports}}}}}"#)
}

/// Chat and Service RPC for `mcp`.
fn served(source: Source, protocols: &str) -> (Served, Served) {
    let declared = declared(source, protocols);
    (declared.chat(name("mcp")).unwrap(), declared.rpc(name("mcp")).unwrap())
}

fn error(protocols: &str) -> (DeclarationErrorKind, usize) {
    let error = Protocols::parse(protocols).unwrap_err();
    (error.kind, error.offset)
}

fn written(write: impl Fn(&mut [u8]) -> Result<&str, WriteError>) -> String {
    let mut buffer = vec![0; 4096];
    let text = write(&mut buffer).unwrap().to_string();
    // The same with the exact space and with one byte less.
    let needed = text.len();
    assert_eq!(write(&mut vec![0; needed]).unwrap(), text);
    if let Some(capacity) = needed.checked_sub(1) {
        let short = write(&mut vec![0; capacity]).unwrap_err();
        assert!(
            matches!(short, WriteError::Buffer(BufferTooSmall { needed: n, .. }) if n == needed)
        );
    }
    text
}

fn rewritten(preferences: &str, edits: &[Edit<'_>]) -> String {
    written(|out| rewrite_preferences(Source::Profile, preferences, edits, out))
}

fn mcp(versions: &'static [&'static str], chat: bool, rpc: bool) -> Declaration<'static> {
    Declaration::new(name("mcp"), versions, Transports::new(chat, rpc))
}

mod protocols_key {
    use super::*;

    #[test]
    fn the_example_of_the_document() {
        let preferences = Declarations::parse(Source::Profile, EXAMPLE).unwrap();
        for protocol in ["mcp", "a2a"] {
            assert_eq!(preferences.chat(name(protocol)), Ok(Served::Yes));
            assert_eq!(preferences.rpc(name(protocol)), Ok(Served::Yes));
        }
        let a2a = preferences.protocols().unwrap().get(name("a2a")).unwrap().unwrap();
        assert_eq!(a2a.versions().negotiate(&["1.0"]), Some("1.0"));
    }

    #[test]
    fn protocols_is_a_key_of_the_preferences_of_profiles_and_groups() {
        for source in [Source::Profile, Source::Group, Source::BusinessChat] {
            assert_eq!(served(source, &entry(r#"{"chat":true}"#)).0, Served::Yes);
        }
        let elsewhere = r#"{"preferences":{"protocols":{}},"Protocols":{}}"#;
        assert!(Declarations::parse(Source::Profile, elsewhere).unwrap().protocols().is_none());
    }

    #[test]
    fn the_keys_are_protocol_names() {
        let value = r#"{"versions":[],"transports":{}}"#;
        let text = format!(
            r#"{{"a2a":{value},"A2A":{value},"":{value},"x y":{value},"\u006dcp":{value},"é":{value},"a-1":{value}}}"#
        );
        let protocols = Protocols::parse(&text).unwrap();
        let names: Vec<_> = protocols.iter().map(|protocol| protocol.name().raw()).collect();
        assert_eq!(names, ["a2a", r"\u006dcp", "a-1"]);
        assert!(protocols.get(name("mcp")).unwrap().is_some());
    }

    #[test]
    fn versions_is_required_and_an_array_of_strings() {
        use DeclarationErrorKind::{Missing, Type};
        assert_eq!(error(r#"{"a":{"transports":{}}}"#), (Missing(Part::Versions), 5));
        let value =
            |versions: &str| format!(r#"{{"a":{{"transports":{{}},"versions":{versions}}}}}"#);
        for wrong in ["null", "{}", "\"1.0\"", "1"] {
            assert_eq!(error(&value(wrong)), (Type(Part::Versions), 33), "{wrong}");
        }
        for wrong in ["1", "null", "[]", "true"] {
            let text = value(&format!("[\"1.0\",{wrong}]"));
            assert_eq!(error(&text), (Type(Part::Version), 40), "{wrong}");
        }
        assert!(Protocols::parse(&value("[]")).is_ok());
    }

    #[test]
    fn versions_are_in_the_bots_order_of_preference() {
        let text = r#"{"a":{"versions":["3","2","\u0031"],"transports":{}}}"#;
        let versions = Protocols::parse(text).unwrap().iter().next().unwrap().versions();
        assert_eq!(versions.clone().map(|v| v.raw()).collect::<Vec<_>>(), ["3", "2", r"\u0031"]);
        assert_eq!(versions.negotiate(&["1", "2"]), Some("2"));
        assert_eq!(versions.negotiate(&["1"]), Some("1"));
        assert_eq!(versions.negotiate(&["3", "2", "1"]), Some("3"));
        assert_eq!(versions.negotiate(&["4"]), None);
        assert_eq!(versions.negotiate(&[]), None);
    }

    #[test]
    fn transports_is_required_and_an_object_of_truth_values() {
        use DeclarationErrorKind::{Missing, Type};
        assert_eq!(error(r#"{"a":{"versions":[]}}"#), (Missing(Part::Transports), 5));
        let value =
            |transports: &str| format!(r#"{{"a":{{"versions":[],"transports":{transports}}}}}"#);
        for wrong in ["null", "[]", "true"] {
            assert_eq!(error(&value(wrong)), (Type(Part::Transports), 33), "{wrong}");
        }
        for wrong in ["null", "1", "\"true\"", "{}"] {
            assert_eq!(error(&value(&format!("{{\"chat\":{wrong}}}"))), (Type(Part::Chat), 41));
            assert_eq!(error(&value(&format!("{{\"rpc\":{wrong}}}"))), (Type(Part::Rpc), 40));
        }
        for wrong in ["null", "[]", "\"\""] {
            assert_eq!(error(&format!("{{\"a\":{wrong}}}")), (Type(Part::Protocol), 5));
            assert_eq!(error(wrong), (Type(Part::Protocols), 0));
        }
    }

    #[test]
    fn an_absent_transport_is_false() {
        assert_eq!(served(Source::Profile, &entry("{}")), (Served::No, Served::No));
        let chat = served(Source::Profile, &entry(r#"{"chat":true}"#));
        assert_eq!(chat, (Served::Yes, Served::No));
        let rpc = served(Source::Profile, &entry(r#"{"rpc":true,"chat":false}"#));
        assert_eq!(rpc, (Served::No, Served::Yes));
    }

    #[test]
    fn clients_must_ignore_unknown_keys() {
        let text =
            r#"{"mcp":{"x":[{}],"versions":["1"],"transports":{"chat":true,"fax":7},"y":null}}"#;
        assert_eq!(served(Source::Profile, text), (Served::Yes, Served::No));
        let preferences = r#"{"commands":[],"fullDelete":{"allow":"no"},"protocols":{},"z":1}"#;
        assert!(Declarations::parse(Source::Profile, preferences).unwrap().protocols().is_some());
    }

    #[test]
    fn transports_rpc_is_valid_in_preferences_only() {
        let text = entry(r#"{"chat":true,"rpc":true}"#);
        assert_eq!(served(Source::Profile, &text), (Served::Yes, Served::Yes));
        assert_eq!(served(Source::Group, &text), (Served::Yes, Served::Unknown));
        assert_eq!(served(Source::BusinessChat, &text), (Served::Yes, Served::Unknown));
        for source in [Source::Group, Source::BusinessChat] {
            let both = [
                Declaration::new(name("a2a"), &[], Transports::new(true, false)),
                mcp(&[], true, true),
            ];
            let refused = write_protocols(source, &both, &mut [0; 256]).unwrap_err();
            assert_eq!(refused, WriteError::RpcInGroup { index: 1 });
            let edits = [Edit::Declare(mcp(&[], false, true))];
            let refused = rewrite_preferences(source, "{}", &edits, &mut [0; 256]).unwrap_err();
            assert_eq!(refused, WriteError::RpcInGroup { index: 0 });
        }
    }

    #[test]
    fn a_declaration_in_preferences_applies_to_direct_chats_and_to_service_rpc() {
        let declared = served(Source::Profile, &entry(r#"{"chat":true,"rpc":true}"#));
        assert_eq!(declared, (Served::Yes, Served::Yes));
    }

    #[test]
    fn a_declaration_in_group_preferences_states_that_the_owners_serve_the_protocol() {
        assert_eq!(served(Source::Group, &entry(r#"{"chat":true}"#)).0, Served::Yes);
    }

    #[test]
    fn other_members_can_serve_a_protocol_in_a_group_without_a_declaration() {
        for text in ["{}".to_string(), entry("{}"), entry(r#"{"chat":false}"#)] {
            assert_eq!(served(Source::Group, &text).0, Served::Unknown, "{text}");
        }
    }

    #[test]
    fn no_declaration_means_unknown_and_not_no() {
        for source in [Source::Profile, Source::Group, Source::BusinessChat] {
            let none = Declarations::parse(source, r#"{"commands":[]}"#).unwrap();
            assert_eq!(none.chat(name("mcp")), Ok(Served::Unknown));
            assert_eq!(none.rpc(name("mcp")), Ok(Served::Unknown));
            assert_eq!(Declarations::none(source).chat(name("mcp")), Ok(Served::Unknown));
            assert_eq!(none.source(), source);
        }
    }

    #[test]
    fn a_profile_lists_the_protocols_it_serves() {
        let other = r#"{"a2a":{"versions":["1.0"],"transports":{"chat":true,"rpc":true}}}"#;
        assert_eq!(served(Source::Profile, other), (Served::No, Served::No));
        assert_eq!(served(Source::BusinessChat, other).0, Served::No);
    }

    #[test]
    fn in_a_business_chat_protocols_of_the_business_profile_must_be_copied() {
        let copied = |profile, group| written(|out| copy_to_business_chat(profile, group, out));
        let profile =
            r#"{"x":1, "protocols": {"mcp" : {"versions":[],"transports":{"rpc":true}} }}"#;
        let value = r#"{"mcp" : {"versions":[],"transports":{"rpc":true}} }"#;
        assert_eq!(copied(profile, "{}"), format!("{{\"protocols\":{value}}}"));
        assert_eq!(
            copied(profile, "\n{ \"commands\" : [ ] }\n"),
            format!("\n{{ \"commands\" : [ ],\"protocols\":{value} }}\n")
        );
        assert_eq!(
            copied(profile, r#"{"a":1,"protocols":{"old":1}, "b":2}"#),
            format!(r#"{{"a":1,"protocols":{value}, "b":2}}"#)
        );
        // What the profile no longer declares the chat does not either.
        assert_eq!(copied("{}", r#"{"protocols":{}, "b":2}"#), r#"{ "b":2}"#);
        assert_eq!(copied("{}", r#"{"a":1, "protocols":{}}"#), r#"{"a":1}"#);
        let bad = copy_to_business_chat(r#"{"protocols":[]}"#, "{}", &mut [0; 64]).unwrap_err();
        assert!(matches!(bad, WriteError::Existing(_)));
    }

    #[test]
    fn commands_remains_the_command_menu_and_call_is_not_added_to_it() {
        let text = r#"{"commands":[{"keyword":"help","label":"Help"}],"protocols":{}}"#;
        let changed = rewritten(text, &[Edit::Declare(mcp(&["1"], true, true))]);
        assert!(
            changed.starts_with(r#"{"commands":[{"keyword":"help","label":"Help"}],"protocols""#)
        );
        assert!(!changed.contains("_call"));
    }

    #[test]
    fn a_protocol_that_is_declared_twice_is_an_error_where_it_is_looked_for() {
        let value = r#"{"versions":[],"transports":{}}"#;
        let text = format!(r#"{{"protocols":{{"mcp":{value},"\u006dcp":{value},"a2a":{value}}}}}"#);
        let declared = Declarations::parse(Source::Profile, &text).unwrap();
        let kind = DeclarationErrorKind::Json(ErrorKind::DuplicateMember);
        assert_eq!(declared.chat(name("mcp")).unwrap_err().kind, kind);
        assert_eq!(declared.rpc(name("mcp")).unwrap_err().kind, kind);
        assert_eq!(declared.chat(name("a2a")), Ok(Served::No));
        let edits = [Edit::Withdraw(name("mcp"))];
        let refused =
            rewrite_preferences(Source::Profile, &text, &edits, &mut [0; 512]).unwrap_err();
        let WriteError::Existing(error) = refused else { panic!("{refused:?}") };
        assert!(text[error.offset..].starts_with(r#""\u006dcp""#), "{error:?}");
        for twice in [
            r#"{"protocols":{},"protocols":{}}"#,
            r#"{"protocols":{"a":{"versions":[],"versions":[],"transports":{}}}}"#,
            r#"{"protocols":{"a":{"versions":[],"transports":{"rpc":true,"rpc":true}}}}"#,
        ] {
            let error = Declarations::parse(Source::Profile, twice).unwrap_err();
            assert_eq!(error.kind, kind, "{twice}");
        }
    }

    #[test]
    fn preferences_that_are_no_object() {
        for (text, kind, offset) in [
            ("[]", ErrorKind::NotAnObject, 0),
            ("null", ErrorKind::NotAnObject, 0),
            ("", ErrorKind::UnexpectedEnd, 0),
            ("{\"protocols\":}", ErrorKind::UnexpectedByte(b'}'), 13),
        ] {
            let error = Declarations::parse(Source::Profile, text).unwrap_err();
            assert_eq!(error, DeclarationError { kind: DeclarationErrorKind::Json(kind), offset });
        }
    }
}

mod writing {
    use super::*;

    #[test]
    fn protocols_are_written_in_their_order_and_false_is_left_out() {
        let a2a = Declaration::new(name("a2a"), &["1.0", "\"x\n"], Transports::new(false, false));
        let text =
            written(|out| write_protocols(Source::Profile, &[mcp(&[], true, true), a2a], out));
        assert_eq!(
            text,
            r#"{"mcp":{"versions":[],"transports":{"chat":true,"rpc":true}},"a2a":{"versions":["1.0","\"x\n"],"transports":{}}}"#
        );
        assert_eq!(written(|out| write_protocols(Source::Group, &[], out)), "{}");
        let twice = write_protocols(Source::Profile, &[mcp(&[], true, true), a2a, a2a], &mut [])
            .unwrap_err();
        assert_eq!(twice, WriteError::Repeated { index: 2 });
    }

    #[test]
    fn rewriting_keeps_everything_else_byte_for_byte() {
        let text = "\t{ \"a\" : 1 , \"protocols\" : { \"other\" : {\"versions\":[ ],\"transports\":{}} , \
                    \"mcp\" : { \"x\" : {} , \"transports\" : { \"fax\" : 1 , \"chat\" : false } , \
                    \"versions\" : [ \"old\" ] , \"y\":2 } } , \"z\" : \"\\u00e9\" }\r\n";
        let changed = rewritten(text, &[Edit::Declare(mcp(&["new"], true, true))]);
        let expected = text
            .replace("[ \"old\" ]", "[\"new\"]")
            .replace("\"chat\" : false }", "\"chat\" : true,\"rpc\":true }");
        assert_eq!(changed, expected);
        assert_eq!(rewritten(&changed, &[Edit::Declare(mcp(&["new"], true, true))]), changed);
        assert_eq!(rewritten(text, &[]), text);
        // A transport that is not served any more says so where it stood.
        let changed = rewritten(text, &[Edit::Declare(mcp(&["old"], false, false))]);
        assert_eq!(changed, text.replace("[ \"old\" ]", "[\"old\"]"));
    }

    #[test]
    fn rewriting_adds_what_is_not_there() {
        let edits = [Edit::Declare(mcp(&["1"], true, false))];
        let value = r#""protocols":{"mcp":{"versions":["1"],"transports":{"chat":true}}}"#;
        assert_eq!(rewritten("{}", &edits), format!("{{{value}}}"));
        assert_eq!(rewritten("{ }", &edits), format!("{{{value} }}"));
        assert_eq!(rewritten(r#"{"a":1 }"#, &edits), format!(r#"{{"a":1,{value} }}"#));
        assert_eq!(rewritten(r#"{"protocols":{}}"#, &edits), format!("{{{value}}}"));
        let other = r#"{"protocols":{"a":{"versions":[],"transports":{}}}}"#;
        let changed = rewritten(other, &edits);
        let protocols = r#"{"protocols":{"a":{"versions":[],"transports":{}},"mcp":{"versions""#;
        assert!(changed.starts_with(protocols), "{changed}");
    }

    #[test]
    fn withdrawing_leaves_an_object_wherever_the_protocol_stood() {
        let value = r#"{"versions":[],"transports":{}}"#;
        let edits = [Edit::Withdraw(name("mcp"))];
        for (before, after) in [
            (format!(r#"{{"mcp":{value}}}"#), "{}".to_string()),
            (format!(r#"{{"mcp":{value}, "a":{value}}}"#), format!(r#"{{ "a":{value}}}"#)),
            (format!(r#"{{"a":{value} , "mcp":{value}}}"#), format!(r#"{{"a":{value}}}"#)),
            (
                format!(r#"{{"a":{value},"mcp":{value},"b":{value}}}"#),
                format!(r#"{{"a":{value},"b":{value}}}"#),
            ),
        ] {
            let wrap = |protocols| format!(r#"{{"protocols":{protocols}}}"#);
            assert_eq!(rewritten(&wrap(before), &edits), wrap(after));
        }
        assert_eq!(rewritten("{\"a\":1}", &edits), "{\"a\":1}");
        let both = [Edit::Withdraw(name("mcp")), Edit::Declare(mcp(&[], true, true))];
        let refused = rewrite_preferences(Source::Profile, "{}", &both, &mut []).unwrap_err();
        assert_eq!(refused, WriteError::Repeated { index: 1 });
    }

    #[test]
    fn what_cannot_be_read_is_not_rewritten() {
        let edits = [Edit::Declare(mcp(&[], true, true))];
        for text in ["", "[]", r#"{"protocols":null}"#, r#"{"protocols":{"a":{}}}"#] {
            let refused =
                rewrite_preferences(Source::Profile, text, &edits, &mut [0; 256]).unwrap_err();
            assert!(matches!(refused, WriteError::Existing(_)), "{text}");
        }
    }

    #[test]
    fn unknown_peer_types_are_kept_on_rewriting() {
        let change = |text: &str, peers: &[PeerType]| {
            let peers = PeerTypes::new(peers);
            written(|out| rewrite_audience(text, peers, out))
        };
        let text = r#"{ "audience" : ["robot", "human","human", "\u0061gent"] , "x":[] }"#;
        assert_eq!(
            change(text, &[PeerType::Agent, PeerType::Bot]),
            r#"{ "audience" : ["robot","\u0061gent","bot"] , "x":[] }"#
        );
        assert_eq!(
            change(text, &[PeerType::Human]),
            r#"{ "audience" : ["robot","human"] , "x":[] }"#
        );
        assert_eq!(change("{}", &[]), r#"{"audience":[]}"#);
        for wrong in [r#"{"serves":{}}"#, r#"{"serves":[1]}"#, "[]"] {
            let refused = rewrite_serves(wrong, PeerTypes::HUMAN, &mut [0; 64]).unwrap_err();
            assert!(matches!(refused, WriteError::Existing(_)), "{wrong}");
        }
    }

    #[test]
    fn change_frequency_is_written_for_channels_only() {
        let change = |text: &str, frequency| {
            written(|out| rewrite_change_frequency(GroupKind::Channel, text, frequency, out))
        };
        let text = r#"{"a":1, "changeFrequency" : "fortnightly" }"#;
        let never = Some(ChangeFrequency::Never);
        assert_eq!(change(text, never), r#"{"a":1, "changeFrequency" : "never" }"#);
        assert_eq!(change(text, None), r#"{"a":1 }"#);
        assert_eq!(change("{}", None), "{}");
        let refused =
            rewrite_change_frequency(GroupKind::Group, "{}", never, &mut [0; 64]).unwrap_err();
        assert_eq!(refused, WriteError::NotAChannel);
        // One that should not be there can be taken out.
        let gone =
            rewrite_change_frequency(GroupKind::Group, text, None, &mut [0; 64]).map(String::from);
        assert_eq!(gone.as_deref(), Ok(r#"{"a":1 }"#));
    }
}

mod peers {
    use super::*;

    fn audience(text: &str) -> PeerTypes {
        PublicGroup::parse(GroupKind::Group, text).unwrap().audience()
    }

    #[test]
    fn the_values_of_audience_are_the_values_of_peer_type() {
        for peer in PeerType::ALL {
            let text = format!(r#"{{"audience":["{peer}"]}}"#);
            assert_eq!(audience(&text), PeerTypes::new(&[peer]));
            let text = format!(r#"{{"serves":["{peer}"]}}"#);
            assert_eq!(AddressData::parse(&text).unwrap().serves(), PeerTypes::new(&[peer]));
            assert_eq!(PeerType::named(peer.name()), Some(peer));
        }
        assert_eq!(audience(r#"{"audience":["hum\u0061n"]}"#), PeerTypes::HUMAN);
    }

    #[test]
    fn an_absent_audience_is_human() {
        assert_eq!(audience("{}"), PeerTypes::HUMAN);
        assert_eq!(AddressData::parse("{}").unwrap().serves(), PeerTypes::HUMAN);
        assert_eq!(audience(r#"{"audience":[]}"#), PeerTypes::EMPTY);
    }

    #[test]
    fn clients_must_ignore_unknown_values_of_audience_and_serves() {
        let text = r#"{"audience":["robot","agent","AGENT"],"serves":["robot","agent",""]}"#;
        let agent = PeerTypes::new(&[PeerType::Agent]);
        assert_eq!(audience(text), agent);
        assert_eq!(AddressData::parse(text).unwrap().serves(), agent);
        assert_eq!(audience(r#"{"audience":["robot"]}"#), PeerTypes::EMPTY);
    }

    #[test]
    fn audience_and_serves_are_arrays_of_strings() {
        use DeclarationErrorKind::Type;
        let record = |text: &str| PublicGroup::parse(GroupKind::Channel, text).unwrap_err();
        let data = |text: &str| AddressData::parse(text).unwrap_err();
        for wrong in ["null", "\"agent\"", "{}", "1"] {
            let error = record(&format!(r#"{{"audience":{wrong}}}"#));
            assert_eq!((error.kind, error.offset), (Type(Part::Audience), 12));
            let error = data(&format!(r#"{{"serves":{wrong}}}"#));
            assert_eq!((error.kind, error.offset), (Type(Part::Serves), 10));
        }
        let error = record(r#"{"audience":["agent",null]}"#);
        assert_eq!((error.kind, error.offset), (Type(Part::PeerType), 21));
        assert!(matches!(data("[]").kind, DeclarationErrorKind::Json(_)));
    }

    #[test]
    fn change_frequency_is_in_a_channel_only() {
        let text = r#"{"changeFrequency":"daily"}"#;
        let of = |kind, text| PublicGroup::parse(kind, text).map(|record| record.change_frequency);
        assert_eq!(of(GroupKind::Channel, text), Ok(Some(ChangeFrequency::Daily)));
        assert_eq!(of(GroupKind::Group, text), Ok(None));
        assert_eq!(of(GroupKind::Group, r#"{"changeFrequency":7}"#), Ok(None));
    }

    #[test]
    fn the_values_of_change_frequency_are_those_of_the_sitemaps_protocol() {
        let of = |text: &str| PublicGroup::parse(GroupKind::Channel, text);
        let names = ["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"];
        assert_eq!(ChangeFrequency::ALL.map(ChangeFrequency::name), names);
        for frequency in ChangeFrequency::ALL {
            let text = format!(r#"{{"changeFrequency":"{frequency}"}}"#);
            assert_eq!(of(&text).unwrap().change_frequency, Some(frequency));
            assert_eq!(ChangeFrequency::named(frequency.name()), Some(frequency));
        }
        let unknown = of(r#"{"changeFrequency":"Daily"}"#).unwrap();
        assert_eq!(unknown.change_frequency, None);
        for wrong in ["null", "7", "[]"] {
            let error = of(&format!(r#"{{"changeFrequency":{wrong}}}"#)).unwrap_err();
            assert_eq!(error.kind, DeclarationErrorKind::Type(Part::ChangeFrequency));
        }
    }

    #[test]
    fn serves_stands_beside_business() {
        let business = |text| AddressData::parse(text).unwrap().business;
        assert!(business(r#"{"business":true,"serves":["agent"]}"#));
        assert!(
            !business(r#"{"business":false}"#) && !business("{}") && !business(r#"{"business":1}"#)
        );
    }

    #[test]
    fn the_record_and_the_link_data_take_precedence_over_a_website() {
        let (agent, human) = (PeerTypes::new(&[PeerType::Agent]), PeerTypes::HUMAN);
        assert_eq!(PeerTypes::effective(Some(human), Some(agent)), human);
        assert_eq!(PeerTypes::effective(Some(agent), None), agent);
        assert_eq!(PeerTypes::effective(None, Some(agent)), agent);
        assert_eq!(PeerTypes::effective(None, None), human);
    }
}

mod choice {
    use super::*;

    const SERVED: [Served; 3] = [Served::Yes, Served::No, Served::Unknown];

    fn contact(chat: Served, rpc: Served) -> Target {
        Target::Contact { chat, rpc, address_known: true }
    }

    fn member(direct_messages: bool) -> Target {
        let (chat, rpc) = (Served::Unknown, Served::Unknown);
        Target::Member { chat, direct_messages, rpc, address_known: false }
    }

    fn needs(set: impl Fn(&mut Needs)) -> Needs {
        let mut needs = Needs::default();
        set(&mut needs);
        needs
    }

    fn all_needs() -> impl Iterator<Item = Needs> {
        let insist = [None, Some(Transport::Chat), Some(Transport::Rpc)];
        insist.into_iter().flat_map(|insist| {
            (0..64).map(move |bits: u8| Needs {
                stream: bits & 1 != 0,
                conversation: bits & 2 != 0,
                private: bits & 4 != 0,
                credential: bits & 8 != 0,
                too_large_for_rpc: bits & 16 != 0,
                too_large_for_chat: bits & 32 != 0,
                insist,
            })
        })
    }

    fn all_targets() -> Vec<Target> {
        let mut targets = Vec::new();
        for chat in SERVED {
            for rpc in SERVED {
                targets.push(contact(chat, rpc));
                targets.push(Target::Contact { chat, rpc, address_known: false });
                for (direct_messages, address_known) in
                    [(false, false), (false, true), (true, false), (true, true)]
                {
                    targets.push(Target::Member { chat, direct_messages, rpc, address_known });
                }
            }
        }
        targets
    }

    #[test]
    fn service_rpc_where_it_is_declared_and_the_request_suits_it() {
        for chat in SERVED {
            let choice = choose(&contact(chat, Served::Yes), &Needs::default()).unwrap();
            assert_eq!((choice.route, choice.why), (Route::Rpc, Why::Declared));
        }
    }

    #[test]
    fn the_conversation_otherwise() {
        let both = contact(Served::Yes, Served::Yes);
        for (set, obstacle) in [
            ((|needs| needs.stream = true) as fn(&mut Needs), Obstacle::Stream),
            (|needs| needs.conversation = true, Obstacle::Conversation),
            (|needs| needs.too_large_for_rpc = true, Obstacle::TooLarge),
        ] {
            let choice = choose(&both, &needs(set)).unwrap();
            assert_eq!((choice.route, choice.why), (Route::DirectChat, Why::NotRpc(obstacle)));
        }
        let chat = choose(&contact(Served::Yes, Served::No), &Needs::default()).unwrap();
        assert_eq!((chat.route, chat.why), (Route::DirectChat, Why::NotRpc(Obstacle::NotServed)));
        let group = choose(&member(false), &Needs::default()).unwrap();
        assert_eq!((group.route, group.why), (Route::GroupChat, Why::NotRpc(Obstacle::NoAddress)));
    }

    #[test]
    fn unknown_means_chat_unless_the_caller_insists() {
        for chat in [Served::Yes, Served::Unknown] {
            let target = contact(chat, Served::Unknown);
            let choice = choose(&target, &Needs::default()).unwrap();
            assert_eq!(choice.why, Why::NotRpc(Obstacle::Undeclared));
            let insisting = needs(|needs| needs.insist = Some(Transport::Rpc));
            let choice = choose(&target, &insisting).unwrap();
            assert_eq!((choice.route, choice.why), (Route::Rpc, Why::Insisted));
        }
        let insisting = needs(|needs| needs.insist = Some(Transport::Rpc));
        let refused = choose(&contact(Served::Yes, Served::No), &insisting).unwrap_err();
        assert_eq!(refused, NoRoute { chat: None, rpc: Some(Obstacle::NotServed) });
    }

    #[test]
    fn a_request_that_needs_privacy_is_sent_in_a_direct_chat_or_over_service_rpc() {
        let private = needs(|needs| needs.private = true);
        assert_eq!(choose(&member(true), &private).unwrap().route, Route::DirectChat);
        let refused = choose(&member(false), &private).unwrap_err();
        assert_eq!(refused.chat, Some(Obstacle::Private));
        let target = Target::Member {
            chat: Served::Yes,
            direct_messages: false,
            rpc: Served::Yes,
            address_known: true,
        };
        assert_eq!(choose(&target, &private).unwrap().route, Route::Rpc);
    }

    #[test]
    fn a_request_with_a_credential_must_not_be_sent_in_a_group() {
        for target in all_targets() {
            for needs in all_needs().filter(|needs| needs.credential || needs.private) {
                let route = choose(&target, &needs).map(|choice| choice.route);
                assert_ne!(route, Ok(Route::GroupChat), "{target:?} {needs:?}");
            }
        }
        let credential = needs(|needs| needs.credential = true);
        let refused = choose(&member(false), &credential).unwrap_err();
        assert_eq!(refused.chat, Some(Obstacle::Credential));
    }

    #[test]
    fn every_choice_keeps_to_what_was_asked_and_declared() {
        for target in all_targets() {
            for needs in all_needs() {
                let (chat, rpc, address) = match target {
                    Target::Contact { chat, rpc, address_known }
                    | Target::Member { chat, rpc, address_known, .. } => (chat, rpc, address_known),
                };
                let in_group = matches!(target, Target::Member { .. });
                let hidden = in_group && (needs.private || needs.credential);
                let direct = matches!(target, Target::Member { direct_messages: true, .. });
                let one_shot = !needs.stream && !needs.conversation && !needs.too_large_for_rpc;
                let insists = needs.insist == Some(Transport::Rpc);
                let rpc_open = one_shot
                    && address
                    && (rpc == Served::Yes || insists && rpc == Served::Unknown);
                let chat_open =
                    !needs.too_large_for_chat && if hidden { direct } else { chat != Served::No };
                let expected = match needs.insist {
                    None if rpc_open => Some(Transport::Rpc),
                    None if chat_open => Some(Transport::Chat),
                    Some(Transport::Chat) if chat_open => Some(Transport::Chat),
                    Some(Transport::Rpc) if rpc_open => Some(Transport::Rpc),
                    _ => None,
                };
                let choice = choose(&target, &needs);
                let transport = choice.map(|choice| choice.route.transport()).ok();
                assert_eq!(transport, expected, "{target:?} {needs:?}");
                if let Err(refused) = choice {
                    // It says what is in the way of each transport that was considered.
                    assert_eq!(refused.chat.is_some(), !insists);
                    assert_eq!(refused.rpc.is_some(), needs.insist != Some(Transport::Chat));
                    assert!(refused.to_string().contains("; "));
                }
            }
        }
    }
}

#[test]
fn debug_and_display_show_no_text() {
    let text = r#"{"protocols":{"mcp":{"versions":["hunter2"],"transports":{}},"hunter2":{}}}"#;
    let error = Declarations::parse(Source::Profile, text).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    let fine = r#"{"protocols":{"mcp":{"versions":["hunter2"],"transports":{}}},"hunter2":{}}"#;
    let declared = Declarations::parse(Source::Profile, fine).unwrap();
    let protocol = declared.protocols().unwrap().iter().next().unwrap();
    let shown = format!("{declared:?} {protocol:?} {:?}", protocol.versions());
    assert!(!shown.contains("hunter2"), "{shown}");
}
