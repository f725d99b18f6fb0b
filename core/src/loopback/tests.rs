//! The rules of the module's table, each by its name.

use alloc::{format, string::String, vec::Vec};
use core::time::Duration;

use super::*;
use crate::chat::{Chat, ContactId, GroupId, GroupMemberId, ItemId, MemberId, Sender};
use crate::simplex::command::Scope;

const NOW: Instant = Instant::from_millis(1_234);

/// Two profiles with one chat.
struct Pair {
    net: Loopback,
    ann: ProfileId,
    bot: ProfileId,
    to_bot: Chat,
    to_ann: Chat,
}

impl Pair {
    fn new() -> Self {
        Self::with_config(Config::new())
    }

    fn with_config(config: Config) -> Self {
        let mut net = Loopback::with_config(1, config);
        let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        let (to_bot, to_ann) = net.connect(ann, bot).unwrap();
        Self { net, ann, bot, to_bot: Chat::Direct(to_bot), to_ann: Chat::Direct(to_ann) }
    }

    fn ann_sends<'a>(&mut self, message: impl Into<ComposedMessage<'a>>) -> Sent {
        self.net.send(NOW, self.ann, self.to_bot, message).unwrap()
    }

    fn bot_sends<'a>(&mut self, message: impl Into<ComposedMessage<'a>>) -> Sent {
        self.net.send(NOW, self.bot, self.to_ann, message).unwrap()
    }

    /// What bot has received, by text.
    fn texts(&mut self) -> Vec<String> {
        items(&mut self.net, self.bot).into_iter().map(|item| item.text).collect()
    }
}

/// A group of `ann` and so many bots.
struct Team {
    net: Loopback,
    group: GroupRef,
    ann: ProfileId,
    bots: Vec<ProfileId>,
}

impl Team {
    fn new(bots: &[&str]) -> Self {
        let mut net = Loopback::new(2);
        let ann = net.add_profile("ann").unwrap();
        let group = net.create_group(ann, "team").unwrap();
        let bots = bots.iter().map(|name| {
            let bot = net.add_profile(name).unwrap();
            net.join(group, bot).unwrap();
            bot
        });
        let bots = bots.collect();
        let mut team = Self { net, group, ann, bots };
        team.settle();
        team
    }

    /// Everybody takes all events.
    fn settle(&mut self) {
        for profile in core::iter::once(self.ann).chain(self.bots.clone()) {
            while self.net.poll_event(profile).is_some() {}
        }
    }

    fn chat(&self, profile: ProfileId) -> Chat {
        Chat::Group(self.net.group_id(self.group, profile).unwrap())
    }

    fn number(&self, profile: ProfileId, of: ProfileId) -> GroupMemberId {
        self.net.member_of(self.group, profile, of).unwrap().group_member_id
    }

    fn send<'a>(
        &mut self,
        profile: ProfileId,
        message: impl Into<ComposedMessage<'a>>,
    ) -> Result<Sent, SendError> {
        let chat = self.chat(profile);
        self.net.send(NOW, profile, chat, message)
    }

    /// The one item that `profile` has received.
    fn received(&mut self, profile: ProfileId) -> ReceivedItem {
        let mut items = items(&mut self.net, profile);
        assert_eq!(items.len(), 1);
        items.remove(0)
    }
}

fn events(net: &mut Loopback, profile: ProfileId) -> Vec<Event> {
    core::iter::from_fn(|| net.poll_event(profile)).collect()
}

/// The new items among the events of a profile.
fn items(net: &mut Loopback, profile: ProfileId) -> Vec<ReceivedItem> {
    let new = events(net, profile).into_iter().filter_map(|event| match event {
        Event::NewItem(item) => Some(item),
        _ => None,
    });
    new.collect()
}

fn invalid(problem: MentionProblem) -> Result<Sent, SendError> {
    Err(SendError::InvalidMention { problem })
}

#[test]
fn a_message_may_have_15602_encoded_bytes() {
    let mut pair = Pair::new();
    let fits = pair.ann_sends(&"a".repeat(15_488)[..]);
    assert_eq!(fits.encoded_len, 15_602);
    let too_long = pair.net.send(NOW, pair.ann, pair.to_bot, &"a".repeat(15_489)[..]);
    assert_eq!(too_long, Err(SendError::LargeMsg { encoded_len: 15_603, limit: 15_602 }));
    assert_eq!(pair.texts().len(), 1);

    // Escapes count, and so does what stands beside the text.
    assert_eq!(pair.ann_sends("\"\n\u{8}").encoded_len, 114 + 2 + 2 + 6);
    assert_eq!(pair.ann_sends(ComposedMessage::new("a").live()).encoded_len, 115 + 12);
    assert_eq!(pair.ann_sends(ComposedMessage::new("a").ttl(86_400)).encoded_len, 115 + 12);

    let mut team = Team::new(&["bot"]);
    let (ann, bot) = (team.ann, team.bots[0]);
    let mentions = [("bot", team.number(ann, bot))];
    let sent = team.send(ann, ComposedMessage::new("@bot").mentions(&mentions)).unwrap();
    assert_eq!(sent.encoded_len, 114 + 4 + 56 + 3);
}

#[test]
fn a_quote_holds_the_whole_text() {
    let mut pair = Pair::new();
    let command = "q".repeat(15_000);
    pair.ann_sends(&command[..]);
    let quoted = items(&mut pair.net, pair.bot)[0].item;
    let room = 15_351 - 15_000;
    let reply = "r".repeat(room);
    let sent = pair.bot_sends(ComposedMessage::new(&reply).quoting(quoted));
    assert_eq!(sent.encoded_len, 15_602);
    assert_eq!(items(&mut pair.net, pair.ann)[0].quote.as_ref().unwrap().text, command);
    let longer = format!("{reply}r");
    let longer = ComposedMessage::new(&longer).quoting(quoted);
    let refused = pair.net.send(NOW, pair.bot, pair.to_ann, longer);
    assert_eq!(refused, Err(SendError::LargeMsg { encoded_len: 15_603, limit: 15_602 }));
}

#[test]
fn a_truncated_quote_holds_its_first_characters() {
    let mut pair = Pair::with_config(Config::new().truncate_quotes(3));
    pair.ann_sends("aé😀z");
    let quoted = items(&mut pair.net, pair.bot)[0].item;
    pair.bot_sends(ComposedMessage::new("r").quoting(quoted));
    assert_eq!(items(&mut pair.net, pair.ann)[0].quote.as_ref().unwrap().text, "aé😀");
}

