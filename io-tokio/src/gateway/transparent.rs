//! One agent as if it were a local MCP server: [`Transparent`].

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::ReplyKind;
use agentwire_core::jsonrpc::{self, ErrorId, Request};
use agentwire_core::mcp::pins::Pins;
use agentwire_core::mcp::{Notice, Tie, Way};
use agentwire_core::profile::{Needs, Transport};
use agentwire_core::rpc::session::ServiceReplyKind;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::approval::Approval;
use super::{Action, Approver, Decision, When};
use crate::client::{CallOptions, Client, RequestOptions};
use crate::mcp::refusal::{error, refusal};
use crate::mcp::{Answers, Replies};
use crate::reach::{Address, Destination, Reached};
use crate::stdio::line::{Line, LineReader};

/// Bytes of one line of the host: many times what a message of a conversation holds.
const MAX_LINE: usize = 1 << 20;

/// Lines that wait to be written.
const WRITTEN: usize = 64;

/// One agent behind standard streams or before HTTP clients, as a local MCP server: no prefix, and every method goes to
/// it, with progress, requests for input and what revisions to come may bring.
///
/// The agent's tools are pinned as those of a [`Gateway`](super::Gateway) are, and the owner
/// approves what reaches further than `server/discover` and lists. A host that speaks an older
/// revision, and so begins with `initialize`, is told which one is spoken.
///
/// ```no_run
/// use agentwire_tokio::client::Client;
/// use agentwire_tokio::gateway::{Transparent, Unasked, When};
/// use agentwire_tokio::link::Core;
///
/// # async fn serve() -> Result<(), Box<dyn core::error::Error>> {
/// let client = Client::connect(Core::new("ws://127.0.0.1:5225")).await?;
/// let clock = "@clock".parse()?;
/// let server = Transparent::new(client, clock, When::Never, Unasked);
/// server.serve(tokio::io::stdin(), tokio::io::stdout()).await?;
/// # Ok(())
/// # }
/// ```
pub struct Transparent<A> {
    inner: Arc<Inner<A>>,
}

struct Inner<A> {
    client: Client,
    address: Address,
    transport: Option<Transport>,
    approval: Approval<A>,
    pins: Mutex<Pins>,
}

impl<A> core::fmt::Debug for Transparent<A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Transparent").finish_non_exhaustive()
    }
}

impl<A: Approver> Transparent<A> {
    /// The agent at `address`, for the profile for which `client` speaks.
    pub fn new(client: Client, address: Address, when: When, approver: A) -> Self {
        Self::with(client, address, None, when, approver, Pins::default())
    }

    /// The same over one transport and no other, if `transport` says so, and with the definitions
    /// of tools that were accepted before.
    pub fn with(
        client: Client,
        address: Address,
        transport: Option<Transport>,
        when: When,
        approver: A,
        pins: Pins,
    ) -> Self {
        let approval = Approval::new(when, approver);
        let inner = Inner { client, address, transport, approval, pins: Mutex::new(pins) };
        Self { inner: Arc::new(inner) }
    }

    /// The definitions of tools that are accepted now.
    #[must_use]
    pub fn pins(&self) -> Pins {
        self.inner.pins().clone()
    }

    /// Speaks with the host until `input` ends. What is open then is given up.
    ///
    /// # Errors
    /// What reading or writing fails with.
    pub async fn serve(
        &self,
        input: impl AsyncRead + Unpin,
        mut output: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let (lines, mut written) = mpsc::channel::<String>(WRITTEN);
        let write = async {
            while let Some(mut line) = written.recv().await {
                line.push('\n');
                output.write_all(line.as_bytes()).await?;
                output.flush().await?;
            }
            Ok(())
        };
        let read = self.read(LineReader::new(input, MAX_LINE), lines);
        tokio::try_join!(read, write).map(|_| ())
    }

    async fn read<R: AsyncRead + Unpin>(
        &self,
        mut input: LineReader<R>,
        lines: mpsc::Sender<String>,
    ) -> io::Result<()> {
        let mut tasks = JoinSet::new();
        let mut calls: HashMap<String, AbortHandle> = HashMap::new();
        while let Some(line) = input.next().await? {
            while tasks.try_join_next().is_some() {}
            calls.retain(|_, call| !call.is_finished());
            let text = match line {
                Line::Text(text) => text.to_owned(),
                // Nobody can tell whom an answer would be for.
                Line::Overlong(_) | Line::NotUtf8 => {
                    let error = error(ErrorId::Absent, jsonrpc::PARSE_ERROR, "not a message", None);
                    let _ = lines.send(error).await;
                    continue;
                }
            };
            let Some(answer) = refusal(&text) else {
                let Ok(request) = Request::parse(&text) else { continue };
                let id = request.id.get().to_owned();
                let (inner, lines) = (Arc::clone(&self.inner), lines.clone());
                let task = tasks.spawn(async move { inner.request(text, &lines).await });
                calls.insert(id, task);
                continue;
            };
            if let Ok(notice) = Notice::check(&text, Way::FromClient) {
                if let Tie::Request(id) = notice.tie
                    && let Some(call) = calls.remove(id.get())
                {
                    call.abort();
                }
                continue;
            }
            let _ = lines.send(answer).await;
        }
        tasks.shutdown().await;
        Ok(())
    }
}

