//! The answer to what is no request of the revision: [`refuse`].

use alloc::string::String;

use super::output::Final;
use super::problem::Problem;
use super::server;
use crate::binding::{Binding as _, Failure, Place};
use crate::mcp::{Asked, Flaw, Mcp, Rejected, Revision};

/// The answer to a text that is no request of revision 2026-07-28 or of a later one; `None` if it is
/// one. It is what a bridge says, for others who have to answer before a request gets there.
///
/// ```
/// use agentwire_core::mcp::bridge::refuse;
/// let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
///     "io.modelcontextprotocol/protocolVersion":"2024-11-05",
///     "io.modelcontextprotocol/clientCapabilities":{}}}}"#;
/// let answer = refuse(text).unwrap();
/// let data = r#""data":{"supported":["2026-07-28"],"requested":"2024-11-05"}"#;
/// assert!(answer.text.contains(data));
/// assert!(refuse(&text.replace("2024-11-05", "2026-07-28")).is_none());
/// ```
#[must_use]
pub fn refuse(text: &str) -> Option<Final> {
    let rejected = Asked::check(text).err()?;
    let text = refused(text, &rejected, &[Revision::default()]);
    Some(Final { text, problem: Some(Problem::Request(rejected.fault)) })
}

/// The same, where these revisions are served.
pub(super) fn refused(text: &str, rejected: &Rejected<'_>, served: &[Revision]) -> String {
    // What the binding has an error for, it has the error for.
    let made = Mcp.accept(text, &[], Place::Direct).err().filter(|refusal| {
        matches!(rejected.fault.flaw, Flaw::Framing(_))
            || matches!(refusal.failure, Failure::UnsupportedVersion { .. })
    });
    match made {
        Some(refusal) => server::failure(&refusal.failure, refusal.id, served),
        None => Problem::Request(rejected.fault).write(rejected.id.map(|id| id.get()), text),
    }
}
