//! The gateway's own tools, as the host sees them.

use rmcp::model::Tool;
use serde_json::{Value, json};

/// What an address is, for the model.
const ADDRESS: &str = "A contact (@name), a SimpleX link or name (@name.simplex), a group (#group) \
    or one member of it (#group @member)";

/// The tools, in the order in which they are listed.
pub(super) fn own() -> Vec<Tool> {
    let address = json!({"type": "string", "description": ADDRESS});
    let transport = json!({
        "type": "string", "enum": ["auto", "chat", "rpc"], "default": "auto",
        "description": "A conversation, or one request and one response (rpc)",
    });
    let definitions = [
        define(
            "connect",
            "Connect to a SimpleX address, and wait until the other side has accepted.",
            json!({
                "target": {"type": "string", "description": "A SimpleX link or name"},
                "incognito": {"type": "boolean", "default": false,
                    "description": "Under a random name"},
            }),
            &["target"],
            json!({"readOnlyHint": false, "openWorldHint": true}),
        ),
        define(
            "send",
            "Send a message to a contact or a group.",
            json!({"target": address, "text": {"type": "string"}}),
            &["target", "text"],
            json!({"readOnlyHint": false, "openWorldHint": true}),
        ),
        define(
            "receive",
            "Read the messages of a conversation that were not read before.",
            json!({
                "target": address,
                "wait_seconds": {"type": "integer", "minimum": 0, "maximum": 60, "default": 0,
                    "description": "How long to wait for one"},
            }),
            &["target"],
            json!({"readOnlyHint": true, "openWorldHint": true}),
        ),
        define(
            "list",
            "List contacts and groups, and the protocols that they declare.",
            json!({}),
            &[],
            json!({"readOnlyHint": true, "openWorldHint": false}),
        ),
        define(
            "leave",
            "Leave a group.",
            json!({"target": {"type": "string", "description": "A group (#group)"}}),
            &["target"],
            json!({"readOnlyHint": false, "destructiveHint": true}),
        ),
        define(
            "mcp_tools",
            "List the tools of another agent.",
            json!({"target": address, "transport": transport}),
            &["target"],
            json!({"readOnlyHint": true, "openWorldHint": true}),
        ),
        define(
            "mcp_call",
            "Call a tool of another agent, or of all agents in a group.",
            json!({
                "target": address,
                "tool": {"type": "string"},
                "arguments": {"type": "object", "default": {}},
                "transport": transport,
            }),
            &["target", "tool"],
            json!({"readOnlyHint": false, "openWorldHint": true}),
        ),
        define(
            "a2a_call",
            "Send a message to an A2A agent, or call another method of it.",
            json!({
                "target": address,
                "text": {"type": "string", "description": "The message, for SendMessage"},
                "method": {"type": "string", "default": "SendMessage"},
                "params": {"type": "object",
                    "description": "The method's parameters, instead of a text"},
                "transport": transport,
            }),
            &["target"],
            json!({"readOnlyHint": false, "openWorldHint": true}),
        ),
    ];
    definitions.into_iter().filter_map(|tool| serde_json::from_value(tool).ok()).collect()
}

fn define(
    name: &str,
    description: &str,
    properties: Value,
    required: &[&str],
    annotations: Value,
) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        },
        "annotations": annotations,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_definition_is_a_tool_whose_required_parameters_exist() {
        let tools = own();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(
            names,
            ["connect", "send", "receive", "list", "leave", "mcp_tools", "mcp_call", "a2a_call"]
        );
        for tool in tools {
            let properties = tool.input_schema["properties"].as_object().expect("an object");
            for required in tool.input_schema["required"].as_array().expect("an array") {
                assert!(properties.contains_key(required.as_str().expect("a name")));
            }
        }
    }
}
