//! Which items have been seen, and from where each conversation is looked through again.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::chat::{Chat, ItemId};

/// How many item numbers up to the highest one are remembered one by one. The core numbers the
/// items of a database over all conversations.
pub(super) const WINDOW: usize = 8_192;

/// How many of its newest items a conversation goes back when it is looked through again: the two
/// connections may tell of items in another order than the core numbers them.
const OVERLAP: usize = 8;

const WORDS: usize = WINDOW / 64;

/// The numbers up to the highest one, those that are remembered.
struct Window {
    high: Option<i64>,
    bits: [u64; WORDS],
}

impl Window {
    /// The word and the bit of a number.
    fn place(id: i64) -> (usize, u64) {
        let place = usize::try_from(id.rem_euclid(WINDOW as i64)).unwrap_or(0);
        (place / 64, 1 << (place % 64))
    }

    fn is_inside(&self, id: i64) -> bool {
        self.high.is_some_and(|high| id <= high && high.saturating_sub(id) < WINDOW as i64)
    }

    fn has(&self, id: i64) -> bool {
        let (word, bit) = Self::place(id);
        self.is_inside(id) && self.bits.get(word).is_some_and(|bits| bits & bit != 0)
    }

    fn insert(&mut self, id: i64) {
        match self.high {
            Some(high) if id > high => {
                if id.saturating_sub(high) >= WINDOW as i64 {
                    self.bits = [0; WORDS];
                } else {
                    for between in high.saturating_add(1)..=id {
                        self.set(between, false);
                    }
                }
                self.high = Some(id);
            }
            None => self.high = Some(id),
            _ => {}
        }
        if self.is_inside(id) {
            self.set(id, true);
        }
    }

    fn set(&mut self, id: i64, to: bool) {
        let (word, bit) = Self::place(id);
        if let Some(bits) = self.bits.get_mut(word) {
            *bits = if to { *bits | bit } else { *bits & !bit };
        }
    }
}

/// The newest items of a conversation.
struct Newest {
    ids: [i64; OVERLAP],
    /// After which item something may be missing.
    missing: Option<i64>,
}

impl Newest {
    fn insert(&mut self, id: i64) {
        if let Some(oldest) = self.ids.iter_mut().min() {
            *oldest = id.max(*oldest);
        }
    }

    fn high(&self) -> i64 {
        self.ids.iter().copied().max().unwrap_or(0)
    }

    fn low(&self) -> i64 {
        self.ids.iter().copied().min().unwrap_or(0)
    }
}

pub(super) struct Chats {
    seen: Window,
    newest: BTreeMap<Chat, Newest>,
    max: usize,
    /// How often something may have been missed.
    gaps: u64,
    /// Whether something may have been missed in conversations that are not known here.
    is_missing: bool,
    /// The newest item of any conversation when all were looked at; `None` before that.
    pub(super) looked_up_to: Option<ItemId>,
}

impl Chats {
    pub(super) const fn new(max: usize) -> Self {
        let seen = Window { high: None, bits: [0; WORDS] };
        let newest = BTreeMap::new();
        Self { seen, newest, max, gaps: 0, is_missing: false, looked_up_to: None }
    }

    /// A connection has ended: from here on something may be missing in each conversation, until
    /// it has been looked through.
    pub(super) fn gap(&mut self) {
        self.gaps = self.gaps.saturating_add(1);
        self.is_missing = true;
        for newest in self.newest.values_mut() {
            newest.missing = newest.missing.or(Some(newest.low()));
        }
    }

    /// Which gap was the last one.
    pub(super) const fn gaps(&self) -> u64 {
        self.gaps
    }

    /// A conversation was looked through since that gap.
    pub(super) fn complete(&mut self, chat: Chat, gap: u64) {
        if gap == self.gaps {
            if let Some(newest) = self.newest.get_mut(&chat) {
                newest.missing = None;
            }
        }
    }

    /// Nothing is missing but in these conversations.
    pub(super) fn complete_but(&mut self, missing: impl Fn(Chat) -> bool) {
        self.is_missing = false;
        for (chat, newest) in &mut self.newest {
            if !missing(*chat) {
                newest.missing = None;
            }
        }
    }

    /// The highest number of any item.
    pub(super) fn high(&self) -> Option<ItemId> {
        self.seen.high.map(ItemId)
    }

    /// Whether the item is known to have been seen. Of one that is far older than the newest one
    /// nothing is known.
    pub(super) fn has_seen(&self, item: ItemId) -> bool {
        self.seen.has(item.0)
    }

    pub(super) fn see(&mut self, chat: Chat, item: ItemId) {
        self.seen.insert(item.0);
        self.remember(chat, item);
    }

    /// Looks this conversation through from this item on.
    pub(super) fn remember(&mut self, chat: Chat, item: ItemId) {
        if let Some(newest) = self.newest.get_mut(&chat) {
            newest.insert(item.0);
            return;
        }
        if self.newest.len() >= self.max {
            let oldest = self.newest.iter().min_by_key(|(_, newest)| newest.high());
            match oldest.map(|(chat, newest)| (*chat, newest.high())) {
                Some((oldest, high)) if high < item.0 => self.newest.remove(&oldest),
                _ => return,
            };
        }
        let missing = self.looked_up_to.filter(|_| self.is_missing).map(|item| item.0);
        self.newest.insert(chat, Newest { ids: [item.0; OVERLAP], missing });
    }

