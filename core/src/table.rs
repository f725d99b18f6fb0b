//! The one table that both machines keep their open calls in.
//!
//! An entry has up to two keys, found through hash chains, and a deadline, kept in a heap that
//! knows each entry's place: finding an entry and asking for the next deadline do not depend on how
//! many are open, and moving a deadline takes a logarithm. The heap branches eight ways and lies
//! apart from the entries, so that this logarithm is short and touches little memory.
//!
//! An entry that has ended stays findable until its slot is needed again, so that what arrives
//! late is known for what it is. At most [`REMEMBERED`] ended entries are kept where there is
//! room for new ones.
//!
//! The hash needs no secret: keys are ids that the profile's own chat core gives out.

use core::fmt;
use core::num::NonZeroU32;

use crate::short::Short;
use crate::time::Instant;

/// How many ended entries are kept before their slots are used again.
const REMEMBERED: usize = 64;

const NONE: u32 = u32::MAX;

/// Where a machine keeps its open calls: [`Inline`] or, with `alloc`, [`Growable`].
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::{Inline, caller::Caller};
/// let caller = Caller::<Standard, Inline<8>>::default();
/// assert_eq!(caller.capacity(), 8);
/// ```
pub trait Storage: sealed::Sealed {
    /// A list of a bounded length.
    #[doc(hidden)]
    type List<T>: List<T>;
    /// A text of a bounded length.
    #[doc(hidden)]
    type Text: Text;
    /// How many entries there can be, if the storage's type says so.
    #[doc(hidden)]
    const LIMIT: Option<usize>;
}

mod sealed {
    pub trait Sealed {}
}

/// A list of a bounded length.
#[doc(hidden)]
pub trait List<T>: AsRef<[T]> + AsMut<[T]> {
    fn empty() -> Self;
    fn push(&mut self, value: T) -> Result<(), T>;
    fn pop(&mut self) -> Option<T>;
}

/// A text of a bounded length.
#[doc(hidden)]
pub trait Text: Sized {
    /// How many bytes can be kept, if the text's type says so.
    const LIMIT: Option<usize>;
    /// The text, or how many bytes could be kept.
    fn keep(text: &str) -> Result<Self, usize>;
    fn get(&self) -> &str;
}

/// Room for `N` entries inside the machine itself; no heap.
///
/// Ids are kept up to [`Inline::ID_LIMIT`] bytes.
///
/// ```
/// use agentwire_core::chat::Inline;
/// assert_eq!(Inline::<4>::ID_LIMIT, 64);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Inline<const N: usize>;

const INLINE_ID_LIMIT: usize = 64;

impl<const N: usize> Inline<N> {
    /// The longest id, in bytes of its JSON text, that a responder can keep.
    pub const ID_LIMIT: usize = INLINE_ID_LIMIT;
}

impl<const N: usize> sealed::Sealed for Inline<N> {}

impl<const N: usize> Storage for Inline<N> {
    type List<T> = heapless::Vec<T, N>;
    type Text = Short<INLINE_ID_LIMIT>;
    const LIMIT: Option<usize> = Some(N);
}

impl<T, const N: usize> List<T> for heapless::Vec<T, N> {
    fn empty() -> Self {
        Self::new()
    }

    fn push(&mut self, value: T) -> Result<(), T> {
        Self::push(self, value)
    }

    fn pop(&mut self) -> Option<T> {
        Self::pop(self)
    }
}

impl<const N: usize> Text for Short<N> {
    const LIMIT: Option<usize> = Some(N);

    fn keep(text: &str) -> Result<Self, usize> {
        Self::new(text).ok_or(N)
    }

    fn get(&self) -> &str {
        self.get()
    }
}

/// Room on the heap, growing up to a limit that is given when the machine is made.
///
/// ```
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::{Growable, caller::{Caller, CallerConfig}};
/// let caller = Caller::<Standard, Growable>::with_limit(CallerConfig::default(), 4_096);
/// assert_eq!(caller.capacity(), 4_096);
/// ```
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Growable;

