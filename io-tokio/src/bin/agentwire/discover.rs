//! `agentwire discover`: who can be called somewhere, without connecting to anybody.
//!
//! ```text
//! web address ──▶ llms.txt ──▶ addresses ─┐
//! URL of a card ──▶ interfaces ───────────┤
//! link or name ───────────────────────────┴▶ the core's plan ──▶ link data ──▶ declarations
//!                                                                                  │
//!                                                              protocols, versions, transport
//! ```

mod http;

use agentwire_core::discovery::link::{Link, LinkKind};
use agentwire_core::discovery::name::Name;
use agentwire_core::json::Object;
use agentwire_core::simplex::UserId;
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::frame::{Body, Plan, PlanKind, PlanState};
use serde_json::json;

use crate::args::{DiscoverArgs, ProfileName};
use crate::core_api::CoreApi;
use crate::exit::{ExitCode, Failure};
use crate::inspect::{llms, profile};
use crate::output::Output;
use crate::signals::Shutdown;
use crate::terminal::{NAME, escape};
use crate::web_card::{check, failed, names_card};

pub(crate) async fn run(
    args: &DiscoverArgs,
    output: &mut Output,
    mut end: Shutdown,
) -> Result<(), Failure> {
    tokio::select! {
        biased;
        () = end.requested() => Ok(()),
        result = discover(args, output) => result,
    }
}

async fn discover(args: &DiscoverArgs, output: &mut Output) -> Result<(), Failure> {
    let target = args.target.trim();
    let links = if Link::parse(target).is_ok() || is_name(target) {
        vec![target.to_owned()]
    } else if names_card(target) {
        card(args, target, output).await?
    } else {
        let url = http::llms_url(target)?;
        let text = http::get(&url).await?;
        let (links, _) = llms::list(&text, output)?;
        links
    };
    if args.offline {
        return Ok(());
    }
    if links.is_empty() {
        return Ok(());
    }
    let (mut core, user) = CoreApi::start(&args.core).await.map_err(|failure| {
        let offline = "; --offline shows what the web site says alone";
        let offline = if failure.code() == ExitCode::NoCore { offline } else { "" };
        Failure::new(failure.code(), format!("{}{offline}", failure.message()))
    })?;
    let mut refused = None;
    for link in &links {
        // One that is refused does not keep the others from being looked at.
        if let Err(failure) = look(&mut core, user, link, output).await {
            if failure.code() != ExitCode::Refused {
                return Err(failure);
            }
            eprintln!("agentwire: {}: {}", escape(link), escape(failure.message()));
            refused = refused.or(Some(failure));
        }
    }
    core.close().await;
    match refused {
        Some(_) => Err(Failure::new(ExitCode::Refused, "")),
        None => Ok(()),
    }
}

/// A SimpleX name and not a web site: it says so by its first character or its scheme, or ends as
/// no web site does.
fn is_name(target: &str) -> bool {
    let says_so = target.starts_with(['@', '#'])
        || target.starts_with("simplex:")
        || target.ends_with(".simplex");
    says_so && Name::parse(target).is_ok()
}

/// The SimpleX links in an Agent Card, and who vouches for it.
async fn card(args: &DiscoverArgs, url: &str, output: &mut Output) -> Result<Vec<String>, Failure> {
    let client = args.web.client()?;
    let fetched = client.fetch(url).await.map_err(|error| failed(&error))?;
    let card = fetched.card().map_err(|error| failed(&error))?;
    let verified = client.verify(&fetched).await;
    check(&client, &fetched).await?;
    let name = card.object().str("name").ok().flatten();
    let name: String = name.map(|name| name.chars().collect()).unwrap_or_default();
    let interfaces: Vec<_> = card.simplex_interfaces().collect();
    let kid = verified.ok().map(|verified| verified.kid);
    if output.is_json() {
        let links: Vec<_> = interfaces
            .iter()
            .map(|it| json!({"url": it.url, "version": it.version, "tenant": it.tenant}))
            .collect();
        output.json(&json!({"kind": "card", "name": name, "kid": kid, "simplex": links}))?;
    } else {
        let shown = escape(&name);
        let name = output.terminal().paint(NAME, &shown);
        let vouched = match &kid {
            Some(kid) => format!("signed by the key {}", escape(kid)),
            None => String::from("no signature vouches for it"),
        };
        output.line(format_args!("{name}: an Agent Card, {vouched}"))?;
        for interface in &interfaces {
            output.line(format_args!("{:<11}{}", "simplex", escape(&interface.url)))?;
        }
    }
    if interfaces.is_empty() {
        let problem = format!("{url}: the card has no SimpleX interface");
        return Err(Failure::new(ExitCode::Refused, problem));
    }
    Ok(interfaces.into_iter().map(|interface| interface.url).collect())
}

