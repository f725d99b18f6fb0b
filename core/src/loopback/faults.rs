//! What can go wrong between sender and receiver, at random or on demand.

use alloc::string::String;
use core::{fmt, time::Duration};

use super::rng::Rng;

/// How messages travel: how long, and what happens to some of them. The default is that all
/// arrive at once and in order.
///
/// Rates are in per mille (0 to 1,000) and are drawn for every message and receiver from the seed
/// of the [`Loopback`](super::Loopback).
///
/// ```
/// use agentwire_core::loopback::Faults;
/// use core::time::Duration;
///
/// let faults = Faults::new()
///     .delay(Duration::from_millis(20), Duration::from_millis(300))
///     .reorder(100, Duration::from_secs(1))
///     .drop(10);
/// assert_eq!(faults.drop, 10);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Faults {
    /// The shortest time that a message travels.
    pub delay_min: Duration,
    /// The longest time that a message travels.
    pub delay_max: Duration,
    /// How many of a thousand messages never arrive.
    pub drop: u16,
    /// How many of a thousand messages are reported twice.
    pub duplicate: u16,
    /// How many of a thousand messages arrive so late that others overtake them.
    pub reorder: u16,
    /// How much later such a message arrives at most.
    pub reorder_by: Duration,
    /// How many of a thousand messages are followed by an edit that appends one space.
    pub edit: u16,
}

impl Default for Faults {
    fn default() -> Self {
        Self::new()
    }
}

impl Faults {
    /// No delay, no fault.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            delay_min: Duration::ZERO,
            delay_max: Duration::ZERO,
            drop: 0,
            duplicate: 0,
            reorder: 0,
            reorder_by: Duration::ZERO,
            edit: 0,
        }
    }

    /// Messages travel from `min` to `max`, in whole milliseconds. They stay in order.
    #[must_use]
    pub const fn delay(mut self, min: Duration, max: Duration) -> Self {
        self.delay_min = min;
        self.delay_max = max;
        self
    }

    /// `per_mille` messages never arrive.
    #[must_use]
    pub const fn drop(mut self, per_mille: u16) -> Self {
        self.drop = per_mille;
        self
    }

    /// `per_mille` messages are reported twice.
    #[must_use]
    pub const fn duplicate(mut self, per_mille: u16) -> Self {
        self.duplicate = per_mille;
        self
    }

    /// `per_mille` messages arrive up to `by` later, while others overtake them.
    #[must_use]
    pub const fn reorder(mut self, per_mille: u16, by: Duration) -> Self {
        self.reorder = per_mille;
        self.reorder_by = by;
        self
    }

    /// `per_mille` messages are followed by an edit that appends one space.
    #[must_use]
    pub const fn edit(mut self, per_mille: u16) -> Self {
        self.edit = per_mille;
        self
    }
}

/// One fault, for an exact test.
///
/// ```
/// use agentwire_core::loopback::{Fault, Loopback};
/// use agentwire_core::{chat::Chat, time::Instant};
///
/// let mut net = Loopback::new(1);
/// let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
/// let (to_bot, _) = net.connect(ann, bot).unwrap();
/// net.fault_next(ann, Fault::Drop);
/// net.send(Instant::ZERO, ann, Chat::Direct(to_bot), "lost").unwrap();
/// assert!(net.poll_event(bot).is_none());
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It never arrives.
    Drop,
    /// It is reported twice, with the same ids.
    Duplicate,
    /// It travels this much longer, and what is sent after it waits for it.
    Delay(Duration),
    /// It travels this much longer, and what is sent after it overtakes it.
    Reorder(Duration),
    /// It is followed by an edit to this text, or by one that appends a space.
    Edit(Option<String>),
    /// The signature of a Service RPC request breaks. Anything else travels as it is.
    BreakSignature,
    /// It travels without any fault, whatever the rates say.
    None,
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drop => f.write_str("Drop"),
            Self::Duplicate => f.write_str("Duplicate"),
            Self::Delay(span) => write!(f, "Delay({span:?})"),
            Self::Reorder(span) => write!(f, "Reorder({span:?})"),
            Self::Edit(text) => {
                f.debug_struct("Edit").field("text_len", &text.as_ref().map(String::len)).finish()
            }
            Self::BreakSignature => f.write_str("BreakSignature"),
            Self::None => f.write_str("None"),
        }
    }
}

/// What happens to one message on its way to one receiver.
#[derive(Clone, Default, Debug)]
pub(super) struct Journey {
    pub(super) lost: bool,
    pub(super) twice: bool,
    pub(super) delay: Duration,
    /// Others may overtake it.
    pub(super) overtaken: bool,
    pub(super) breaks_signature: bool,
    pub(super) edit: Option<Option<String>>,
}

impl Journey {
    /// Draws a journey. The order of the draws is fixed, so that a seed means one run.
    pub(super) fn draw(faults: &Faults, rng: &mut Rng) -> Self {
        let mut journey =
            Self { delay: between(faults.delay_min, faults.delay_max, rng), ..Self::default() };
        journey.lost = rng.chance(faults.drop);
        journey.twice = rng.chance(faults.duplicate);
        if rng.chance(faults.reorder) {
            journey.overtaken = true;
            journey.delay =
                journey.delay.saturating_add(between(Duration::ZERO, faults.reorder_by, rng));
        }
        if rng.chance(faults.edit) {
            journey.edit = Some(None);
        }
        journey
    }

    pub(super) fn meet(&mut self, fault: &Fault) {
        match fault {
            Fault::Drop => self.lost = true,
            Fault::Duplicate => self.twice = true,
            Fault::Delay(span) => self.delay = self.delay.saturating_add(*span),
            Fault::Reorder(span) => {
                self.overtaken = true;
                self.delay = self.delay.saturating_add(*span);
            }
            Fault::Edit(text) => self.edit = Some(text.clone()),
            Fault::BreakSignature => self.breaks_signature = true,
            Fault::None => *self = Self { delay: self.delay, ..Self::default() },
        }
    }
}

fn between(min: Duration, max: Duration, rng: &mut Rng) -> Duration {
    let millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    let (min, max) = (millis(min), millis(max));
    match max.saturating_sub(min) {
        0 => Duration::from_millis(min),
        spread => Duration::from_millis(min.saturating_add(rng.up_to(spread))),
    }
}