#[test]
fn a_quote_is_as_long_as_its_message_reference() {
    let mut pair = Pair::new();
    let own = pair.ann_sends("abc").item;
    let received = items(&mut pair.net, pair.bot)[0].item;
    assert_eq!(pair.bot_sends(ComposedMessage::new("").quoting(received)).encoded_len, 251 + 3);
    assert_eq!(pair.ann_sends(ComposedMessage::new("").quoting(own)).encoded_len, 251 + 9 + 3);

    let mut team = Team::new(&["bot"]);
    let (ann, bot) = (team.ann, team.bots[0]);
    let own = team.send(ann, "abc").unwrap().item;
    let received = team.received(bot).item;
    let quote = |item| ComposedMessage::new("").quoting(item);
    assert_eq!(team.send(bot, quote(received)).unwrap().encoded_len, 289 + 3);
    assert_eq!(team.send(ann, quote(own)).unwrap().encoded_len, 289 + 9 + 3);
    let quote = team.received(bot).quote.unwrap();
    assert_eq!(quote.sent_at.len(), "2026-11-30T14:50:04.279123456Z".len());
}

#[test]
fn a_quote_is_resolved_in_the_receivers_database() {
    let mut pair = Pair::new();
    pair.bot_sends("noise");
    let sent = pair.ann_sends("ping");
    let received = items(&mut pair.net, pair.bot)[0].clone();
    assert_ne!(sent.item, received.item);
    items(&mut pair.net, pair.ann);

    pair.bot_sends(ComposedMessage::new("pong").quoting(received.item));
    let quote = items(&mut pair.net, pair.ann)[0].quote.clone().unwrap();
    assert_eq!(quote.direction, QuoteDirection::DirectSnd);
    assert_eq!((quote.item, quote.shared_msg_id), (Some(sent.item), sent.shared_msg_id));
    assert_eq!((quote.text.as_str(), &quote.sent_at), ("ping", &received.item_ts));

    pair.ann_sends(ComposedMessage::new("again").quoting(sent.item));
    let quote = items(&mut pair.net, pair.bot)[0].quote.clone().unwrap();
    assert_eq!((quote.direction, quote.item), (QuoteDirection::DirectRcv, Some(received.item)));
    assert_eq!(quote.sent_at, sent.item_ts);
}

#[test]
fn a_group_quote_is_resolved_by_its_author() {
    let mut team = Team::new(&["one", "two"]);
    let (ann, one, two) = (team.ann, team.bots[0], team.bots[1]);
    let sent = team.send(ann, "ping").unwrap();
    let (at_one, at_two) = (team.received(one), team.received(two));
    let ann_id = team.net.member_id(team.group, ann).unwrap();
    assert_eq!(at_one.sender, Sender::Member(ann_id));

    let pong = team.send(one, ComposedMessage::new("pong").quoting(at_one.item)).unwrap();
    let quote = team.received(ann).quote.unwrap();
    assert_eq!((quote.direction, quote.item), (QuoteDirection::GroupSnd, Some(sent.item)));
    let quote = team.received(two).quote.unwrap();
    let by_ann = QuoteDirection::GroupRcv { member: Some(ann_id) };
    assert_eq!((quote.direction, quote.item), (by_ann, Some(at_two.item)));

    team.send(one, ComposedMessage::new("myself").quoting(pong.item)).unwrap();
    let quote = team.received(two).quote.unwrap();
    let one_id = team.net.member_id(team.group, one).unwrap();
    assert_eq!(quote.direction, QuoteDirection::GroupRcv { member: Some(one_id) });
    assert!(quote.item.is_some());
}

#[test]
fn a_quote_of_an_item_that_is_gone_has_no_item() {
    let mut pair = Pair::new();
    let sent = pair.ann_sends("ping");
    let received = items(&mut pair.net, pair.bot)[0].item;
    pair.net.forget(pair.ann, pair.to_bot, sent.item).unwrap();
    pair.bot_sends(ComposedMessage::new("pong").quoting(received));
    let quote = items(&mut pair.net, pair.ann)[0].quote.clone().unwrap();
    assert_eq!((quote.direction, quote.item), (QuoteDirection::DirectSnd, None));
    assert_eq!(quote.shared_msg_id, sent.shared_msg_id);
}

#[test]
fn a_quote_with_a_made_up_reference_has_no_item() {
    let mut team = Team::new(&["bot"]);
    let (ann, bot) = (team.ann, team.bots[0]);
    let (to_bot, to_ann) = team.net.connect(ann, bot).unwrap();
    let by_ann = team.net.send(NOW, ann, Chat::Direct(to_bot), "a").unwrap();
    let by_bot = team.net.send(NOW, bot, Chat::Direct(to_ann), "b").unwrap();
    let in_group = team.send(bot, "c").unwrap();
    let (ann_id, bot_id) = (
        team.net.member_id(team.group, ann).unwrap(),
        team.net.member_id(team.group, bot).unwrap(),
    );
    let (direct, group) = (Chat::Direct(to_bot), team.chat(ann));
    let profile = &team.net.profiles[ann.0];
    let resolve = |chat, sender, message: &Sent, member, sent| {
        let quoted = delivery::QuotedMsg {
            member,
            shared_msg_id: message.shared_msg_id,
            sent,
            sent_at: String::new(),
            text: String::new(),
        };
        let quote = profile.resolve(chat, sender, &quoted);
        (quote.direction, quote.item.is_some())
    };
    let contact = Sender::Contact;
    // The direction is what bot says; the item must agree with it.
    assert_eq!(resolve(direct, contact, &by_ann, None, false), (QuoteDirection::DirectSnd, true));
    assert_eq!(resolve(direct, contact, &by_bot, None, false), (QuoteDirection::DirectSnd, false));
    assert_eq!(resolve(direct, contact, &by_bot, None, true), (QuoteDirection::DirectRcv, true));
    assert_eq!(resolve(direct, contact, &by_ann, None, true), (QuoteDirection::DirectRcv, false));

    let member = Sender::Member(bot_id);
    let by = |member| QuoteDirection::GroupRcv { member };
    let stranger = MemberId::new("stranger").unwrap();
    let found = resolve(group, member, &in_group, Some(bot_id), true);
    assert_eq!(found, (by(Some(bot_id)), true));
    let found = resolve(group, member, &in_group, Some(ann_id), false);
    assert_eq!(found, (QuoteDirection::GroupSnd, false));
    assert_eq!(resolve(group, member, &in_group, Some(stranger), false), (by(None), false));
    assert_eq!(resolve(group, member, &in_group, None, false), (by(None), false));
    // A message of another chat is none of this one.
    assert_eq!(resolve(group, member, &by_bot, Some(bot_id), true), (by(Some(bot_id)), false));
}