#[cfg(feature = "alloc")]
mod growable {
    use super::{Growable, List, Storage, Text, sealed};
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    impl sealed::Sealed for Growable {}

    impl Storage for Growable {
        type List<T> = Vec<T>;
        type Text = Box<str>;
        const LIMIT: Option<usize> = None;
    }

    impl<T> List<T> for Vec<T> {
        fn empty() -> Self {
            Self::new()
        }

        fn push(&mut self, value: T) -> Result<(), T> {
            Self::push(self, value);
            Ok(())
        }

        fn pop(&mut self) -> Option<T> {
            Self::pop(self)
        }
    }

    impl Text for Box<str> {
        const LIMIT: Option<usize> = None;

        fn keep(text: &str) -> Result<Self, usize> {
            Ok(text.into())
        }

        fn get(&self) -> &str {
            self
        }
    }
}

/// Every slot is taken by an open entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Full {
    pub(crate) capacity: usize,
}

/// An entry. It outlives the entry harmlessly: the slot's generation tells them apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub(crate) struct Ticket {
    slot: u32,
    generation: Generation,
}

/// How often a slot has been used, from 1 on: so an `Option<Ticket>` is no larger than a `Ticket`.
type Generation = NonZeroU32;

impl Ticket {
    pub(crate) fn hash(self, hasher: Hasher) -> Hasher {
        hasher.int(i64::from(self.slot)).int(i64::from(self.generation.get()))
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}

/// What an entry is found by.
pub(crate) trait Keyed {
    /// The hash of each of the entry's keys.
    fn hashes(&self) -> [Option<u32>; 2];
}

struct Slot<V> {
    value: V,
    generation: Generation,
    /// The next slot of each key's chain.
    next: [u32; 2],
    /// The slot that ended after this one.
    ended_next: u32,
}

pub(crate) struct Table<V, S: Storage> {
    slots: S::List<Slot<V>>,
    /// The first slot of each chain, for the first key and for the second.
    heads: [S::List<u32>; 2],
    /// Slots of open entries, the earliest deadline first.
    heap: S::List<u32>,
    /// The deadline at each place of the heap.
    deadlines: S::List<Instant>,
    /// Each slot's place in the heap; [`NONE`] once its entry has ended.
    places: S::List<u32>,
    ended_first: u32,
    ended_last: u32,
    ended: usize,
    limit: usize,
}

impl<V: Keyed, S: Storage> Table<V, S> {
    /// A table for at most `limit` open entries, or fewer where the storage has less room.
    pub(crate) fn new(limit: usize) -> Self {
        // Slots are counted in u32, one value of which means none.
        let room = S::LIMIT.unwrap_or(limit).min(NONE as usize);
        Self {
            slots: S::List::empty(),
            heads: [S::List::empty(), S::List::empty()],
            heap: S::List::empty(),
            deadlines: S::List::empty(),
            places: S::List::empty(),
            ended_first: NONE,
            ended_last: NONE,
            ended: 0,
            limit: limit.min(room),
        }
    }

    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// How many entries are open.
    pub(crate) fn open(&self) -> usize {
        self.heap.as_ref().len()
    }

    fn slot(&self, slot: u32) -> Option<&Slot<V>> {
        self.slots.as_ref().get(slot as usize)
    }

    fn slot_mut(&mut self, slot: u32) -> Option<&mut Slot<V>> {
        self.slots.as_mut().get_mut(slot as usize)
    }

    /// The place of a slot in the heap, if its entry is open.
    fn place(&self, slot: u32) -> Option<usize> {
        let place = *self.places.as_ref().get(slot as usize)?;
        (place != NONE).then_some(place as usize)
    }

    fn set_place(&mut self, slot: u32, place: u32) {
        if let Some(target) = self.places.as_mut().get_mut(slot as usize) {
            *target = place;
        }
    }

    /// An open entry.
    pub(crate) fn get(&self, ticket: Ticket) -> Option<&V> {
        self.place(ticket.slot)?;
        self.remembered(ticket)
    }

