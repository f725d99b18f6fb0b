//! The reader of Server-Sent Events against the standard's algorithm, on the whole stream at once.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::sse::{DEFAULT_NAME, Error, Event, Growing, Lent, MAX_ID_LEN, MAX_NAME_LEN, Reader};

/// What a stream comes to.
#[derive(PartialEq, Debug, Default)]
struct Read {
    outcomes: Vec<Result<Owned, Error>>,
    id: String,
    retry: Option<Duration>,
    is_inside: bool,
}

#[derive(PartialEq, Clone, Debug)]
struct Owned {
    name: String,
    data: String,
    id: String,
}

impl From<Event<'_>> for Owned {
    fn from(event: Event<'_>) -> Self {
        Self { name: event.name.into(), data: event.data.into(), id: event.id.into() }
    }
}

/// One byte is the buffer's length, one says how the stream is cut, the rest is the stream. However
/// it is cut it comes to the same; and its events, written, come to themselves.
pub fn sse(data: &[u8]) {
    let [limit, cuts, stream @ ..] = data else { return };
    let limit = usize::from(*limit);
    let model = model(limit, stream);
    let mut state = u32::from(*cuts) + 1;
    let mut random = move || {
        state = state.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f);
        (state >> 16) as usize % 9
    };
    assert_eq!(read(limit, stream, || usize::MAX), model, "whole");
    assert_eq!(read(limit, stream, || 1), model, "byte by byte");
    assert_eq!(read(limit, stream, &mut random), model, "cut by {cuts}");
    let mut written = String::new();
    let mut events = Vec::new();
    for outcome in model.outcomes.into_iter().flatten() {
        let event = Event::new(&outcome.data).name(&outcome.name).id(&outcome.id);
        // CR cannot come out of a stream, so only a name can be one that cannot be written: never.
        written.push_str(&event.to_text().expect("what was read can be written"));
        events.push(outcome);
    }
    let again = read(limit, written.as_bytes(), &mut random);
    // An empty id is not written, so the one before it holds on.
    let mut id = String::new();
    for event in &mut events {
        if event.id.is_empty() {
            event.id.clone_from(&id);
        }
        id.clone_from(&event.id);
    }
    let again: Vec<Owned> = again.outcomes.into_iter().map(|event| event.expect("read")).collect();
    assert_eq!(again, events, "written and read again");
}

fn read(limit: usize, stream: &[u8], mut cut: impl FnMut() -> usize) -> Read {
    let mut bytes = alloc::vec![0; limit];
    let mut lent = Reader::new(Lent::new(&mut bytes));
    let mut growing = Reader::new(Growing::new(limit));
    let mut outcomes = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let (mut chunk, tail) = rest.split_at(cut().min(rest.len()));
        rest = tail;
        let mut same = chunk;
        loop {
            let outcome = lent.read(&mut chunk).map(|event| event.map(Owned::from));
            let other = growing.read(&mut same).map(|event| event.map(Owned::from));
            assert_eq!(outcome, other, "the buffers differ");
            assert_eq!(chunk, same);
            match outcome.transpose() {
                Some(outcome) => outcomes.push(outcome),
                None => break,
            }
        }
        assert!(chunk.is_empty(), "bytes are left");
    }
    Read {
        outcomes,
        id: lent.last_event_id().to_owned(),
        retry: lent.retry(),
        is_inside: lent.is_inside_event(),
    }
}

/// The lines of a stream, and what follows the last line end.
fn lines(stream: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut rest = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let mut lines = Vec::new();
    while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
        lines.push(&rest[..end]);
        let both = rest[end..].starts_with(b"\r\n");
        rest = &rest[end + 1 + usize::from(both)..];
    }
    (lines, rest)
}

fn model(limit: usize, stream: &[u8]) -> Read {
    let (lines, tail) = lines(stream);
    let mut read = Read::default();
    let (mut data, mut name, mut id) = (Vec::<u8>::new(), Vec::<u8>::new(), String::new());
    let mut is_lost = false;
    let last = lines.len();
    for (place, line) in lines.into_iter().chain([tail]).enumerate() {
        let is_whole = place < last;
        if line.is_empty() {
            if is_whole {
                read.id.clone_from(&id);
                if !data.is_empty() && !is_lost {
                    data.pop();
                    read.outcomes.push(event(&data, &name, &id));
                }
                data.clear();
                name.clear();
                is_lost = false;
                read.is_inside = false;
            }
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = line.split_at(colon.unwrap_or(line.len()));
        read.is_inside |= !field.is_empty();
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if !is_whole && colon.is_none() {
            continue;
        }
        let mut lose = |error, is_lost: &mut bool| {
            if !*is_lost {
                read.outcomes.push(Err(error));
            }
            *is_lost = true;
        };
        match field {
            b"data" => {
                data.extend(value);
                if data.len() > limit {
                    lose(Error::TooLarge { limit }, &mut is_lost);
                }
                data.push(b'\n');
            }
            b"event" => {
                name = value.to_vec();
                if name.len() > MAX_NAME_LEN {
                    lose(Error::NameTooLong { limit: MAX_NAME_LEN }, &mut is_lost);
                }
            }
            b"id" if is_whole && !value.contains(&0) => {
                let value = core::str::from_utf8(value).unwrap_or_default();
                id = if value.len() > MAX_ID_LEN { String::new() } else { value.into() };
            }
            b"retry" if is_whole && !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let text = core::str::from_utf8(value).expect("digits");
                read.retry = Some(Duration::from_millis(text.parse().unwrap_or(u64::MAX)));
            }
            _ => {}
        }
    }
    // A byte order mark that has only begun may become one.
    read.is_inside |= stream == b"\xef" || stream == b"\xef\xbb";
    read
}

fn event(data: &[u8], name: &[u8], id: &str) -> Result<Owned, Error> {
    let text = |bytes| core::str::from_utf8(bytes).map_err(|_| Error::NotUtf8);
    let name = text(name)?;
    let name = if name.is_empty() { DEFAULT_NAME } else { name };
    Ok(Owned { name: name.into(), data: text(data)?.into(), id: id.into() })
}
