//! `agentwire demo`: agents and bots at work on the embedded loopback.

mod arguments;
mod shop;
mod transcript;

use std::sync::{Arc, Weak};

use agentwire_core::a2a;
use agentwire_core::binding::{End, Standard};
use agentwire_core::chat::session::{Declared, Reply, ReplyKind};
use agentwire_core::chat::{Chat, ContactId};
use agentwire_core::loopback::{self, ProfileId, ServiceAddress, ServiceTarget};
use agentwire_core::mcp::{META_CLIENT_CAPABILITIES, META_PROTOCOL_VERSION, REVISION};
use agentwire_core::rpc::session::ServiceReplyKind;
use agentwire_tokio::bot::{Bot, BotConfig};
use agentwire_tokio::client::{
    CallOptions, Client, ClientError, RequestError, RequestOptions, Target,
};
use agentwire_tokio::network::Network;
use agentwire_tokio::stdio::{BackendError, Options, ServerCommand, StdioServer};
use serde_json::{Value, json};
use shop::Shop;
use transcript::Transcript;

use crate::args::{DemoArgs, Words};
use crate::exit::{ExitCode, Failure};
use crate::output::Output;
use crate::signals::Shutdown;

/// How many tools of a server behind the bot are called.
const TOOLS: usize = 3;

/// Runs the demo, and leaves nothing of it behind.
pub(crate) async fn run(
    args: &DemoArgs,
    output: &mut Output,
    mut shutdown: Shutdown,
) -> Result<(), Failure> {
    let server = match &args.mcp {
        None => None,
        Some(Words { program, args }) => {
            let command = ServerCommand::new(program).args(args);
            let server = tokio::select! {
                biased;
                () = shutdown.requested() => return Ok(()),
                server = StdioServer::spawn(command, Options::default()) => server?,
            };
            Some(Arc::new(server))
        }
    };
    // Nobody holds the server but for a moment, so that it can be closed here whatever happens.
    let demo = Demo::start(server.as_ref().map(Arc::downgrade))?;
    let shown = tokio::select! {
        biased;
        () = shutdown.requested() => Ok(()),
        shown = demo.play(output) => shown,
    };
    if let Some(server) = server.and_then(Arc::into_inner) {
        server.close().await;
    }
    shown
}

/// The agent's public key. The loopback does not sign: it reports the key as a core does that has
/// verified a signature.
const KEY: &str = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";

/// The agent who calls, and the two bots.
const PROFILES: [&str; 3] = ["agent", "acme", "bolt"];

struct Demo {
    network: Network,
    client: Client,
    acme: Bot,
    bolt: Bot,
    /// The server behind acme.
    server: Option<Weak<StdioServer>>,
    /// Of the profiles above.
    ids: [ProfileId; 3],
    /// The contacts of the agent and a bot, each as it has the other.
    to_acme: (ContactId, ContactId),
    to_bolt: (ContactId, ContactId),
    group: loopback::GroupRef,
    /// Where bolt takes requests over Service RPC.
    bolt_address: ServiceAddress,
}

/// The profiles are made here, with names that are allowed.
fn set_up(error: loopback::SetupError) -> Failure {
    Failure::new(ExitCode::ToolError, format!("the loopback could not be set up: {error}"))
}