#[test]
fn the_quoted_text_is_whatever_was_sent() {
    let mut pair = Pair::new();
    let sent = pair.ann_sends("ping");
    let received = items(&mut pair.net, pair.bot)[0].item;
    pair.bot_sends(ComposedMessage::new("pong").quoting(received).forged_quote("lies"));
    let quote = items(&mut pair.net, pair.ann)[0].quote.clone().unwrap();
    assert_eq!((quote.text.as_str(), quote.item), ("lies", Some(sent.item)));
}

#[test]
fn a_deleted_item_cannot_be_quoted() {
    let mut pair = Pair::new();
    let sent = pair.ann_sends("ping");
    let received = items(&mut pair.net, pair.bot)[0].item;
    pair.net.delete(NOW, pair.ann, pair.to_bot, sent.item).unwrap();
    let deleted = Event::ItemDeleted { chat: pair.to_ann, item: received };
    assert_eq!(events(&mut pair.net, pair.bot), [deleted]);
    let quoting = |item| ComposedMessage::new("pong").quoting(item);
    let refused = pair.net.send(NOW, pair.bot, pair.to_ann, quoting(received));
    assert_eq!(refused, Err(SendError::InvalidQuote { item: received }));
    let refused = pair.net.send(NOW, pair.ann, pair.to_bot, quoting(sent.item));
    assert_eq!(refused, Err(SendError::InvalidQuote { item: sent.item }));

    let unknown = ItemId(i64::MAX);
    let refused = pair.net.send(NOW, pair.bot, pair.to_ann, quoting(unknown));
    assert_eq!(refused, Err(SendError::ChatItemNotFound { item: unknown }));
    // An item of another chat is none of this one.
    let carl = pair.net.add_profile("carl").unwrap();
    let (_, to_bot) = pair.net.connect(pair.bot, carl).unwrap();
    pair.net.send(NOW, carl, Chat::Direct(to_bot), "psst").unwrap();
    let secret = items(&mut pair.net, pair.bot)[0].item;
    let refused = pair.net.send(NOW, pair.bot, pair.to_ann, quoting(secret));
    assert_eq!(refused, Err(SendError::ChatItemNotFound { item: secret }));
}

#[test]
fn the_oldest_item_goes_when_there_are_too_many() {
    let mut pair = Pair::with_config(Config::new().max_items(2));
    pair.ann_sends("one");
    let oldest = items(&mut pair.net, pair.bot)[0].item;
    pair.ann_sends("two");
    let quoting = ComposedMessage::new("r").quoting(oldest);
    // The reply would be the third item, but the quote is looked up first.
    pair.bot_sends(quoting);
    assert_eq!(pair.net.stored_items(pair.bot), 2);
    let refused = pair.net.send(NOW, pair.bot, pair.to_ann, quoting);
    assert_eq!(refused, Err(SendError::ChatItemNotFound { item: oldest }));
}

#[test]
fn a_quoted_mention_has_the_members_name() {
    let mut team = Team::new(&["bot", "bot", "my bot"]);
    let (ann, bots) = (team.ann, team.bots.clone());
    let mentions = [
        ("nick", team.number(ann, bots[0])),
        ("bot_1", team.number(ann, bots[1])),
        ("mine", team.number(ann, bots[2])),
    ];
    let text = "hi @nick, @bot_1 and @mine!";
    team.send(ann, ComposedMessage::new(text).mentions(&mentions)).unwrap();
    let received = team.received(bots[0]);
    team.send(bots[0], ComposedMessage::new("yes").quoting(received.item)).unwrap();
    let quote = team.received(ann).quote.unwrap();
    assert_eq!(quote.text, "hi @bot, @bot and @'my bot'!");
    // A name with only a number behind it is left alone.
    let text = "hi @bot_1";
    team.send(ann, ComposedMessage::new(text).mentions(&mentions[1..2])).unwrap();
    let received = items(&mut team.net, bots[0]).pop().unwrap();
    team.send(bots[0], ComposedMessage::new("yes").quoting(received.item)).unwrap();
    assert_eq!(team.received(ann).quote.unwrap().text, text);
}

#[test]
fn a_one_line_command_cannot_mention() {
    let mut team = Team::new(&["bot"]);
    let (ann, bot) = (team.ann, team.bots[0]);
    let mentions = [("bot", team.number(ann, bot))];
    for text in ["/_call @bot mcp {}", "  /_call @bot mcp {}", "/_call @bot mcp {}\n"] {
        let refused = team.send(ann, ComposedMessage::new(text).mentions(&mentions));
        assert_eq!(refused, invalid(MentionProblem::NotInText { index: 0 }), "{text:?}");
        team.send(ann, text).unwrap();
        let item = team.received(bot);
        assert_eq!((item.mentions.len(), item.user_mention), (0, false));
    }
}

#[test]
fn a_two_line_command_can_mention() {
    let mut team = Team::new(&["bot", "other"]);
    let (ann, bot, other) = (team.ann, team.bots[0], team.bots[1]);
    let mentions = [("bot", team.number(ann, bot))];
    let message = ComposedMessage::new("/_call @bot mcp {\n}").mentions(&mentions);
    team.send(ann, message).unwrap();
    let bot_id = team.net.member_id(team.group, bot).unwrap();
    let at_bot = team.received(bot);
    assert_eq!((at_bot.mentions[0].name.as_str(), at_bot.mentions[0].member), ("bot", bot_id));
    assert!(at_bot.user_mention);
    let at_other = team.received(other);
    assert_eq!(at_other.mentions[0].member, bot_id);
    assert_eq!(at_other.mentions[0].group_member_id, Some(team.number(other, bot)));
    assert!(!at_other.user_mention);
}

#[test]
fn a_mention_must_be_in_the_text() {
    let mut team = Team::new(&["a", "b", "c", "d"]);
    let (ann, bots) = (team.ann, team.bots.clone());
    let number = |index: usize| team.number(ann, bots[index]);
    let all = [("a", number(0)), ("b", number(1)), ("c", number(2)), ("d", number(3))];
    let twice = [("a", number(0)), ("b", number(0))];
    let renamed = [("a", number(0)), ("a", number(1))];
    let text = "@a @b @c @d";
    let mut send = |text, mentions: &[(&str, GroupMemberId)]| {
        team.send(ann, ComposedMessage::new(text).mentions(mentions))
    };
    assert!(send(text, &all[..3]).is_ok());
    assert_eq!(send(text, &all), invalid(MentionProblem::TooMany { mentions: 4 }));
    assert_eq!(send("@a c", &all[..2]), invalid(MentionProblem::NotInText { index: 1 }));
    let group_member_id = twice[0].1;
    assert_eq!(send(text, &twice), invalid(MentionProblem::MemberTwice { group_member_id }));
    assert_eq!(send(text, &renamed), invalid(MentionProblem::NameTwice { index: 1 }));
    let group_member_id = GroupMemberId(i64::MIN);
    let unknown = send(text, &[("a", group_member_id)]);
    assert_eq!(unknown, Err(SendError::GroupMemberNotFound { group_member_id }));
}

