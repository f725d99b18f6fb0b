//! Declarations, and the choice of a transport.

use agentwire_core::binding::ProtocolName;
use agentwire_core::profile::{
    Declaration, Declarations, Edit, GroupKind, Needs, PeerType, PublicGroup, Route, Served,
    Source, Target, Transports, choose, rewrite_preferences,
};

use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    ("a profile's protocols are read and decide the transport", || protocols() == Some(())),
    ("preferences are rewritten in place", || rewritten() == Some(())),
    ("a channel's record is read", || record() == Some(())),
];

fn protocols() -> Option<()> {
    let text = r#"{"protocols":{"mcp":{"versions":["2","1"],"transports":{"rpc":true}}}}"#;
    let mcp = ProtocolName::new("mcp")?;
    let declared = Declarations::parse(Source::Profile, text).ok()?;
    let (chat, rpc) = (declared.chat(mcp).ok()?, declared.rpc(mcp).ok()?);
    let versions = declared.protocols()?.get(mcp).ok()??.versions();
    let choice =
        choose(&Target::Contact { chat, rpc, address_known: true }, &Needs::default()).ok()?;
    let expected = (Served::No, Served::Yes, Some("1"), Route::Rpc);
    ((chat, rpc, versions.negotiate(&["1"]), choice.route) == expected).then_some(())
}

fn rewritten() -> Option<()> {
    let text = r#"{ "protocols":{"a":{"versions":[ ],"transports":{}} }, "x":1 }"#;
    let declaration =
        Declaration::new(ProtocolName::new("mcp")?, &["1"], Transports::new(true, false));
    let mut buffer = [0; 160];
    let edits = [Edit::Declare(declaration)];
    let changed = rewrite_preferences(Source::Profile, text, &edits, &mut buffer).ok()?;
    let expected = r#"{ "protocols":{"a":{"versions":[ ],"transports":{}},"mcp":{"versions":["1"],"transports":{"chat":true}} }, "x":1 }"#;
    (changed == expected).then_some(())
}

fn record() -> Option<()> {
    let text = r#"{"audience":["robot","agent"],"changeFrequency":"never"}"#;
    let record = PublicGroup::parse(GroupKind::Channel, text).ok()?;
    let agent = record.audience().iter().eq([PeerType::Agent]);
    (agent && record.change_frequency?.name() == "never").then_some(())
}
