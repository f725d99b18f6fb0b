//! Results made complete: what a lenient server leaves out and a strict client wants (MCP 2026-07-28,
//! basic, Result Types; server, Caching).
//!
//! | what the server sends | what the caller gets |
//! |---|---|
//! | no `resultType` | `complete`, as the revision says |
//! | no `content` of a tool | `"content":[]` |
//! | no `ttlMs`, or one below zero, where a result can be kept | `0`: do not keep it |
//! | no `cacheScope`, or an unknown one | `private` |
//! | `null` where a member can be left out | nothing |

use alloc::string::String;

use super::text::{push_compact, push_name};
use crate::json::{Object, Value};
use crate::mcp::Method;
use crate::mcp::caching::Caching;

/// Members that can be left out and must not be null.
const OPTIONAL: [&str; 11] = [
    "_meta",
    "cacheScope",
    "content",
    "description",
    "inputRequests",
    "instructions",
    "isError",
    "nextCursor",
    "requestState",
    "resultType",
    "ttlMs",
];

/// Whether a result is complete, or says nothing else.
fn is_complete(kind: Option<Value<'_>>) -> bool {
    kind.is_none_or(|kind| kind.is_null() || kind.as_str().is_some_and(|kind| kind == *"complete"))
}

/// Whether a member is one of these, and null.
fn is_empty(name: crate::json::Str<'_>, value: Value<'_>) -> bool {
    value.is_null() && OPTIONAL.iter().any(|optional| name == **optional)
}

/// Appends the result, completed.
pub(super) fn push_completed(out: &mut String, method: Method, result: Object<'_>) {
    let member = |name: &str| result.get(name).ok().flatten();
    let kind = member("resultType");
    let keeps = method.is_cacheable() && is_complete(kind);
    let mut is_first = true;
    out.push('{');
    if kind.is_none_or(|kind| kind.is_null()) {
        out.push_str("\"resultType\":\"complete\"");
        is_first = false;
    }
    for (name, value) in result.members() {
        if is_empty(name, value) || keeps && (name == *"ttlMs" || name == *"cacheScope") {
            continue;
        }
        push_name(out, &mut is_first, name.get());
        push_compact(out, value.get());
    }
    if method == Method::CallTool && is_complete(kind) {
        // Beside a list that is not there.
        if member("content").is_none_or(|content| content.is_null()) {
            push_name(out, &mut is_first, "\"content\"");
            out.push_str("[]");
        }
    }
    if keeps {
        push_caching(out, &mut is_first, Caching::of(result));
    }
    out.push('}');
}

/// Appends the two members that say how long a result can be kept.
pub(super) fn push_caching(out: &mut String, is_first: &mut bool, caching: Caching) {
    push_name(out, is_first, "\"ttlMs\"");
    super::text::push_written(out, |writer| {
        writer.int(i64::try_from(caching.ttl.as_millis()).unwrap_or(i64::MAX));
    });
    push_name(out, is_first, "\"cacheScope\"");
    super::text::push_string(out, caching.scope.name());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_put_in_and_null_is_left_out() {
        for (method, result, completed) in [
            (Method::CallTool, "{}", r#"{"resultType":"complete","content":[]}"#),
            (
                Method::CallTool,
                r#"{"structuredContent":null,"isError":null,"content":null,"resultType":null}"#,
                r#"{"resultType":"complete","structuredContent":null,"content":[]}"#,
            ),
            (
                Method::CallTool,
                r#"{"resultType":"input_required","requestState":"s","inputRequests":null}"#,
                r#"{"resultType":"input_required","requestState":"s"}"#,
            ),
            (Method::CallTool, r#"{"resultType":"task"}"#, r#"{"resultType":"task"}"#),
            (
                Method::ReadResource,
                r#"{"resultType":"complete","contents":[],"ttlMs":-5,"cacheScope":""}"#,
                r#"{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private"}"#,
            ),
            (
                Method::ReadResource,
                r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public"}"#,
                r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public"}"#,
            ),
            (
                Method::ReadResource,
                r#"{"resultType":"input_required","requestState":"s"}"#,
                r#"{"resultType":"input_required","requestState":"s"}"#,
            ),
            (Method::GetPrompt, r#"{"messages":[]}"#, r#"{"resultType":"complete","messages":[]}"#),
        ] {
            let mut out = String::new();
            push_completed(&mut out, method, Object::parse(result).unwrap());
            assert_eq!(out, completed, "{result}");
        }
    }
}