#[test]
fn mentions_of_an_unformatted_text_are_dropped() {
    let mut team = Team::new(&["bot"]);
    let (ann, bot) = (team.ann, team.bots[0]);
    let mentions = [("bot", team.number(ann, bot))];
    let sent = team.send(ann, ComposedMessage::new("hello").mentions(&mentions)).unwrap();
    assert_eq!(sent.encoded_len, 119);
    assert!(team.received(bot).mentions.is_empty());
}

#[test]
fn received_mentions_are_those_in_the_text() {
    let mut pair = Pair::new();
    let group = pair.net.create_group(pair.ann, "team").unwrap();
    pair.net.join(group, pair.bot).unwrap();
    let chat = pair.net.group_id(group, pair.bot).unwrap();
    let membership = &pair.net.profiles[pair.bot.0].groups[&chat];
    let known = membership.own;
    let id = |text: &str| MemberId::new(text).unwrap();
    let wire = |text: &str, mentions: &[(&str, MemberId)]| delivery::Wire {
        shared_msg_id: crate::chat::SharedMsgId::new("m").unwrap(),
        text: text.into(),
        mentions: mentions.iter().map(|(name, member)| ((*name).into(), *member)).collect(),
        quote: None,
        ttl: None,
        live: false,
        support: None,
        as_group: false,
        sent: NOW,
    };
    let kept = |wire: &delivery::Wire| {
        let kept = delivery::kept_mentions(membership, wire).into_iter();
        kept.map(|mention| (mention.name, mention.group_member_id.is_some())).collect::<Vec<_>>()
    };
    let all = ["g", "f", "e", "d", "c", "b"].map(|name| (name, id(name)));
    // The first five in the text, sorted as a map.
    let five = ["c", "d", "e", "f", "g"].map(|name| (String::from(name), false));
    assert_eq!(kept(&wire("@g @f @e @d @c @b", &all)), five);
    // Neither a name that is not in the text nor one that is not in the map.
    let found = kept(&wire("@bot @x", &[("bot", known), ("y", id("y"))]));
    assert_eq!(found, [(String::from("bot"), true)]);
    // A member counts once.
    assert_eq!(kept(&wire("@b @a", &[("a", known), ("b", known)])), [(String::from("b"), true)]);
    assert_eq!(kept(&wire("/_call @bot mcp {}", &[("bot", known)])), []);
}

#[test]
fn the_user_is_mentioned_by_a_quote_too() {
    let mut team = Team::new(&["one", "two"]);
    let (ann, one, two) = (team.ann, team.bots[0], team.bots[1]);
    team.send(ann, "ping").unwrap();
    let item = team.received(one).item;
    team.settle();
    team.send(one, ComposedMessage::new("pong").quoting(item)).unwrap();
    assert!(team.received(ann).user_mention);
    assert!(!team.received(two).user_mention);
}

#[test]
fn a_direct_chat_has_no_mentions() {
    let mut pair = Pair::new();
    let mentions = [("bot", GroupMemberId(1))];
    let message = ComposedMessage::new("@bot").mentions(&mentions);
    let refused = pair.net.send(NOW, pair.ann, pair.to_bot, message);
    assert_eq!(refused, Err(SendError::MentionsNotSupported));
}

#[test]
fn item_ids_are_local_and_message_ids_shared() {
    let mut team = Team::new(&["bot"]);
    let (ann, bot) = (team.ann, team.bots[0]);
    let (to_bot, _) = team.net.connect(ann, bot).unwrap();
    let first = team.send(ann, "one").unwrap();
    let second = team.net.send(NOW, ann, Chat::Direct(to_bot), "two").unwrap();
    assert_eq!(second.item, ItemId(first.item.0 + 1));
    let received = items(&mut team.net, bot);
    assert_eq!(received[1].item, ItemId(received[0].item.0 + 1));
    for (sent, received) in [first, second].iter().zip(&received) {
        assert_eq!(sent.shared_msg_id, received.shared_msg_id);
        let id = sent.shared_msg_id;
        assert!(id.get().len() == 24 && id.get().ends_with("=="));
        assert_ne!(sent.item, received.item);
    }
}

#[test]
fn own_times_are_finer_than_received_ones() {
    let mut pair = Pair::with_config(Config::new().wall_clock_start(1_796_050_200));
    let sent = pair.net.send(Instant::from_millis(4_279), pair.ann, pair.to_bot, "a").unwrap();
    assert!(sent.item_ts.starts_with("2026-11-30T14:50:04.279"), "{}", sent.item_ts);
    assert_eq!(sent.item_ts.len(), 30);
    assert_eq!(items(&mut pair.net, pair.bot)[0].item_ts, "2026-11-30T14:50:04Z");
}

#[test]
fn member_ids_are_shared_and_group_member_ids_local() {
    let mut team = Team::new(&["bot", "other"]);
    let (ann, bot, other) = (team.ann, team.bots[0], team.bots[1]);
    let at_ann = team.net.member_of(team.group, ann, bot).unwrap();
    let at_other = team.net.member_of(team.group, other, bot).unwrap();
    assert_eq!(at_ann.member, at_other.member);
    assert_ne!(at_ann.group_member_id, at_other.group_member_id);
    team.send(bot, "hello").unwrap();
    assert_eq!(team.received(other).group_member_id, Some(at_other.group_member_id));
    assert_eq!(team.net.members(team.group, other).unwrap().len(), 3);
}

#[test]
fn equal_names_are_told_apart_locally() {
    let mut team = Team::new(&["bot", "bot"]);
    let (ann, bots) = (team.ann, team.bots.clone());
    let name = |net: &Loopback, at, of| net.member_of(team.group, at, of).unwrap().name;
    assert_eq!(name(&team.net, ann, bots[0]), "bot");
    assert_eq!(name(&team.net, ann, bots[1]), "bot_1");
    // A bot knows itself by its own name.
    assert_eq!(name(&team.net, bots[1], bots[1]), "bot");
    assert_eq!(name(&team.net, bots[1], bots[0]), "bot_1");
    team.send(bots[1], "hello").unwrap();
    assert_eq!(team.received(ann).sender_name, "bot_1");

    let carl = team.net.add_profile("carl").unwrap();
    team.net.connect(carl, bots[0]).unwrap();
    team.net.connect(carl, bots[1]).unwrap();
    team.net.connect(carl, bots[1]).unwrap();
    let names: Vec<_> = team.net.contacts(carl).into_iter().map(|contact| contact.name).collect();
    assert_eq!(names, ["bot", "bot_1", "bot_2"]);
    // A contact keeps its name as a member.
    team.net.join(team.group, carl).unwrap();
    assert_eq!(team.net.member_of(team.group, carl, bots[0]).unwrap().name, "bot");
}