    /// The item after which this conversation is looked through again.
    pub(super) fn after(&self, chat: Chat) -> Option<ItemId> {
        self.newest.get(&chat).map(|newest| ItemId(newest.missing.unwrap_or(newest.low())))
    }

    /// The highest item of this conversation.
    pub(super) fn newest(&self, chat: Chat) -> Option<ItemId> {
        self.newest.get(&chat).map(|newest| ItemId(newest.high()))
    }

    /// Every conversation, the one with the newest item first.
    pub(super) fn by_age(&self) -> Vec<Chat> {
        let mut chats: Vec<(i64, Chat)> =
            self.newest.iter().map(|(chat, newest)| (newest.high(), *chat)).collect();
        chats.sort_unstable_by(|a, b| b.cmp(a));
        chats.into_iter().map(|(_, chat)| chat).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.newest.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ContactId;

    fn chat(id: i64) -> Chat {
        Chat::Direct(ContactId(id))
    }

    #[test]
    fn a_window_of_numbers_is_remembered() {
        let mut chats = Chats::new(4);
        let window = WINDOW as i64;
        assert!(!chats.has_seen(ItemId(5)));
        for id in [5, 7, 6 + window] {
            chats.see(chat(1), ItemId(id));
        }
        assert!(chats.has_seen(ItemId(7)) && chats.has_seen(ItemId(6 + window)));
        assert!(!chats.has_seen(ItemId(6)) && !chats.has_seen(ItemId(8)));
        // 5 has left the window: nothing is known of it.
        assert!(!chats.has_seen(ItemId(5)));
        chats.see(chat(1), ItemId(5));
        assert!(!chats.has_seen(ItemId(5)) && chats.has_seen(ItemId(7)));
        for id in [i64::MAX, i64::MIN, -1, 0] {
            chats.see(chat(1), ItemId(id));
        }
        assert!(chats.has_seen(ItemId(i64::MAX)) && !chats.has_seen(ItemId(7)));
    }

    #[test]
    fn a_number_that_is_skipped_and_comes_round_is_not_seen() {
        let mut chats = Chats::new(4);
        let window = WINDOW as i64;
        chats.see(chat(1), ItemId(10));
        chats.see(chat(1), ItemId(9 + window));
        chats.see(chat(1), ItemId(11 + window));
        assert!(!chats.has_seen(ItemId(10 + window)));
    }

    #[test]
    fn a_conversation_goes_back_eight_items() {
        let mut chats = Chats::new(4);
        chats.see(chat(1), ItemId(100));
        assert_eq!(chats.after(chat(1)), Some(ItemId(100)));
        for id in 101..108 {
            chats.see(chat(1), ItemId(id));
            assert_eq!(chats.after(chat(1)), Some(ItemId(100)));
        }
        chats.see(chat(1), ItemId(108));
        assert_eq!(chats.after(chat(1)), Some(ItemId(101)));
        assert_eq!(chats.newest(chat(1)), Some(ItemId(108)));
        // An old one does not take it further back.
        chats.see(chat(1), ItemId(3));
        assert_eq!(chats.after(chat(1)), Some(ItemId(101)));
    }

    #[test]
    fn what_may_be_missing_is_remembered_until_it_was_looked_for() {
        let mut chats = Chats::new(4);
        chats.looked_up_to = Some(ItemId(90));
        chats.see(chat(1), ItemId(100));
        chats.gap();
        for id in 110..130 {
            chats.see(chat(1), ItemId(id));
            chats.see(chat(2), ItemId(id + 100));
        }
        // In one that was not known, from the last look on.
        assert_eq!(chats.after(chat(1)), Some(ItemId(100)));
        assert_eq!(chats.after(chat(2)), Some(ItemId(90)));
        let first = chats.gaps();
        chats.gap();
        chats.complete(chat(1), first);
        assert_eq!(chats.after(chat(1)), Some(ItemId(100)), "there was another gap");
        chats.complete(chat(1), chats.gaps());
        assert_eq!(chats.after(chat(1)), Some(ItemId(122)));
        chats.gap();
        chats.complete_but(|known| known == chat(2));
        assert_eq!(chats.after(chat(1)), Some(ItemId(122)));
        assert_eq!(chats.after(chat(2)), Some(ItemId(90)));
        chats.see(chat(3), ItemId(400));
        assert_eq!(chats.after(chat(3)), Some(ItemId(400)));
    }

    #[test]
    fn the_conversations_with_the_newest_items_are_kept() {
        for (count, kept) in [(3, 3), (4, 4), (5, 4)] {
            let mut chats = Chats::new(4);
            for id in 1..=count {
                chats.see(chat(id), ItemId(id * 10));
            }
            assert_eq!(chats.len(), kept);
            assert_eq!(chats.by_age()[0], chat(count));
            assert_eq!(chats.after(chat(1)).is_some(), count <= 4);
        }
        let mut chats = Chats::new(1);
        chats.see(chat(1), ItemId(10));
        chats.see(chat(2), ItemId(9));
        assert_eq!(chats.by_age(), [chat(1)]);
    }
}
