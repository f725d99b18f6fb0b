//! Messages on their way through: values as they were written, without the white space between them
//! (on a stream of lines a message is one line), and ids and tokens put in and taken out.

use alloc::string::String;

use crate::json::{self, Object, Value, Writer};
use crate::jsonrpc::Id;

/// Appends a JSON text without the white space between its values.
pub(super) fn push_compact(out: &mut String, json: &str) {
    json::compact(json, |piece| out.push_str(piece));
}

/// Appends a comma unless it is the first time.
pub(super) fn comma(out: &mut String, is_first: &mut bool) {
    if !core::mem::take(is_first) {
        out.push(',');
    }
}

/// Appends a member's name and the colon; `name` is JSON text.
pub(super) fn push_name(out: &mut String, is_first: &mut bool, name: &str) {
    comma(out, is_first);
    out.push_str(name);
    out.push(':');
}

/// Appends `value` with what stands at `path` replaced. What is not an object on the way there stays
/// as it is.
pub(super) fn push_replaced(out: &mut String, value: Value<'_>, path: &[&str], new: &str) {
    let Some((name, rest)) = path.split_first() else {
        out.push_str(new);
        return;
    };
    let Some(object) = value.as_object() else {
        push_compact(out, value.get());
        return;
    };
    out.push('{');
    let mut is_first = true;
    for (key, member) in object.members() {
        push_name(out, &mut is_first, key.get());
        if key == **name {
            push_replaced(out, member, rest, new);
        } else {
            push_compact(out, member.get());
        }
    }
    out.push('}');
}

/// Appends `text` as a JSON string.
pub(super) fn push_string(out: &mut String, text: &str) {
    push_written(out, |writer| {
        writer.string(text);
    });
}

/// Appends what a writer writes.
pub(super) fn push_written(out: &mut String, write: impl Fn(&mut Writer<'_>)) {
    out.push_str(&json::to_text(write));
}

/// The value at `path`; none also where a member on the way stands there twice.
pub(super) fn at<'a>(object: Object<'a>, path: &[&str]) -> Option<Value<'a>> {
    path.iter().try_fold(object.as_value(), |value, name| value.as_object()?.get(name).ok()?)
}

/// One of our own ids, as it comes back: a number, or (some servers do that) a string of it.
pub(super) fn own_key(value: Value<'_>) -> Option<u64> {
    match value.as_str() {
        Some(text) => text.as_plain()?.parse().ok(),
        None => value.as_integer().and_then(|number| u64::try_from(number).ok()),
    }
}

pub(super) fn own_key_of(id: Id<'_>) -> Option<u64> {
    own_key(Value::parse(id.get()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_only_where_it_means_nothing() {
        let mut out = String::new();
        push_compact(&mut out, "{ \"a b\" :\t[ 1 ,\r\n\"\\\" c\\\\\" , \"\u{2028}\" ] }");
        assert_eq!(out, "{\"a b\":[1,\"\\\" c\\\\\",\"\u{2028}\"]}");
    }

    #[test]
    fn a_value_is_replaced_where_the_path_leads() {
        let text = r#"{"a": {"b": 1, "c": [2]}, "b": 3}"#;
        let mut out = String::new();
        push_replaced(&mut out, Value::parse(text).unwrap(), &["a", "b"], "9");
        assert_eq!(out, r#"{"a":{"b":9,"c":[2]},"b":3}"#);
        out.clear();
        push_replaced(&mut out, Value::parse(text).unwrap(), &["b", "x"], "9");
        assert_eq!(out, r#"{"a":{"b":1,"c":[2]},"b":3}"#);
    }
}