#[test]
fn display_names_follow_the_rules() {
    let mut net = Loopback::new(1);
    assert!(net.add_profile("John Doe").is_ok());
    assert!(net.add_profile(&"x".repeat(MAX_DISPLAY_NAME_CHARS)).is_ok());
    let refused = |chars| Err(SetupError::InvalidDisplayName { chars });
    assert_eq!(net.add_profile(&"x".repeat(51)), refused(51));
    assert_eq!(net.add_profile(""), Err(SetupError::InvalidDisplayName { chars: 0 }));
    let ann = net.add_profile("ann").unwrap();
    assert_eq!(net.create_group(ann, "a.b"), Err(SetupError::InvalidDisplayName { chars: 3 }));
}

#[test]
fn who_left_neither_sends_nor_receives() {
    let mut team = Team::new(&["one", "two", "three"]);
    let (ann, one, two, three) = (team.ann, team.bots[0], team.bots[1], team.bots[2]);
    let chat = team.chat(one);
    let one_id = team.net.member_id(team.group, one).unwrap();
    team.net.leave(team.group, one).unwrap();
    let told = |change| move |event: &Event| matches!(event, Event::Member { member, change: c, .. } if *member == one_id && *c == change);
    assert!(events(&mut team.net, ann).iter().any(told(MemberChange::Left)));
    assert_eq!(events(&mut team.net, one), []);
    let Chat::Group(group) = chat else { panic!() };
    assert_eq!(team.send(one, "bye"), Err(SendError::MemberLeft { group }));
    team.send(ann, "gone?").unwrap();
    assert_eq!(events(&mut team.net, one), []);
    assert!(!team.net.member_of(team.group, ann, one).unwrap().active);
    let not_member = SetupError::NotMember { profile: one, group: team.group };
    assert_eq!(team.net.leave(team.group, one), Err(not_member));

    // Nobody waits for a receipt of one who is gone.
    let received =
        |event: &Event| matches!(event, Event::ItemStatus { status: ItemStatus::Received, .. });
    assert!(events(&mut team.net, ann).iter().any(received));

    // Who comes back is somebody else.
    team.net.join(team.group, one).unwrap();
    assert_ne!(team.net.member_id(team.group, one), Some(one_id));
    assert_ne!(team.chat(one), chat);
    team.settle();
    team.net.remove_member(team.group, two).unwrap();
    let removed = events(&mut team.net, two);
    assert!(matches!(removed[..], [Event::Member { change: MemberChange::Removed, .. }]));

    // What is on its way to somebody who leaves is not received.
    team.settle();
    team.net.fault_next(ann, Fault::Delay(Duration::from_secs(1)));
    team.send(ann, "late").unwrap();
    team.net.leave(team.group, three).unwrap();
    team.net.handle_timeout(NOW + Duration::from_secs(1));
    assert_eq!(items(&mut team.net, three), []);
    assert_eq!(team.received(one).text, "late");
}

#[test]
fn an_edit_changes_the_item() {
    let mut team = Team::new(&["bot"]);
    let (ann, bot) = (team.ann, team.bots[0]);
    let chat = team.chat(ann);
    let asked = team.send(bot, "what?").unwrap();
    let quoted = team.received(ann).item;
    let sent = team.send(ann, ComposedMessage::new("a").quoting(quoted).live()).unwrap();
    let first = team.received(bot);
    assert!(first.live && !first.edited);
    let mentions = [("bot", team.number(ann, bot))];
    let message = ComposedMessage::new("b @bot").mentions(&mentions);
    team.net.edit(NOW, ann, chat, sent.item, message).unwrap();
    let [Event::ItemUpdated(second)] = &events(&mut team.net, bot)[..] else { panic!() };
    assert_eq!((second.item, second.shared_msg_id), (first.item, sent.shared_msg_id));
    assert_eq!(second.text, "b @bot");
    assert!(second.edited && !second.live && second.mentions.len() == 1);
    // The quote stays, and the next quote has the new text.
    assert_eq!(second.quote.as_ref().unwrap().item, Some(asked.item));
    team.settle();
    team.send(bot, ComposedMessage::new("ok").quoting(first.item)).unwrap();
    assert_eq!(team.received(ann).quote.unwrap().text, "b @bot");

    let foreign = team.net.edit(NOW, ann, chat, quoted, "mine");
    assert_eq!(foreign, Err(ChangeError::NotOwn { item: quoted }));
    let large = team.net.edit(NOW, ann, chat, sent.item, &"x".repeat(15_602)[..]);
    assert!(matches!(large, Err(ChangeError::Send(SendError::LargeMsg { .. }))));
}

#[test]
fn an_edit_is_measured_as_it_is_encoded() {
    let mut pair = Pair::new();
    let sent = pair.ann_sends("a");
    let around = "{\"v\":\"1-21\",\"msgId\":\"\",\"event\":\"x.msg.update\",\"params\":{\"content\":\
                  {\"text\":\"\",\"type\":\"text\"},\"msgId\":\"\"}}";
    let room = 15_602 - around.len() - 2 * 24;
    let edit = |pair: &mut Pair, len| {
        pair.net.edit(NOW, pair.ann, pair.to_bot, sent.item, &"x".repeat(len)[..])
    };
    assert_eq!(edit(&mut pair, room), Ok(()));
    let large = SendError::LargeMsg { encoded_len: 15_603, limit: 15_602 };
    assert_eq!(edit(&mut pair, room + 1), Err(ChangeError::Send(large)));
}

#[test]
fn an_edit_of_an_unknown_message_is_a_new_item() {
    let mut pair = Pair::new();
    pair.net.fault_next(pair.ann, Fault::Drop);
    let sent = pair.ann_sends("lost");
    pair.net.edit(NOW, pair.ann, pair.to_bot, sent.item, "found").unwrap();
    let [Event::ItemUpdated(item)] = &events(&mut pair.net, pair.bot)[..] else { panic!() };
    assert_eq!((item.text.as_str(), item.shared_msg_id), ("found", sent.shared_msg_id));
    assert!(item.edited);
    pair.bot_sends(ComposedMessage::new("r").quoting(item.item));
    let quote = items(&mut pair.net, pair.ann)[0].quote.clone().unwrap();
    assert_eq!(quote.item, Some(sent.item));
}

