//! Writing into a buffer that the caller owns.

use core::fmt;

use super::string::first_special;
use super::{BufferTooSmall, Value};

/// Writes JSON text into a caller-owned buffer.
///
/// When the buffer is short the writer goes on counting, so [`finish`](Writer::finish) can say
/// how much space the whole output takes. It writes what it is told: the caller places commas
/// and brackets with [`raw`](Writer::raw), the writer does the quoting and escaping.
///
/// Strings are escaped as the SimpleX core's encoder escapes them: `\"`, `\\`, `\n`, `\r`, `\t`
/// in two bytes, other control characters as `\u00xx`, everything else as it is.
///
/// ```
/// use agentwire_core::json::Writer;
///
/// let mut buffer = [0; 64];
/// let mut writer = Writer::new(&mut buffer);
/// writer.raw("{\"code\":").int(-32603).raw(",\"message\":").string("line\nbreak").raw("}");
/// assert_eq!(writer.finish().unwrap(), r#"{"code":-32603,"message":"line\nbreak"}"#);
/// ```
#[derive(Debug)]
pub struct Writer<'o> {
    out: &'o mut [u8],
    needed: usize,
}

impl<'o> Writer<'o> {
    /// A writer that starts at the beginning of `out`.
    pub fn new(out: &'o mut [u8]) -> Self {
        Self { out, needed: 0 }
    }

    /// Appends `text` as it is.
    #[inline]
    pub fn raw(&mut self, text: &str) -> &mut Self {
        let end = self.needed.saturating_add(text.len());
        if let Some(target) = self.out.get_mut(self.needed..end) {
            target.copy_from_slice(text.as_bytes());
        }
        self.needed = end;
        self
    }

    /// Appends a value that is already JSON text.
    pub fn value(&mut self, value: Value<'_>) -> &mut Self {
        self.raw(value.get())
    }

    /// Appends a value that is already JSON text, without the white space between its values.
    ///
    /// ```
    /// use agentwire_core::json::{Value, Writer};
    /// let mut buffer = [0; 16];
    /// let mut writer = Writer::new(&mut buffer);
    /// writer.compact(Value::parse("{ \"a b\" : [ 1 ] }").unwrap());
    /// assert_eq!(writer.finish().unwrap(), r#"{"a b":[1]}"#);
    /// ```
    pub fn compact(&mut self, value: Value<'_>) -> &mut Self {
        compact(value.get(), |piece| {
            self.raw(piece);
        });
        self
    }

    /// Appends `text` as a JSON string: quoted and escaped.
    pub fn string(&mut self, text: &str) -> &mut Self {
        self.raw("\"").escaped(text).raw("\"")
    }

    /// Appends `text` escaped, without the quotes: for a string that is made of pieces.
    pub fn escaped(&mut self, text: &str) -> &mut Self {
        escape(text, |piece| {
            self.raw(piece);
        });
        self
    }

    /// Appends an integer.
    pub fn int(&mut self, number: i64) -> &mut Self {
        let mut digits = [0; INT_LEN];
        self.raw(int(number, &mut digits))
    }

    /// Bytes that all that was appended takes, whether it fitted or not.
    pub fn needed(&self) -> usize {
        self.needed
    }

    /// The finished text.
    ///
    /// # Errors
    /// [`BufferTooSmall`] with the space that the whole text needs.
    pub fn finish(self) -> Result<&'o str, BufferTooSmall> {
        let error = BufferTooSmall { needed: self.needed, capacity: self.out.len() };
        let written = self.out.get(..self.needed).ok_or(error)?;
        // Only whole strings were copied, so the bytes are UTF-8.
        core::str::from_utf8(written).map_err(|_| error)
    }
}

/// Takes everything, as [`raw`](Writer::raw) does: where there is no room it goes on counting.
impl fmt::Write for Writer<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.raw(text);
        Ok(())
    }
}

/// What `write` writes, as a text of its own. It is called twice: once to learn the length.
///
/// ```
/// use agentwire_core::json;
/// assert_eq!(json::to_text(|out| { out.raw("[").int(7).raw("]"); }), "[7]");
/// ```
#[cfg(feature = "alloc")]
pub fn to_text(write: impl Fn(&mut Writer<'_>)) -> alloc::string::String {
    let mut counter = Writer::new(&mut []);
    write(&mut counter);
    let mut bytes = alloc::vec![0; counter.needed()];
    write(&mut Writer::new(&mut bytes));
    // Only whole strings were written, into a buffer of their length.
    alloc::string::String::from_utf8(bytes).unwrap_or_default()
}

/// As [`to_text`], through a buffer that is kept for the next one: nearly always `write` is called
/// once then.
#[cfg(feature = "alloc")]
pub(crate) fn to_text_through(
    buffer: &mut alloc::vec::Vec<u8>,
    write: impl Fn(&mut Writer<'_>),
) -> alloc::string::String {
    let mut writer = Writer::new(buffer);
    write(&mut writer);
    let needed = writer.needed();
    if needed > buffer.len() {
        buffer.resize(needed, 0);
        write(&mut Writer::new(buffer));
    }
    let written = buffer.get(..needed).unwrap_or_default();
    // Only whole strings were written.
    core::str::from_utf8(written).unwrap_or_default().into()
}

/// Shows a JSON text in pieces, without the white space between its values. A text that is no JSON
/// loses what would be white space there.
///
/// ```
/// use agentwire_core::json;
/// let mut line = String::new();
/// json::compact("{ \"a b\" :\n[ 1 ] }", |piece| line.push_str(piece));
/// assert_eq!(line, r#"{"a b":[1]}"#);
/// ```
pub fn compact<'t>(text: &'t str, mut show: impl FnMut(&'t str)) {
    let (mut from, mut in_string, mut is_escaped) = (0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\t' | b'\n' | b'\r' if !in_string => {
                show(text.get(from..at).unwrap_or_default());
                from = at.saturating_add(1);
            }
            _ => {}
        }
    }
    show(text.get(from..).unwrap_or_default());
}

