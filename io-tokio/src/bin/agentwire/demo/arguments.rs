//! Arguments for tools that nobody here knows, made from their schemas.

use serde_json::{Map, Value, json};

/// A value that a schema of an object allows, as far as simple schemas go: the required members,
/// each with its default, its first example or enum value, or one of its type.
pub(super) fn sample(schema: &Value) -> Value {
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut object = Map::new();
    for name in required.iter().filter_map(Value::as_str) {
        object.insert(name.to_owned(), value(name, &schema["properties"][name]));
    }
    Value::Object(object)
}

fn value(name: &str, schema: &Value) -> Value {
    let given = [&schema["const"], &schema["default"], &schema["enum"][0], &schema["examples"][0]];
    if let Some(given) = given.into_iter().find(|given| !given.is_null()) {
        return given.clone();
    }
    match schema["type"].as_str() {
        Some("object") => sample(schema),
        Some("array") => json!([]),
        Some("boolean") => json!(false),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        _ if name.contains("timezone") => json!("UTC"),
        _ if name.contains("time") => json!("12:00"),
        _ if name.contains("path") => json!("."),
        _ => json!("hello"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_required_is_filled_in() {
        let schema = json!({
            "type": "object",
            "properties": {
                "timezone": {"type": "string"},
                "unit": {"enum": ["s", "ms"]},
                "count": {"type": "integer", "minimum": 5},
                "deep": {"type": "object", "required": ["on"], "properties": {"on": {"type": "boolean"}}},
                "spare": {"type": "string"},
            },
            "required": ["timezone", "unit", "count", "deep"],
        });
        let expected = json!({"timezone": "UTC", "unit": "s", "count": 5, "deep": {"on": false}});
        assert_eq!(sample(&schema), expected);
        assert_eq!(sample(&Value::Null), json!({}));
    }
}
