//! JSON made from bytes: white space, escapes and duplicates anywhere the grammar allows them, and
//! once in eight times one byte that is wrong.

use alloc::string::String;
use alloc::vec::Vec;

use arbitrary::{Result, Unstructured};

/// The names and values that a kind of message uses, so that the made ones often have them.
pub(super) struct Vocabulary {
    pub(super) names: &'static [&'static str],
    /// JSON texts.
    pub(super) values: &'static [&'static str],
}

/// A text made from bytes.
pub(super) struct Generator<'a, 'u> {
    pub(super) bytes: &'a mut Unstructured<'u>,
    pub(super) words: &'a Vocabulary,
    pub(super) out: String,
}

impl<'a, 'u> Generator<'a, 'u> {
    pub(super) fn new(bytes: &'a mut Unstructured<'u>, words: &'a Vocabulary) -> Self {
        Self { bytes, words, out: String::new() }
    }

    /// Makes a value.
    pub(super) fn value(&mut self, depth: u8) -> Result<()> {
        self.white_space()?;
        match self.bytes.int_in_range(0..=11)? {
            0 | 1 if depth > 0 => self.object(depth - 1)?,
            2 if depth > 0 => self.array(depth - 1)?,
            3 if depth > 0 => self.tower()?,
            4 => self.out.push_str(self.bytes.choose(&["null", "true", "false"])?),
            5 | 6 => self.number()?,
            7 => self.string()?,
            _ if !self.words.values.is_empty() => {
                self.out.push_str(self.bytes.choose(self.words.values)?);
            }
            _ => self.string()?,
        }
        self.white_space()
    }

    /// Makes an object.
    pub(super) fn object(&mut self, depth: u8) -> Result<()> {
        self.out.push('{');
        for place in 0..self.bytes.int_in_range(0..=6)? {
            if place > 0 {
                self.out.push(',');
            }
            self.white_space()?;
            self.name()?;
            self.white_space()?;
            self.out.push(':');
            self.value(depth)?;
        }
        self.white_space()?;
        self.out.push('}');
        Ok(())
    }

    fn array(&mut self, depth: u8) -> Result<()> {
        self.out.push('[');
        for place in 0..self.bytes.int_in_range(0..=4)? {
            if place > 0 {
                self.out.push(',');
            }
            self.value(depth)?;
        }
        self.white_space()?;
        self.out.push(']');
        Ok(())
    }

    /// Containers inside each other, around the limit of depth.
    fn tower(&mut self) -> Result<()> {
        let height = self.bytes.int_in_range(0..=140)?;
        let mut ends = Vec::new();
        for _ in 0..height {
            let object = self.bytes.arbitrary()?;
            self.out.push_str(if object { "{\"a\":" } else { "[" });
            ends.push(if object { '}' } else { ']' });
        }
        self.out.push('0');
        self.out.extend(ends.iter().rev());
        Ok(())
    }

    fn white_space(&mut self) -> Result<()> {
        let blanks = ["", "", "", " ", "\n", "\r\n\t ", "  "];
        self.out.push_str(self.bytes.choose(&blanks)?);
        Ok(())
    }

    fn name(&mut self) -> Result<()> {
        let names = self.words.names;
        if names.is_empty() || self.bytes.ratio(1, 4)? {
            return self.string();
        }
        let name = *self.bytes.choose(names)?;
        self.quoted(name)
    }

    fn string(&mut self) -> Result<()> {
        let text: String = self.bytes.arbitrary()?;
        let end = text.char_indices().nth(40).map_or(text.len(), |(at, _)| at);
        self.quoted(&text[..end])
    }

    /// A string that means `text`, with some of it escaped in one of the ways there are.
    pub(super) fn quoted(&mut self, text: &str) -> Result<()> {
        let escapes = self.bytes.ratio(1, 4)?;
        self.out.push('"');
        for char in text.chars() {
            let short = match char {
                '"' => "\\\"",
                '\\' => "\\\\",
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                '\u{8}' => "\\b",
                '\u{c}' => "\\f",
                '/' if escapes => "\\/",
                _ => "",
            };
            if !short.is_empty() && (!escapes || self.bytes.arbitrary()?) {
                self.out.push_str(short);
            } else if char < ' ' || !short.is_empty() || (escapes && self.bytes.ratio(1, 3)?) {
                let upper = self.bytes.arbitrary()?;
                for unit in char.encode_utf16(&mut [0; 2]) {
                    let escape = if upper {
                        alloc::format!("\\u{unit:04X}")
                    } else {
                        alloc::format!("\\u{unit:04x}")
                    };
                    self.out.push_str(&escape);
                }
            } else {
                self.out.push(char);
            }
        }
        // Half of a pair now and then.
        if escapes && self.bytes.ratio(1, 16)? {
            self.out.push_str(self.bytes.choose(&["\\ud83d", "\\ude00", "\\ud83d\\u0041"])?);
        }
        self.out.push('"');
        Ok(())
    }

    pub(super) fn number(&mut self) -> Result<()> {
        if self.bytes.arbitrary()? {
            self.out.push('-');
        }
        let known =
            ["0", "7", "9223372036854775807", "9223372036854775808", "100", "18446744073709551616"];
        if self.bytes.arbitrary()? {
            self.out.push_str(self.bytes.choose(&known)?);
        } else {
            let number: u64 = self.bytes.arbitrary()?;
            self.out.push_str(&alloc::format!("{number}"));
        }
        if self.bytes.ratio(1, 3)? {
            let fractions = [".0", ".5", ".000", ".120", ".00000000000000000001"];
            self.out.push_str(self.bytes.choose(&fractions)?);
        }
        if self.bytes.ratio(1, 3)? {
            self.out.push_str(self.bytes.choose(&["e", "E", "e+", "e-", "E-00"])?);
            let exponent = match self.bytes.int_in_range(0..=9)? {
                0 => "99999999999999999999999999999999999999999999",
                1 => "2147483648",
                _ => "",
            };
            self.out.push_str(exponent);
            let digits: u8 = self.bytes.int_in_range(0..=30)?;
            self.out.push_str(&alloc::format!("{digits}"));
        }
        Ok(())
    }

    /// The text, once in eight times with one byte that is not what it was.
    pub(super) fn finish(self) -> Result<Vec<u8>> {
        let mut bytes = self.out.into_bytes();
        if !bytes.is_empty() && self.bytes.ratio(1, 8)? {
            let at = self.bytes.choose_index(bytes.len())?;
            match self.bytes.int_in_range(0..=2)? {
                0 => bytes[at] = self.bytes.arbitrary()?,
                1 => bytes.insert(at, self.bytes.arbitrary()?),
                _ => {
                    bytes.remove(at);
                }
            }
        }
        Ok(bytes)
    }
}
