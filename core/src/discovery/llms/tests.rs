//! The rules of "Addresses in llms.txt", and what hand-written files hold.

use std::format;
use std::string::String;
use std::vec::Vec;

use super::*;

const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

fn items(file: &str) -> Vec<Item<'_>> {
    Communications::new(file).collect()
}

/// The items of a section with this content.
fn with_section<T>(content: &str, check: impl Fn(&[Item<'_>]) -> T) -> T {
    let file = format!("## Communications\n{content}");
    check(&items(&file))
}

/// Each problem's kind, line, and the text that begins where it shows.
fn problems(file: &str) -> Vec<(ProblemKind, usize, String)> {
    let problem = |item: &Item<'_>| match item {
        Item::Problem(problem) => {
            Some((problem.kind, problem.line, file[problem.offset..].chars().take(6).collect()))
        }
        _ => None,
    };
    items(file).iter().filter_map(problem).collect()
}

fn entry(notes: &str, check: impl Fn(Entry<'_>)) {
    let file = format!("## Communications\n- [a](b): {notes}\n");
    match items(&file)[..] {
        [Item::Entry(entry)] => check(entry),
        ref other => panic!("{notes}: {other:?}"),
    }
}

fn refused(notes: &str) -> (ProblemKind, usize) {
    let file = format!("## Communications\n- [a](b): {notes}\n");
    match items(&file)[..] {
        [Item::Problem(problem)] => {
            (problem.kind, problem.offset - "## Communications\n- [a](b): ".len())
        }
        ref other => panic!("{notes}: {other:?}"),
    }
}

fn remarks(notes: &str) -> Vec<(RemarkKind, String)> {
    let mut found = Vec::new();
    let file = format!("## Communications\n- [a](b): {notes}\n");
    for entry in Communications::new(&file).entries() {
        for remark in entry.remarks() {
            let text = file[remark.offset..].split([',', '.', '\n']).next().unwrap();
            found.push((remark.kind, text.trim().into()));
        }
    }
    found
}

#[test]
fn the_documents_example_is_read() {
    let file = format!(
        "# Acme\n\n> Goods.\n\n## Communications\n\n\
         - [Acme news](https://smp12.simplex.im/c#{KEY}): SimpleX updates for people and agents, weekly. Product news and offers.\n\
         - [Acme customers](https://smp12.simplex.im/g#{KEY}): SimpleX group for people. Questions and tips from customers.\n\
         - [Ask Acme](https://smp12.simplex.im/a#{KEY}): SimpleX business contact for agents, MCP, A2A. Orders and availability.\n\
         - [Acme support](mailto:support@acme.example): Email contact for people.\n"
    );
    let entries: Vec<_> = Communications::new(&file).entries().collect();
    assert_eq!(items(&file).len(), 4);
    let [news, customers, ask, support] = entries[..] else { panic!("{entries:?}") };
    assert!(news.title() == *"Acme news" && news.network() == *"SimpleX");
    assert_eq!(news.kind(), AddressType::Updates);
    assert_eq!(news.audience(), Audience::PeopleAndAgents);
    assert_eq!(news.frequency(), Some(Frequency::Weekly));
    assert_eq!(news.info().raw(), "Product news and offers.");
    assert_eq!((customers.kind(), customers.audience()), (AddressType::Group, Audience::People));
    assert_eq!((ask.kind(), ask.audience()), (AddressType::BusinessContact, Audience::Agents));
    let protocols: Vec<_> = ask.protocols().map(|name| format!("{name}")).collect();
    assert_eq!(protocols, ["mcp", "a2a"]);
    assert_eq!((support.kind(), support.info().raw()), (AddressType::Contact, ""));
    assert!(support.network() == *"Email");
    assert_eq!(support.simplex_link(&mut []), Ok(None));
    for entry in entries {
        assert_eq!(entry.remarks().count(), 0, "{entry:?}");
        assert!(entry.simplex_link(&mut []).is_ok());
    }
}

#[test]
fn the_audience_is_people_agents_or_both() {
    for (words, audience, types) in [
        ("people", Audience::People, &["human"][..]),
        ("agents", Audience::Agents, &["agent"]),
        ("people and agents", Audience::PeopleAndAgents, &["human", "agent"]),
        ("PEOPLE  and\tAgents", Audience::PeopleAndAgents, &["human", "agent"]),
    ] {
        entry(&format!("Web group for {words}. Info."), |entry| {
            assert_eq!(entry.audience(), audience);
            assert_eq!(entry.audience().peer_types(), types);
            assert_eq!(entry.remarks().count(), 0);
        });
    }
    assert_eq!(
        remarks("Web group for agents and people."),
        [(RemarkKind::AudienceOrder, "agents and people".into())]
    );
    for (words, at) in [
        ("cats", 14),
        ("people agents", 14),
        ("people and", 14),
        ("people and people", 14),
        ("agents and agents", 14),
        ("people and agents and cats", 14),
        ("people or agents", 14),
        (", weekly", 13),
    ] {
        assert_eq!(refused(&format!("Web group for {words}. I")), (ProblemKind::Audience, at));
    }
    assert_eq!(refused("Web group for"), (ProblemKind::Audience, 13));
}

#[test]
fn the_frequency_is_a_changefreq_value() {
    for frequency in Frequency::ALL {
        entry(&format!("Web updates for people, {frequency}. Info"), |entry| {
            assert_eq!(entry.frequency(), Some(frequency));
            assert_eq!(entry.info().raw(), "Info");
        });
    }
    entry("Web updates for people. Info", |entry| assert_eq!(entry.frequency(), None));
    entry("Web updates for people,  WEEKLY . Info", |entry| {
        assert_eq!(entry.frequency(), Some(Frequency::Weekly));
    });
    // Only updates have one.
    entry("Web contact for people, weekly.", |entry| {
        assert_eq!(entry.frequency(), None);
        assert_eq!(entry.protocols().next().unwrap().get(), "weekly");
    });
}

#[test]
fn unknown_frequencies_are_kept() {
    entry("Web updates for people, every 2 weeks, monthly. Info", |entry| {
        assert_eq!(entry.frequency(), Some(Frequency::Monthly));
        assert!(
            matches!(entry.terms().next(), Some(Term::Other(text)) if text == *"every 2 weeks")
        );
    });
    assert_eq!(
        remarks("Web updates for people, every 2 weeks, monthly, daily. Info"),
        [
            (RemarkKind::UnknownFrequency, "every 2 weeks".into()),
            (RemarkKind::SecondFrequency, "daily".into()),
        ]
    );
}

#[test]
fn protocols_are_named_in_any_letter_case() {
    entry("Web business contact for agents, MCP, a2a, X-1. Info", |entry| {
        let names: Vec<_> = entry.protocols().map(|name| name.get()).collect();
        assert_eq!(names, ["MCP", "a2a", "X-1"]);
        let mcp = ProtocolName::new("mcp").unwrap();
        assert!(entry.protocols().next().unwrap().is(mcp));
        let mut buffer = [0; 3];
        assert_eq!(entry.protocols().nth(2).unwrap().write(&mut buffer).unwrap().get(), "x-1");
        assert!(entry.protocols().next().unwrap().write(&mut buffer[..2]).is_err());
    });
    assert_eq!(
        remarks("Web contact for agents, MCP 1.0, , m_p. Info"),
        [
            (RemarkKind::NotAProtocol, "MCP 1".into()),
            (RemarkKind::EmptyTerm, "".into()),
            (RemarkKind::NotAProtocol, "m_p".into()),
        ]
    );
    assert_eq!(remarks("Web group for agents, MCP."), [(RemarkKind::GroupTerm, "MCP".into())]);
}

#[test]
fn unknown_networks_and_types_are_kept() {
    entry("Nextcloud Talk business contact for people.", |entry| {
        assert!(entry.network() == *"Nextcloud Talk");
        assert_eq!(entry.kind(), AddressType::BusinessContact);
        assert_eq!(entry.remarks().count(), 0);
    });
    entry("Matrix.org  group for people.", |entry| assert!(entry.network() == *"Matrix.org"));
    entry("SimpleX news letter for people, weekly. Info", |entry| {
        assert!(entry.network() == *"SimpleX");
        assert!(matches!(entry.kind(), AddressType::Other(text) if text == *"news letter"));
        assert!(entry.kind().name() == Text::new("news letter"));
        assert_eq!(entry.terms().count(), 1);
        assert_eq!(entry.info().raw(), "Info");
    });
    assert_eq!(
        remarks("SimpleX news letter for people, weekly. Info"),
        [
            (RemarkKind::UnknownType, "news letter for people".into()),
            (RemarkKind::UnknownTerm, "weekly".into()),
        ]
    );
    // In any letter case, since there is nothing else that they could mean.
    entry("simplex Business CONTACT For people.", |entry| {
        assert_eq!(entry.kind(), AddressType::BusinessContact);
        assert!(matches!(entry.simplex_link(&mut []), Err(EntryLinkError::Link(_))));
    });
}

#[test]
fn notes_begin_with_the_network_and_the_type() {
    assert_eq!(refused("contact for people."), (ProblemKind::NoNetwork, 0));
    assert_eq!(refused("business contact for people."), (ProblemKind::NoNetwork, 0));
    assert_eq!(refused("for people."), (ProblemKind::NoNetwork, 0));
    assert_eq!(refused("SimpleX for people."), (ProblemKind::NoType, 8));
    assert_eq!(refused("How it works"), (ProblemKind::NoAudience, 0));
    assert_eq!(refused("SimpleX contact. Write for help."), (ProblemKind::NoAudience, 0));
}

#[test]
fn free_text_follows_the_full_stop() {
    entry("Web contact for agents, MCP. Orders, e.g. of tea. More.", |entry| {
        assert_eq!(entry.info().raw(), "Orders, e.g. of tea. More.");
        assert_eq!(entry.protocols().count(), 1);
    });
    assert_eq!(remarks("Web contact for agents, MCP"), [(RemarkKind::NoFullStop, "".into())]);
}

#[test]
fn updates_require_a_channel_group_a_group_and_contacts_a_contact_link() {
    let full = "simplex:/contact#/?v=2-7&smp=smp%3A%2F%2Fkey%40host%2Fqueue";
    let group = format!("{full}&data=%7B%22type%22%3A%22group%22%7D");
    let short = |letter: &str| format!("https://any.example/{letter}#{KEY}");
    let links = [short("a"), short("c"), short("g"), short("r"), full.into(), group];
    for (kind, fitting) in [
        ("updates", &[1][..]),
        ("group", &[2, 5]),
        ("contact", &[0, 4]),
        ("business contact", &[0, 4]),
        ("letter", &[0, 1, 2, 3, 4, 5]),
    ] {
        for (place, link) in links.iter().enumerate() {
            let line = format!("- [a]({link}): SimpleX {kind} for people.");
            with_section(&line, |items| {
                let [Item::Entry(entry)] = items else { panic!("{items:?}") };
                match entry.simplex_link(&mut []) {
                    Ok(link) => assert!(link.is_some() && fitting.contains(&place), "{line}"),
                    Err(EntryLinkError::Type { expected, found }) => {
                        assert!(!fitting.contains(&place), "{line}");
                        assert_eq!(entry.kind().link_kind(), Some(expected));
                        assert_ne!(expected, found);
                    }
                    Err(error) => panic!("{line}: {error}"),
                }
            });
        }
    }
    with_section(&format!("- [a]({full}): Email contact for people."), |items| {
        let [Item::Entry(entry)] = items else { panic!("{items:?}") };
        assert_eq!(entry.simplex_link(&mut []), Ok(None));
    });
}

#[test]
fn a_link_with_escapes_is_decoded_into_the_scratch_space() {
    let line =
        format!("- [a](<https://any.example/a#{KEY}?h=b&amp;p=1>): SimpleX contact for people.");
    with_section(&line, |items| {
        let [Item::Entry(entry)] = items else { panic!("{items:?}") };
        let mut scratch = [0; 100];
        assert!(entry.simplex_link(&mut scratch).unwrap().is_some());
        let error = entry.simplex_link(&mut scratch[..10]).unwrap_err();
        assert!(matches!(error, EntryLinkError::Scratch(_)), "{error}");
    });
}

#[test]
fn the_link_text_is_the_title() {
    for (link, title, address) in [
        ("[A \\[b\\] c](d)", "A [b] c", "d"),
        ("[A [b] c](d)", "A [b] c", "d"),
        ("[ A ](d(e)f)", "A", "d(e)f"),
        ("[A](<d e>)", "A", "d e"),
        ("[A]( d  \"t)\" )", "A", "d"),
        ("[A &amp; B](d?e&amp;f)", "A & B", "d?e&f"),
    ] {
        with_section(&format!("- {link}: Web group for people."), |items| {
            let [Item::Entry(entry)] = items else { panic!("{items:?}") };
            assert!(entry.title() == *title && entry.link() == *address, "{link}");
        });
    }
}

#[test]
fn lines_end_as_they_like() {
    let file = "# A\n\n## Communications\n\n- [a](b): Web group\n  for people. One\n  two\n- x\n";
    for ending in ["\n", "\r\n", "\r"] {
        for start in ["", "\u{feff}"] {
            let file = format!("{start}{}", file.replace('\n', ending));
            let [Item::Entry(entry), Item::Problem(problem)] = items(&file)[..] else { panic!() };
            assert_eq!((entry.line(), problem.line), (5, 8), "{ending:?}");
            assert!(entry.info() == *"One two");
            assert!(file[entry.offset()..].starts_with(entry.source()));
            assert!(file[problem.offset..].starts_with('x'));
        }
    }
}

#[test]
fn a_file_without_the_section_says_so() {
    for file in ["", "\n", "# A", "# A\n\n- [a](b): Web group for people.\n"] {
        let [Item::Problem(problem)] = items(file)[..] else { panic!("{file}") };
        assert_eq!((problem.kind, problem.offset), (ProblemKind::NoSection, file.len()));
    }
    assert_eq!(items("## Communications"), []);
    assert_eq!(items("## Communications\n\n---\n\n* * *\n"), []);
}

#[test]
fn the_section_ends_at_the_next_heading_of_its_level_or_above() {
    let outside = "- [z](z): nothing";
    for end in ["# B", "## B", "##", "B\n---", "B\n==="] {
        let file = format!(
            "{outside}\n## Communications ##\n- [a](b): Web group for people.\n\n{end}\n{outside}\nx\n"
        );
        let items = items(&file);
        assert!(matches!(items[..], [Item::Entry(_)]), "{end}: {items:?}");
    }
    let file = "Communications\n---\n- [a](b): Web group for people.";
    assert!(matches!(items(file)[..], [Item::Entry(_)]));
}

#[test]
fn nested_headings_and_several_lists_stay_in_the_section() {
    let content = "\
### For *people*
- [a](b): Web group for people.
#### Deeper
* [a](b): Web group for people.
    1. [a](b): Web group for people.
\t- [a](b): Web group for people.

+ [a](b): Web group for people.
1) [a](b): Web group for people.
";
    with_section(content, |items| {
        let headings: Vec<_> = items
            .iter()
            .filter_map(|item| match item {
                Item::Heading(heading) => Some((heading.level, heading.title.raw(), heading.line)),
                _ => None,
            })
            .collect();
        assert_eq!(headings, [(3, "For *people*", 2), (4, "Deeper", 4)]);
        let entries = items.iter().filter(|item| matches!(item, Item::Entry(_))).count();
        assert_eq!((entries, items.len()), (6, 8));
    });
}

#[test]
fn headings_like_the_sections_are_pointed_out() {
    use ProblemKind::{LikeSection, NoSection, SecondSection};
    let kinds = |file| problems(file).iter().map(|problem| problem.0).collect::<Vec<_>>();
    assert_eq!(kinds("## communications\n- [a](b): c"), [LikeSection, NoSection]);
    assert_eq!(kinds("# Communications\nx"), [LikeSection, NoSection]);
    assert_eq!(kinds("### Communications\nx"), [LikeSection, NoSection]);
    assert_eq!(kinds("## Communications\n## Communications\n"), [SecondSection]);
    assert_eq!(kinds("    ## Communications\nx"), [NoSection]);
    assert_eq!(kinds("## Communications and more\nx"), [NoSection]);
    // Both are read.
    let file = "## Communications\n## B\n## Communications\n- [a](b): Web group for people.";
    assert!(matches!(items(file)[..], [Item::Problem(_), Item::Entry(_)]));
}

#[test]
fn code_and_comments_are_neither_headings_nor_entries() {
    for block in ["```\nX\n```", "~~~~ md\nX\n~~~\n~~~~~", "<!-- X\n-->", "<!--\nX -->", "    X"] {
        let heading = block.replace('X', "## Communications");
        let found = problems(&heading);
        assert_eq!(found.len(), 1, "{block}");
        assert_eq!(found[0].0, ProblemKind::NoSection);
    }
    let item = "- [a](b): Web group for people.";
    for (block, kind) in [
        ("```\nX\n\n```", ProblemKind::Code),
        ("<!--\nX\n-->", ProblemKind::Comment),
        ("<!-- X -->", ProblemKind::Comment),
        ("    X", ProblemKind::Code),
    ] {
        let block = block.replace('X', item);
        let file = format!("## Communications\n{block}\n{item}\n");
        let found = items(&file);
        let lines = block.lines().filter(|line| !line.is_empty()).count();
        assert_eq!(found.len(), lines + 1, "{block}");
        for item in &found[..lines] {
            assert!(matches!(item, Item::Problem(problem) if problem.kind == kind), "{block}");
        }
        assert!(matches!(found[lines], Item::Entry(_)), "{block}");
    }
}

#[test]
fn each_line_that_does_not_fit_is_explained() {
    let file = "\
## Communications
Text.
> - [a](b): Web group for people.

- Call us!
- [a
- [a][b]
- [a] (b): Web group for people.
- [a](b c): Web group for people.
- [](b): Web group for people.
- [a](): Web group for people.
- [a](b) Web group for people.
- [a](b):
- [a](b): See the manual.
- **[a](b)**: Web group for people.
-
- [a](b):
  Web group
  for cats.

  More.
";
    use ProblemKind as P;
    let expected = [
        (P::Text, 2, "Text.\n"),
        (P::Text, 3, "> - [a"),
        (P::NoLink, 5, "Call u"),
        (P::UnclosedTitle, 6, "[a\n- ["),
        (P::ReferenceLink, 7, "[b]\n- "),
        (P::NoDestination, 8, " (b): "),
        (P::Destination, 9, "c): We"),
        (P::NoTitle, 10, "](b): "),
        (P::NoAddress, 11, "): Web"),
        (P::NoColon, 12, "Web gr"),
        (P::NoNotes, 13, "\n- [a]"),
        (P::NoAudience, 14, "See th"),
        (P::NoLink, 15, "**[a]("),
        (P::NoLink, 16, "\n- [a]"),
        (P::Audience, 19, "cats.\n"),
        (P::Text, 21, "More.\n"),
    ];
    let found = problems(file);
    let found: Vec<_> =
        found.iter().map(|(kind, line, text)| (*kind, *line, text.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn remarks_name_their_lines() {
    let file = "## Communications\n- [a](b): Web letter\n  for agents and people,\n  x,\n\r\n";
    let entry = Communications::new(file).entries().next().unwrap();
    let lines: Vec<_> = entry.remarks().map(|remark| (remark.kind, remark.line)).collect();
    assert_eq!(
        lines,
        [
            (RemarkKind::UnknownType, 2),
            (RemarkKind::AudienceOrder, 3),
            (RemarkKind::UnknownTerm, 4),
            (RemarkKind::EmptyTerm, 4),
            (RemarkKind::NoFullStop, 4),
        ]
    );
}

#[test]
fn one_line_of_ten_megabytes_is_read_in_linear_time() {
    // Anything that grew with the square of the length would not end within hours.
    let ten = |unit: &str| unit.repeat(10_000_000 / unit.len());
    let long = |unit: &str| unit.repeat(1_000_000 / unit.len());
    let read = |line: &str| {
        with_section(line, |items| {
            let [item] = items else { panic!("{} items", items.len()) };
            if let Item::Entry(entry) = item {
                let chars = |text: Text<'_>| text.chars().count();
                let remarks = entry.remarks().count();
                Some((remarks, entry.terms().count(), chars(entry.title()) + chars(entry.info())))
            } else {
                None
            }
        })
    };
    for line in [ten("["), ten("x"), long("- [](\\"), long("#"), long("` ")] {
        assert_eq!(read(&line), None);
    }
    assert_eq!(read(&format!("- [a]({}): Web group for people.", long("("))), None);
    assert_eq!(read(&format!("- [a](b \"{}): Web group for people.", long("\\\""))), None);
    assert_eq!(read(&format!("- [a](b): {}", long("x "))), None);
    let commas = format!("- [a](b): Web contact for agents{}. Info", long(", "));
    assert_eq!(read(&commas), Some((500_000, 500_000, 5)));
    let spaces = format!("- [a{}b](b): Web group for people.", long(" "));
    assert_eq!(read(&spaces), Some((0, 0, 1_000_002)));
    let info = format!("- [a](b): Web contact for agents, MCP. {}", ten("x "));
    assert_eq!(read(&info), Some((0, 1, 10_000_000)));
    with_section(&"- [a\n".repeat(100_000), |items| assert_eq!(items.len(), 100_000));
    with_section(&"x\n".repeat(100_000), |items| assert_eq!(items.len(), 100_000));
}

#[test]
fn what_is_written_is_read_the_same() {
    let mcp = [ProtocolName::new("mcp").unwrap(), ProtocolName::new("x-1").unwrap()];
    let link = format!("https://any.example/a#{KEY}");
    let entries = [
        NewEntry::new(
            " a [b] \\ `c` *d* _e_ &amp; <f> ",
            &link,
            AddressType::Contact,
            Audience::Agents,
        )
        .protocols(&mcp)
        .info(" Some *Markdown*, [a](b). "),
        NewEntry::new("x", "web:(a b)<c>\\&amp;", AddressType::Updates, Audience::People)
            .network("Foo_bar baz")
            .frequency(Frequency::Never),
        NewEntry::new("-", "b", AddressType::BusinessContact, Audience::PeopleAndAgents)
            .network("business"),
    ];
    let mut buffer = [0; 1024];
    let file = write(&entries, &mut buffer).unwrap();
    let read: Vec<_> = Communications::new(file).entries().collect();
    let [first, second, third] = read[..] else { panic!("{file}") };
    assert!(first.title() == *"a [b] \\ `c` *d* _e_ &amp; <f>", "{file}");
    assert_eq!(first.link().as_plain(), Some(link.as_str()));
    assert!(first.protocols().zip(mcp).all(|(read, written)| read.is(written)));
    assert_eq!(first.info().raw(), "Some *Markdown*, [a](b).");
    assert!(second.link() == *"web:(a b)<c>\\&amp;", "{file}");
    assert!(second.network() == *"Foo_bar baz");
    assert_eq!(second.frequency(), Some(Frequency::Never));
    assert!(third.network() == *"business");
    assert_eq!(third.kind(), AddressType::BusinessContact);
    assert!(read.iter().all(|entry| entry.remarks().count() == 0));
    let needed = file.len();
    let error = write(&entries, &mut [0; 10]).unwrap_err();
    let expected = WriteErrorKind::Buffer(BufferTooSmall { needed, capacity: 10 });
    assert_eq!((error.entry, error.kind), (3, expected));
}

#[test]
fn what_would_be_read_otherwise_is_not_written() {
    let good = NewEntry::new("a", "b", AddressType::Contact, Audience::People).network("Web");
    let kind = |entry| {
        write(&[good, entry], &mut [0; 256]).map(drop).map_err(|error| {
            assert_eq!(error.entry, 1);
            error.kind
        })
    };
    let with = |title, link| NewEntry::new(title, link, AddressType::Contact, Audience::People);
    assert_eq!(kind(good), Ok(()));
    for title in ["", " ", "a\nb", "a\0"] {
        assert_eq!(kind(with(title, "b").network("Web")), Err(WriteErrorKind::Title));
    }
    for link in ["", "a\nb", "a\r"] {
        assert_eq!(kind(with("a", link).network("Web")), Err(WriteErrorKind::Address));
    }
    for network in ["", " ", "a\nb", "a for b", "a FOR", "a. b", "a.", "a business", "Business"] {
        assert_eq!(kind(good.network(network)), Err(WriteErrorKind::Network), "{network:?}");
    }
    let other = AddressType::Other(Text::new("letter"));
    let other = NewEntry::new("a", "b", other, Audience::People).network("Web");
    assert_eq!(kind(other), Err(WriteErrorKind::Type));
    assert_eq!(kind(good.frequency(Frequency::Daily)), Err(WriteErrorKind::Frequency));
    let mcp = [ProtocolName::new("mcp").unwrap()];
    let group = NewEntry::new("a", "b", AddressType::Group, Audience::People).network("Web");
    assert_eq!(kind(group.protocols(&mcp)), Err(WriteErrorKind::Protocols));
    assert_eq!(kind(good.info("a\nb")), Err(WriteErrorKind::Info));
    assert!(matches!(kind(with("a", "b")), Err(WriteErrorKind::Link(EntryLinkError::Link(_)))));
    let link = format!("https://any.example/g#{KEY}");
    assert_eq!(
        kind(with("a", &link)),
        Err(WriteErrorKind::Link(EntryLinkError::Type {
            expected: LinkKind::Contact,
            found: LinkKind::Group
        }))
    );
}

#[test]
fn debug_shows_no_text() {
    let file = "## Communications\n- [hunter2](hunter2): hunter2 hunter2 for people, hunter2. hunter2\n\
                ### hunter2\n\nhunter2\n";
    let shown = format!("{:?} {:?}", Communications::new(file), items(file));
    assert!(!shown.contains("hunter2"), "{shown}");
    let entry = NewEntry::new("hunter2", "hunter2", AddressType::Contact, Audience::People)
        .network("hunter2")
        .info("hunter2");
    assert!(!format!("{entry:?}").contains("hunter2"));
}