#[test]
fn a_message_that_its_edit_overtook_is_refused() {
    let mut pair = Pair::new();
    pair.net.fault_next(pair.ann, Fault::Reorder(Duration::from_secs(1)));
    let sent = pair.ann_sends("one");
    pair.net.edit(NOW, pair.ann, pair.to_bot, sent.item, "two").unwrap();
    let [Event::ItemUpdated(item)] = &events(&mut pair.net, pair.bot)[..] else { panic!() };
    assert_eq!(item.text, "two");
    pair.net.handle_timeout(NOW + Duration::from_secs(1));
    assert_eq!(events(&mut pair.net, pair.bot), []);
    assert_eq!(pair.net.stored_items(pair.bot), 1);
}

#[test]
fn a_marked_item_is_still_found() {
    let mut pair = Pair::new();
    let sent = pair.ann_sends("ping");
    let received = items(&mut pair.net, pair.bot)[0].item;
    // The deletion is late: bot quotes what ann has deleted.
    pair.net.fault_next(pair.ann, Fault::Delay(Duration::from_secs(9)));
    pair.net.delete(NOW, pair.ann, pair.to_bot, sent.item).unwrap();
    pair.bot_sends(ComposedMessage::new("pong").quoting(received));
    let quote = items(&mut pair.net, pair.ann)[0].quote.clone().unwrap();
    assert_eq!(quote.item, Some(sent.item));
    let again = pair.net.delete(NOW, pair.ann, pair.to_bot, sent.item);
    assert_eq!(again, Err(ChangeError::NotOwn { item: sent.item }));
}

#[test]
fn a_message_disappears_after_its_time_to_live() {
    let mut pair = Pair::new();
    let sent = pair.ann_sends(ComposedMessage::new("psst").ttl(60));
    let received = items(&mut pair.net, pair.bot).remove(0);
    assert_eq!(received.ttl, Some(60));
    items(&mut pair.net, pair.ann);
    let end = NOW + Duration::from_secs(60);
    assert_eq!(pair.net.poll_timeout(), Some(end));
    pair.net.handle_timeout(end);
    let gone = Event::ItemExpired { is_own: false, item: received.clone() };
    assert_eq!(events(&mut pair.net, pair.bot), [gone]);
    let gone = events(&mut pair.net, pair.ann);
    let [Event::ItemExpired { is_own: true, item }] = &gone[..] else { panic!("{gone:?}") };
    assert_eq!((item.chat, item.item, item.text.as_str()), (pair.to_bot, sent.item, "psst"));
    let quoting = ComposedMessage::new("r").quoting(received.item);
    let refused = pair.net.send(end, pair.bot, pair.to_ann, quoting);
    assert_eq!(refused, Err(SendError::ChatItemNotFound { item: received.item }));
    assert_eq!(pair.net.poll_timeout(), None);
}

#[test]
fn messages_of_a_sender_stay_in_order() {
    let mut pair = Pair::new();
    let delay = Faults::new().delay(Duration::from_millis(1), Duration::from_millis(500));
    pair.net.set_faults(delay);
    for number in 0..50 {
        pair.ann_sends(&format!("{number}")[..]);
    }
    assert_eq!(pair.texts(), [""; 0]);
    let mut seen = Vec::new();
    while let Some(due) = pair.net.poll_timeout() {
        pair.net.handle_timeout(due);
        seen.extend(pair.texts());
    }
    let sent: Vec<_> = (0..50).map(|number| format!("{number}")).collect();
    assert_eq!(seen, sent);
}

#[test]
fn a_delayed_message_holds_up_what_is_sent_after_it() {
    let mut pair = Pair::new();
    pair.net.fault_next(pair.ann, Fault::Delay(Duration::from_secs(1)));
    pair.ann_sends("one");
    pair.ann_sends("two");
    assert_eq!(pair.texts(), [""; 0]);
    assert_eq!(pair.net.poll_timeout(), Some(NOW + Duration::from_secs(1)));
    pair.net.handle_timeout(NOW + Duration::from_secs(1));
    assert_eq!(pair.texts(), ["one", "two"]);
}

#[test]
fn a_reordered_message_is_overtaken() {
    let mut pair = Pair::new();
    pair.net.fault_next(pair.ann, Fault::Reorder(Duration::from_secs(1)));
    pair.ann_sends("one");
    pair.ann_sends("two");
    assert_eq!(pair.texts(), ["two"]);
    pair.net.handle_timeout(NOW + Duration::from_secs(1));
    assert_eq!(pair.texts(), ["one"]);
}

#[test]
fn a_duplicate_is_the_same_item_twice() {
    let mut pair = Pair::new();
    pair.net.fault_next_between(pair.ann, pair.bot, Fault::Duplicate);
    pair.ann_sends("one");
    let twice = items(&mut pair.net, pair.bot);
    assert_eq!(twice.len(), 2);
    assert_eq!(twice[0], twice[1]);
    assert_eq!(pair.net.stored_items(pair.bot), 1);
}

#[test]
fn an_edit_fault_follows_its_message() {
    let mut pair = Pair::new();
    pair.net.fault_next(pair.ann, Fault::Edit(Some("other".into())));
    pair.net.fault_next(pair.ann, Fault::Edit(None));
    pair.ann_sends("one");
    pair.ann_sends("two");
    let told: Vec<_> = events(&mut pair.net, pair.bot)
        .into_iter()
        .map(|event| match event {
            Event::NewItem(item) => (item.text, item.edited),
            Event::ItemUpdated(item) => (item.text, item.edited),
            other => panic!("{other:?}"),
        })
        .collect();
    let told: Vec<_> = told.iter().map(|(text, edited)| (text.as_str(), *edited)).collect();
    assert_eq!(told, [("one", false), ("other", true), ("two", false), ("two ", true)]);
}

#[test]
fn faults_between_two_profiles_leave_others_alone() {
    let mut team = Team::new(&["one", "two"]);
    let (ann, one, two) = (team.ann, team.bots[0], team.bots[1]);
    team.net.set_faults_between(ann, one, Faults::new().drop(1_000));
    team.send(ann, "hello").unwrap();
    assert_eq!(events(&mut team.net, one), []);
    assert_eq!(team.received(two).text, "hello");
    // A scripted fault can also be none at all.
    team.net.fault_next_between(ann, one, Fault::None);
    team.send(ann, "hello").unwrap();
    assert_eq!(team.received(one).text, "hello");
}

#[test]
fn rates_are_met() {
    let mut pair = Pair::with_config(Config::new().event_queue(10_000));
    pair.net.set_faults(Faults::new().drop(100).duplicate(200).edit(300));
    for _ in 0..1_000 {
        pair.ann_sends("x");
    }
    let (mut new, mut updated) = (0, 0);
    for event in events(&mut pair.net, pair.bot) {
        match event {
            Event::NewItem(_) => new += 1,
            Event::ItemUpdated(_) => updated += 1,
            other => panic!("{other:?}"),
        }
    }
    // 900 arrive, of which 180 twice, and 270 are edited.
    assert!((1_000..1_160).contains(&new), "{new}");
    assert!((220..320).contains(&updated), "{updated}");
}

