//! Profiles that are made up for one contact: the core's incognito mode.
//!
//! Both sides keep a contact; the one who is incognito shows it a record of its own, with a name
//! and nothing else, that never changes (simplex-chat `ProfileGenerator.hs`).

use alloc::{format, string::String};

use super::{Loopback, record};

const QUALITIES: [&str; 8] =
    ["Brisk", "Calm", "Dusty", "Early", "Gentle", "Merry", "Quiet", "Silver"];
const THINGS: [&str; 8] =
    ["Anchor", "Brook", "Candle", "Fern", "Harbour", "Lantern", "Meadow", "Pebble"];

impl Loopback {
    /// A record that tells nothing of who shows it.
    pub(super) fn made_up_record(&mut self) -> String {
        let mut one_of = |words: &[&'static str; 8]| {
            let at = usize::try_from(self.keys.up_to(7)).unwrap_or_default();
            words.get(at).copied().unwrap_or_default()
        };
        record::named(&format!("{}{}", one_of(&QUALITIES), one_of(&THINGS)))
    }
}
