//! One MCP call of `rmcp`: its client and its server in one thread, joined by a `tokio` duplex.
//! They build typed values and measure nothing, so this is another job: it is shown to tell what
//! a user of that stack is used to.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RunningService};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient, RoleServer,
    ServerHandler, ServiceExt as _,
};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

#[derive(Clone)]
struct Server {
    text: String,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.protocol_version = ProtocolVersion::V_2026_07_28;
        info
    }

    async fn call_tool(
        &self,
        _request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text(self.text.clone())]).into())
    }
}

#[derive(Clone)]
struct Client;

impl ClientHandler for Client {}

pub(crate) struct Rmcp {
    runtime: Runtime,
    client: RunningService<RoleClient, Client>,
    params: CallToolRequestParams,
}

impl Rmcp {
    /// A server whose tool gives this text, and a client that has met it.
    pub(crate) fn new(text: String) -> Self {
        let runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
        let client = runtime.block_on(async {
            let (near, far) = tokio::io::duplex(64 * 1_024);
            tokio::spawn(async move {
                let server = Server { text }.serve(far).await.expect("the server starts");
                server.waiting().await
            });
            let versions = vec![ProtocolVersion::V_2026_07_28];
            let lifecycle = ClientLifecycleMode::Discover { preferred_versions: versions };
            Client.serve_with_lifecycle(near, lifecycle).await.expect("the client starts")
        });
        let arguments = json!({"query": "ferry to the islands", "limit": 20});
        let params = CallToolRequestParams::new("search")
            .with_arguments(arguments.as_object().cloned().unwrap_or_default());
        Self { runtime, client, params }
    }

    pub(crate) fn exchange(&self) -> usize {
        let call = self.client.peer().call_tool_once(self.params.clone());
        match self.runtime.block_on(call) {
            Ok(CallToolResponse::Complete(result)) => result.content.len(),
            other => panic!("no result: {other:?}"),
        }
    }
}