#[test]
fn the_sender_is_told_how_far_a_message_has_come() {
    let mut team = Team::new(&["one", "two"]);
    let (ann, one, two) = (team.ann, team.bots[0], team.bots[1]);
    team.net.fault_next_between(ann, two, Fault::Delay(Duration::from_secs(1)));
    let sent = team.send(ann, "hello").unwrap();
    let chat = team.chat(ann);
    let status = |status| Event::ItemStatus { chat, item: sent.item, status };
    assert_eq!(events(&mut team.net, ann), [status(ItemStatus::Sent)]);
    assert_eq!(items(&mut team.net, one).len(), 1);
    assert_eq!(events(&mut team.net, ann), []);
    team.net.handle_timeout(NOW + Duration::from_secs(1));
    assert_eq!(events(&mut team.net, ann), [status(ItemStatus::Received)]);
    // A lost message is never received.
    team.net.fault_next_between(ann, two, Fault::Drop);
    team.send(ann, "hello").unwrap();
    assert_eq!(events(&mut team.net, ann).len(), 1);
}

#[test]
fn a_full_queue_holds_deliveries_back() {
    let mut pair = Pair::with_config(Config::new().event_queue(2).status_events(false));
    for number in 0..5 {
        pair.ann_sends(&format!("{number}")[..]);
    }
    assert_eq!((pair.net.queued(pair.bot), pair.net.in_flight()), (2, 3));
    // Waiting for room is no reason to wake up.
    assert_eq!(pair.net.poll_timeout(), None);
    assert_eq!(pair.net.stored_items(pair.bot), 2);
    let carl = pair.net.add_profile("carl").unwrap();
    let (to_carl, _) = pair.net.connect(pair.ann, carl).unwrap();
    pair.net.send(NOW, pair.ann, Chat::Direct(to_carl), "past it").unwrap();
    assert_eq!(items(&mut pair.net, carl).len(), 1);
    assert_eq!(pair.texts(), ["0", "1", "2", "3", "4"]);
    assert_eq!(pair.net.in_flight(), 0);
}

#[test]
fn no_more_is_sent_than_may_be_on_its_way() {
    let config = Config::new().event_queue(1).max_in_flight(2).status_events(false);
    let mut pair = Pair::with_config(config);
    for _ in 0..3 {
        pair.ann_sends("x");
    }
    let refused = pair.net.send(NOW, pair.ann, pair.to_bot, "x");
    assert_eq!(refused, Err(SendError::TooManyInFlight { limit: 2 }));
    assert_eq!(pair.net.stored_items(pair.ann), 3);
    assert_eq!(pair.texts().len(), 3);
    pair.ann_sends("x");
}

#[test]
fn time_never_runs_backwards() {
    let mut pair = Pair::new();
    pair.net.handle_timeout(Instant::from_millis(10_000));
    let sent = pair.net.send(Instant::ZERO, pair.ann, pair.to_bot, "x").unwrap();
    assert!(sent.item_ts.starts_with("2026-01-01T00:00:10."), "{}", sent.item_ts);
    pair.net.handle_timeout(Instant::MAX);
    pair.ann_sends(ComposedMessage::new("x").ttl(u32::MAX));
    assert_eq!(pair.net.poll_timeout(), None);
}

#[test]
fn what_does_not_exist_is_refused() {
    let mut pair = Pair::new();
    let nobody = ProfileId(9);
    let chat = pair.to_bot;
    let unknown = SendError::UnknownProfile { profile: nobody };
    assert_eq!(pair.net.send(NOW, nobody, chat, "x"), Err(unknown));
    assert_eq!(pair.net.edit(NOW, nobody, chat, ItemId(1), "x"), Err(unknown.into()));
    assert_eq!(pair.net.delete(NOW, nobody, chat, ItemId(1)), Err(unknown.into()));
    assert_eq!(pair.net.forget(nobody, chat, ItemId(1)), Err(unknown.into()));
    assert_eq!(pair.net.poll_event(nobody), None);
    let contact = ContactId(-1);
    let refused = pair.net.send(NOW, pair.ann, Chat::Direct(contact), "x");
    assert_eq!(refused, Err(SendError::ContactNotFound { contact }));
    let group = GroupId(-1);
    let refused = pair.net.send(NOW, pair.ann, Chat::Group(group), "x");
    assert_eq!(refused, Err(SendError::GroupNotFound { group }));
    let profile = nobody;
    assert_eq!(pair.net.connect(pair.ann, nobody), Err(SetupError::UnknownProfile { profile }));
    let profile = pair.ann;
    assert_eq!(pair.net.connect(pair.ann, pair.ann), Err(SetupError::SameProfile { profile }));
    let group = GroupRef(7);
    assert_eq!(pair.net.join(group, pair.ann), Err(SetupError::UnknownGroup { group }));
    let group = pair.net.create_group(pair.ann, "team").unwrap();
    assert_eq!(pair.net.join(group, profile), Err(SetupError::AlreadyMember { profile, group }));
}

#[test]
fn message_text_is_not_in_debug_output() {
    let mut pair = Pair::new();
    pair.ann_sends("sesame");
    let item = items(&mut pair.net, pair.bot)[0].clone();
    let message = ComposedMessage::new("sesame").quoting(item.item).forged_quote("sesame");
    pair.bot_sends(message);
    let shown = format!("{message:?} {:?} {item:?}", events(&mut pair.net, pair.ann));
    assert!(!shown.contains("sesame"), "{shown}");
    assert!(!format!("{:?}", Fault::Edit(Some("sesame".into()))).contains("sesame"));
}

#[test]
fn a_written_command_mentions_its_member() {
    use crate::chat::command::{Command, MentionForm};
    let pieces = ["a", "Z", "é", "中", "😀", " ", ".", "-", "_", "!", "?", "*", "$", "(", "1", "&"];
    let mut rng = Rng::new(5);
    let mut team = Team::new(&["bot"]);
    let (ann, bot) = (team.ann, team.bots[0]);
    let number = team.number(ann, bot);
    let mut names = 0;
    for _ in 0..2_000 {
        let name: String = (0..rng.up_to(8)).map(|_| pieces[rng.up_to(15) as usize]).collect();
        let text = format!("/_call @'{name}' mcp {{\"id\":1}}");
        let Ok(command) = Command::parse(&text) else { continue };
        names += 1;
        let mut buffer = [0; 128];
        let written = command.write(MentionForm::Recognised, &mut buffer).unwrap();
        let mentions = [(&name[..], number)];
        team.send(ann, ComposedMessage::new(written).mentions(&mentions)).unwrap();
        assert!(team.received(bot).user_mention, "{written}");
        team.settle();
    }
    assert!(names > 1_000, "{names}");
}