/// What the core finds behind a link.
async fn look(
    core: &mut CoreApi,
    user: UserId,
    link: &str,
    output: &mut Output,
) -> Result<(), Failure> {
    let answer = core.ask(&Command::ConnectPlan { user, target: link }).await?;
    let Some(Body::Plan(plan)) = answer.body() else {
        return Err(core.unexpected("/_connect plan"));
    };
    let data = plan.link_data.map(|data| data.get_text());
    let name = data.and_then(display_name).or_else(|| known_name(&plan));
    let kind = match plan.kind {
        PlanKind::Invitation => "invitation",
        PlanKind::Address => "contact address",
        PlanKind::Group => match Link::parse(link).map(|link| link.kind()) {
            Ok(LinkKind::Channel) => "channel",
            Ok(LinkKind::Group) => "group",
            _ => "group or channel",
        },
        _ => "something else",
    };
    let state = match plan.state {
        PlanState::New => "not connected",
        PlanState::Own => "this profile's own",
        PlanState::Connecting => "connecting",
        PlanState::Known => "connected",
        _ => "unknown",
    };
    // Only addresses have any.
    let links = plan.links.filter(|_| plan.kind == PlanKind::Address);
    let keys = links.and_then(|links| {
        let full: String = links.full.chars().collect();
        Link::parse(&full).ok().and_then(|link| link.has_ratchet_keys())
    });
    if output.is_json() {
        output.json(&json!({
            "kind": "plan",
            "link": link,
            "leadsTo": kind,
            "state": state,
            "name": name,
            "ratchetKeys": keys,
            "data": data.is_some(),
        }))?;
    } else {
        let shown = escape(name.as_deref().unwrap_or("without a name"));
        let name = output.terminal().paint(NAME, &shown);
        output.line(format_args!("{name}: {kind}, {state}"))?;
        output.line(format_args!("{:<11}{}", "link", escape(link)))?;
        if let Some(keys) = keys {
            let keys = if keys { "yes" } else { "no: no Service RPC requests" };
            output.line(format_args!("{:<11}{keys}", "rpc keys"))?;
        }
    }
    declarations(&plan, output)
}

/// What is declared in the data, or in the profile that the core has of who is known already.
fn declarations(plan: &Plan<'_>, output: &mut Output) -> Result<(), Failure> {
    let inside = |object: Object<'_>, name: &str| {
        object.get(name).ok().flatten().map(|value| value.get().to_owned())
    };
    let read = |text: &str, name: &str| {
        let object = Object::parse(text).ok()?;
        inside(object, name)
    };
    let data = plan.link_data;
    match plan.kind {
        PlanKind::Group => {
            let profile = data
                .and_then(|data| inside(data, "groupProfile"))
                .or_else(|| plan.group?.profile.map(|profile| profile.get_text().to_owned()));
            let profile = profile.unwrap_or_else(|| String::from("{}"));
            if let Some(preferences) = read(&profile, "groupPreferences") {
                profile::explain(ProfileName::Group, &preferences, output)?;
            }
            if let Some(record) = read(&profile, "publicGroup") {
                profile::explain(ProfileName::Channel, &record, output)?;
            }
            Ok(())
        }
        _ => {
            if let Some(data) = data {
                profile::explain(ProfileName::Address, data.get_text(), output)?;
            }
            let profile = data
                .and_then(|data| inside(data, "profile"))
                .or_else(|| plan.contact?.profile.map(|profile| profile.get_text().to_owned()));
            let preferences = profile.and_then(|profile| read(&profile, "preferences"));
            let preferences = preferences.unwrap_or_else(|| String::from("{}"));
            profile::explain(ProfileName::Profile, &preferences, output)
        }
    }
}

fn display_name(data: &str) -> Option<String> {
    let object = Object::parse(data).ok()?;
    let profile =
        object.object("profile").ok().flatten().or(object.object("groupProfile").ok().flatten())?;
    Some(profile.str("displayName").ok().flatten()?.chars().collect())
}

fn known_name(plan: &Plan<'_>) -> Option<String> {
    let contact = plan.contact.map(|contact| contact.name);
    contact.or(plan.group.map(|group| group.name)).map(|name| name.chars().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_told_from_a_web_site() {
        for name in ["@acme.example", "#privacy", "acme.simplex", "simplex:/name@acme.simplex"] {
            assert!(is_name(name), "{name}");
        }
        for site in ["acme.example", "https://acme.example", "localhost", "a b"] {
            assert!(!is_name(site), "{site}");
        }
    }
}
