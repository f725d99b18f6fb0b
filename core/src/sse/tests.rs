use super::*;
use std::borrow::ToOwned as _;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

type Outcome = Result<(String, String, String), Error>;

/// Reads a stream in chunks of these lengths, over and over.
fn read_cut(limit: usize, stream: &[u8], cuts: &[usize]) -> Vec<Outcome> {
    let mut bytes = vec![0; limit];
    let mut reader = Reader::new(Lent::new(&mut bytes));
    let mut outcomes = Vec::new();
    let mut rest = stream;
    for cut in cuts.iter().cycle() {
        let (mut chunk, tail) = rest.split_at(rest.len().min(*cut));
        rest = tail;
        loop {
            match reader.read(&mut chunk) {
                Ok(None) => break,
                Ok(Some(event)) => outcomes.push(Ok((
                    event.name.to_owned(),
                    event.data.to_owned(),
                    event.id.to_owned(),
                ))),
                Err(error) => outcomes.push(Err(error)),
            }
        }
        assert!(chunk.is_empty());
        if rest.is_empty() {
            break;
        }
    }
    outcomes
}

/// Reads a stream whole and in pieces, which has to give the same.
fn read(stream: &[u8]) -> Vec<Outcome> {
    let whole = read_cut(64, stream, &[usize::MAX]);
    for cuts in [&[1][..], &[2], &[3], &[5, 1], &[1, 7, 2]] {
        assert_eq!(read_cut(64, stream, cuts), whole, "cut by {cuts:?}");
    }
    whole
}

fn data(stream: &[u8]) -> Vec<String> {
    read(stream).into_iter().map(|outcome| outcome.unwrap().1).collect()
}

#[test]
fn lines_end_with_cr_lf_or_both() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = format!("data: one{end}{end}data: two{end}data: three{end}{end}");
        assert_eq!(data(stream.as_bytes()), ["one", "two\nthree"], "{end:?}");
    }
    // CR, then CR LF: a line and a blank one.
    assert_eq!(data(b"data: a\r\r\ndata: b\n\r\n"), ["a", "b"]);
    // LF, then CR: two line ends.
    assert_eq!(data(b"data: a\n\rdata: b\r\r"), ["a", "b"]);
}

#[test]
fn an_event_comes_with_the_cr_that_ends_it() {
    let mut bytes = [0; 8];
    let mut reader = Reader::new(Lent::new(&mut bytes));
    let mut chunk = &b"data: a\r\n\r"[..];
    assert_eq!(reader.read(&mut chunk).unwrap().unwrap().data, "a");
    let mut chunk = &b"\n"[..];
    assert_eq!(reader.read(&mut chunk), Ok(None));
    assert!(!reader.is_inside_event());
}

#[test]
fn comments_and_fields_without_a_meaning_are_passed_over_however_long() {
    let long = "x".repeat(1000);
    let stream = format!(":{long}\n{long}: {long}\ndata2: no\nDATA: no\n data: no\ndata: yes\n\n");
    assert_eq!(data(stream.as_bytes()), ["yes"]);
    assert_eq!(data(b": ping\n\n:\r\n\r\n"), [""; 0]);
}

#[test]
fn one_space_after_the_colon_does_not_count() {
    assert_eq!(data(b"data:a\n\ndata: a\n\ndata:  a \n\ndata:\ta\n\n"), ["a", "a", " a ", "\ta"]);
    assert_eq!(data(b"data::\n\ndata: :\n\n"), [":", ":"]);
}

#[test]
fn empty_data_is_an_event_and_no_data_is_none() {
    assert_eq!(data(b"data\n\n"), [""]);
    assert_eq!(data(b"data:\n\n"), [""]);
    assert_eq!(data(b"data\ndata\n\n"), ["\n"]);
    assert_eq!(data(b"event: x\n\n\n\nid: 1\n\n"), [""; 0]);
}