#[test]
fn every_rule_of_the_table_has_its_test() {
    let docs = [include_str!("../../docs/loopback.md"), include_str!("../../docs/loopback-api.md")]
        .concat();
    let tests = [
        include_str!("tests.rs"),
        include_str!("service_tests.rs"),
        include_str!("api/tests.rs"),
        include_str!("api/meeting_tests.rs"),
    ]
    .concat();
    let mut rules = 0;
    for row in docs.lines().filter(|line| line.starts_with("| ") && line.ends_with("` |")) {
        rules += 1;
        let named = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        for test in named.split(", ") {
            let function = format!("fn {}()", test.trim_matches('`'));
            assert!(tests.contains(&function), "{function}");
        }
    }
    assert!(rules > 60, "{rules}");
}

/// A random walk over everything that the machine takes; gives all that came out.
fn walk(seed: u64, steps: usize) -> String {
    let mut rng = Rng::new(seed);
    let config = Config::new().event_queue(5).max_items(20).max_in_flight(200);
    let mut net = Loopback::with_config(seed, config);
    let profiles = ["ann", "bot", "bot"].map(|name| net.add_profile(name).unwrap());
    net.connect(profiles[0], profiles[1]).unwrap();
    let group = net.create_group(profiles[0], "team").unwrap();
    let addresses = profiles.map(|profile| net.create_address(profile, true).unwrap());
    net.enable_service_requests(profiles[0], true).unwrap();
    net.enable_service_requests(profiles[1], true).unwrap();
    let mut request_id = String::new();
    let span = Duration::from_millis(50);
    let faults = Faults::new().delay(Duration::ZERO, span).reorder(100, span);
    net.set_faults(faults.drop(50).duplicate(50).edit(50));
    let mut known_items = BTreeMap::new();
    let mut log = String::new();
    let mut now = Instant::ZERO;
    for _ in 0..steps {
        now = now + Duration::from_millis(rng.up_to(20));
        let profile = profiles[rng.up_to(2) as usize];
        // Mostly an item that the profile has or had.
        let known = known_items.entry(profile).or_insert_with(|| Vec::from([ItemId(0)]));
        let item = known[known.len() - 1 - rng.up_to(known.len().min(8) as u64 - 1) as usize];
        let chat = match net.group_id(group, profile) {
            Some(group) if rng.chance(500) => Chat::Group(group),
            _ => match net.contacts(profile).first() {
                Some(contact) => Chat::Direct(contact.contact),
                None => Chat::Group(GroupId(0)),
            },
        };
        let member = net.member_of(group, profile, profiles[rng.up_to(2) as usize]);
        let number = member.map_or(GroupMemberId(0), |member| member.group_member_id);
        let mentions = [("bot", number)];
        let mut message = ComposedMessage::new("hi @bot");
        if rng.chance(300) {
            message = message.quoting(item);
        }
        if rng.chance(300) {
            message = message.mentions(&mentions);
        }
        if rng.chance(100) {
            message = message.ttl(1);
        }
        if rng.chance(100) {
            message = message.scope(Scope::MemberSupport(number));
        }
        if rng.chance(50) {
            message = message.as_group();
        }
        let done = match rng.up_to(18) {
            0 => format!("{:?}", net.edit(now, profile, chat, item, message)),
            1 => format!("{:?}", net.delete(now, profile, chat, item)),
            2 => format!("{:?}", net.forget(profile, chat, item)),
            3 => format!("{:?}", net.join(group, profile)),
            4 if rng.chance(300) => format!("{:?}", net.leave(group, profile)),
            5 | 6 => {
                net.handle_timeout(now);
                format!("{:?}", net.poll_timeout())
            }
            7 | 8 => {
                let event = net.poll_event(profile);
                match &event {
                    Some(Event::NewItem(item)) => known.push(item.item),
                    Some(Event::ServiceRequest(request)) => {
                        request_id.clone_from(&request.request_id);
                    }
                    _ => {}
                }
                format!("{event:?}")
            }
            9 => {
                let options = ServiceRequestOptions::new().timeout(span);
                let address = addresses[rng.up_to(2) as usize];
                format!("{:?}", net.service_request(now, profile, address, options, "{}"))
            }
            10 => format!("{:?}", net.service_response(now, profile, &request_id, "{}")),
            11 => format!("{:?}", net.create_invitation(profile)),
            12 => {
                let invitation = InvitationId(rng.up_to(20) as i64);
                let shown = rng.chance(500).then(|| net.made_up_record());
                format!("{:?}", net.use_invitation_as(now, profile, invitation, shown))
            }
            13 => format!("{:?}", net.join_by_link(now, profile, group)),
            14 if rng.chance(300) => {
                let what = match rng.up_to(2) {
                    0 => ChatDeletion::Full,
                    1 => ChatDeletion::Entity,
                    _ => ChatDeletion::Messages,
                };
                let notify = rng.chance(800);
                match chat {
                    Chat::Direct(contact) => {
                        format!("{:?}", net.delete_contact(now, profile, contact, what, notify))
                    }
                    Chat::Group(group) => {
                        format!("{:?}", net.delete_group(now, profile, group, what, notify))
                    }
                }
            }
            _ => {
                let sent = net.send(now, profile, chat, message);
                known.extend(sent.as_ref().map(|sent| sent.item));
                format!("{sent:?}")
            }
        };
        log.push_str(&done);
        log.push('\n');
        assert!(profiles.iter().all(|profile| net.queued(*profile) <= 5));
        assert!(profiles.iter().all(|profile| net.stored_items(*profile) <= 20));
        if let Some(due) = net.poll_timeout() {
            assert!(due > net.now, "nothing that could be delivered is left");
        }
    }
    // What is left comes out once everybody listens.
    let mut left = true;
    while left {
        left = false;
        for profile in profiles {
            while let Some(event) = net.poll_event(profile) {
                log.push_str(&format!("{event:?}\n"));
                left = true;
            }
        }
        if let Some(due) = net.poll_timeout() {
            net.handle_timeout(due);
            left = true;
        }
    }
    assert_eq!(net.in_flight(), 0);
    log
}

#[test]
fn equal_seeds_give_equal_runs() {
    for seed in 0..20 {
        assert_eq!(walk(seed, 500), walk(seed, 500));
    }
    assert_ne!(walk(1, 500), walk(2, 500));
}
