//! Words that are looked for, however they are written.

use crate::json::Str;

/// The longest name or state that is looked for: `TASK_STATE_INPUT_REQUIRED`.
pub(super) const LONGEST: usize = 25;

/// What a string means, where that can be one of the words that are looked for; `scratch` holds it
/// if it is written with escapes.
pub(super) fn plain<'w>(text: Str<'w>, scratch: &'w mut [u8; LONGEST]) -> &'w str {
    match text.as_plain() {
        Some(plain) => plain,
        None => text.decode(scratch).unwrap_or_default(),
    }
}

/// Whether a member's name is this one, in either spelling of ProtoJSON: `taskId` or `task_id`.
pub(crate) fn is_field(name: Str<'_>, camel: &str) -> bool {
    name == *camel || spelling(name, camel) == Some(Spelling::Snake)
}

/// How a member's name is spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `taskId`
    Camel,
    /// `task_id`
    Snake,
}

/// In which spelling a member's name is `camel`, if it is.
pub(super) fn spelling(name: Str<'_>, camel: &str) -> Option<Spelling> {
    if name == *camel {
        return Some(Spelling::Camel);
    }
    let mut written = name.chars();
    for char in camel.chars() {
        if char.is_ascii_uppercase() && written.next() != Some('_') {
            return None;
        }
        if written.next() != Some(char.to_ascii_lowercase()) {
            return None;
        }
    }
    written.next().is_none().then_some(Spelling::Snake)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;
    use std::format;

    #[test]
    fn a_name_has_two_spellings() {
        let spelling = |name: &str, camel| {
            let text = format!("\"{name}\"");
            spelling(Value::parse(&text).unwrap().as_str().unwrap(), camel)
        };
        assert!(spelling("contextId", "contextId") == Some(Spelling::Camel));
        assert!(spelling("context_id", "contextId") == Some(Spelling::Snake));
        assert!(spelling("cont\\u0065xt_id", "contextId") == Some(Spelling::Snake));
        assert!(spelling("oauth2_security_scheme", "oauth2SecurityScheme").is_some());
        for other in ["contextid", "context_Id", "_context_id", "context_id_", "context", ""] {
            assert!(spelling(other, "contextId").is_none(), "{other}");
        }
    }
}
