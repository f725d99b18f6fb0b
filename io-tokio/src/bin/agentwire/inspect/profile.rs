//! `agentwire inspect profile`: what a profile, a group or an address says of itself.

use agentwire_core::binding::ProtocolName;
use agentwire_core::profile::{
    AddressData, Choice, DeclarationError, Declarations, GroupKind, Needs, NoRoute, PeerTypes,
    Protocol, PublicGroup, Route, Served, Source, Target, choose,
};
use serde_json::{Value, json};

use super::malformed;
use crate::args::{ProfileArgs, ProfileName};
use crate::exit::Failure;
use crate::output::Output;
use crate::terminal::escape;

/// Explains declarations.
pub(super) fn run(args: &ProfileArgs, text: &str, output: &mut Output) -> Result<(), Failure> {
    explain(args.what, text, output)
}

/// The same.
pub(crate) fn explain(what: ProfileName, text: &str, output: &mut Output) -> Result<(), Failure> {
    let explained = match what {
        ProfileName::Profile => preferences(Source::Profile, text, output),
        ProfileName::Group => preferences(Source::Group, text, output),
        ProfileName::Business => preferences(Source::BusinessChat, text, output),
        ProfileName::Channel => record(GroupKind::Channel, text, output),
        ProfileName::PublicGroup => record(GroupKind::Group, text, output),
        ProfileName::Address => address(text, output),
    };
    match explained {
        Ok(shown) => shown,
        Err(error) => malformed(&error.kind, error.offset, text, output),
    }
}

/// What is shown, unless the declaration is malformed.
type Explained = Result<Result<(), Failure>, DeclarationError>;

/// A protocol as it is shown.
struct Row<'a> {
    name: &'a str,
    versions: Vec<String>,
    chat: Served,
    rpc: Served,
    /// Where a short request with one answer goes.
    route: Result<Choice, NoRoute>,
}

impl<'a> Row<'a> {
    fn new(
        declared: &Declarations<'a>,
        protocol: &Protocol<'a>,
    ) -> Result<Option<Self>, DeclarationError> {
        // A name with escapes is the same protocol; nobody writes one.
        let Some(name) = protocol.name().as_plain().and_then(ProtocolName::new) else {
            return Ok(None);
        };
        let (chat, rpc) = (declared.chat(name)?, declared.rpc(name)?);
        let target = match declared.source() {
            Source::Group => {
                Target::Member { chat, direct_messages: false, rpc, address_known: false }
            }
            _ => Target::Contact { chat, rpc, address_known: true },
        };
        let versions = protocol.versions().map(|version| version.chars().collect()).collect();
        let route = choose(&target, &Needs::default());
        Ok(Some(Self { name: name.get(), versions, chat, rpc, route }))
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "versions": self.versions,
            "chat": word(self.chat),
            "rpc": word(self.rpc),
            "route": self.route.map(|choice| route(choice.route)).ok(),
            "why": self.why(),
        })
    }

    fn why(&self) -> String {
        self.route.map_or_else(|none| none.to_string(), |choice| choice.why.to_string())
    }
}

fn word(served: Served) -> &'static str {
    match served {
        Served::Yes => "yes",
        Served::No => "no",
        Served::Unknown => "unknown",
    }
}

fn route(route: Route) -> &'static str {
    match route {
        Route::DirectChat => "chat",
        Route::GroupChat => "group chat",
        Route::Rpc => "rpc",
    }
}

fn preferences(source: Source, text: &str, output: &mut Output) -> Explained {
    let declared = Declarations::parse(source, text)?;
    let mut rows = Vec::new();
    for protocol in declared.protocols().iter().flat_map(|protocols| protocols.iter()) {
        rows.extend(Row::new(&declared, &protocol)?);
    }
    Ok(show_preferences(&declared, &rows, output))
}

fn show_preferences(
    declared: &Declarations<'_>,
    rows: &[Row<'_>],
    output: &mut Output,
) -> Result<(), Failure> {
    if output.is_json() {
        return output.json(&json!({
            "kind": "preferences",
            "declared": declared.protocols().is_some(),
            "protocols": rows.iter().map(Row::json).collect::<Vec<_>>(),
        }));
    }
    if declared.protocols().is_none() {
        return output
            .line("no protocols declared: what is served is unknown, and unknown means chat");
    }
    if rows.is_empty() {
        return output.line("protocols declared: none");
    }
    for row in rows {
        let versions = row.versions.join(", ");
        output.line(format_args!("{:<11}versions {}", row.name, escape(&versions)))?;
        let (chat, rpc) = (word(row.chat), word(row.rpc));
        output.line(format_args!("{:<11}chat {chat}, rpc {rpc}", ""))?;
        let goes = match row.route {
            Ok(choice) => format!("goes over {}: ", route(choice.route)),
            Err(_) => String::new(),
        };
        output.line(format_args!("{:<11}a short request {goes}{}", "", row.why()))?;
    }
    Ok(())
}

/// The peers that something is made for, and where that comes from.
fn peers(stated: Option<PeerTypes>) -> (Vec<&'static str>, &'static str) {
    let names = stated.unwrap_or_default().iter().map(|peer| peer.name()).collect();
    (names, if stated.is_some() { "" } else { " (nothing is declared)" })
}

fn record(kind: GroupKind, text: &str, output: &mut Output) -> Explained {
    let record = PublicGroup::parse(kind, text)?;
    let (audience, note) = peers(record.audience);
    let frequency = record.change_frequency.map(|frequency| frequency.name());
    let shown = if output.is_json() {
        output.json(&json!({
            "kind": "group",
            "audience": audience,
            "stated": record.audience.is_some(),
            "changeFrequency": frequency,
        }))
    } else {
        let audience = audience.join(", ");
        output.line(format_args!("{:<11}{audience}{note}", "made for")).and_then(|()| {
            match frequency {
                Some(frequency) => output.line(format_args!("{:<11}{frequency}", "updated")),
                None => Ok(()),
            }
        })
    };
    Ok(shown)
}

fn address(text: &str, output: &mut Output) -> Explained {
    let data = AddressData::parse(text)?;
    let (serves, note) = peers(data.serves);
    let shown = if output.is_json() {
        output.json(&json!({
            "kind": "address",
            "serves": serves,
            "stated": data.serves.is_some(),
            "business": data.business,
        }))
    } else {
        let kind = if data.business { "business address" } else { "contact address" };
        let serves = serves.join(", ");
        output
            .line(kind)
            .and_then(|()| output.line(format_args!("{:<11}{serves}{note}", "made for")))
    };
    Ok(shown)
}
