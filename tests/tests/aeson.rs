//! The escape-aware length, the writer, the encoder and the length of what is written anew against
//! aeson itself, the chat core's encoder.
#![cfg(feature = "system")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agentwire_core::chat::encode::{WireMessage, encode};
use agentwire_core::json::length::escaped_len;
use agentwire_core::json::{Value, Writer};
use agentwire_core::rpc::{NormalisedLen, RequestEnvelope, ResponseEnvelope};

const STRINGS: usize = 100_000;
const ENVELOPES: usize = 10_000;

/// What may occur in an object that makes its length a range.
#[derive(Clone, Copy)]
struct Odd {
    /// Numbers with a fraction or an exponent.
    numbers: bool,
    /// Members that occur twice.
    repeats: bool,
}

/// SplitMix64: the same strings in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound)) as u32
    }

    /// A character of one of the classes that an encoder could tell apart.
    fn character(&mut self) -> char {
        let code = match self.below(12) {
            0 => self.below(0x20),
            1 => u32::from(b"\"\\\n\r\t\x08\x0c\0"[self.below(8) as usize]),
            2 => u32::from(b"/<>&'\x7f{}"[self.below(8) as usize]),
            3 => [0x2028, 0x2029, 0xfeff, 0xfffd, 0x80, 0x9f, 0xa0, 0xd7ff][self.below(8) as usize],
            4 => 0x80 + self.below(0x780),
            5 => 0x800 + self.below(0xf800),
            6 => 0x1_0000 + self.below(0x10_0000),
            _ => 0x20 + self.below(0x5f),
        };
        // The surrogates have no character; U+E000 follows them.
        char::from_u32(code).unwrap_or('\u{e000}')
    }

    fn choose<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len() as u32) as usize]
    }

    fn white_space(&mut self) -> &'static str {
        self.choose(&["", "", "", "", " ", "\n", "\r\n\t  "])
    }

    fn digits(&mut self, most: u32) -> String {
        (0..=self.below(most)).map(|_| char::from(b'0' + self.below(10) as u8)).collect()
    }

    /// A number in one of the ways of writing one.
    fn number(&mut self, is_whole: bool) -> String {
        let mut text = String::from(self.choose(&["", "-"]));
        let whole = self.digits(30);
        let whole = whole.trim_start_matches('0');
        text += if whole.is_empty() || self.below(3) == 0 { "0" } else { whole };
        if is_whole {
            return text;
        }
        if self.below(2) == 0 {
            text = text + "." + self.choose(&["", "", "0", "000000000"]) + &self.digits(20);
            text += self.choose(&["", "0", "000"]);
        }
        if self.below(2) == 0 {
            text += self.choose(&["e", "E", "e+", "e-", "E+00", "E-00"]);
            text += &match self.below(8) {
                0 => (1_000 + self.below(50)).to_string(),
                1 => self.below(2_000).to_string(),
                2 => self.below(400_000_000).to_string(),
                // Past 64 bits, and a little more than a multiple of 2^64.
                3 => format!("18446744073709{}", 551_616 + self.below(1_100)),
                4 => self.choose(&["9223372036854775807", "9223372036854775808"]).into(),
                _ => self.below(30).to_string(),
            };
        }
        text
    }

    /// A string as JSON text, some of its characters escaped.
    fn quoted(&mut self) -> String {
        let escapes = self.below(3) == 0;
        let mut text = String::from("\"");
        for char in self.string().chars().take(60) {
            if char < ' ' || "\"\\".contains(char) || (escapes && self.below(3) == 0) {
                for unit in char.encode_utf16(&mut [0; 2]) {
                    text += &match *unit {
                        0x0a => String::from("\\n"),
                        0x08 => String::from("\\b"),
                        0x2f => String::from("\\/"),
                        unit if self.below(2) == 0 => format!("\\u{unit:04X}"),
                        unit => format!("\\u{unit:04x}"),
                    };
                }
            } else {
                text.push(char);
            }
        }
        text + "\""
    }

    /// What may be in a value besides what has one length only.
    fn value(&mut self, depth: u32, odd: Odd) -> String {
        let value = match self.below(if depth == 0 { 4 } else { 7 }) {
            0 => self.choose(&["null", "true", "false", "[]", "{}", "[ ]", "{\n}"]).into(),
            1 => {
                let is_whole = !odd.numbers || self.below(4) != 0;
                self.number(is_whole)
            }
            2 | 3 => self.quoted(),
            4 => {
                let elements: Vec<String> =
                    (0..self.below(5)).map(|_| self.value(depth - 1, odd)).collect();
                format!("[{}]", elements.join(","))
            }
            _ => self.object(depth - 1, odd),
        };
        self.white_space().to_owned() + &value + self.white_space()
    }

    fn object(&mut self, depth: u32, odd: Odd) -> String {
        let mut names = BTreeSet::new();
        let mut members = Vec::new();
        for _ in 0..self.below(7) {
            let name = if self.below(2) == 0 {
                self.choose(&["\"a\"", "\"\\u0061\"", "\"b\"", "\"\"", "\"jsonrpc\""]).into()
            } else {
                self.quoted()
            };
            let meaning: String = serde_json::from_str(&name).expect("a string");
            if names.insert(meaning) || odd.repeats {
                let space = self.white_space();
                members.push(format!("{space}{name}{space}:{}", self.value(depth, odd)));
            }
        }
        format!("{{{}}}", members.join(","))
    }

    /// A request or a response.
    fn envelope(&mut self, odd: Odd) -> String {
        let mut buffer = vec![0; 1 << 20];
        let message = self.value(4, odd);
        let text = if self.below(2) == 0 {
            let version = (self.below(3) == 0).then(|| self.value(1, odd));
            let protocol = self.string();
            RequestEnvelope::write(&mut buffer, &protocol, version.as_deref(), None, &message)
        } else {
            ResponseEnvelope::write(&mut buffer, &message)
        };
        text.expect("room").to_owned()
    }

    fn string(&mut self) -> String {
        let length = match self.below(100) {
            0 => self.below(2_000),
            1..10 => self.below(200),
            _ => self.below(24),
        };
        (0..length).map(|_| self.character()).collect()
    }
}