    /// An open entry. Its keys must not change: see [`rekey`](Self::rekey).
    pub(crate) fn get_mut(&mut self, ticket: Ticket) -> Option<&mut V> {
        self.place(ticket.slot)?;
        self.remembered_mut(ticket)
    }

    /// Some open entry of which this is true. It looks at all of them.
    pub(crate) fn position(&self, is_it: impl Fn(&V) -> bool) -> Option<Ticket> {
        self.iter().find(|(_, value)| is_it(value)).map(|(ticket, _)| ticket)
    }

    /// The open entries, in no particular order.
    fn iter(&self) -> impl Iterator<Item = (Ticket, &V)> {
        self.heap.as_ref().iter().filter_map(|&slot| {
            let entry = self.slot(slot)?;
            Some((Ticket { slot, generation: entry.generation }, &entry.value))
        })
    }

    /// Opens an entry.
    pub(crate) fn insert(&mut self, deadline: Instant, value: V) -> Result<Ticket, Full> {
        let full = Full { capacity: self.limit };
        if self.open() >= self.limit {
            return Err(full);
        }
        let used = self.slots.as_ref().len();
        let ticket = if used < self.limit && self.ended < REMEMBERED {
            let entry =
                Slot { value, generation: Generation::MIN, next: [NONE; 2], ended_next: NONE };
            self.slots.push(entry).map_err(|_| full)?;
            self.places.push(NONE).map_err(|_| full)?;
            Ticket { slot: u32::try_from(used).unwrap_or(NONE), generation: Generation::MIN }
        } else {
            // Fewer entries are open than slots are used, so one of them has ended.
            let slot = self.ended_first;
            self.unlink(slot);
            let entry = self.slot_mut(slot).ok_or(full)?;
            let after = entry.ended_next;
            entry.ended_next = NONE;
            entry.value = value;
            entry.generation = entry.generation.checked_add(1).unwrap_or(Generation::MIN);
            let generation = entry.generation;
            self.ended_first = after;
            if after == NONE {
                self.ended_last = NONE;
            }
            self.ended = self.ended.saturating_sub(1);
            Ticket { slot, generation }
        };
        if self.heads[0].as_ref().len() < self.slots.as_ref().len() {
            self.rehash();
        } else {
            self.link(ticket.slot);
        }
        let place = self.open();
        self.heap.push(ticket.slot).map_err(|_| full)?;
        self.deadlines.push(deadline).map_err(|_| full)?;
        self.sift_up(place, ticket.slot, deadline);
        Ok(ticket)
    }

    /// Changes the keys of an open entry.
    pub(crate) fn rekey(&mut self, ticket: Ticket, change: impl FnOnce(&mut V)) -> bool {
        if self.get(ticket).is_none() {
            return false;
        }
        self.unlink(ticket.slot);
        if let Some(value) = self.get_mut(ticket) {
            change(value);
        }
        self.link(ticket.slot);
        true
    }

    /// Ends an entry; it stays findable for a while. `false` if it is not open.
    pub(crate) fn end(&mut self, ticket: Ticket) -> bool {
        if self.get(ticket).is_none() {
            return false;
        }
        let Some(place) = self.place(ticket.slot) else { return false };
        if let (Some(last), Some(deadline)) = (self.heap.pop(), self.deadlines.pop()) {
            if last != ticket.slot {
                self.sift(place, last, deadline);
            }
        }
        self.set_place(ticket.slot, NONE);
        match self.slot_mut(self.ended_last) {
            Some(before) => before.ended_next = ticket.slot,
            None => self.ended_first = ticket.slot,
        }
        self.ended_last = ticket.slot;
        self.ended = self.ended.saturating_add(1);
        true
    }

    /// The entry with this key that was opened last, and whether it is open.
    pub(crate) fn find(
        &self,
        key: usize,
        hash: u32,
        is_it: impl Fn(&V) -> bool,
    ) -> Option<(Ticket, bool)> {
        let heads = self.heads.get(key)?.as_ref();
        let mut slot = *heads.get(bucket(hash, heads.len()))?;
        let mut ended = None;
        // A chain is no longer than the table.
        for _ in 0..self.slots.as_ref().len() {
            let Some(entry) = self.slot(slot) else { break };
            if is_it(&entry.value) {
                let found = Ticket { slot, generation: entry.generation };
                if self.place(slot).is_some() {
                    return Some((found, true));
                }
                ended = ended.or(Some((found, false)));
            }
            slot = *entry.next.get(key)?;
        }
        ended
    }

