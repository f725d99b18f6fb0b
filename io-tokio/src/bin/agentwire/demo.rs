//! `agentwire demo`.

use agentwire_tokio::stdio::{Options, REVISION, ServerCommand, StdioServer};
use serde_json::Value;

use crate::args::{DemoArgs, Words};
use crate::exit::{ExitCode, Failure};
use crate::output::Output;
use crate::signals::Shutdown;
use crate::terminal::{DIM, NAME, escape, escape_lines, truncate, wrap};

/// Starts the server behind the bot, shows it, and leaves nothing of it behind.
pub(crate) async fn run(
    args: &DemoArgs,
    output: &mut Output,
    mut shutdown: Shutdown,
) -> Result<(), Failure> {
    let Words { program, args } = &args.mcp;
    let command = ServerCommand::new(program).args(args);
    let server = tokio::select! {
        biased;
        () = shutdown.requested() => return Ok(()),
        server = StdioServer::spawn(command, Options::default()) => server?,
    };
    let shown = tokio::select! {
        biased;
        () = shutdown.requested() => Ok(()),
        shown = introduce(&server, output) => shown,
    };
    server.close().await;
    shown
}

/// Says who the server is and which tools it has.
async fn introduce(server: &StdioServer, output: &mut Output) -> Result<(), Failure> {
    let request = serde_json::json!({
        "jsonrpc": "2.0",
        "id": "tools",
        "method": "tools/list",
        "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientCapabilities": {},
        }},
    });
    let answer = server.call(&request.to_string()).await?.response().await?;
    let parsed: Value = serde_json::from_str(&answer)
        .map_err(|error| Failure::new(ExitCode::ToolError, error.to_string()))?;
    if let Some(error) = parsed.get("error") {
        let text = format!("{} answers tools/list with {error}", server.name());
        return Err(Failure::new(ExitCode::ToolError, text));
    }
    if output.is_json() {
        return output.json(&parsed);
    }
    let discovery: Value = serde_json::from_str(server.discovery()).unwrap_or_default();
    let who = &discovery["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
    let name = who["name"].as_str().unwrap_or_else(|| server.name());
    let version = who["version"].as_str().unwrap_or_default();
    let tools = parsed["result"]["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let terminal = output.terminal();
    output.line(format_args!(
        "{} {} {}",
        terminal.paint(NAME, escape(name)),
        escape(version),
        terminal.paint(DIM, format_args!("({} tools, {} bytes)", tools.len(), answer.len())),
    ))?;
    for tool in tools {
        let name = escape(tool["name"].as_str().unwrap_or_default());
        output.line(format_args!("  {}", truncate(&name, terminal.width() - 2)))?;
        let about = escape_lines(tool["description"].as_str().unwrap_or_default());
        // Descriptions are written for models, and may be long.
        for line in wrap(about.trim(), terminal.width() - 4).iter().take(3) {
            output.line(format_args!("    {}", terminal.paint(DIM, line)))?;
        }
    }
    Ok(())
}