#[test]
fn a_name_holds_for_one_event() {
    let stream = b"event: a\nevent: error\ndata\n\ndata\n\nevent: lost\n\ndata\n\nevent:\ndata\n\n";
    let names: Vec<String> = read(stream).into_iter().map(|outcome| outcome.unwrap().0).collect();
    assert_eq!(names, ["error", "message", "message", "message"]);
}

#[test]
fn an_id_holds_until_there_is_another() {
    let stream = b"id: 1\ndata\n\ndata\n\nid: 2\n\ndata\n\nid\ndata\n\nid: 3\nid: 4\0\ndata\n\n";
    let ids: Vec<String> = read(stream).into_iter().map(|outcome| outcome.unwrap().2).collect();
    assert_eq!(ids, ["1", "1", "2", "", "3"]);
    let long = |len: usize| format!("id: 1\n\nid: {}\ndata\n\n", "i".repeat(len));
    assert_eq!(read(long(MAX_ID_LEN).as_bytes())[0].as_ref().unwrap().2.len(), MAX_ID_LEN);
    assert_eq!(read(long(MAX_ID_LEN + 1).as_bytes())[0].as_ref().unwrap().2, "");
    assert_eq!(read(b"id: \xff\ndata\n\n")[0].as_ref().unwrap().2, "");
}

#[test]
fn an_id_counts_once_its_event_has_ended() {
    let mut bytes = [0; 8];
    let mut reader = Reader::new(Lent::new(&mut bytes));
    assert_eq!(reader.read(&mut &b"id: 1\n\nid: 2\n"[..]), Ok(None));
    assert_eq!(reader.last_event_id(), "1");
    assert!(reader.is_inside_event());
    assert_eq!(reader.read(&mut &b"\n"[..]), Ok(None));
    assert_eq!(reader.last_event_id(), "2");
}

#[test]
fn retry_is_digits() {
    let retry = |value: &str| {
        let mut reader = Reader::new(Growing::new(8));
        let stream = format!("retry: 7\nretry{value}\n");
        assert_eq!(reader.read(&mut stream.as_bytes()), Ok(None));
        reader.retry().unwrap().as_millis()
    };
    assert_eq!(retry(": 3000"), 3000);
    assert_eq!(retry(":0"), 0);
    assert_eq!(retry(": 99999999999999999999"), u128::from(u64::MAX));
    for other in ["", ":", ": ", ": -1", ": 1 ", ": 1.5", ":  1", ": x"] {
        assert_eq!(retry(other), 7, "{other:?}");
    }
}

