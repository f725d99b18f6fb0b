use agentwire_core::binding::Standard;
use agentwire_core::profile::{NoRoute, Obstacle, Transport, Why};

use super::*;

const LINK: &str = "simplex:/a#abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ?h=smp.example.org";
const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
    "io.modelcontextprotocol/protocolVersion":"2026-07-28",
    "io.modelcontextprotocol/clientCapabilities":{}}}}"#;

fn preferences(chat: bool, rpc: bool) -> String {
    format!(
        r#"{{"protocols":{{"mcp":{{"versions":["2026-07-28"],"transports":{{"chat":{chat},"rpc":{rpc}}}}}}}}}"#
    )
}

fn contacts(profile: &str) -> OwnedFrame {
    let text = format!(
        r#"{{"corrId":"1","resp":{{"type":"contactsList","user":{{"userId":1,"localDisplayName":"me"}},
        "contacts":[
            {{"contactId":3,"localDisplayName":"ann","profile":{{"displayName":"ann"}}}},
            {{"contactId":4,"localDisplayName":"bot","profile":{{"displayName":"bot"{profile}}}}}]}}}}"#
    );
    OwnedFrame::new(&text).unwrap()
}

fn plan(state: &str) -> OwnedFrame {
    let text = format!(
        r#"{{"corrId":"1","resp":{{"type":"connectionPlan","connLink":{{"connFullLink":"x"}},
        "connectionPlan":{{"type":"contactAddress","contactAddressPlan":{state}}}}}}}"#
    );
    OwnedFrame::new(&text).unwrap()
}

fn route(reached: &Reached, needs: Needs) -> Result<(Destination, Why), ReachError> {
    let (destination, choice) = reached.route(&Standard::MCP, REQUEST, needs)?;
    Ok((destination, choice.why))
}

fn insist(transport: Transport) -> Needs {
    let mut needs = Needs::default();
    needs.insist = Some(transport);
    needs
}

fn direct(contact: i64) -> Destination {
    Destination::Conversation(Target::Contact(ContactId(contact)))
}

