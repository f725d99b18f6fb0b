//! Canonical JSON (RFC 8785): `cases` with an `input` and its `canonical` form, or `reject`; and
//! doubles by their bits with the text that each must have, in `appendix_b` and `numbers`.
//!
//! A canonical form is its own canonical form.

use agentwire_core::json::canonical::jcs;
use serde_json::{Map, Value};

use super::{Document, Format, Report, optional, required};

pub(super) const FORMAT: Format = Format {
    name: "canonical JSON",
    mark: "an object with `cases` and `appendix_b`",
    matches: |document| document.has_members(&["cases", "appendix_b"]),
    run,
};

fn run(document: &Document) -> Report {
    let members = ["id", "description", "input", "canonical", "reject"];
    let mut report = super::run_cases(document, &members, check);
    let Document::Json(file) = document else { return report };
    for list in ["appendix_b", "numbers"] {
        for (index, case) in file[list].as_array().into_iter().flatten().enumerate() {
            let wrong = match case.as_object().ok_or("not an object".into()).and_then(number) {
                Ok(wrong) => wrong,
                Err(malformed) => vec![malformed],
            };
            report.add(&format!("{list} {index}"), &wrong);
        }
    }
    report
}

fn check(case: &Map<String, Value>) -> Result<Vec<String>, String> {
    let input = required(case, "input", Value::as_str)?;
    if optional(case, "reject", Value::as_bool)? == Some(true) {
        return Ok(if jcs(input).is_ok() { vec!["accepted, wrongly".into()] } else { vec![] });
    }
    let canonical = required(case, "canonical", Value::as_str)?;
    let mut wrong = Vec::new();
    for (what, text) in [("canonical", input), ("canonical of the canonical form", canonical)] {
        match jcs(text) {
            Ok(made) if made == canonical => {}
            Ok(made) => wrong.push(format!("{what}: is {made}")),
            Err(error) => wrong.push(format!("{what}: refused, wrongly: {error}")),
        }
    }
    Ok(wrong)
}

/// A double, written in the two ways in which a reader may meet it: with the 17 digits that tell
/// any two apart, and in its canonical form.
fn number(case: &Map<String, Value>) -> Result<Vec<String>, String> {
    let bits = required(case, "ieee754", Value::as_str)?;
    let bits = u64::from_str_radix(bits, 16).map_err(|_| "ieee754: not hexadecimal")?;
    let value = f64::from_bits(bits);
    if optional(case, "reject", Value::as_bool)? == Some(true) {
        // JSON has no such numbers: the text that Rust gives them is none.
        let refused = jcs(&format!("{value:?}")).is_err() && !value.is_finite();
        return Ok(if refused { vec![] } else { vec!["accepted, wrongly".into()] });
    }
    let canonical = required(case, "canonical", Value::as_str)?;
    let mut wrong = Vec::new();
    for text in [format!("{value:.16e}"), canonical.to_owned()] {
        match jcs(&text) {
            Ok(made) if made == canonical => {}
            Ok(made) => wrong.push(format!("{text}: is {made}")),
            Err(error) => wrong.push(format!("{text}: refused, wrongly: {error}")),
        }
    }
    Ok(wrong)
}