/// Before HTTP clients, with a [`Front`](crate::mcp::Front).
impl<A: Approver> Answers for Transparent<A> {
    type Replies = Replies;

    async fn answer(&self, request: String) -> Replies {
        let inner = Arc::clone(&self.inner);
        Replies::of(|lines| async move {
            match refusal(&request) {
                // An error: the client is gone.
                Some(answer) => drop(lines.send(answer).await),
                None => inner.request(request, &lines).await,
            }
        })
    }
}

impl<A: Approver> Inner<A> {
    fn pins(&self) -> std::sync::MutexGuard<'_, Pins> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the agent answer a request, which was checked.
    async fn request(&self, text: String, lines: &mpsc::Sender<String>) {
        let Ok(request) = Request::parse(&text) else { return };
        let id = request.id.get().to_owned();
        if let Err((reason, sentence)) = self.answer(&text, &request, lines).await {
            let data = json!({ "reason": reason }).to_string();
            let code = jsonrpc::INTERNAL_ERROR;
            let answer = error(ErrorId::Known(&id), code, &sentence, Some(&data));
            // The host is gone.
            let _ = lines.send(answer).await;
        }
    }

    async fn answer(
        &self,
        text: &str,
        request: &Request<'_>,
        lines: &mpsc::Sender<String>,
    ) -> Result<(), (&'static str, String)> {
        let method: String = request.method.chars().collect();
        self.approve(&method, request).await.map_err(|sentence| ("not_approved", sentence))?;
        let unreached = |error: &dyn core::fmt::Display| ("not_reached", error.to_string());
        let found = Reached::find(&self.client, &self.address).await;
        let reached = found.map_err(|error| unreached(&error))?;
        let mut needs = Needs::default();
        needs.insist = self.transport;
        let route = reached.route(&Standard::MCP, text, needs);
        match route.map_err(|error| unreached(&error))?.0 {
            Destination::Conversation(target) => {
                let options = CallOptions::default();
                let call = self.client.call(Standard::MCP, target, text, options).await;
                let mut replies = call.map_err(|error| ("not_called", error.to_string()))?;
                while let Some(reply) = replies.next().await {
                    let reply = reply.map_err(|error| ("no_answer", error.to_string()))?;
                    if matches!(reply.kind, ReplyKind::Text(_)) {
                        continue;
                    }
                    self.pass(&method, &reply.text, lines).await;
                }
            }
            Destination::Service(link) => {
                let options = RequestOptions::default();
                let request = self.client.request(Standard::MCP, &*link, text, options).await;
                match request.map_err(|error| ("not_called", error.to_string()))?.kind {
                    ServiceReplyKind::Answer { text, .. } => self.pass(&method, &text, lines).await,
                    other => return Err(("no_answer", other.to_string())),
                }
            }
        }
        Ok(())
    }

    /// Passes what the agent says on to the host, in one line.
    async fn pass(&self, method: &str, text: &str, lines: &mpsc::Sender<String>) {
        if method == "tools/list" {
            self.pin(text);
        }
        let mut line = String::with_capacity(text.len() + 1);
        agentwire_core::json::compact(text, |piece| line.push_str(piece));
        // The host is gone.
        let _ = lines.send(line).await;
    }

    fn pin(&self, text: &str) {
        let Ok(response) = serde_json::from_str::<Value>(text) else { return };
        let tools = response["result"]["tools"].as_array();
        for tool in tools.into_iter().flatten() {
            let seen = self.pins().see(&self.address.to_string(), &tool.to_string());
            if let Err(error) = seen {
                tracing::warn!(%error, "a tool could not be pinned");
            }
        }
    }

    async fn approve(&self, method: &str, request: &Request<'_>) -> Result<(), String> {
        if method == "server/discover" || method.ends_with("/list") {
            return Ok(());
        }
        let mut params = serde_json::from_str::<Value>(request.params.map_or("{}", |it| it.get()))
            .unwrap_or_default();
        if let Some(params) = params.as_object_mut() {
            params.remove("_meta");
        }
        let to = self.address.to_string();
        let tool = (method == "tools/call").then(|| params["name"].as_str().unwrap_or_default());
        let tool = tool.map(ToOwned::to_owned);
        let action = Action::Call {
            to: to.clone(),
            protocol: "mcp",
            method: method.to_owned(),
            tool: tool.clone(),
            params: params.to_string(),
        };
        self.approval.ask(&action).await.map_err(refused)?;
        let Some(tool) = tool else { return Ok(()) };
        let change = self
            .pins()
            .difference(&to, &tool)
            .map(|difference| (difference.accepted.to_owned(), difference.proposed.to_owned()));
        let Some((accepted, proposed)) = change else { return Ok(()) };
        let shown = proposed.clone();
        let action = Action::Changed { to: to.clone(), tool: tool.clone(), accepted, proposed };
        self.approval.ask(&action).await.map_err(refused)?;
        self.pins().accept(&to, &tool, &shown).map_err(|error| error.to_string())
    }
}

fn refused(decision: Decision) -> String {
    format!("not done: {decision}")
}
