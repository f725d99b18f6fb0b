//! JSON as `serde_json` reads it, and numbers in decimal.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The members of an object in their order, duplicates included.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// The value without white space around it, if the grammar allows it.
pub(super) fn value(text: &str) -> Option<&str> {
    serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get)
}

/// The members of an object, each with its name's meaning and its value's text.
pub(super) fn members(text: &str) -> Option<Vec<(String, &str)>> {
    let Members(members) = serde_json::from_str(text).ok()?;
    Some(members.into_iter().map(|(name, value)| (name, value.get())).collect())
}

/// The texts of an array's elements.
pub(super) fn elements(text: &str) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

/// What a string means.
pub(super) fn string(text: &str) -> Option<String> {
    serde_json::from_str(text).ok()
}

/// All values with this name.
pub(super) fn all<'a>(members: &[(String, &'a str)], name: &str) -> Vec<&'a str> {
    members.iter().filter(|(other, _)| other == name).map(|(_, value)| *value).collect()
}

/// The value with this name, if there is exactly one.
pub(super) fn one<'a>(members: &[(String, &'a str)], name: &str) -> Option<&'a str> {
    let all = all(members, name);
    if all.len() == 1 { Some(all[0]) } else { None }
}

/// A number in decimal: its digits without zeros at either end, and the power of ten of the last.
pub(super) struct Decimal {
    negative: bool,
    digits: String,
    power: i128,
}

impl Decimal {
    /// Reads the text of a number.
    pub(super) fn parse(number: &str) -> Self {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let mut power = exponent.trim_start_matches('+').parse::<i128>().unwrap_or_else(|_| {
            // Too long for an `i128`, and so as good as infinite.
            if exponent.starts_with('-') { i128::MIN / 4 } else { i128::MAX / 4 }
        });
        let negative = mantissa.starts_with('-');
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        power -= fraction.len() as i128;
        let all = alloc::format!("{}{fraction}", whole.trim_start_matches('-'));
        let digits = all.trim_start_matches('0').trim_end_matches('0');
        power += (all.len() - all.trim_end_matches('0').len()) as i128;
        if digits.is_empty() {
            power = 0;
        }
        Self { negative, digits: digits.into(), power }
    }

    /// Whether it has no fractional part.
    pub(super) fn is_integral(&self) -> bool {
        self.power >= 0
    }

    /// The integer, if an `i64` holds it.
    pub(super) fn integer(&self) -> Option<i64> {
        if self.digits.is_empty() {
            return Some(0);
        }
        if self.power < 0 || self.power + self.digits.len() as i128 > 19 {
            return None;
        }
        let size = self.digits.parse::<i128>().ok()? * 10_i128.pow(self.power as u32);
        i64::try_from(if self.negative { -size } else { size }).ok()
    }
}
