//! The last bytes of a child's standard error.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

/// A ring that keeps the last `limit` bytes it was given.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: Mutex<VecDeque<u8>>,
    limit: usize,
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Tail { bytes: Mutex::new(VecDeque::new()), limit }
    }

    pub(crate) fn push(&self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(self.limit)..];
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let over = (bytes.len() + chunk.len()).saturating_sub(self.limit);
        bytes.drain(..over);
        bytes.extend(chunk);
    }

    /// What is kept, as text; a byte that is not UTF-8 becomes U+FFFD.
    pub(crate) fn text(&self) -> String {
        let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(bytes.make_contiguous()).into_owned()
    }

    /// Reads `source` to its end.
    pub(crate) async fn drain(&self, mut source: impl AsyncRead + Unpin) {
        let mut chunk = vec![0; 8192];
        loop {
            match source.read(&mut chunk).await {
                Ok(0) => return,
                Ok(count) => self.push(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept() {
        let tail = Tail::new(5);
        tail.push(b"abc");
        assert_eq!(tail.text(), "abc");
        tail.push(b"def");
        assert_eq!(tail.text(), "bcdef");
        tail.push(b"0123456789");
        assert_eq!(tail.text(), "56789");
    }

    #[test]
    fn a_character_cut_in_two_does_no_harm() {
        let tail = Tail::new(3);
        tail.push("aé€".as_bytes());
        assert_eq!(tail.text(), "€");
        tail.push(b"z");
        assert!(tail.text().ends_with('z'));
    }

    #[tokio::test]
    async fn a_stream_without_line_feeds_is_read_to_its_end() {
        let input = vec![b'e'; 300_000];
        let tail = Tail::new(64 * 1024);
        tail.drain(&input[..]).await;
        assert_eq!(tail.text().len(), 64 * 1024);
    }
}