impl Demo {
    fn start(server: Option<Weak<StdioServer>>) -> Result<Self, Failure> {
        let network = Network::new(1);
        let add = |name| network.add_profile(name).map_err(set_up);
        let [agent, acme, bolt] = PROFILES;
        let (agent, acme, bolt) = (add(agent)?, add(acme)?, add(bolt)?);
        let ids = [agent.id(), acme.id(), bolt.id()];
        let to_acme = network.connect(&agent, &acme).map_err(set_up)?;
        let to_bolt = network.connect(&agent, &bolt).map_err(set_up)?;
        let group = network
            .with(|net| {
                let group = net.create_group(agent.id(), "market")?;
                net.join(group, acme.id())?;
                net.join(group, bolt.id())?;
                Ok(group)
            })
            .map_err(set_up)?;
        let declared = || {
            vec![
                Declared::new(Standard::MCP, [REVISION]),
                Declared::new(Standard::A2A, [a2a::VERSION]),
            ]
        };
        let bolt_address = network.open_address(&bolt).map_err(set_up)?;
        let shop = |name, stock, server| Shop { name, stock, server };
        let both = BotConfig::from(declared()).service(declared());
        Ok(Self {
            client: Client::start(agent),
            acme: Bot::start(acme, declared(), shop("acme", 12, server.clone())),
            bolt: Bot::start(bolt, both, shop("bolt", 3, None)),
            server,
            network,
            ids,
            to_acme,
            to_bolt,
            group,
            bolt_address,
        })
    }

    async fn play(self, output: &mut Output) -> Result<(), Failure> {
        let mut transcript = Transcript::new(output, &self.network);
        self.name_chats(&mut transcript);
        let acme = Target::Contact(self.to_acme.0);

        self.scene(
            &mut transcript,
            "An agent asks a bot for its tools, in a direct chat",
            "MCP: every call is one message, and the reply quotes it. The bytes are those of the \
             whole encoded message, quote included.",
        )?;
        self.mcp(&mut transcript, acme.clone(), "server/discover", json!({})).await?;
        let listed = self.mcp(&mut transcript, acme.clone(), "tools/list", json!({})).await?;
        if self.server.is_some() {
            self.call_tools(&mut transcript, &acme, &listed).await?;
        } else {
            let call = json!({"name": "availability", "arguments": {"item": "anvil"}});
            self.mcp(&mut transcript, acme.clone(), "tools/call", call).await?;
            self.scene(
                &mut transcript,
                "A tool that reports progress",
                "Notifications come before the last reply, each in a message of its own.",
            )?;
            let call = json!({"name": "stocktake", "arguments": {}, "_meta": {"progressToken": 1}});
            self.mcp(&mut transcript, acme.clone(), "tools/call", call).await?;
        }

        self.scene(
            &mut transcript,
            "One bot in a group, mentioned",
            "The group has two bots. The newline after the opening brace makes today's chat core \
             recognise the mention; only acme answers.",
        )?;
        let [agent, acme_id, _] = self.ids;
        let (market, member) = self.network.with(|net| {
            (net.group_id(self.group, agent), net.member_of(self.group, agent, acme_id))
        });
        let (Some(market), Some(member)) = (market, member) else {
            return Err(Failure::new(ExitCode::ToolError, "the group is gone"));
        };
        let mentioned = Target::Member {
            group: market,
            member: member.member,
            group_member: member.group_member_id,
            name: member.name,
        };
        // A server behind acme has tools that bolt does not have.
        let (method, params) = if self.server.is_some() {
            ("tools/list", json!({}))
        } else {
            ("tools/call", json!({"name": "availability", "arguments": {"item": "anvil"}}))
        };
        self.mcp(&mut transcript, mentioned, method, params.clone()).await?;

        self.scene(
            &mut transcript,
            "Everyone in a group",
            "Without a mention every member that serves the protocol answers, each for itself.",
        )?;
        self.mcp(&mut transcript, Target::Everyone(market), method, params).await?;

        self.scene(
            &mut transcript,
            "A task that streams",
            "A2A: each event of the stream is one reply, in order, until the task has ended.",
        )?;
        let message = json!({
            "message": {
                "messageId": "m-2",
                "role": "ROLE_USER",
                "parts": [{"text": "Order two anvils, delivered by Friday"}],
            },
        });
        self.a2a(&mut transcript, acme.clone(), "SendStreamingMessage", message).await?;

        self.scene(
            &mut transcript,
            "A reply that does not fit",
            "bolt's catalogue takes more than the one message that a chat core sends: the \
             protocol's error stands in its place, with the sizes.",
        )?;
        let call = json!({"name": "catalogue", "arguments": {}});
        let bolt = Target::Contact(self.to_bolt.0);
        let reply = self.mcp(&mut transcript, bolt, "tools/call", call).await?;
        let too_large =
            ReplyKind::Last(End::Error { code: agentwire_core::jsonrpc::INTERNAL_ERROR });
        if reply.kind != too_large {
            return Err(Failure::new(ExitCode::ToolError, "the catalogue was not replaced"));
        }

        self.scene(
            &mut transcript,
            "One request without a conversation",
            "Service RPC: the request is sent to bolt's address and the response comes back, each \
             over a connection that nothing else uses. The bytes are those of the JSON as the \
             core writes it; its framing and padding come on top.",
        )?;
        let target = ServiceTarget::new(self.bolt_address);
        let request = mcp_request(
            "tools/call",
            json!({"name": "availability", "arguments": {"item": "anvil"}}),
        );
        let options = RequestOptions::default();
        self.request(&mut transcript, Standard::MCP, target.clone(), &request, options).await?;

        self.scene(
            &mut transcript,
            "A signed request",
            "The signature shows the bot a key that stays the same, here that of an account. \
             requestKey names it, and the bot refuses a request that another key has signed.",
        )?;
        let message = json!({
            "message": {
                "messageId": "m-3",
                "role": "ROLE_USER",
                "parts": [{"text": "Order two anvils, delivered by Friday"}],
            },
        });
        let request = a2a_request("SendMessage", &message);
        let options = RequestOptions::default().request_key(KEY);
        let target = target.signed_by(KEY);
        self.request(&mut transcript, Standard::A2A, target, &request, options).await?;

        transcript.end()?;
        self.acme.shutdown().await;
        self.bolt.shutdown().await;
        Ok(())
    }

