//! What is written can be read, however it is spelled, and whatever is read is accounted for.

use agentwire_core::binding::ProtocolName;
use agentwire_core::discovery::link::{Link, LinkKind};
use agentwire_core::discovery::llms::{
    self, AddressType, Audience, Communications, Entry, Frequency, Item, NewEntry,
};
use agentwire_core::discovery::name::{Name, NameKind};
use proptest::prelude::*;
use proptest::{collection, option, sample};

const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

/// One line of text with much that means something to Markdown.
fn line() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-zA-Z .,:]{1,8}",
        2 => sample::select(vec!["[", "]", "(", ")", "<", ">", "\\", "`", "*", "_", "&", "#", "!"])
            .prop_map(String::from),
        1 => sample::select(vec!["&amp;", "&#93;", "\\]", "](", "for", "people", ". ", "<!--"])
            .prop_map(String::from),
        1 => "\\PC{1,3}",
    ];
    collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn title() -> impl Strategy<Value = String> {
    line().prop_filter("a title is not empty", |title| !title.trim().is_empty())
}

fn network() -> impl Strategy<Value = String> {
    prop_oneof!["[A-Z][a-z_*]{0,8}", "[a-z]{4,8} [a-z:&;]{4,8}"]
}

fn protocols() -> impl Strategy<Value = Vec<String>> {
    collection::vec("[a-z0-9-]{1,5}", 0..4)
}

/// What an entry is made of.
#[derive(Clone, Debug)]
struct Parts {
    title: String,
    link: String,
    /// `None` for SimpleX.
    network: Option<String>,
    kind: AddressType<'static>,
    audience: Audience,
    frequency: Option<Frequency>,
    protocols: Vec<String>,
    info: String,
}

fn parts() -> impl Strategy<Value = Parts> {
    let kind = sample::select(vec![
        AddressType::Updates,
        AddressType::Group,
        AddressType::Contact,
        AddressType::BusinessContact,
    ]);
    let audience =
        sample::select(vec![Audience::People, Audience::Agents, Audience::PeopleAndAgents]);
    let link = line().prop_map(|line| format!("web:{line}"));
    let frequency = option::of(sample::select(Frequency::ALL.to_vec()));
    let texts = (title(), link, option::of(network()), line());
    (texts, kind, audience, frequency, protocols()).prop_map(
        |((title, link, network, info), kind, audience, frequency, protocols)| {
            let letter = match kind {
                AddressType::Updates => "c",
                AddressType::Group => "g",
                _ => "a",
            };
            let link =
                if network.is_some() { link } else { format!("https://a.example/{letter}#{KEY}") };
            let frequency = frequency.filter(|_| kind == AddressType::Updates);
            let contact = kind.link_kind() == Some(LinkKind::Contact);
            let protocols = if contact { protocols } else { Vec::new() };
            Parts { title, link, network, kind, audience, frequency, protocols, info }
        },
    )
}

/// Writes the entries of these parts and hands them on.
fn written(parts: &[Parts]) -> String {
    let names: Vec<Vec<ProtocolName<'_>>> = parts
        .iter()
        .map(|parts| {
            parts.protocols.iter().map(|name| ProtocolName::new(name).expect("a name")).collect()
        })
        .collect();
    let entries: Vec<NewEntry<'_>> = parts
        .iter()
        .zip(&names)
        .map(|(parts, names)| {
            let mut entry = NewEntry::new(&parts.title, &parts.link, parts.kind, parts.audience)
                .protocols(names)
                .info(&parts.info);
            if let Some(network) = &parts.network {
                entry = entry.network(network);
            }
            if let Some(frequency) = parts.frequency {
                entry = entry.frequency(frequency);
            }
            entry
        })
        .collect();
    let needed = match llms::write(&entries, &mut []).expect_err("it is never empty").kind {
        llms::WriteErrorKind::Buffer(error) => error.needed,
        other => panic!("{other}"),
    };
    let mut buffer = vec![0; needed];
    llms::write(&entries, &mut buffer).expect("as long as it said").to_owned()
}

fn is_made_of(entry: &Entry<'_>, parts: &Parts) {
    assert!(entry.title() == *parts.title.trim(), "{}", entry.source());
    assert!(entry.link() == *parts.link, "{}", entry.source());
    assert!(entry.network() == *parts.network.as_deref().unwrap_or("SimpleX"));
    assert_eq!((entry.kind(), entry.audience()), (parts.kind, parts.audience));
    assert_eq!(entry.frequency(), parts.frequency);
    let protocols: Vec<String> = entry.protocols().map(|name| name.to_string()).collect();
    assert_eq!(&protocols, &parts.protocols);
    assert_eq!(entry.info().raw(), parts.info.trim());
    assert_eq!(entry.remarks().count(), 0, "{}", entry.source());
    let mut scratch = vec![0; parts.link.len()];
    assert_eq!(entry.simplex_link(&mut scratch).expect("fits").is_some(), parts.network.is_none());
}

