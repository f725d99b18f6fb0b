//! Lines out of a byte stream, with memory that stays bounded whatever the other side writes.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// How much of an over-long line is kept, in bytes, to find out whose answer it was.
const HEAD: usize = 4096;

/// Buffers above this many bytes are given back after the line that needed them.
const KEEP: usize = 64 * 1024;

/// One line, without its line feed and a carriage return before it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A line of UTF-8 text within the limit.
    Text(&'a str),
    /// A line above the limit, skipped; its first bytes.
    Overlong(&'a [u8]),
    /// A line within the limit that is not UTF-8, skipped.
    NotUtf8,
}

/// Reads lines of at most `limit` bytes and skips the rest.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    limit: usize,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(source: R, limit: usize) -> Self {
        LineReader { source: BufReader::new(source), line: Vec::new(), limit }
    }

    /// The next line that is not empty, or `None` at the end of the stream. What stands before
    /// the end without a line feed counts as a line.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.line.clear();
            if self.line.capacity() > KEEP {
                self.line.shrink_to(KEEP);
            }
            let (overlong, ended) = self.fill().await?;
            if overlong {
                return Ok(Some(Line::Overlong(&self.line)));
            }
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
            if !self.line.is_empty() {
                break;
            }
            if ended {
                return Ok(None);
            }
        }
        Ok(Some(core::str::from_utf8(&self.line).map_or(Line::NotUtf8, Line::Text)))
    }

    /// Reads up to a line feed or the end; says whether the line was over the limit and whether
    /// the stream ended.
    async fn fill(&mut self) -> io::Result<(bool, bool)> {
        let mut overlong = false;
        loop {
            let chunk = match self.source.fill_buf().await {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                return Ok((overlong, true));
            }
            let feed = chunk.iter().position(|&byte| byte == b'\n');
            let part = &chunk[..feed.unwrap_or(chunk.len())];
            if !overlong && part.len() > self.limit - self.line.len() {
                overlong = true;
                self.line.extend_from_slice(&part[..part.len().min(HEAD)]);
                self.line.truncate(HEAD);
                self.line.shrink_to(HEAD);
            } else if !overlong {
                self.line.extend_from_slice(part);
            }
            let used = feed.map_or(part.len(), |at| at + 1);
            self.source.consume(used);
            if feed.is_some() {
                return Ok((overlong, false));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(input: &[u8], limit: usize) -> Vec<String> {
        let mut reader = LineReader::new(input, limit);
        let mut seen = Vec::new();
        while let Some(line) = reader.next().await.expect("a slice never fails") {
            seen.push(match line {
                Line::Text(text) => text.to_owned(),
                Line::Overlong(head) => format!("overlong {}", head.len()),
                Line::NotUtf8 => "not utf-8".to_owned(),
            });
        }
        seen
    }

    #[tokio::test]
    async fn lines_are_cut_at_line_feeds_and_empty_ones_skipped() {
        assert_eq!(lines(b"a\n\n\r\nbc\r\nd", 10).await, ["a", "bc", "d"]);
        assert!(lines(b"", 10).await.is_empty());
        assert!(lines(b"\n\n", 10).await.is_empty());
    }

    #[tokio::test]
    async fn the_limit_is_met_from_both_sides() {
        assert_eq!(lines(b"12345\n123456\n1234\n", 5).await, ["12345", "overlong 6", "1234"]);
        assert_eq!(lines(b"123456", 5).await, ["overlong 6"]);
    }

    #[tokio::test]
    async fn a_line_of_bytes_that_are_not_utf8_is_skipped_alone() {
        assert_eq!(lines(b"a\n\xff\xfe\nb\n", 5).await, ["a", "not utf-8", "b"]);
    }

    #[tokio::test]
    async fn an_endless_line_keeps_only_its_head() {
        let mut input = vec![b'x'; 3 * 1024 * 1024];
        input.extend_from_slice(b"\nok\n");
        let mut reader = LineReader::new(&input[..], 1024 * 1024);
        match reader.next().await.expect("a slice never fails") {
            Some(Line::Overlong(head)) => assert_eq!(head.len(), HEAD),
            other => panic!("{other:?}"),
        }
        assert!(reader.line.capacity() <= KEEP);
        assert_eq!(reader.next().await.expect("a slice never fails"), Some(Line::Text("ok")));
    }
}