#[test]
fn a_byte_order_mark_counts_for_nothing_at_the_start_alone() {
    assert_eq!(data(b"\xef\xbb\xbfdata: a\n\n"), ["a"]);
    assert_eq!(data(b"\xef\xbb\xbf\ndata: a\n\n"), ["a"]);
    assert_eq!(data(b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n"), ["b"]);
    assert_eq!(data(b"\xef\xbbdata: a\n\ndata: b\n\n"), ["b"]);
    assert_eq!(data(b"\xef\xbb\n\ndata: b\n\n"), ["b"]);
    assert_eq!(data(b"data: a\n\n\xef\xbb\xbfdata: b\n\n"), ["a"]);
}

#[test]
fn an_event_may_be_as_long_as_its_buffer() {
    let stream = |data: &str| format!("data: {data}\n\ndata: next\n\n");
    let outcomes = |data: &str| {
        let stream = stream(data);
        let whole = read_cut(8, stream.as_bytes(), &[usize::MAX]);
        assert_eq!(read_cut(8, stream.as_bytes(), &[1]), whole);
        whole.into_iter().map(|outcome| outcome.map(|event| event.1)).collect::<Vec<_>>()
    };
    assert_eq!(outcomes("1234567"), [Ok("1234567".into()), Ok("next".into())]);
    assert_eq!(outcomes("12345678"), [Ok("12345678".into()), Ok("next".into())]);
    let too_large = Err(Error::TooLarge { limit: 8 });
    assert_eq!(outcomes("123456789"), [too_large.clone(), Ok("next".into())]);
    assert_eq!(outcomes("1234\ndata: 567"), [Ok("1234\n567".into()), Ok("next".into())]);
    assert_eq!(outcomes("1234\ndata: 5678"), [too_large.clone(), Ok("next".into())]);
    assert_eq!(outcomes("12345678\ndata"), [too_large.clone(), Ok("next".into())]);
    // It is lost once, however much of it is to come.
    assert_eq!(outcomes("123456789\ndata: 123456789\nevent: x"), [too_large, Ok("next".into())]);
}

#[test]
fn a_name_may_be_of_64_bytes() {
    let outcome = |len: usize| {
        let stream = format!("event: {}\ndata\n\n", "n".repeat(len));
        read(stream.as_bytes()).remove(0).map(|event| event.0.len())
    };
    assert_eq!(outcome(MAX_NAME_LEN), Ok(MAX_NAME_LEN));
    assert_eq!(outcome(MAX_NAME_LEN + 1), Err(Error::NameTooLong { limit: MAX_NAME_LEN }));
}

#[test]
fn what_is_not_utf8_is_an_error_of_its_event() {
    let outcomes = read(b"data: \xc3\xa9\n\ndata: \xc3\n\nevent: \xff\ndata\n\ndata: a\n\n");
    let data: Vec<_> = outcomes.into_iter().map(|outcome| outcome.map(|event| event.1)).collect();
    let error = || Err(Error::NotUtf8);
    assert_eq!(data, [Ok("\u{e9}".into()), error(), error(), Ok("a".into())]);
}

#[test]
fn what_is_cut_off_is_no_event() {
    for (stream, inside) in [
        (&b"data: a\n"[..], true),
        (b"data: a", true),
        (b"d", true),
        (b"\xef", true),
        (b": ping\n", false),
        (b": pi", false),
        (b"\xef\xbb\xbf", false),
        (b"data: a\n\n", false),
        (b"data: a\n\n\n", false),
        (b"", false),
    ] {
        let mut reader = Reader::new(Growing::new(8));
        let mut input = stream;
        while reader.read(&mut input).unwrap().is_some() {}
        assert_eq!(reader.is_inside_event(), inside, "{stream:?}");
    }
}

#[test]
fn what_is_written_is_read() {
    for (data, expected) in [
        ("", ""),
        ("{}", "{}"),
        (" {}", " {}"),
        ("a\nb", "a\nb"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\n", "\n"),
        ("a\r\n", "a\n"),
        ("\r\r\n\n", "\n\n\n"),
        ("\u{feff}\u{e9}", "\u{feff}\u{e9}"),
    ] {
        let text = Event::new(data).name("error").id("7").to_text().unwrap();
        let expected = Ok(("error".into(), expected.into(), "7".into()));
        assert_eq!(read(text.as_bytes()), [expected], "{data:?}");
    }
    assert_eq!(Event::new("x").name("").to_text().unwrap(), "data: x\n\n");
}

#[test]
fn names_and_ids_that_would_break_a_line_are_not_written() {
    for name in ["a\nb", "\r"] {
        assert_eq!(Event::new("").name(name).to_text(), Err(WriteError::Name));
    }
    for id in ["a\nb", "\r", "\0"] {
        assert_eq!(Event::new("").id(id).to_text(), Err(WriteError::Id));
    }
}

#[test]
fn debug_shows_no_text() {
    let mut reader = Reader::new(Growing::new(99));
    let mut input = &b"event: secret\nid: secret\ndata: secret\n\n"[..];
    let shown = format!("{:?}", reader.read(&mut input).unwrap().unwrap());
    let shown = format!("{shown} {reader:?} {:?} {:?}", Growing::new(1), Lent::new(&mut [1, 2]));
    assert!(!shown.contains("secret"), "{shown}");
}