    fn scene(
        &self,
        transcript: &mut Transcript<'_>,
        title: &str,
        about: &str,
    ) -> Result<(), Failure> {
        transcript.scene(self.network.now(), title, about)
    }

    fn name_chats(&self, transcript: &mut Transcript<'_>) {
        let [agent, acme, bolt] = PROFILES;
        for (bot, contacts) in [(acme, self.to_acme), (bolt, self.to_bolt)] {
            transcript.name(agent, Chat::Direct(contacts.0), bot);
            transcript.name(bot, Chat::Direct(contacts.1), agent);
        }
        for (name, id) in PROFILES.into_iter().zip(self.ids) {
            if let Some(group) = self.network.with(|net| net.group_id(self.group, id)) {
                transcript.name(name, Chat::Group(group), "#market");
            }
        }
    }

    /// Calls tools of the server behind the bot with arguments made from their schemas. The tools
    /// are real: one that says that it changes something is left alone.
    async fn call_tools(
        &self,
        transcript: &mut Transcript<'_>,
        target: &Target,
        listed: &Reply,
    ) -> Result<(), Failure> {
        let listed: Value = serde_json::from_str(&listed.text).unwrap_or_default();
        let tools = listed["result"]["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        if tools.is_empty() {
            return transcript.remark("The server lists no tools: none is called.");
        }
        let (harmless, changing): (Vec<_>, Vec<_>) =
            tools.iter().partition(|tool| is_harmless(&tool["annotations"]));
        for tool in harmless.iter().take(TOOLS) {
            let arguments = arguments::sample(&tool["inputSchema"]);
            let call = json!({"name": tool["name"], "arguments": arguments});
            self.mcp(transcript, target.clone(), "tools/call", call).await?;
        }
        let left = harmless.len().saturating_sub(TOOLS);
        let mut kept = Vec::new();
        if left > 0 {
            kept.push(format!("{left} more"));
        }
        if !changing.is_empty() {
            kept.push(format!("{} that may change something", changing.len()));
        }
        if kept.is_empty() {
            return Ok(());
        }
        transcript.remark(&format!("Tools not called here: {}.", kept.join(", and ")))
    }

