//! What the messages of revision 2026-07-28 look like, table by table (MCP 2026-07-28, schema).
//!
//! Two rules stand here that the published schema does not state: a result that asks for input asks
//! for something (`InputRequiredResult`), and what it asks for is no JSON-RPC message of its own
//! (basic, Multi Round-Trip Requests).

use super::shape::{Field, Record, Shape, Tagged, may, needs, record};

use Shape::{Any, Base64, Count, Few, Integer, List, Map, Number, Share, Text, Token, Truth, Word};

/// An object of which nothing is said.
const OPEN: Shape = Shape::Record(&record(&[]));
/// An object of objects.
const EXTENSIONS: Shape = Map(&OPEN);
const TEXTS: Shape = List(&Text);

pub(super) const LOG_LEVELS: &[&str] =
    &["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const ROLES: Shape = Word(&["user", "assistant"]);
const SCOPES: Shape = Word(&["public", "private"]);

const ICON: Record = record(&[
    needs("src", Text),
    may("mimeType", Text),
    may("sizes", TEXTS),
    may("theme", Word(&["light", "dark"])),
]);
const ICONS: Shape = List(&Shape::Record(&ICON));
const IMPLEMENTATION: Record = record(&[
    needs("name", Text),
    needs("version", Text),
    may("title", Text),
    may("description", Text),
    may("websiteUrl", Text),
    may("icons", ICONS),
]);
const ANNOTATIONS: Shape = Shape::Record(&record(&[
    may("audience", List(&ROLES)),
    may("priority", Share),
    may("lastModified", Text),
]));

// Capabilities.

pub(super) const CLIENT_CAPABILITIES: Record = record(&[
    may("experimental", EXTENSIONS),
    may("extensions", EXTENSIONS),
    may("roots", OPEN),
    may("sampling", Shape::Record(&record(&[may("context", OPEN), may("tools", OPEN)]))),
    may("elicitation", Shape::Record(&record(&[may("form", OPEN), may("url", OPEN)]))),
]);
const LIST_CHANGED: Shape = Shape::Record(&record(&[may("listChanged", Truth)]));
const SERVER_CAPABILITIES: Record = record(&[
    may("experimental", EXTENSIONS),
    may("extensions", EXTENSIONS),
    may("logging", OPEN),
    may("completions", OPEN),
    may("prompts", LIST_CHANGED),
    may("resources", Shape::Record(&record(&[may("listChanged", Truth), may("subscribe", Truth)]))),
    may("tools", LIST_CHANGED),
]);

// The envelope.

pub(super) const REQUEST_META: Record = record(&[
    needs(super::META_PROTOCOL_VERSION, Text),
    needs(super::META_CLIENT_CAPABILITIES, Shape::Record(&CLIENT_CAPABILITIES)),
    may(super::META_CLIENT_INFO, Shape::Record(&IMPLEMENTATION)),
    may(super::META_LOG_LEVEL, Word(LOG_LEVELS)),
    may(super::PROGRESS_TOKEN, Token),
]);
/// What of the envelope holds for every revision from 2026-07-28 on.
pub(super) const LATER_META: Record = record(&[
    needs(super::META_PROTOCOL_VERSION, Text),
    needs(super::META_CLIENT_CAPABILITIES, OPEN),
    may(super::PROGRESS_TOKEN, Token),
]);
const META: Field = needs("_meta", Shape::Record(&REQUEST_META));
const RESULT_META: Field = may(
    "_meta",
    Shape::Record(&record(&[may(super::META_SERVER_INFO, Shape::Record(&IMPLEMENTATION))])),
);
const NOTIFICATION_META: Field =
    may("_meta", Shape::Record(&record(&[may(super::META_SUBSCRIPTION, Token)])));
const OPEN_META: Field = may("_meta", OPEN);

// Content.

const TEXT_CONTENT: Record =
    record(&[needs("text", Text), may("annotations", ANNOTATIONS), OPEN_META]);
const DATA_CONTENT: Record = record(&[
    needs("data", Base64),
    needs("mimeType", Text),
    may("annotations", ANNOTATIONS),
    OPEN_META,
]);
const RESOURCE: Record = record(&[
    needs("name", Text),
    needs("uri", Text),
    may("title", Text),
    may("description", Text),
    may("mimeType", Text),
    may("size", Integer),
    may("icons", ICONS),
    may("annotations", ANNOTATIONS),
    OPEN_META,
]);
const CONTENTS: Shape = Shape::Record(&Record {
    fields: &[
        needs("uri", Text),
        may("text", Text),
        may("blob", Base64),
        may("mimeType", Text),
        OPEN_META,
    ],
    any_of: &["text", "blob"],
    none_of: &[],
});
const EMBEDDED: Record =
    record(&[needs("resource", CONTENTS), may("annotations", ANNOTATIONS), OPEN_META]);
const CONTENT: Shape = Shape::Tagged(&Tagged {
    member: "type",
    arms: &[
        ("text", &TEXT_CONTENT),
        ("image", &DATA_CONTENT),
        ("audio", &DATA_CONTENT),
        ("resource_link", &RESOURCE),
        ("resource", &EMBEDDED),
    ],
    absent: None,
    names: &["text", "image", "audio", "resource_link", "resource"],
});
const SAMPLED: Shape = Shape::Tagged(&Tagged {
    member: "type",
    arms: &[
        ("text", &TEXT_CONTENT),
        ("image", &DATA_CONTENT),
        ("audio", &DATA_CONTENT),
        (
            "tool_use",
            &record(&[needs("id", Text), needs("name", Text), needs("input", OPEN), OPEN_META]),
        ),
        (
            "tool_result",
            &record(&[
                needs("toolUseId", Text),
                needs("content", List(&CONTENT)),
                may("isError", Truth),
                may("structuredContent", Any),
                OPEN_META,
            ]),
        ),
    ],
    absent: None,
    names: &["text", "image", "audio", "tool_use", "tool_result"],
});

// Tools and prompts.

const TOOL: Shape = Shape::Record(&record(&[
    needs("name", Text),
    needs(
        "inputSchema",
        Shape::Record(&record(&[needs("type", Word(&["object"])), may("$schema", Text)])),
    ),
    may("outputSchema", Shape::Record(&record(&[may("$schema", Text)]))),
    may("title", Text),
    may("description", Text),
    may("icons", ICONS),
    may(
        "annotations",
        Shape::Record(&record(&[
            may("title", Text),
            may("readOnlyHint", Truth),
            may("destructiveHint", Truth),
            may("idempotentHint", Truth),
            may("openWorldHint", Truth),
        ])),
    ),
    OPEN_META,
]));
const PROMPT: Shape = Shape::Record(&record(&[
    needs("name", Text),
    may("title", Text),
    may("description", Text),
    may("icons", ICONS),
    may(
        "arguments",
        List(&Shape::Record(&record(&[
            needs("name", Text),
            may("title", Text),
            may("description", Text),
            may("required", Truth),
        ]))),
    ),
    OPEN_META,
]));
const RESOURCE_TEMPLATE: Shape = Shape::Record(&record(&[
    needs("name", Text),
    needs("uriTemplate", Text),
    may("title", Text),
    may("description", Text),
    may("mimeType", Text),
    may("icons", ICONS),
    may("annotations", ANNOTATIONS),
    OPEN_META,
]));

// Input that a server asks for, and the answers.

const PRIMITIVE: Shape = Shape::Tagged(&Tagged {
    member: "type",
    arms: &[
        (
            "string",
            &record(&[
                may("title", Text),
                may("description", Text),
                may("default", Text),
                may("minLength", Integer),
                may("maxLength", Integer),
                may("format", Word(&["email", "uri", "date", "date-time"])),
                may("enum", TEXTS),
                may("enumNames", TEXTS),
                may("oneOf", CHOICES),
            ]),
        ),
        ("number", &NUMERIC),
        ("integer", &NUMERIC),
        (
            "boolean",
            &record(&[may("title", Text), may("description", Text), may("default", Truth)]),
        ),
        (
            "array",
            &record(&[
                needs(
                    "items",
                    Shape::Record(&Record {
                        fields: &[
                            may("type", Word(&["string"])),
                            may("enum", TEXTS),
                            may("anyOf", CHOICES),
                        ],
                        any_of: &["enum", "anyOf"],
                        none_of: &[],
                    }),
                ),
                may("title", Text),
                may("description", Text),
                may("default", TEXTS),
                may("minItems", Integer),
                may("maxItems", Integer),
            ]),
        ),
    ],
    absent: None,
    names: &["string", "number", "integer", "boolean", "array"],
});
const CHOICES: Shape = List(&Shape::Record(&record(&[needs("const", Text), needs("title", Text)])));
const NUMERIC: Record = record(&[
    may("title", Text),
    may("description", Text),
    may("default", Number),
    may("minimum", Number),
    may("maximum", Number),
]);
const FORM: Record = record(&[
    needs("message", Text),
    needs(
        "requestedSchema",
        Shape::Record(&record(&[
            needs("type", Word(&["object"])),
            needs("properties", Map(&PRIMITIVE)),
            may("required", TEXTS),
            may("$schema", Text),
        ])),
    ),
]);
const URL: Record = record(&[needs("message", Text), needs("url", Text)]);
const SAMPLING: Record = record(&[
    needs(
        "messages",
        List(&Shape::Record(&record(&[
            needs("role", ROLES),
            needs("content", Shape::OneOrMore(&SAMPLED)),
            OPEN_META,
        ]))),
    ),
    needs("maxTokens", Integer),
    may("systemPrompt", Text),
    may("temperature", Number),
    may("stopSequences", TEXTS),
    may("includeContext", Word(&["none", "thisServer", "allServers"])),
    may("metadata", OPEN),
    may(
        "modelPreferences",
        Shape::Record(&record(&[
            may("hints", List(&Shape::Record(&record(&[may("name", Text)])))),
            may("costPriority", Share),
            may("speedPriority", Share),
            may("intelligencePriority", Share),
        ])),
    ),
    may("tools", List(&TOOL)),
    may("toolChoice", Shape::Record(&record(&[may("mode", Word(&["auto", "none", "required"]))]))),
]);

const ELICIT_FIELDS: [Field; 1] = [needs(
    "params",
    Shape::Tagged(&Tagged {
        member: "mode",
        arms: &[("form", &FORM), ("url", &URL)],
        absent: Some(&FORM),
        names: &["form", "url"],
    }),
)];
const SAMPLE_FIELDS: [Field; 1] = [needs("params", Shape::Record(&SAMPLING))];
const ROOTS_FIELDS: [Field; 1] = [may("params", Shape::Record(&record(&[OPEN_META])))];
/// It travels inside a result: it has neither version nor id.
const fn inner(fields: &'static [Field]) -> Record {
    Record { fields, any_of: &[], none_of: &["jsonrpc", "id"] }
}
const INPUT_REQUEST: Shape = Shape::Tagged(&Tagged {
    member: "method",
    arms: &[
        ("elicitation/create", &inner(&ELICIT_FIELDS)),
        ("sampling/createMessage", &inner(&SAMPLE_FIELDS)),
        ("roots/list", &inner(&ROOTS_FIELDS)),
    ],
    absent: None,
    names: &["elicitation/create", "sampling/createMessage", "roots/list"],
});
pub(super) const INPUT_RESPONSE: Shape = Shape::Shown(&[
    (
        "action",
        &record(&[
            needs("action", Word(&["accept", "decline", "cancel"])),
            may("content", Map(&Shape::Answer)),
        ]),
    ),
    (
        "roots",
        &record(&[needs(
            "roots",
            List(&Shape::Record(&record(&[needs("uri", Text), may("name", Text), OPEN_META]))),
        )]),
    ),
    (
        "role",
        &record(&[
            needs("role", ROLES),
            needs("content", Shape::OneOrMore(&SAMPLED)),
            needs("model", Text),
            may("stopReason", Text),
            OPEN_META,
        ]),
    ),
]);
const RESPONSES: Field = may("inputResponses", Map(&INPUT_RESPONSE));
const STATE: Field = may("requestState", Text);

// Parameters.

pub(super) const PLAIN_PARAMS: Record = record(&[META]);
pub(super) const LIST_PARAMS: Record = record(&[META, may("cursor", Text)]);
pub(super) const CALL_TOOL_PARAMS: Record =
    record(&[META, needs("name", Text), may("arguments", OPEN), RESPONSES, STATE]);
pub(super) const GET_PROMPT_PARAMS: Record =
    record(&[META, needs("name", Text), may("arguments", Map(&Text)), RESPONSES, STATE]);
pub(super) const READ_RESOURCE_PARAMS: Record =
    record(&[META, needs("uri", Text), RESPONSES, STATE]);
pub(super) const COMPLETE_PARAMS: Record = record(&[
    META,
    needs(
        "ref",
        Shape::Tagged(&Tagged {
            member: "type",
            arms: &[
                ("ref/prompt", &record(&[needs("name", Text), may("title", Text)])),
                ("ref/resource", &record(&[needs("uri", Text)])),
            ],
            absent: None,
            names: &["ref/prompt", "ref/resource"],
        }),
    ),
    needs("argument", Shape::Record(&record(&[needs("name", Text), needs("value", Text)]))),
    may("context", Shape::Record(&record(&[may("arguments", Map(&Text))]))),
]);
const FILTER: Shape = Shape::Record(&record(&[
    may("toolsListChanged", Truth),
    may("promptsListChanged", Truth),
    may("resourcesListChanged", Truth),
    may("resourceSubscriptions", TEXTS),
]));
pub(super) const LISTEN_PARAMS: Record = record(&[META, needs("notifications", FILTER)]);

// Results.

const RESULT_TYPE: Field = needs("resultType", Text);
const TTL: Field = needs("ttlMs", Count);
const SCOPE: Field = needs("cacheScope", SCOPES);
const CURSOR: Field = may("nextCursor", Text);

pub(super) const ANY_RESULT: Record = record(&[RESULT_TYPE, RESULT_META]);
pub(super) const INPUT_REQUIRED: Record = Record {
    fields: &[
        RESULT_TYPE,
        RESULT_META,
        may("inputRequests", Map(&INPUT_REQUEST)),
        may("requestState", Text),
    ],
    any_of: &["inputRequests", "requestState"],
    // What is not complete is not kept.
    none_of: &["ttlMs", "cacheScope"],
};
pub(super) const DISCOVERED: Record = record(&[
    RESULT_TYPE,
    RESULT_META,
    TTL,
    SCOPE,
    needs("supportedVersions", TEXTS),
    needs("capabilities", Shape::Record(&SERVER_CAPABILITIES)),
    may("instructions", Text),
]);
pub(super) const TOOLS: Record =
    record(&[RESULT_TYPE, RESULT_META, TTL, SCOPE, needs("tools", List(&TOOL)), CURSOR]);
pub(super) const PROMPTS: Record =
    record(&[RESULT_TYPE, RESULT_META, TTL, SCOPE, needs("prompts", List(&PROMPT)), CURSOR]);
pub(super) const RESOURCES: Record = record(&[
    RESULT_TYPE,
    RESULT_META,
    TTL,
    SCOPE,
    needs("resources", List(&Shape::Record(&RESOURCE))),
    CURSOR,
]);
pub(super) const RESOURCE_TEMPLATES: Record = record(&[
    RESULT_TYPE,
    RESULT_META,
    TTL,
    SCOPE,
    needs("resourceTemplates", List(&RESOURCE_TEMPLATE)),
    CURSOR,
]);
pub(super) const TOOL_CALLED: Record = record(&[
    RESULT_TYPE,
    RESULT_META,
    needs("content", List(&CONTENT)),
    may("isError", Truth),
    may("structuredContent", Any),
]);
pub(super) const PROMPT_GOT: Record = record(&[
    RESULT_TYPE,
    RESULT_META,
    needs(
        "messages",
        List(&Shape::Record(&record(&[needs("role", ROLES), needs("content", CONTENT)]))),
    ),
    may("description", Text),
]);
pub(super) const RESOURCE_READ: Record =
    record(&[RESULT_TYPE, RESULT_META, TTL, SCOPE, needs("contents", List(&CONTENTS))]);
pub(super) const COMPLETED: Record = record(&[
    RESULT_TYPE,
    RESULT_META,
    needs(
        "completion",
        Shape::Record(&record(&[
            needs("values", Few(100, &Text)),
            may("total", Integer),
            may("hasMore", Truth),
        ])),
    ),
]);
pub(super) const LISTENED: Record = record(&[
    RESULT_TYPE,
    needs(
        "_meta",
        Shape::Record(&record(&[
            needs(super::META_SUBSCRIPTION, Token),
            may(super::META_SERVER_INFO, Shape::Record(&IMPLEMENTATION)),
        ])),
    ),
]);

// Notifications.

pub(super) const PROGRESSED: Record = record(&[
    NOTIFICATION_META,
    needs(super::PROGRESS_TOKEN, Token),
    needs("progress", Number),
    may("total", Number),
    may("message", Text),
]);
pub(super) const LOGGED: Record = record(&[
    NOTIFICATION_META,
    needs("level", Word(LOG_LEVELS)),
    needs("data", Any),
    may("logger", Text),
]);
pub(super) const CANCELLED: Record =
    record(&[NOTIFICATION_META, needs("requestId", Token), may("reason", Text)]);
pub(super) const ACKNOWLEDGED: Record =
    record(&[NOTIFICATION_META, needs("notifications", FILTER)]);
pub(super) const UPDATED: Record = record(&[NOTIFICATION_META, needs("uri", Text)]);
pub(super) const NOTIFIED: Record = record(&[NOTIFICATION_META]);

// Errors.

pub(super) const MISSING_CAPABILITY: Record =
    record(&[needs("requiredCapabilities", Shape::Record(&CLIENT_CAPABILITIES))]);
pub(super) const UNSUPPORTED_VERSION: Record =
    record(&[needs("supported", TEXTS), needs("requested", Text)]);
