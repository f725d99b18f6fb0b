//! The size of a chat message, measured in advance and by really encoding it.

use agentwire_core::chat::encode::{WireMessage, WireQuote, encode};
use agentwire_core::chat::size::{
    MAX_ENCODED_MSG_LEN, Margin, Mention, MessageShape, Quote, QuoteKind, ReplyBudget, TooLarge,
};
use agentwire_core::json::length::{
    EscapedLen, escaped_len, escaped_len_bytes, fits, longest_prefix,
};
use proptest::prelude::*;
use proptest::{char, collection, option, sample};

/// The rule, one character at a time.
fn model(text: &str) -> usize {
    let cost = |c| match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '\0'..='\u{1f}' => 6,
        _ => c.len_utf8(),
    };
    text.chars().map(cost).sum()
}

/// A character of every class that the encoder tells apart.
fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        4 => char::range(' ', '~'),
        2 => sample::select(vec!['"', '\\', '\n', '\r', '\t']),
        2 => char::range('\0', '\u{1f}'),
        1 => sample::select(vec!['\u{7f}', '/', '<', '&', '\u{80}', '\u{2028}', '\u{2029}']),
        1 => char::any(),
    ]
}

/// A text of a few characters or of some blocks of the counter, of one kind or mixed.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        collection::vec(character(), 0..80).prop_map(String::from_iter),
        (collection::vec(character(), 1..40), 0_usize..900)
            .prop_map(|(unit, count)| String::from_iter(unit).repeat(count)),
    ]
}

/// A base64url id, mostly of the usual length.
fn id() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[A-Za-z0-9_-]{22}==", 1 => "[A-Za-z0-9_-]{0,30}"]
}

fn sent_at() -> impl Strategy<Value = String> {
    "2026-11-30T14:50:04(|\\.[0-9]{3}|\\.[0-9]{9}|\\.[0-9]{12})Z"
}

/// A message without its text, whose parts are owned.
#[derive(Clone, Debug)]
struct Parts {
    version: String,
    msg_id: String,
    mentions: Vec<(String, String)>,
    quote: Option<(String, String, Option<String>, bool, String)>,
    live: bool,
    ttl: Option<u64>,
    forward: bool,
    as_group: bool,
    member_scope: Option<String>,
}

fn parts() -> impl Strategy<Value = Parts> {
    let name = collection::vec(character(), 0..20).prop_map(String::from_iter);
    (
        sample::select(vec!["1", "1-21", "1-22", "14-121"]),
        id(),
        collection::btree_map(name, id(), 0..6),
        option::of((text(), id(), option::of(id()), any::<bool>(), sent_at())),
        (any::<bool>(), option::of(any::<u64>().prop_map(|n| n >> (n % 64)))),
        (any::<bool>(), any::<bool>(), option::of(id())),
    )
        .prop_map(
            |(version, msg_id, mentions, quote, (live, ttl), (forward, as_group, scope))| Parts {
                version: version.into(),
                msg_id,
                mentions: mentions.into_iter().collect(),
                quote,
                live,
                ttl,
                forward,
                as_group,
                member_scope: scope,
            },
        )
}