/// Lines from which files are put together, none of which ends the section or is passed over.
const LINES: [&str; 24] = [
    "",
    "  ",
    "text",
    "  indented",
    "    - [a](b): Web group for people.",
    "- [a](b): SimpleX updates for people, weekly. Info",
    "* [a \\[b\\]](<c d>): Web contact for agents, MCP.",
    "1. [a](b): Web group",
    "for people",
    "- [a][b]",
    "- [a](b",
    "- [a",
    "1)",
    "> quoted",
    "```",
    "~~~~",
    "<!-- comment",
    "-->",
    "### Heading",
    "###",
    "[a](b): Web group for people.",
    "\té &amp; ü",
    "\u{a0}",
    "+ [x](y): Web business contact for people and agents.",
];

fn file() -> impl Strategy<Value = String> {
    let line = prop_oneof![4 => sample::select(LINES.to_vec()).prop_map(String::from), 1 => line()];
    collection::vec(line, 0..30).prop_map(|lines| lines.join("\n"))
}

/// Where a part of a text begins in it.
fn place(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

proptest! {
    #[test]
    fn what_is_written_is_read(parts in collection::vec(parts(), 0..5)) {
        let file = written(&parts);
        for file in [&file, &file.replace('\n', "\r\n"), &format!("# A\n\n{file}\n## B\n- [a](b)")] {
            let items: Vec<Item<'_>> = Communications::new(file).collect();
            prop_assert_eq!(items.len(), parts.len(), "{}", file);
            for (item, parts) in items.iter().zip(&parts) {
                let Item::Entry(entry) = item else { panic!("{item:?} in {file}") };
                is_made_of(entry, parts);
            }
        }
    }

    #[test]
    fn any_file_is_read_in_order_and_by_whole_characters(file in "(\\PC|[\\[\\]()<>:#\\-\n\r`]){0,200}") {
        let file = format!("## Communications\n{file}");
        let mut last = 0;
        for item in Communications::new(&file) {
            let (line, offset, start) = match item {
                Item::Entry(entry) => {
                    for remark in entry.remarks() {
                        prop_assert!(file.is_char_boundary(remark.offset));
                        prop_assert!(remark.line >= entry.line());
                    }
                    (entry.line(), entry.offset(), entry.offset())
                }
                Item::Heading(heading) => (heading.line, heading.offset, heading.offset),
                Item::Problem(problem) if problem.text.is_empty() => {
                    (problem.line, problem.offset, problem.offset)
                }
                Item::Problem(problem) => {
                    (problem.line, problem.offset, place(&file, problem.text))
                }
                _ => unreachable!(),
            };
            prop_assert!(file.is_char_boundary(offset));
            prop_assert!(start >= last && offset >= start, "in the order of the file");
            last = start;
            let before = &file[..offset];
            let ends = before.matches('\n').count() + before.matches('\r').count()
                - before.matches("\r\n").count();
            prop_assert_eq!(line, ends + 1);
        }
    }

    #[test]
    fn no_line_of_the_section_is_lost(content in file()) {
        let file = format!("## Communications\n{content}\n");
        let mut covered = vec![false; file.len()];
        for item in Communications::new(&file) {
            let (start, len) = match item {
                Item::Entry(entry) => (entry.offset(), entry.source().len()),
                Item::Heading(heading) => (heading.offset, 3),
                Item::Problem(problem) => (place(&file, problem.text), problem.text.len()),
                _ => unreachable!(),
            };
            // An item of which there is only the marker.
            covered[start.saturating_sub(1)..start + len].fill(true);
        }
        // What ends the section by chance has its own tests.
        let of = |line: &str, marks: &str| line.trim().chars().all(|char| marks.contains(char));
        prop_assume!(!content.lines().map(str::trim).any(|line| line.starts_with("# ")
            || line.starts_with("## ") || !line.is_empty()
            && (["#", "##"].contains(&line) || of(line, "-") || of(line, "="))));
        let mut at = 0;
        for line in file.split_inclusive('\n') {
            let whole = at..at + line.len();
            at = whole.end;
            let rule = of(line, "* ") || of(line, "_ ") || of(line, "- ");
            if whole.start > 0 && !line.trim().is_empty() && !rule {
                prop_assert!(covered[whole].contains(&true), "{:?} in {:?}", line, file);
            }
        }
    }

    #[test]
    fn line_endings_change_nothing(content in file()) {
        let file = format!("## Communications\n{content}\n");
        let crlf = file.replace('\n', "\r\n");
        let (one, other) = (Communications::new(&file), Communications::new(&crlf));
        let (one, other): (Vec<_>, Vec<_>) = (one.collect(), other.collect());
        prop_assert_eq!(one.len(), other.len());
        for pair in one.iter().zip(&other) {
            match pair {
                (Item::Entry(one), Item::Entry(other)) => {
                    prop_assert_eq!(one.line(), other.line());
                    prop_assert_eq!((one.title(), one.link()), (other.title(), other.link()));
                    prop_assert_eq!((one.network(), one.kind()), (other.network(), other.kind()));
                    prop_assert_eq!(one.info(), other.info());
                    prop_assert!(one.terms().eq(other.terms()));
                    prop_assert!(one.remarks().map(|r| (r.kind, r.line))
                        .eq(other.remarks().map(|r| (r.kind, r.line))));
                }
                (Item::Problem(one), Item::Problem(other)) => {
                    prop_assert_eq!((one.kind, one.line), (other.kind, other.line));
                }
                (Item::Heading(one), Item::Heading(other)) => {
                    prop_assert_eq!((one.title, one.line), (other.title, other.line));
                }
                (one, other) => panic!("{one:?} and {other:?}"),
            }
        }
    }
}

fn hosts() -> impl Strategy<Value = Vec<String>> {
    collection::vec("[a-z][a-z0-9.-]{0,10}", 1..4)
        .prop_filter("hosts differ", |hosts| !hosts[1..].contains(&hosts[0]))
}

/// Some letters in upper case.
fn shouted(text: &str, mask: u64) -> String {
    let raise = |(place, char): (usize, char)| {
        if mask >> (place % 64) & 1 == 1 { char.to_ascii_uppercase() } else { char }
    };
    text.chars().enumerate().map(raise).collect()
}

/// The same bytes in a query, some of them escaped.
fn escaped(text: &str, mask: u64) -> String {
    let write = |(place, byte): (usize, u8)| match mask >> (place % 64) & 1 {
        1 if place % 2 == 0 => format!("%{byte:02X}"),
        1 => format!("%{byte:02x}"),
        _ => char::from(byte).to_string(),
    };
    text.bytes().enumerate().map(write).collect()
}

proptest! {
    #[test]
    fn short_links_have_one_normal_form(
        letter in sample::select(vec!["a", "c", "g", "r", "i"]),
        key in "[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]",
        hosts in hosts(),
        port in option::of(1_u16..),
        hash in option::of("[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]"),
        (mask, slash, padded, upper) in (any::<u64>(), any::<bool>(), any::<bool>(), any::<bool>()),
    ) {
        let id = if letter == "i" { "MDEy/" } else { "" };
        let mut expected = format!("simplex:/{letter}#{id}{key}?h={}", hosts.join("%2C"));
        let mut query = Vec::new();
        if let Some(hash) = &hash {
            query.push(format!("c={hash}{}", if padded { "%3D" } else { "" }));
        }
        if let Some(port) = port {
            expected.push_str(&format!("&p={port}"));
            query.push(format!("p={port}"));
        }
        if let Some(hash) = &hash {
            expected.push_str(&format!("&c={hash}"));
        }
        let kind = Link::parse(&expected).expect("the normal form").kind();
        let path = if upper && letter != "i" { letter.to_uppercase() } else { letter.into() };
        let path = format!("{path}{}", if slash { "/" } else { "" });
        let key = format!("{key}{}", if padded { "=" } else { "" });
        let mut simplex = query.clone();
        simplex.push(format!("h={}", escaped(&shouted(&hosts.join(","), mask), mask >> 7)));
        if hosts.len() > 1 {
            query.push(format!("h={}", hosts[1..].join(",")));
        }
        let https = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        for text in [
            expected.clone(),
            format!("simplex:/{path}#{id}{key}?{}", simplex.join("&")),
            format!("https://{}/{path}#{id}{key}{https}", shouted(&hosts[0], mask)),
        ] {
            let link = Link::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            prop_assert_eq!(link.kind(), kind);
            let mut buffer = vec![0; text.len() * 3 + 16];
            prop_assert_eq!(link.write(&mut buffer).expect("long enough"), &expected);
        }
    }

    #[test]
    fn full_links_have_one_normal_form(
        scheme in sample::select(vec!["simplex:", "https://simplex.chat", "https://a.example:8443"]),
        versions in "[1-9]{1,2}(-[1-9]{1,2})?",
        queues in collection::vec("[a-zA-Z0-9@:/#?=&_-]{1,20}", 1..3),
        data in option::of("[a-z{}\": ,]{0,20}"),
        group in any::<bool>(),
        ratchet in option::of("[a-z0-9=&-]{1,20}"),
        mask in any::<u64>(),
    ) {
        let all = |text: &str| -> String {
            text.bytes().map(|byte| {
                if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            }).collect()
        };
        // What has a meaning in a query is escaped in any case.
        let some = |text: &str| -> String {
            all(text).split('%').enumerate().map(|(place, piece)| {
                if place == 0 { return piece.into() }
                let (digits, rest) = piece.split_at(2);
                if mask >> (place % 64) & 1 == 1 && matches!(digits, "3A" | "2F" | "7B" | "7D" | "22") {
                    let byte = u8::from_str_radix(digits, 16).expect("digits");
                    format!("{}{rest}", char::from(byte))
                } else {
                    format!("%{}{rest}", digits.to_lowercase())
                }
            }).collect()
        };
        let queues: Vec<String> = queues.iter().map(|queue| format!("smp://{queue}")).collect();
        let queues = queues.join(";");
        let data = if group { Some("{\"groupLinkId\":\"x\",\"type\":\"group\"}".into()) } else { data };
        let mut expected = format!("simplex:/contact#/?v={versions}&smp={}", all(&queues));
        let mut text = format!("{scheme}/contact/#/?");
        if let Some(keys) = &ratchet {
            text.push_str(&format!("rk={}&", some(keys)));
        }
        text.push_str(&format!("smp={}&v={versions}", some(&queues)));
        if let Some(data) = &data {
            expected.push_str(&format!("&data={}", all(data)));
            text.push_str(&format!("&data={}", some(data)));
        }
        if let Some(keys) = &ratchet {
            expected.push_str(&format!("&rk={}", all(keys)));
        }
        for text in [&expected, &text] {
            let link = Link::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            prop_assert_eq!(link.kind(), if group { LinkKind::Group } else { LinkKind::Contact });
            prop_assert_eq!(link.has_ratchet_keys(), Some(ratchet.is_some()));
            let mut buffer = vec![0; text.len() * 3 + 16];
            prop_assert_eq!(link.write(&mut buffer).expect("long enough"), &expected);
        }
    }

    #[test]
    fn any_text_is_a_link_or_says_where_it_is_none(
        text in "(simplex:|https://a\\.b)?(/|/[acgri]|/contact|/invitation)?(#|#/\\?)?(\\PC|[&=%?/]|v=1|smp=smp://|h=a){0,12}"
    ) {
        match Link::parse(&text) {
            Err(error) => prop_assert!(text.is_char_boundary(error.offset), "{:?}", error),
            Ok(link) => {
                let mut buffer = vec![0; text.len() * 3 + 16];
                let normal = link.write(&mut buffer).expect("long enough").to_owned();
                let again = Link::parse(&normal).expect("the normal form is a link");
                prop_assert_eq!((again.kind(), again.form()), (link.kind(), link.form()));
                let mut buffer = vec![0; normal.len()];
                prop_assert_eq!(again.write(&mut buffer).expect("the same length"), &normal);
            }
        }
    }

    #[test]
    fn names_have_one_normal_form(
        uri in any::<bool>(),
        prefix in sample::select(vec!["", "#", "@"]),
        labels in collection::vec("[a-z0-9]{1,20}(-[a-z0-9]{1,20}){0,2}", 1..4),
        tld in sample::select(vec!["", ".simplex", ".testing", ".example"]),
        mask in any::<u64>(),
    ) {
        let domain = format!("{}{tld}", labels.join("."));
        let text = format!("{}{prefix}{}", if uri { "simplex:/name" } else { "" }, shouted(&domain, mask));
        let contact = prefix == "@";
        let single = !domain.contains('.');
        if contact && single {
            prop_assert!(Name::parse(&text).is_err());
            return Ok(());
        }
        let name = Name::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let kind = if contact { NameKind::Contact } else { NameKind::PublicGroup };
        prop_assert_eq!(name.kind(), kind);
        let expected = format!(
            "{}{domain}{}", if contact { "@" } else { "#" }, if single { ".simplex" } else { "" }
        );
        let mut buffer = [0; 300];
        prop_assert_eq!(name.write(&mut buffer).expect("long enough"), &expected);
        let again = Name::parse(&expected).expect("the normal form is a name");
        let mut buffer = [0; 300];
        prop_assert_eq!(again.write(&mut buffer).expect("long enough"), &expected);
    }

    #[test]
    fn any_text_is_a_name_or_says_where_it_is_none(text in "(simplex:/name)?[#@]?(\\PC|[a-z.-]){0,80}") {
        if let Err(error) = Name::parse(&text) {
            prop_assert!(text.is_char_boundary(error.offset), "{:?}", error);
        }
    }
}
