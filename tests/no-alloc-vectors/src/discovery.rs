//! Addresses: llms.txt, links and names.

use agentwire_core::discovery::link::{Link, LinkForm, LinkKind};
use agentwire_core::discovery::llms::{AddressType, Audience, Communications};
use agentwire_core::discovery::name::Name;

use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    ("discovery: the entries of an llms.txt", entries),
    ("discovery: links by their path, in one form", links),
    ("discovery: names in lower case", names),
];

const FILE: &str = "# Acme\n\n## Communications\n\n\
    - [Acme news](https://smp.example/c#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY): SimpleX updates for people and agents, weekly. News.\n\
    - [Ask Acme](https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY): SimpleX business contact for agents, MCP, A2A. Orders.\n\
    not an entry\n";

fn entries() -> bool {
    let mut entries = Communications::new(FILE).entries();
    let (Some(news), Some(ask), None) = (entries.next(), entries.next(), entries.next()) else {
        return false;
    };
    let mut scratch = [0; 128];
    news.kind() == AddressType::Updates
        && news.audience() == Audience::PeopleAndAgents
        && news.frequency().is_some()
        && ask.kind() == AddressType::BusinessContact
        && ask.protocols().count() == 2
        && ask.simplex_link(&mut scratch).is_ok()
}

fn links() -> bool {
    let mut buffer = [0; 128];
    let short = "https://SMP.example/G#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    Link::parse(short).is_ok_and(|link| {
        (link.kind(), link.form()) == (LinkKind::Group, LinkForm::Short)
            && link.write(&mut buffer)
                == Ok("simplex:/g#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY?h=smp.example")
    }) && Link::parse("https://smp.example/x#AAAA").is_err()
        && Link::parse("simplex:/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY").is_err()
}

fn names() -> bool {
    let mut buffer = [0; 64];
    Name::parse("@Acme.SimpleX").is_ok_and(|name| name.write(&mut buffer) == Ok("@acme.simplex"))
        && Name::parse("@privacy").is_err()
}