    async fn mcp(
        &self,
        transcript: &mut Transcript<'_>,
        target: Target,
        method: &str,
        params: Value,
    ) -> Result<Reply, Failure> {
        self.call(transcript, Standard::MCP, target, &mcp_request(method, params)).await
    }

    async fn a2a(
        &self,
        transcript: &mut Transcript<'_>,
        target: Target,
        method: &str,
        params: Value,
    ) -> Result<Reply, Failure> {
        self.call(transcript, Standard::A2A, target, &a2a_request(method, &params)).await
    }

    /// Makes a request over Service RPC and shows what is sent; it has to be answered.
    async fn request(
        &self,
        transcript: &mut Transcript<'_>,
        binding: Standard,
        target: ServiceTarget,
        request: &Value,
        options: RequestOptions,
    ) -> Result<(), Failure> {
        let asked = self.client.request(binding, target, request.to_string(), options).await;
        let reply = asked.map_err(|error| {
            let code = match error {
                RequestError::Closed => ExitCode::ToolError,
                _ => ExitCode::Refused,
            };
            Failure::new(code, error.to_string())
        })?;
        transcript.show()?;
        match reply.kind {
            ServiceReplyKind::Answer { .. } => Ok(()),
            other => Err(Failure::new(ExitCode::ToolError, other.to_string())),
        }
    }

    /// Makes a call and shows what is sent until it has ended; gives the last reply.
    async fn call(
        &self,
        transcript: &mut Transcript<'_>,
        binding: Standard,
        target: Target,
        request: &Value,
    ) -> Result<Reply, Failure> {
        // In the group both bots answer a broadcast.
        let is_broadcast = matches!(target, Target::Everyone(_));
        let answers = if is_broadcast { 2 } else { 1 };
        let options = CallOptions::default().answers(answers);
        let mut replies = self
            .client
            .call(binding, target, request.to_string(), options)
            .await
            .map_err(|error| failed(&error))?;
        let mut last = None;
        loop {
            // Shown as it happens: a call that waits for a slow tool stands there already.
            let reply = tokio::select! {
                biased;
                shown = transcript.follow() => { shown?; continue }
                reply = replies.next() => reply,
            };
            match reply {
                Some(Ok(reply)) => last = Some(reply),
                Some(Err(error)) => return Err(failed(&error)),
                None => break,
            }
        }
        transcript.show()?;
        // A server that has gone answers no call any more: that is the end of its demo.
        let server = self.server.as_ref().and_then(Weak::upgrade);
        if let Some(ended) = server.and_then(|server| server.ended()) {
            return Err(BackendError::Ended(ended).into());
        }
        last.ok_or_else(|| Failure::new(ExitCode::ToolError, "no reply came"))
    }
}

fn mcp_request(method: &str, mut params: Value) -> Value {
    params["_meta"][META_PROTOCOL_VERSION] = REVISION.into();
    params["_meta"][META_CLIENT_CAPABILITIES] = json!({});
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn a2a_request(method: &str, params: &Value) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": 2,
        "method": method,
        a2a::SERVICE_PARAMETERS: {a2a::VERSION_PARAMETER: a2a::VERSION},
        "params": params,
    })
}

/// Whether a tool may be called with made-up arguments: it says that it only reads, or nothing at
/// all (MCP, Tool annotations).
fn is_harmless(annotations: &Value) -> bool {
    let says = |hint: &str| annotations[hint].as_bool();
    match says("readOnlyHint") {
        Some(only_reads) => only_reads,
        None => says("destructiveHint") != Some(true),
    }
}

fn failed(error: &ClientError) -> Failure {
    let code = match error {
        ClientError::TimedOut(_) => ExitCode::Timeout,
        ClientError::Call(_) | ClientError::NotSent(_) => ExitCode::Refused,
        _ => ExitCode::ToolError,
    };
    Failure::new(code, error.to_string())
}