#[test]
fn a_contact_is_found_by_name_and_by_number() {
    let answer = contacts("");
    for who in [Who::Name("bot".into()), Who::Number(4)] {
        let bot = Reached::contact(&answer, &who).unwrap().unwrap();
        assert_eq!(bot.conversation, Conversation::Contact(ContactId(4)));
        assert!(bot.is_connected());
    }
    for who in [Who::Name("bo".into()), Who::Name("4".into()), Who::Number(5)] {
        assert!(Reached::contact(&answer, &who).unwrap().is_none());
    }
    let other = plan(r#"{"type":"ok"}"#);
    let unexpected = Reached::contact(&other, &Who::Number(4));
    assert_eq!(unexpected.unwrap_err(), CoreCallError::Unexpected);
}

#[test]
fn what_a_contact_declares_decides() {
    let bot = |extra: &str| Reached::contact(&contacts(extra), &Who::Number(4)).unwrap().unwrap();
    let with = |chat, rpc| {
        bot(&format!(r#","contactLink":"{LINK}","preferences":{}"#, preferences(chat, rpc)))
    };
    let service = Destination::Service(LINK.into());
    let default = Needs::default();
    assert_eq!(route(&with(true, true), default), Ok((service.clone(), Why::Declared)));
    let chat_only = route(&with(true, false), default);
    assert_eq!(chat_only, Ok((direct(4), Why::NotRpc(Obstacle::NotServed))));
    assert_eq!(with(true, false).served(&Standard::MCP), (Served::Yes, Served::No));
    let mut stream = Needs::default();
    stream.stream = true;
    assert_eq!(route(&with(true, true), stream), Ok((direct(4), Why::NotRpc(Obstacle::Stream))));
    // Without an address there is no way but the chat, whatever is declared.
    let unlinked = bot(&format!(r#","preferences":{}"#, preferences(true, true)));
    for bot in [unlinked, bot("")] {
        assert_eq!(route(&bot, default), Ok((direct(4), Why::NotRpc(Obstacle::NoAddress))));
        let refused = route(&bot, insist(Transport::Rpc));
        let Err(ReachError::NoRoute(NoRoute { rpc, .. })) = refused else { panic!("{refused:?}") };
        assert_eq!(rpc, Some(Obstacle::NoAddress));
    }
    // Unknown means chat, unless the caller insists.
    let silent = bot(&format!(r#","contactLink":"{LINK}""#));
    assert_eq!(route(&silent, default), Ok((direct(4), Why::NotRpc(Obstacle::Undeclared))));
    let linked = bot(&format!(r#","contactLink":{{"connFullLink":"x","connShortLink":"{LINK}"}}"#));
    assert_eq!(route(&linked, insist(Transport::Rpc)), Ok((service, Why::Insisted)));
    // What cannot be read says nothing.
    let broken = bot(r#","preferences":{"protocols":7}"#);
    assert_eq!(broken.served(&Standard::MCP), (Served::Unknown, Served::Unknown));
}

#[test]
fn an_address_without_a_contact_is_called_over_service_rpc_alone() {
    let data = |rpc| {
        let profile =
            format!(r#"{{"displayName":"bot","preferences":{}}}"#, preferences(true, rpc));
        plan(&format!(r#"{{"type":"ok","contactSLinkData_":{{"profile":{profile}}}}}"#))
    };
    let declared = Reached::planned(&data(true), LINK).unwrap();
    assert!(!declared.is_connected());
    assert_eq!(declared.link(), Some(LINK));
    let service = Destination::Service(LINK.into());
    assert_eq!(route(&declared, Needs::default()), Ok((service, Why::Declared)));
    assert_eq!(route(&declared, insist(Transport::Chat)), Err(ReachError::NotConnected));
    let chat = Reached::planned(&data(false), LINK).unwrap();
    assert_eq!(route(&chat, Needs::default()), Err(ReachError::NotConnected));
}

#[test]
fn a_known_address_is_its_contact() {
    let known = plan(
        r#"{"type":"known","contact":{"contactId":4,"localDisplayName":"bot",
            "profile":{"displayName":"bot"}}}"#,
    );
    let reached = Reached::planned(&known, LINK).unwrap();
    assert_eq!(route(&reached, Needs::default()).unwrap().0, direct(4));
    assert_eq!(reached.link(), Some(LINK));
    let own = plan(r#"{"type":"ownLink"}"#);
    assert_eq!(Reached::planned(&own, LINK).unwrap_err(), ReachError::Own);
}

fn member(direct: Option<ContactId>, direct_messages: bool) -> Reached {
    let target = Target::Everyone(GroupId(1));
    Reached {
        conversation: Conversation::Member { target, direct, direct_messages },
        chat: Preferences::default(),
        contact: Preferences::default(),
        link: None,
    }
}

#[test]
fn what_is_private_never_goes_into_a_group() {
    let mut private = Needs::default();
    private.private = true;
    let group = Destination::Conversation(Target::Everyone(GroupId(1)));
    let friend = member(Some(ContactId(9)), true);
    assert_eq!(route(&friend, Needs::default()).unwrap().0, group);
    assert_eq!(route(&friend, private).unwrap().0, direct(9));
    assert_eq!(route(&member(None, true), private), Err(ReachError::NoDirectChat));
    let everyone = Reached { conversation: Conversation::Everyone(GroupId(1)), ..friend };
    assert_eq!(route(&everyone, Needs::default()).unwrap().0, group);
    for refused in [route(&member(Some(ContactId(9)), false), private), route(&everyone, private)] {
        let Err(ReachError::NoRoute(NoRoute { chat, .. })) = refused else { panic!("{refused:?}") };
        assert_eq!(chat, Some(Obstacle::Private));
    }
}

#[test]
fn a_request_that_is_too_large_for_service_rpc_goes_into_the_chat() {
    let data = format!(r#","contactLink":"{LINK}","preferences":{}"#, preferences(true, true));
    let bot = Reached::contact(&contacts(&data), &Who::Number(4)).unwrap().unwrap();
    let text = "x".repeat(10_000);
    let large = REQUEST.replace(r#""_meta""#, &format!(r#""cursor":"{text}","_meta""#));
    let (destination, choice) = bot.route(&Standard::MCP, &large, Needs::default()).unwrap();
    assert_eq!((destination, choice.why), (direct(4), Why::NotRpc(Obstacle::TooLarge)));
}

#[test]
fn debug_shows_no_declaration_and_no_link() {
    let data = format!(r#","contactLink":"{LINK}","preferences":{{"canary":1}}"#);
    let bot = Reached::contact(&contacts(&data), &Who::Number(4)).unwrap().unwrap();
    let shown = format!("{bot:?}");
    assert!(!shown.contains("canary") && !shown.contains("smp."), "{shown}");
    assert_eq!(bot.preferences(), Some(r#"{"canary":1}"#));
}
