//! Lengths against a table of bytes, and message sizes against the encoder.

use alloc::string::String;
use alloc::vec::Vec;

use arbitrary::{Result, Unstructured};

use crate::chat::encode::{WireMessage, WireQuote, encode};
use crate::chat::size::{
    MAX_ENCODED_MSG_LEN, Margin, Mention, MessageShape, QuoteKind, ReplyBudget,
};
use crate::json::Writer;
use crate::json::length::{
    EscapedLen, escaped_len, escaped_len_bytes, extra_by_lanes, extra_by_table, fits,
    longest_prefix,
};

/// A text, measured in every way; and a message around it, encoded.
///
/// The first byte says how often the rest stands in the text, the next two give places and limits.
pub fn size(data: &[u8]) {
    let [times, a, b, rest @ ..] = data else { return };
    if rest.is_empty() {
        return;
    }
    let times = match times {
        // Past the blocks that are counted at once, and around the longest message.
        240.. => (usize::from(times - 239) * 1_100 / rest.len()).max(1),
        few => 1 + usize::from(*few) % 4,
    };
    let bytes = rest.repeat(times);
    lengths_of_bytes(&bytes, usize::from(u16::from_be_bytes([*a, *b])));
    let text = String::from_utf8_lossy(&bytes);
    lengths_of_text(&text, usize::from(*a));
    budgets(&text, usize::from(u16::from_be_bytes([*a, *b])));
    let mut bytes = Unstructured::new(data);
    let _ = messages(&mut bytes, &text);
}

/// One byte at a time.
fn model(bytes: &[u8]) -> usize {
    let cost = |byte: &u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 2,
        0..=0x1f => 6,
        _ => 1,
    };
    bytes.iter().map(cost).sum()
}

fn lengths_of_bytes(bytes: &[u8], place: usize) {
    let expected = model(bytes);
    assert_eq!(escaped_len_bytes(bytes), expected);
    assert_eq!(extra_by_table(bytes), expected - bytes.len());
    assert_eq!(extra_by_lanes(bytes), expected - bytes.len());
    let (head, tail) = bytes.split_at(place % (bytes.len() + 1));
    let mut pieces = EscapedLen::new();
    pieces.add_bytes(head).add_bytes(tail);
    assert_eq!(pieces.get(), expected, "pieces do not add up");
}

fn lengths_of_text(text: &str, from: usize) {
    let expected = model(text.as_bytes());
    assert_eq!(escaped_len(text), expected);
    assert_eq!(EscapedLen::of(text).get(), expected);
    for limit in [0, expected.saturating_sub(1), expected, expected + 1, expected * from / 255] {
        assert_eq!(fits(text, limit), expected <= limit, "fits({limit})");
        let prefix = longest_prefix(text, limit);
        assert!(text.starts_with(prefix));
        assert!(model(prefix.as_bytes()) <= limit, "the prefix is too long");
        if let Some(next) = text[prefix.len()..].chars().next() {
            let longer = &text[..prefix.len() + next.len_utf8()];
            assert!(model(longer.as_bytes()) > limit, "the prefix is not the longest");
        }
    }
    let mut out = alloc::vec![0; expected + 2];
    let mut writer = Writer::new(&mut out);
    writer.string(text);
    assert_eq!(writer.finish().expect("as long as it said").len(), expected + 2);
}

fn budgets(text: &str, command: usize) {
    for kind in [QuoteKind::Direct, QuoteKind::GROUP, QuoteKind::Channel] {
        let budget = ReplyBudget::for_len(command, kind);
        let needed = budget.overhead() + model(text.as_bytes());
        assert_eq!(budget.needed(text), needed);
        assert_eq!(budget.fits(text), needed <= budget.limit());
        assert_eq!(budget.check(text).is_ok(), needed <= budget.limit());
        assert_eq!(budget.remaining(), budget.limit().saturating_sub(budget.overhead()));
        let prefix = longest_prefix(text, budget.remaining());
        assert!(budget.fits(prefix) || budget.remaining() == 0);
        let truncated = budget.quote_truncated(command / 2);
        assert_eq!(truncated.overhead() + command, budget.overhead() + command / 2);
    }
}

fn short(bytes: &mut Unstructured<'_>) -> Result<String> {
    let text: &str = bytes.arbitrary()?;
    Ok(text.chars().take(40).collect())
}

/// The shape says how long the encoder's text is.
fn messages(bytes: &mut Unstructured<'_>, text: &str) -> Result<()> {
    // The bytes that chose the text.
    let _: [u8; 3] = bytes.arbitrary()?;
    let (version, msg_id) = (short(bytes)?, short(bytes)?);
    let mut message = WireMessage::new(&msg_id, text);
    if bytes.arbitrary()? {
        message.version = &version;
    }
    message.live = bytes.arbitrary()?;
    message.forward = bytes.arbitrary()?;
    message.as_group = bytes.arbitrary()?;
    let ttl: Option<(u64, u8)> = bytes.arbitrary()?;
    message.ttl = ttl.map(|(seconds, shift)| seconds >> (shift % 64));
    let scope = short(bytes)?;
    if bytes.arbitrary()? {
        message.member_scope = Some(&scope);
    }
    let mut names = Vec::new();
    for _ in 0..bytes.int_in_range(0..=5)? {
        names.push((short(bytes)?, short(bytes)?));
    }
    let mentions: Vec<Mention<'_>> =
        names.iter().map(|(name, member)| Mention::new(name, member)).collect();
    message.mentions = &mentions;
    let (quoted, quoted_id, sent_at, author) =
        (short(bytes)?, short(bytes)?, short(bytes)?, short(bytes)?);
    if bytes.arbitrary()? {
        let mut quote = WireQuote::new(&quoted, &quoted_id, &sent_at);
        quote.sent = bytes.arbitrary()?;
        if bytes.arbitrary()? {
            quote.member_id = Some(&author);
        }
        message.quote = Some(quote);
    }

    let encoded = encode(&message);
    serde_json::from_str::<serde_json::Value>(&encoded).expect("the encoder writes JSON");
    let mut distinct: Vec<&str> = mentions.iter().map(|mention| mention.name).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let shape = message.shape();
    let len = shape.encoded_len(text);
    if distinct.len() == mentions.len() {
        assert_eq!(len, encoded.len(), "the shape counts otherwise than the encoder");
    } else {
        assert!(len >= encoded.len(), "a repeated name is counted each time");
    }
    assert_eq!(shape.check(text).is_ok(), len <= MAX_ENCODED_MSG_LEN);
    assert_eq!(shape.overhead() + model(text.as_bytes()), len);
    let margin = Margin::Bytes(bytes.arbitrary::<u16>()?.into());
    let narrow = shape.margin(margin);
    assert_eq!(narrow.check(text).is_ok(), len + margin.bytes() <= MAX_ENCODED_MSG_LEN);
    same_budget(&narrow, text);
    Ok(())
}

fn same_budget(shape: &MessageShape<'_>, text: &str) {
    let budget = ReplyBudget::for_shape(shape);
    assert_eq!(budget.needed(text), shape.encoded_len(text));
    assert_eq!(budget.check(text).is_ok(), shape.check(text).is_ok());
    assert_eq!(budget.remaining(), shape.room());
}