    /// The value of an entry that is open or has ended not long ago.
    pub(crate) fn remembered(&self, ticket: Ticket) -> Option<&V> {
        let slot = self.slot(ticket.slot)?;
        (slot.generation == ticket.generation).then_some(&slot.value)
    }

    /// See [`remembered`](Self::remembered).
    pub(crate) fn remembered_mut(&mut self, ticket: Ticket) -> Option<&mut V> {
        let slot = self.slot_mut(ticket.slot)?;
        (slot.generation == ticket.generation).then_some(&mut slot.value)
    }

    /// The earliest deadline and whose it is.
    pub(crate) fn earliest(&self) -> Option<(Instant, Ticket)> {
        let (slot, deadline) = self.at(0)?;
        Some((deadline, Ticket { slot, generation: self.slot(slot)?.generation }))
    }

    /// The deadline of an open entry.
    pub(crate) fn deadline(&self, ticket: Ticket) -> Option<Instant> {
        self.get(ticket)?;
        self.at(self.place(ticket.slot)?).map(|(_, deadline)| deadline)
    }

    /// Moves the deadline of an open entry.
    pub(crate) fn set_deadline(&mut self, ticket: Ticket, deadline: Instant) {
        if self.get(ticket).is_none() {
            return;
        }
        if let Some(place) = self.place(ticket.slot) {
            self.sift(place, ticket.slot, deadline);
        }
    }

    // Chains.