impl Parts {
    /// Gives the message with this text to `with`.
    fn message<T>(&self, text: &str, with: impl FnOnce(WireMessage<'_>) -> T) -> T {
        let mentions: Vec<_> =
            self.mentions.iter().map(|(name, id)| Mention::new(name, id)).collect();
        let mut message = WireMessage::new(&self.msg_id, text);
        message.version = &self.version;
        message.mentions = &mentions;
        message.quote = self.quote.as_ref().map(|(text, msg_id, member_id, sent, sent_at)| {
            let mut quote = WireQuote::new(text, msg_id, sent_at);
            quote.member_id = member_id.as_deref();
            quote.sent = *sent;
            quote
        });
        message.live = self.live;
        message.ttl = self.ttl;
        message.forward = self.forward;
        message.as_group = self.as_group;
        message.member_scope = self.member_scope.as_deref();
        with(message)
    }
}

/// Checks that measuring and encoding agree on this message.
fn agree(message: &WireMessage<'_>) -> Result<(), TestCaseError> {
    let encoded = encode(message);
    let shape = message.shape();
    prop_assert_eq!(shape.encoded_len(message.text), encoded.len());
    prop_assert_eq!(shape.overhead() + escaped_len(message.text), encoded.len());
    let budget = ReplyBudget::for_shape(&shape);
    prop_assert_eq!(budget.needed(message.text), encoded.len());
    prop_assert_eq!(budget.fits(message.text), encoded.len() <= MAX_ENCODED_MSG_LEN);
    prop_assert_eq!(budget.check(message.text), shape.check(message.text));
    match shape.check(message.text) {
        Ok(size) => {
            prop_assert!(encoded.len() <= 15_602);
            prop_assert_eq!(size.bytes(), encoded.len());
            prop_assert_eq!(size.remaining(), 15_602 - encoded.len());
        }
        Err(TooLarge { needed, limit, .. }) => {
            prop_assert!(encoded.len() > 15_602);
            prop_assert_eq!((needed, limit), (encoded.len(), 15_602));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_message_is_accepted_exactly_if_it_really_fits(parts in parts(), text in text()) {
        parts.message(&text, |message| agree(&message))?;
    }

    /// The same with texts that end within a few bytes of the limit.
    #[test]
    fn a_message_near_the_limit_is_accepted_exactly_if_it_really_fits(
        parts in parts(),
        unit in collection::vec(character(), 1..40).prop_map(String::from_iter),
        aside in -8_isize..8,
    ) {
        let room = parts.message("", |message| message.shape().room());
        if let Some(room) = room.checked_add_signed(aside) {
            let long = unit.repeat(MAX_ENCODED_MSG_LEN);
            let mut text = longest_prefix(&long, room).to_owned();
            text.extend(core::iter::repeat_n('a', room - escaped_len(&text)));
            parts.message(&text, |message| {
                agree(&message)?;
                let fits = encode(&message).len() <= MAX_ENCODED_MSG_LEN;
                // With no room at all, even the empty text may be too much.
                prop_assert!(message.shape().room() == 0 || fits == (aside <= 0));
                Ok(())
            })?;
        }
    }

    #[test]
    fn the_length_is_what_each_character_costs(text in text()) {
        prop_assert_eq!(escaped_len(&text), model(&text));
        prop_assert_eq!(EscapedLen::of(&text).get(), model(&text));
    }

    #[test]
    fn pieces_add_up_to_the_whole(text in text(), cuts in collection::vec(any::<sample::Index>(), 0..6)) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut len = EscapedLen::new();
        for pair in cuts.windows(2) {
            len.add_bytes(&text.as_bytes()[pair[0]..pair[1]]);
        }
        prop_assert_eq!(len.get(), model(&text));
        prop_assert_eq!(escaped_len_bytes(text.as_bytes()), model(&text));
    }

    #[test]
    fn fits_says_what_the_length_says(text in text(), limit in 0_usize..200_000, near in -2_isize..=2) {
        let len = model(&text);
        prop_assert_eq!(fits(&text, limit), len <= limit);
        let limit = len.saturating_add_signed(near);
        prop_assert_eq!(fits(&text, limit), len <= limit);
    }

    #[test]
    fn no_longer_prefix_fits(text in text(), limit in any::<sample::Index>()) {
        let limit = limit.index(model(&text) + 8);
        let prefix = longest_prefix(&text, limit);
        prop_assert!(text.starts_with(prefix));
        prop_assert!(model(prefix) <= limit);
        if let Some(next) = text[prefix.len()..].chars().next() {
            prop_assert!(model(&text[..prefix.len() + next.len_utf8()]) > limit);
        }
    }

    #[test]
    fn a_budget_is_the_message_with_the_command_quoted(
        command in text(),
        reply in text(),
        member_id in option::of(id()),
    ) {
        let mut quote = WireQuote::new(&command, "dXQ3UnhqVi9YSnhCTlhydg==", "2026-11-30T14:50:04Z");
        quote.member_id = member_id.as_deref();
        let kind = member_id.as_deref().map_or(QuoteKind::Direct, QuoteKind::group);
        let mut message = WireMessage::new("d1NPUHVDSDAyVWVTNnVwUA==", &reply);
        message.quote = Some(quote);
        let encoded = encode(&message).len();
        let budget = ReplyBudget::new(&command, kind);
        prop_assert_eq!(budget.needed(&reply), encoded);
        prop_assert_eq!(budget.fits(&reply), encoded <= MAX_ENCODED_MSG_LEN);
        prop_assert_eq!(
            budget.remaining(),
            (MAX_ENCODED_MSG_LEN + model(&reply)).saturating_sub(encoded)
        );
    }

    #[test]
    fn a_truncated_quote_is_a_quote_of_the_prefix(command in text(), cut in 0_usize..20_000) {
        let prefix = longest_prefix(&command, cut);
        let whole = ReplyBudget::new(&command, QuoteKind::GROUP);
        let exact = ReplyBudget::new(prefix, QuoteKind::GROUP);
        let truncated = whole.quote_truncated(cut);
        // Fewer bytes than one more character are lost between the cut and the prefix.
        prop_assert!(truncated.needed("") >= exact.needed(""));
        prop_assert!(truncated.needed("") < exact.needed("") + 6);
        prop_assert!(truncated.needed("") <= whole.needed(""));
    }

    #[test]
    fn nothing_overflows(len in any::<usize>(), id_len in any::<usize>(), margin in any::<usize>()) {
        let quote = Quote::received(len, QuoteKind::Group { member_id_len: id_len });
        let shape = MessageShape::new().quote(quote).version_len(len).margin(Margin::Bytes(margin));
        let overhead = shape.overhead();
        prop_assert!(overhead >= len.max(id_len));
        prop_assert_eq!(shape.room(), shape.limit().saturating_sub(overhead));
        prop_assert_eq!(shape.check_len(usize::MAX).unwrap_err().needed, usize::MAX);
        let budget = ReplyBudget::for_shape(&shape);
        prop_assert_eq!(budget.fits(""), shape.check("").is_ok());
    }
}