/// Shows `text` as it stands inside a JSON string: the clean pieces as they are, the escapes
/// between them.
pub(crate) fn escape(text: &str, mut show: impl FnMut(&str)) {
    let mut rest = text;
    loop {
        let special = first_special(rest.as_bytes());
        // What is escaped is one ASCII byte, so there are character boundaries beside it.
        show(rest.get(..rest.len().saturating_sub(special.len())).unwrap_or_default());
        let [byte, unread @ ..] = special else { return };
        let mut unicode = *b"\\u00xx";
        show(match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            _ => {
                let digits = [hex(byte >> 4), hex(byte & 15)];
                unicode[4..].copy_from_slice(&digits);
                core::str::from_utf8(&unicode).unwrap_or_default()
            }
        });
        rest = rest.get(rest.len().saturating_sub(unread.len())..).unwrap_or_default();
    }
}

/// Writes `text` as a JSON string: quoted and escaped.
#[inline]
pub(crate) fn write_string(out: &mut impl fmt::Write, text: &str) -> fmt::Result {
    out.write_str("\"")?;
    let mut result = Ok(());
    escape(text, |piece| {
        if result.is_ok() {
            result = out.write_str(piece);
        }
    });
    result?;
    out.write_str("\"")
}

/// The longest integer: 19 digits and a sign.
pub(crate) const INT_LEN: usize = 20;

/// An integer as it is written, in a buffer that is lent for it.
pub(crate) fn int(number: i64, buffer: &mut [u8; INT_LEN]) -> &str {
    let mut start = buffer.len();
    let mut rest = number.unsigned_abs();
    let mut put = |byte: u8| {
        start = start.wrapping_sub(1);
        if let Some(slot) = buffer.get_mut(start) {
            *slot = byte;
        }
    };
    loop {
        put(b'0'.wrapping_add((rest % 10) as u8));
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        put(b'-');
    }
    buffer.get(start..).and_then(|text| core::str::from_utf8(text).ok()).unwrap_or_default()
}

pub(super) fn hex(digit: u8) -> u8 {
    if digit < 10 { b'0'.wrapping_add(digit) } else { b'a'.wrapping_add(digit.wrapping_sub(10)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl Fn(&mut Writer<'_>)) -> std::string::String {
        let mut buffer = [0; 256];
        let mut writer = Writer::new(&mut buffer);
        write(&mut writer);
        writer.finish().unwrap().into()
    }

    #[cfg(feature = "alloc")]
    #[test]
    fn a_buffer_that_is_kept_grows_with_what_is_written() {
        let mut buffer = alloc::vec::Vec::new();
        for (text, len) in [("ab", 4), ("a", 4), ("\"", 4), ("abc", 5), ("", 5)] {
            let written = to_text_through(&mut buffer, |out| {
                out.string(text);
            });
            assert_eq!(
                (written, buffer.len()),
                (
                    to_text(|out| {
                        out.string(text);
                    }),
                    len
                )
            );
        }
    }

    #[test]
    fn every_escape_class() {
        let text = written(|w| {
            w.string("a\"\\\n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}/é\u{2028}😀");
        });
        assert_eq!(text, "\"a\\\"\\\\\\n\\r\\t\\u0008\\u000c\\u0000\\u001f\u{7f}/é\u{2028}😀\"");
    }

    #[test]
    fn integers_at_the_ends_of_their_range() {
        for number in [0, 7, -1, -32603, i64::MAX, i64::MIN] {
            assert_eq!(
                written(|w| {
                    w.int(number);
                }),
                std::format!("{number}")
            );
        }
    }

    #[test]
    fn a_buffer_one_short_says_how_much_is_needed() {
        for size in 0..7 {
            let mut buffer = [0; 7];
            let mut writer = Writer::new(&mut buffer[..size]);
            writer.string("h\tlo");
            let error = writer.finish().unwrap_err();
            assert_eq!((error.needed, error.capacity), (7, size));
        }
        let mut buffer = [0; 7];
        let mut writer = Writer::new(&mut buffer);
        writer.string("h\tlo");
        assert_eq!(writer.finish().unwrap(), "\"h\\tlo\"");
    }
}
