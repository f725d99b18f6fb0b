//! Key sets that have been fetched.

use core::time::Duration;
use std::sync::Arc;

use agentwire_core::card::KeySet;
use hyper::header::{CACHE_CONTROL, HeaderMap};
use tokio::time::Instant;

/// How many key sets are kept.
pub(super) const MAX_SETS: usize = 64;

/// How long a set without a word about it is kept.
const UNSAID: Duration = Duration::from_secs(300);

/// The key sets of the hosts that were asked last.
#[derive(Debug, Default)]
pub(super) struct Sets {
    /// The oldest first.
    sets: Vec<(String, Arc<KeySet>, Instant)>,
}

impl Sets {
    /// The set at a URL, if it may still be used.
    pub(super) fn get(&mut self, now: Instant, url: &str) -> Option<Arc<KeySet>> {
        self.sets.retain(|(_, _, until)| now < *until);
        let (_, set, _) = self.sets.iter().find(|(known, ..)| known == url)?;
        Some(Arc::clone(set))
    }

    /// Keeps a set until then; the oldest one makes room for it.
    pub(super) fn keep(&mut self, url: &str, set: Arc<KeySet>, until: Instant) {
        self.sets.retain(|(known, ..)| known != url);
        if self.sets.len() >= MAX_SETS {
            self.sets.remove(0);
        }
        self.sets.push((url.to_owned(), set, until));
    }
}

/// How long what came with these headers may be used (RFC 9111 section 5.2.2), and no longer than
/// this.
pub(super) fn freshness(headers: &HeaderMap, at_most: Duration) -> Duration {
    let mut said = None;
    let values = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    for directive in values.flat_map(|value| value.split(',')) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "no-cache" => return Duration::ZERO,
            // Of two the shorter one counts, and nonsense for nothing.
            "max-age" => {
                let seconds = value.trim().trim_matches('"').parse().unwrap_or(0);
                let age = Duration::from_secs(seconds);
                said = Some(said.map_or(age, |said: Duration| said.min(age)));
            }
            _ => {}
        }
    }
    said.unwrap_or(UNSAID).min(at_most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_kept_as_long_as_its_host_says() {
        let most = Duration::from_secs(3600);
        let fresh = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(CACHE_CONTROL, value.parse().unwrap());
            }
            freshness(&headers, most).as_secs()
        };
        assert_eq!(fresh(&[]), 300);
        assert_eq!(fresh(&["public"]), 300);
        assert_eq!(fresh(&["public, Max-Age=60"]), 60);
        assert_eq!(fresh(&["max-age=60", "max-age=30"]), 30);
        assert_eq!(fresh(&["max-age=99999999"]), 3600);
        for never in ["no-store", "max-age=60, no-cache", "max-age=0", "max-age=x", "max-age"] {
            assert_eq!(fresh(&[never]), 0, "{never}");
        }
    }

    #[test]
    fn only_so_many_are_kept_and_none_too_long() {
        let mut sets = Sets::default();
        let now = Instant::now();
        let until = now + Duration::from_secs(1);
        for number in 0..=MAX_SETS {
            sets.keep(&number.to_string(), Arc::default(), until);
        }
        sets.keep("1", Arc::default(), until);
        assert_eq!(sets.sets.len(), MAX_SETS);
        assert!(sets.get(now, "0").is_none() && sets.get(now, "1").is_some());
        assert!(sets.get(until, "1").is_none());
        assert!(sets.sets.is_empty());
    }
}
