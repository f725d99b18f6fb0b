//! HTTP clients: where they are served, and what they have to show.

use core::net::SocketAddr;
use std::io;
use std::path::Path;
use std::sync::Arc;

use agentwire_tokio::mcp::{Answers, Front, FrontConfig};

use crate::exit::{ExitCode, Failure};
use crate::output::Output;
use crate::secret::read_token;
use crate::terminal::escape;

/// Serves HTTP clients.
pub(crate) async fn listen<A: Answers>(
    address: SocketAddr,
    token_file: Option<&Path>,
    answers: Arc<A>,
) -> Result<Front, Failure> {
    let mut config = FrontConfig::default();
    if let Some(file) = token_file {
        config = config.token(read_token(file)?);
    }
    Front::listen_with(address, config, answers).await.map_err(|error| {
        if token_file.is_none() && error.kind() == io::ErrorKind::PermissionDenied {
            let problem = format!("{address}: other machines are served only with --token-file");
            return Failure::new(ExitCode::Usage, problem);
        }
        Failure::new(ExitCode::Refused, format!("cannot listen on {address}: {error}"))
    })
}

/// Says where it is served.
pub(crate) fn tell(output: &mut Output, place: &str) -> Result<(), Failure> {
    if output.is_json() {
        output.json(&serde_json::json!({ "serving": "mcp", "at": place }))
    } else {
        output.line(format_args!("{}", escape(place)))
    }
}