    fn link(&mut self, slot: u32) {
        let Some(entry) = self.slot(slot) else { return };
        let hashes = entry.value.hashes();
        for (key, hash) in hashes.into_iter().enumerate() {
            let Some(hash) = hash else { continue };
            let Some(heads) = self.heads.get_mut(key) else { continue };
            let heads = heads.as_mut();
            let bucket = bucket(hash, heads.len());
            let Some(head) = heads.get_mut(bucket) else { continue };
            let before = core::mem::replace(head, slot);
            if let Some(next) = self.slot_mut(slot).and_then(|entry| entry.next.get_mut(key)) {
                *next = before;
            }
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Some(entry) = self.slot(slot) else { return };
        let hashes = entry.value.hashes();
        for (key, hash) in hashes.into_iter().enumerate() {
            let Some(hash) = hash else { continue };
            let Some(after) = self.next_of(key, slot) else { continue };
            let Some(heads) = self.heads.get_mut(key) else { continue };
            let heads = heads.as_mut();
            let bucket = bucket(hash, heads.len());
            let Some(head) = heads.get_mut(bucket) else { continue };
            if *head == slot {
                *head = after;
                continue;
            }
            let mut before = *head;
            while let Some(next) = self.next_of(key, before) {
                if next == slot {
                    if let Some(link) =
                        self.slot_mut(before).and_then(|entry| entry.next.get_mut(key))
                    {
                        *link = after;
                    }
                    break;
                }
                before = next;
            }
        }
    }

    fn next_of(&self, key: usize, slot: u32) -> Option<u32> {
        self.slot(slot)?.next.get(key).copied()
    }

    /// Grows the chains' heads to the room there is and links every slot anew.
    fn rehash(&mut self) {
        let wanted = match S::LIMIT {
            Some(room) => room,
            None => self.slots.as_ref().len().next_power_of_two().max(8),
        };
        for heads in &mut self.heads {
            heads.as_mut().fill(NONE);
            while heads.as_ref().len() < wanted && heads.push(NONE).is_ok() {}
        }
        for slot in 0..u32::try_from(self.slots.as_ref().len()).unwrap_or(NONE) {
            self.link(slot);
        }
    }

    // The heap.

    fn at(&self, place: usize) -> Option<(u32, Instant)> {
        Some((*self.heap.as_ref().get(place)?, *self.deadlines.as_ref().get(place)?))
    }

    fn put(&mut self, place: usize, slot: u32, deadline: Instant) {
        if let Some(target) = self.heap.as_mut().get_mut(place) {
            *target = slot;
        }
        if let Some(target) = self.deadlines.as_mut().get_mut(place) {
            *target = deadline;
        }
        self.set_place(slot, u32::try_from(place).unwrap_or(NONE));
    }

    /// Puts an entry where it belongs; `place`, which is free for it, is where it may belong.
    fn sift(&mut self, place: usize, slot: u32, deadline: Instant) {
        let place = self.sift_up(place, slot, deadline);
        self.sift_down(place, slot, deadline);
    }

    /// Moves an entry up from a place as far as it belongs. Returns where that is.
    fn sift_up(&mut self, mut place: usize, slot: u32, deadline: Instant) -> usize {
        while let Some(parent) = place.checked_sub(1).map(|below| below / BRANCHES) {
            let Some((above, earlier)) = self.at(parent) else { break };
            if earlier <= deadline {
                break;
            }
            self.put(place, above, earlier);
            place = parent;
        }
        self.put(place, slot, deadline);
        place
    }

    /// Moves an entry down from a place as far as it belongs.
    fn sift_down(&mut self, mut place: usize, slot: u32, deadline: Instant) {
        loop {
            let first = place.saturating_mul(BRANCHES).saturating_add(1);
            let children = self.deadlines.as_ref().get(first..).unwrap_or_default();
            let children = children.iter().take(BRANCHES).enumerate();
            let Some((child, _)) = children.min_by_key(|(_, deadline)| **deadline) else { break };
            let child = first.saturating_add(child);
            let Some((below, later)) = self.at(child) else { break };
            if later >= deadline {
                break;
            }
            self.put(place, below, later);
            place = child;
        }
        self.put(place, slot, deadline);
    }
}

/// How many places of the heap follow each place.
const BRANCHES: usize = 8;

/// Which chain a hash belongs to.
fn bucket(hash: u32, buckets: usize) -> usize {
    // Multiply and shift: even for any number of buckets, and without a division.
    ((u64::from(hash).wrapping_mul(buckets as u64)) >> 32) as usize
}

/// Mixes the parts of a key.
#[derive(Clone, Copy)]
pub(crate) struct Hasher(u64);

impl Hasher {
    pub(crate) fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn int(self, part: i64) -> Self {
        let mixed = (self.0 ^ part as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
        Self(mixed ^ (mixed >> 32))
    }

    pub(crate) fn text(self, part: &str) -> Self {
        let mut words = part.as_bytes().chunks(8);
        words.by_ref().fold(self.int(part.len() as i64), |hasher, word| {
            let mut bytes = [0; 8];
            for (target, source) in bytes.iter_mut().zip(word) {
                *target = *source;
            }
            hasher.int(i64::from_le_bytes(bytes))
        })
    }

    pub(crate) fn finish(self) -> u32 {
        (self.0.wrapping_mul(0xc4ce_b9fe_1a85_ec53) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::vec::Vec;

    #[derive(Debug, PartialEq)]
    struct Entry {
        a: i64,
        b: Option<i64>,
    }

    impl Keyed for Entry {
        fn hashes(&self) -> [Option<u32>; 2] {
            let hash = |key| Hasher::new().int(key).finish();
            [Some(hash(self.a)), self.b.map(hash)]
        }
    }

    fn find<S: Storage>(table: &Table<Entry, S>, key: usize, id: i64) -> Option<(Ticket, bool)> {
        table.find(key, Hasher::new().int(id).finish(), |entry| {
            if key == 0 { entry.a == id } else { entry.b == Some(id) }
        })
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// Random operations against a map and a sorted list.
    fn against_a_model<S: Storage>(limit: usize, seed: u64) {
        let mut table = Table::<Entry, S>::new(limit);
        let mut model: BTreeMap<Ticket, (i64, Option<i64>, Instant)> = BTreeMap::new();
        let mut state = seed;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut key = 0;
        for _ in 0..4_000 {
            let picked = model.keys().nth(random(model.len().max(1) as u64) as usize).copied();
            match (random(6), picked) {
                (0..=2, _) => {
                    key += 1;
                    let deadline = at(random(1_000));
                    let result = table.insert(deadline, Entry { a: key, b: None });
                    if model.len() == limit {
                        assert_eq!(result, Err(Full { capacity: limit }));
                    } else {
                        model.insert(result.unwrap(), (key, None, deadline));
                    }
                }
                (3, Some(ticket)) => {
                    assert!(table.end(ticket));
                    assert!(!table.end(ticket));
                    model.remove(&ticket);
                    assert!(table.get(ticket).is_none());
                }
                (4, Some(ticket)) => {
                    let deadline = at(random(1_000));
                    table.set_deadline(ticket, deadline);
                    model.get_mut(&ticket).unwrap().2 = deadline;
                }
                (_, Some(ticket)) => {
                    key += 1;
                    assert!(table.rekey(ticket, |entry| entry.b = Some(key)));
                    model.get_mut(&ticket).unwrap().1 = Some(key);
                }
                _ => {}
            }
            assert_eq!(table.open(), model.len());
            assert_eq!(
                table.earliest().map(|(deadline, _)| deadline),
                model.values().map(|entry| entry.2).min()
            );
            if let Some((ticket, (a, b, _))) = model.iter().next() {
                assert_eq!(find(&table, 0, *a), Some((*ticket, true)));
                if let Some(b) = b {
                    assert_eq!(find(&table, 1, *b), Some((*ticket, true)));
                }
            }
        }
        let mut open: Vec<Ticket> = table.iter().map(|(ticket, _)| ticket).collect();
        open.sort();
        assert_eq!(open, model.keys().copied().collect::<Vec<_>>());
    }

    #[test]
    fn inline_tables_agree_with_a_model() {
        for seed in 0..6 {
            against_a_model::<Inline<1>>(1, seed);
            against_a_model::<Inline<7>>(7, seed);
            against_a_model::<Inline<200>>(200, seed);
        }
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn growable_tables_agree_with_a_model() {
        for seed in 0..6 {
            against_a_model::<Growable>(1, seed);
            against_a_model::<Growable>(300, seed);
        }
    }

    #[test]
    fn a_table_is_full_at_its_limit_and_not_before() {
        let mut table = Table::<Entry, Inline<3>>::new(usize::MAX);
        assert_eq!(table.limit(), 3);
        for a in 0..3 {
            table.insert(at(1), Entry { a, b: None }).unwrap();
        }
        assert_eq!(table.insert(at(1), Entry { a: 3, b: None }), Err(Full { capacity: 3 }));
        let mut small = Table::<Entry, Inline<3>>::new(1);
        small.insert(at(1), Entry { a: 0, b: None }).unwrap();
        assert_eq!(small.insert(at(1), Entry { a: 1, b: None }), Err(Full { capacity: 1 }));
        let mut none = Table::<Entry, Inline<3>>::new(0);
        assert_eq!(none.insert(at(1), Entry { a: 0, b: None }), Err(Full { capacity: 0 }));
    }

    #[test]
    fn an_ended_entry_is_remembered_until_its_slot_is_needed() {
        let mut table = Table::<Entry, Inline<2>>::new(2);
        let first = table.insert(at(1), Entry { a: 1, b: Some(10) }).unwrap();
        table.end(first);
        assert_eq!(find(&table, 0, 1), Some((first, false)));
        assert_eq!(find(&table, 1, 10), Some((first, false)));
        assert_eq!(table.remembered(first).map(|entry| entry.a), Some(1));
        table.insert(at(1), Entry { a: 2, b: None }).unwrap();
        assert!(find(&table, 0, 1).is_some());
        let reused = table.insert(at(1), Entry { a: 3, b: None }).unwrap();
        assert_eq!(find(&table, 0, 1), None);
        assert_eq!(find(&table, 1, 10), None);
        assert!(table.remembered(first).is_none());
        assert_ne!(reused, first);
    }
}
