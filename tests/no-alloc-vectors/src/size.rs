//! The size of whole chat messages.

use agentwire_core::chat::size::{
    MAX_ENCODED_MSG_LEN, Mention, MessageShape, Quote, QuoteKind, ReplyBudget,
};

use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    ("size: a plain message", plain),
    ("size: a mention", mention),
    ("size: room is exact at the limit", room),
    ("size: a reply with its quote", reply),
];

fn plain() -> bool {
    MessageShape::new().encoded_len("") == 114 && MessageShape::new().encoded_len("a\n\u{1}") == 123
}

fn mention() -> bool {
    let mentions = [Mention::new("acme", "bVJpU2x2Q2ozMmZkVE81WA==")];
    MessageShape::new()
        .mentions(&mentions)
        .check("/_call @acme mcp {\n}")
        .is_ok_and(|size| (size.bytes(), size.remaining()) == (195, MAX_ENCODED_MSG_LEN - 195))
}

fn room() -> bool {
    let shape = MessageShape::new().quote(Quote::received(137, QuoteKind::GROUP));
    let room = shape.room();
    shape.check_len(room).is_ok_and(|size| size.remaining() == 0 && size.bytes() == size.limit())
        && shape.check_len(room + 1).is_err()
}

fn reply() -> bool {
    let budget = ReplyBudget::new(r#"/_call mcp {"jsonrpc":"2.0","id":1}"#, QuoteKind::Direct);
    let reply = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    budget.fits(reply)
        && budget.needed(reply) == 336
        && budget.check_len(budget.remaining()).is_ok()
        && budget.check_len(budget.remaining() + 1).is_err()
}
