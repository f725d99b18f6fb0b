//! The card, and what of it a client need not fetch again (A2A 1.0 section 8.6, RFC 9110 section
//! 13).

use core::hash::{Hash as _, Hasher as _};
use core::time::Duration;
use std::hash::DefaultHasher;
use std::time::SystemTime;

use agentwire_core::a2a::write_gateway_card;
use agentwire_core::json::{Object, to_text};
use hyper::header::{
    CACHE_CONTROL, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    LAST_MODIFIED,
};
use hyper::{Method, Response, StatusCode};

use super::body::{self, Answer};

/// How long a client may take the card to be as it was.
const MAX_AGE: &str = "public, max-age=300";

pub(super) struct Card {
    text: String,
    etag: String,
    /// In whole seconds, as it is written.
    modified: SystemTime,
}

impl Card {
    pub(super) fn new(card: Object<'_>, url: &str) -> Self {
        let text = to_text(|out| write_gateway_card(out, card, url));
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let etag = format!("\"{:016x}\"", hasher.finish());
        let now = SystemTime::now();
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs());
        Self { text, etag, modified }
    }

    pub(super) fn answer(&self, method: &Method, headers: &HeaderMap) -> Response<Answer> {
        let is_known = self.is_known(headers);
        let has_body = !is_known && method != Method::HEAD;
        let status = if is_known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
        let text = if has_body { self.text.clone() } else { String::new() };
        let mut response = body::json(status, text);
        let mut add = |name: HeaderName, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().insert(name, value);
            }
        };
        add(ETAG, &self.etag);
        add(LAST_MODIFIED, &httpdate::fmt_http_date(self.modified));
        add(CACHE_CONTROL, MAX_AGE);
        response
    }

    /// Whether the client has it as it is. Where it names tags, the time does not count.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        if headers.contains_key(IF_NONE_MATCH) {
            let tags = headers.get_all(IF_NONE_MATCH).iter().filter_map(|tags| tags.to_str().ok());
            let mut tags = tags.flat_map(|tags| tags.split(','));
            return tags.any(|tag| {
                let tag = tag.trim();
                tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.etag
            });
        }
        let since = text(IF_MODIFIED_SINCE).and_then(|since| httpdate::parse_http_date(since).ok());
        since.is_some_and(|since| self.modified <= since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_client_has_is_not_sent_again() {
        let card = Card::new(Object::parse(r#"{"name":"n"}"#).unwrap(), "http://127.0.0.1:1/a2a");
        let status = |name: HeaderName, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            card.answer(&Method::GET, &headers).status().as_u16()
        };
        let tag = card.etag.as_str();
        assert_eq!(status(IF_NONE_MATCH, tag), 304);
        assert_eq!(status(IF_NONE_MATCH, &format!("\"x\", W/{tag}")), 304);
        assert_eq!(status(IF_NONE_MATCH, "*"), 304);
        assert_eq!(status(IF_NONE_MATCH, "\"x\""), 200);
        let date = |offset: i64| {
            let offset = Duration::from_secs(offset.unsigned_abs());
            httpdate::fmt_http_date(card.modified + offset)
        };
        assert_eq!(status(IF_MODIFIED_SINCE, &date(0)), 304);
        assert_eq!(status(IF_MODIFIED_SINCE, &date(60)), 304);
        assert_eq!(status(IF_MODIFIED_SINCE, "Thu, 01 Jan 1970 00:00:00 GMT"), 200);
        assert_eq!(status(IF_MODIFIED_SINCE, "nonsense"), 200);
        let mut both = HeaderMap::new();
        both.insert(IF_NONE_MATCH, HeaderValue::from_static("\"x\""));
        both.insert(IF_MODIFIED_SINCE, date(60).parse().unwrap());
        assert_eq!(card.answer(&Method::GET, &both).status().as_u16(), 200);
    }
}
