//! The escape-aware length, the writer and the encoder against aeson itself, the chat core's encoder.
#![cfg(feature = "system")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agentwire_core::chat::encode::{WireMessage, encode};
use agentwire_core::json::Writer;
use agentwire_core::json::length::escaped_len;

const STRINGS: usize = 100_000;

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

    fn string(&mut self) -> String {
        let length = match self.below(100) {
            0 => self.below(2_000),
            1..10 => self.below(200),
            _ => self.below(24),
        };
        (0..length).map(|_| self.character()).collect()
    }
}

/// The compiled program that encodes with aeson.
fn program() -> PathBuf {
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aeson");
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

    let input = Path::new(env!("CARGO_TARGET_TMPDIR")).join("aeson-strings");
    let frames: Vec<u8> = strings
        .iter()
        .flat_map(|string| {
            let header = u32::try_from(string.len()).expect("short").to_be_bytes();
            header.into_iter().chain(string.bytes())
        })
        .collect();
    fs::write(&input, frames).expect("writable");
    let output = Command::new(program())
        .stdin(File::open(&input).expect("readable"))
        .stderr(Stdio::inherit())
        .output()
        .expect("runs");
    assert!(output.status.success());

    let mut encoded = output.stdout.as_slice();
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
