//! Tokens that clients of a server here have to show.

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};

/// Whether a request shows this token (RFC 6750, section 2.1).
pub(crate) fn shows_token(headers: &HeaderMap, token: &str) -> bool {
    let shown = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
    let scheme = shown.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer "));
    scheme && same(shown.get(7..).unwrap_or_default(), token.as_bytes())
}

/// Whether both are the same, in a time that does not depend on where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    let differ = a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b));
    a.len() == b.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_whole_or_not_at_all() {
        let shows = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, HeaderValue::from_static(text));
            shows_token(&headers, "canary")
        };
        assert!(shows("Bearer canary") && shows("bearer canary"));
        for wrong in
            ["canary", "Bearer", "Bearer ", "Bearer canar", "Bearer canaryx", "Basic canary"]
        {
            assert!(!shows(wrong), "{wrong}");
        }
        assert!(!shows_token(&HeaderMap::new(), "canary"));
    }
}
