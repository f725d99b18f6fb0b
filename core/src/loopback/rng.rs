//! The stand-in's own randomness: SplitMix64, seeded once.

use alloc::string::String;

/// SplitMix64 (Steele, Lea and Flood, 2014): the whole state is one counter, so that equal seeds
/// give equal runs on every machine.
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `last`, both included.
    pub(super) const fn up_to(&mut self, last: u64) -> u64 {
        let random = self.next();
        match last.checked_add(1) {
            // The upper half of a product of two 64-bit numbers, which 128 bits hold.
            Some(count) => ((random as u128).wrapping_mul(count as u128) >> 64) as u64,
            None => random,
        }
    }

    /// True `per_mille` times in a thousand. A rate of zero draws nothing.
    pub(super) const fn chance(&mut self, per_mille: u16) -> bool {
        per_mille > 0 && self.up_to(999) < per_mille as u64
    }

    /// An identifier as the core makes them: twelve random bytes in base64, and these sixteen
    /// characters in base64url again, which gives 24 that end in `==`.
    pub(super) fn text_id(&mut self) -> String {
        let mut bytes = [0; 12];
        for chunk in bytes.chunks_mut(8) {
            let random = self.next().to_le_bytes();
            for (byte, random) in chunk.iter_mut().zip(random) {
                *byte = random;
            }
        }
        id(&bytes)
    }

    /// So many random bytes in base64url without padding: what stands for a key in a link.
    pub(super) fn key(&mut self, len: usize) -> String {
        let bytes: alloc::vec::Vec<u8> = (0..len).map(|_| self.up_to(255) as u8).collect();
        let mut text = base64(&bytes, b'-', b'_');
        text.truncate(text.trim_end_matches('=').len());
        text
    }
}

/// Twelve bytes in base64, and that once more: how the core writes ids that are text themselves.
fn id(bytes: &[u8; 12]) -> String {
    base64(base64(bytes, b'+', b'/').as_bytes(), b'-', b'_')
}

/// A number in the form of an identifier.
pub(super) fn text_id_of(number: u64) -> String {
    let mut bytes = [0; 12];
    for (byte, of_number) in bytes.iter_mut().zip(number.to_be_bytes()) {
        *byte = of_number;
    }
    id(&bytes)
}

fn base64(bytes: &[u8], sign_62: u8, sign_63: u8) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        for (slot, byte) in group.iter_mut().zip(chunk) {
            *slot = *byte;
        }
        let [a, b, c] = group;
        let digits = [a >> 2, (a & 3) << 4 | b >> 4, (b & 15) << 2 | c >> 6, c & 63];
        for (place, digit) in digits.into_iter().enumerate() {
            let sign = match digit {
                _ if place > chunk.len() => b'=',
                0..26 => b'A'.saturating_add(digit),
                26..52 => b'a'.saturating_add(digit.saturating_sub(26)),
                52..62 => b'0'.saturating_add(digit.saturating_sub(52)),
                62 => sign_62,
                _ => sign_63,
            };
            out.push(char::from(sign));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // The published outputs for the seed 1234567.
        let mut rng = Rng::new(1_234_567);
        let outputs = [rng.next(), rng.next(), rng.next()];
        assert_eq!(
            outputs,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (plain, encoded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes(), b'+', b'/'), encoded);
        }
        assert_eq!(base64(&[0xfb, 0xff], b'-', b'_'), "-_8=");
    }

    #[test]
    fn an_identifier_has_24_characters_and_ends_in_two_equals_signs() {
        let mut rng = Rng::new(0);
        for _ in 0..100 {
            let id = rng.text_id();
            assert_eq!(id.len(), 24);
            assert!(id.ends_with("=="), "{id}");
        }
    }

    #[test]
    fn a_chance_is_met_about_as_often_as_it_says() {
        let mut rng = Rng::new(7);
        let met = (0..10_000).filter(|_| rng.chance(250)).count();
        assert!((2_300..2_700).contains(&met), "{met}");
        assert!(!rng.chance(0));
        assert!(rng.chance(1_000));
        assert_eq!(rng.up_to(0), 0);
        rng.up_to(u64::MAX);
    }
}
