//! `llms.txt`, links and names.

use alloc::string::String;
use alloc::vec::Vec;

use crate::binding::ProtocolName;
use crate::discovery::link::{Link, LinkErrorKind, LinkForm, LinkKind, Scheme};
use crate::discovery::llms::{
    self, AddressType, Communications, Entry, Item, NewEntry, ProblemKind, Term, WriteErrorKind,
};
use crate::discovery::name::{MAX_NAME_LEN, Name, NameErrorKind, NameKind, Tld};
use crate::json::offset_in;

/// A file is read, alone and with the section's heading before it; its entries are written again
/// and read the same.
pub fn llms(data: &[u8]) {
    let Ok(file) = core::str::from_utf8(data) else { return };
    read(file);
    read(&alloc::format!("## Communications\n{file}"));
}

fn read(file: &str) {
    let mut last = 0;
    let mut lines = 1;
    let mut counted = 0;
    let mut items = 0_usize;
    for item in Communications::new(file) {
        items += 1;
        let (line, offset, start) = match item {
            Item::Entry(entry) => {
                check(&entry, file);
                write(&entry);
                (entry.line(), entry.offset(), entry.offset())
            }
            Item::Heading(heading) => {
                assert!((3..=6).contains(&heading.level));
                (heading.line, heading.offset, heading.offset)
            }
            Item::Problem(problem) if problem.kind == ProblemKind::NoSection => {
                assert_eq!(problem.offset, file.len());
                return;
            }
            Item::Problem(problem) => {
                let start = if problem.text.is_empty() {
                    problem.offset
                } else {
                    offset_in(file, problem.text)
                };
                assert!(file[start..].starts_with(problem.text));
                (problem.line, problem.offset, start)
            }
        };
        assert!(start >= last && offset >= start, "in the order of the file");
        assert!(file.is_char_boundary(offset));
        last = start;
        if offset >= counted {
            lines += ends(&file[counted..offset]);
            counted = offset;
            assert_eq!(line, lines, "{item:?}");
        }
    }
    assert!(items <= file.len() + 1);
}

/// The line endings in a text.
fn ends(text: &str) -> usize {
    text.matches(['\n', '\r']).count() - text.matches("\r\n").count()
}

/// An entry is what the grammar makes of its parts.
fn check(entry: &Entry<'_>, file: &str) {
    let source = entry.source();
    assert_eq!(&file[entry.offset()..entry.offset() + source.len()], source);
    for text in [entry.title(), entry.link(), entry.network(), entry.info()] {
        assert!(source.contains(text.raw()));
        let decoded: String = text.chars().collect();
        let mut buffer = alloc::vec![0; text.raw().len()];
        assert_eq!(text.write(&mut buffer).expect("it never grows"), decoded);
        assert_eq!(text.as_plain().is_some(), decoded == text.raw());
    }
    let mut last = entry.offset();
    for remark in entry.remarks() {
        assert!(remark.offset >= last && remark.offset <= entry.offset() + source.len());
        assert_eq!(remark.line, entry.line() + ends(&file[entry.offset()..remark.offset]));
        last = remark.offset;
    }
    let contact = entry.kind().link_kind() == Some(LinkKind::Contact);
    for term in entry.terms() {
        match term {
            Term::Frequency(_) => assert_eq!(entry.kind(), AddressType::Updates),
            Term::Protocol(protocol) => {
                assert!(contact);
                let lower = protocol.get().to_ascii_lowercase();
                assert!(protocol.is(ProtocolName::new(&lower).expect("a name")));
            }
            Term::Other(_) => assert!(entry.remarks().next().is_some()),
        }
    }
    let mut scratch = alloc::vec![0; entry.link().raw().len()];
    match entry.simplex_link(&mut scratch) {
        Ok(Some(link)) => {
            assert!(entry.kind().link_kind().is_none_or(|kind| kind == link.kind()));
        }
        Ok(None) => assert!(!entry.network().raw().eq_ignore_ascii_case("simplex")),
        Err(_) => assert!(entry.network().raw().eq_ignore_ascii_case("simplex")),
    }
}

