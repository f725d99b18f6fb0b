//! The MCP server behind every row: the official SDK's, on standard streams or in this process.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Value, json};

/// One tool, `text`, whose result has as many bytes of text as its argument `bytes` says.
#[derive(Clone)]
pub(crate) struct Fixture;

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let schema = json!({"type": "object", "properties": {"bytes": {"type": "integer"}}});
        let schema = schema.as_object().cloned().unwrap_or_default();
        Ok(ListToolsResult::with_all_items(vec![Tool::new("text", "some text", schema)]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let bytes = request.arguments.as_ref().and_then(|arguments| arguments.get("bytes"));
        let bytes = bytes.and_then(Value::as_u64).unwrap_or_default();
        let text = "x".repeat(usize::try_from(bytes).unwrap_or_default());
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// Serves on standard input and output until the input ends.
pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let streams = (tokio::io::stdin(), tokio::io::stdout());
        let service = Fixture.serve(streams).await.expect("the server starts");
        service.waiting().await.expect("the server ends");
    });
}