/// The compiled program that encodes with aeson. Each test has its own, for they run side by side.
fn program(test: &str) -> PathBuf {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aeson").join(test);
    fs::create_dir_all(&build).expect("a directory for the build");
    let program = build.join("encode");
    let compiler = Command::new("ghc")
        .args(["-v0", "-O", "-Wall", "-outputdir"])
        .arg(&build)
        .arg("-o")
        .arg(&program)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("aeson/Encode.hs"))
        .output()
        .unwrap_or_else(|error| {
            panic!("ghc is missing ({error}): install Debian's ghc and libghc-aeson-dev")
        });
    assert!(
        compiler.status.success(),
        "ghc failed; is libghc-aeson-dev installed?\n{}",
        String::from_utf8_lossy(&compiler.stderr)
    );
    program
}

/// What the program writes for these inputs: frames. `work` says what it does with them.
fn run(work: &str, inputs: &[String]) -> Vec<u8> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("aeson-{work}"));
    let frames: Vec<u8> = inputs
        .iter()
        .flat_map(|input| {
            let header = u32::try_from(input.len()).expect("short").to_be_bytes();
            header.into_iter().chain(input.bytes())
        })
        .collect();
    fs::write(&file, frames).expect("writable");
    let output = Command::new(program(work))
        .arg(work)
        .stdin(File::open(&file).expect("readable"))
        .stderr(Stdio::inherit())
        .output()
        .expect("runs");
    assert!(output.status.success());
    output.stdout
}

/// Takes the first frame off: its length (32 bits, big endian), then its bytes.
fn next_frame<'b>(bytes: &mut &'b [u8]) -> &'b [u8] {
    let (header, rest) = bytes.split_first_chunk().expect("a frame's length");
    let (frame, rest) = rest.split_at(u32::from_be_bytes(*header) as usize);
    *bytes = rest;
    frame
}

#[test]
fn aeson_agrees_on_100_000_strings() {
    let mut random = Random(15_602);
    let mut strings: Vec<String> = (0..=u8::MAX).map(|byte| char::from(byte).into()).collect();
    strings.extend((strings.len()..STRINGS).map(|_| random.string()));

    let output = run("strings", &strings);
    let mut encoded = output.as_slice();
    for (index, string) in strings.iter().enumerate() {
        let expected = next_frame(&mut encoded);
        assert_eq!(escaped_len(string) + 2, expected.len(), "string {index}: {string:?}");
        let mut buffer = vec![0; expected.len()];
        let mut writer = Writer::new(&mut buffer);
        writer.string(string);
        let written = writer.finish().expect("room for what aeson needs");
        assert_eq!(written.as_bytes(), expected, "string {index}: {string:?}");
        let message = encode(&WireMessage::new("", string));
        let text = message
            .split_once("\"content\":{\"text\":")
            .and_then(|(_, rest)| rest.strip_suffix(",\"type\":\"text\"}}}"))
            .expect("a text message");
        assert_eq!(text.as_bytes(), expected, "string {index}: {string:?}");
    }
    assert!(encoded.is_empty(), "frames left over");
}

#[test]
fn aeson_writes_10_000_envelopes_anew_in_a_length_of_the_range() {
    let mut random = Random(11_106);
    let envelopes: Vec<String> = (0..ENVELOPES)
        .map(|place| {
            let odd = Odd { numbers: place % 4 == 1, repeats: place % 4 == 2 };
            random.envelope(odd)
        })
        .collect();
    let output = run("objects", &envelopes);
    let mut encoded = output.as_slice();
    let (mut exact, mut ranges, mut least_spare) = (0, 0, usize::MAX);
    for (place, envelope) in envelopes.iter().enumerate() {
        let written = next_frame(&mut encoded).len();
        let len = NormalisedLen::of(Value::parse(envelope).expect("JSON"));
        let range = len.min..=len.max;
        assert!(range.contains(&written), "{place}: {written} is not in {range:?}: {envelope}");
        if len.min == len.max {
            exact += 1;
        } else {
            assert!(place % 4 == 1 || place % 4 == 2, "{place}: {range:?}: {envelope}");
            ranges += 1;
            least_spare = least_spare.min(len.max - written);
        }
    }
    assert!(encoded.is_empty(), "frames left over");
    // Neither is rare, and the upper end is no further away than it has to be.
    assert!(exact > ENVELOPES / 2 && ranges > ENVELOPES / 20, "{exact} exact, {ranges} ranges");
    assert!(least_spare <= 2, "{least_spare} bytes to spare at least");
}