/// What can be written of an entry reads the same, and is written the same again.
fn write(entry: &Entry<'_>) {
    let decode = |text: llms::Text<'_>| text.chars().collect::<String>();
    let (title, link, network) =
        (decode(entry.title()), decode(entry.link()), decode(entry.network()));
    let lower: Vec<String> =
        entry.protocols().map(|protocol| protocol.get().to_ascii_lowercase()).collect();
    let protocols: Vec<ProtocolName<'_>> =
        lower.iter().map(|name| ProtocolName::new(name).expect("a name")).collect();
    let info = entry.info().raw();
    let mut new = NewEntry::new(&title, &link, entry.kind(), entry.audience())
        .network(&network)
        .protocols(&protocols)
        .info(info);
    if let Some(frequency) = entry.frequency() {
        new = new.frequency(frequency);
    }
    let needed = match llms::write(&[new], &mut []).expect_err("it is never empty").kind {
        WriteErrorKind::Buffer(error) => error.needed,
        // Wrapped lines, types that the document does not have, links of another type.
        _ => return,
    };
    let mut buffer = alloc::vec![0; needed];
    let file = llms::write(&[new], &mut buffer).expect("as long as it said");
    let mut items = Communications::new(file);
    let Some(Item::Entry(again)) = items.next() else { panic!("{} bytes", file.len()) };
    assert!(items.next().is_none());
    assert!(again.title() == *title.trim() && again.link() == *link);
    assert!(again.network() == *network.trim());
    assert_eq!((again.kind(), again.audience()), (entry.kind(), entry.audience()));
    assert_eq!(again.frequency(), entry.frequency());
    assert!(again.protocols().eq(entry.protocols()));
    assert_eq!(again.info().raw(), info.trim());
    assert_eq!(again.remarks().count(), 0);
}

/// A text is read as a link; what can be read is told apart by its path again, and its normal form
/// is read as the same link.
pub fn link(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let link = match Link::parse(text) {
        Ok(link) => link,
        Err(error) => {
            assert!(text.is_char_boundary(error.offset), "{error:?} is no place in the text");
            if let LinkErrorKind::Byte(byte) = error.kind {
                assert_eq!(text.as_bytes()[error.offset], byte);
            }
            return;
        }
    };
    let (before, fragment) = text.split_once('#').expect("every link has a fragment");
    let path = before.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let expected = match (path, link.form()) {
        ("a" | "A", LinkForm::Short) => &[LinkKind::Contact][..],
        ("c" | "C", LinkForm::Short) => &[LinkKind::Channel],
        ("g" | "G", LinkForm::Short) => &[LinkKind::Group],
        ("r" | "R", LinkForm::Short) => &[LinkKind::Relay],
        ("i", LinkForm::Short) => &[LinkKind::Invitation],
        ("contact", LinkForm::Full) => &[LinkKind::Contact, LinkKind::Group],
        ("invitation", LinkForm::Full) => &[LinkKind::Invitation],
        _ => &[],
    };
    assert!(expected.contains(&link.kind()), "{link:?}");
    assert_eq!(link.scheme() == Scheme::Https, link.host().is_some());
    if link.kind() == LinkKind::Group && link.form() == LinkForm::Full {
        assert!(fragment.contains("data="));
    }
    let mut buffer = alloc::vec![0; text.len() * 3 + 16];
    let normal = link.write(&mut buffer).expect("as long as it is documented to be");
    assert!(normal.starts_with("simplex:/"));
    let again = Link::parse(normal).expect("the normal form is a link");
    assert_eq!((again.kind(), again.form()), (link.kind(), link.form()));
    assert_eq!(again.has_ratchet_keys(), link.has_ratchet_keys());
    let mut twice = alloc::vec![0; normal.len()];
    assert_eq!(again.write(&mut twice).expect("the same length"), normal);
}

/// A text is read as a name and held against the rules, written out naively.
pub fn name(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let rest = text.strip_prefix("simplex:/name").unwrap_or(text);
    let contact = rest.starts_with('@');
    let domain = rest.strip_prefix(['#', '@']).unwrap_or(rest);
    let good = |label: &str| {
        label.len() <= 63
            && label.split('-').all(|part| {
                !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
            })
    };
    let single = !domain.contains('.');
    let expected =
        domain.len() <= MAX_NAME_LEN && domain.split('.').all(good) && !(contact && single);
    let name = match Name::parse(text) {
        Ok(name) => name,
        Err(error) => {
            assert!(!expected, "{error:?}");
            assert!(text.is_char_boundary(error.offset), "{error:?} is no place in the text");
            if error.kind == NameErrorKind::NoTopLevelDomain {
                assert!(contact && single);
            }
            return;
        }
    };
    assert!(expected, "{name:?}");
    assert_eq!(name.kind() == NameKind::Contact, contact);
    let suffix = if single { ".simplex" } else { "" };
    let lower = alloc::format!("{}{suffix}", domain.to_ascii_lowercase());
    let tld = match lower.rsplit('.').next() {
        Some("simplex") => Tld::Simplex,
        Some("testing") => Tld::Testing,
        _ => Tld::Web,
    };
    assert_eq!(name.tld(), tld);
    let normal = alloc::format!("{}{lower}", if contact { '@' } else { '#' });
    let mut buffer = [0; MAX_NAME_LEN + 1];
    assert_eq!(name.write(&mut buffer).expect("as long as it is documented to be"), normal);
    let again = Name::parse(&normal).expect("the normal form is a name");
    assert_eq!((again.kind(), again.tld()), (name.kind(), name.tld()));
}
