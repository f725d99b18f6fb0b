//! Each request is a call.

use core::sync::atomic::{AtomicU64, Ordering};

use ::a2a::{
    A2AError, AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
    ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
    ListTasksRequest, ListTasksResponse, SendMessageRequest, SendMessageResponse, StreamResponse,
    SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
};
use a2a_client::{BoxStream, ServiceParams, Transport};
use a2a_pb::protojson_conv::{ProtoJsonPayload, to_value};
use agentwire_core::a2a::{GatewayRequest, Method, VERSION};
use agentwire_core::binding::{Binding as _, Place, Standard};
use agentwire_core::chat::CallOptions;
use agentwire_core::rpc::session::ServiceReplyKind;
use async_trait::async_trait;
use serde_json::json;

use super::events::Events;
use super::{failed, read, read_error};
use crate::a2a::call_failed;
use crate::client::{Client, ClientError, Replies, RequestOptions, ServiceTarget, Target};

/// An A2A agent at the other end of a conversation, or behind an address for Service RPC, as the
/// transport of an `a2a_client::A2AClient`.
///
/// A call that is not made or that ends without a last reply is an error with the code and the
/// reason of the binding, as a bot would answer with it; an error of Service RPC's envelope is -32603
/// with its code as the reason.
///
/// ```
/// use a2a::{Message, Part, Role, SendMessageRequest, SendMessageResponse};
/// use a2a_client::A2AClient;
/// use agentwire_core::{binding::Standard, chat::session::Declared};
/// use agentwire_tokio::bot::{Bot, Replier, Request};
/// use agentwire_tokio::{a2a_client::ClientTransport, client::Client, network::Network};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let network = Network::new(1);
/// let (ann, bot) = (network.add_profile("ann").unwrap(), network.add_profile("bot").unwrap());
/// let (to_bot, _) = network.connect(&ann, &bot).unwrap();
/// let declared = vec![Declared::new(Standard::A2A, ["1.0"])];
/// let greet = |request: Request, replier: Replier| async move {
///     let message = r#"{"messageId":"1","role":"ROLE_AGENT","parts":[{"text":"hello"}]}"#;
///     let id = request.id.unwrap_or_default();
///     let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"message":{message}}}}}"#);
///     let _ = replier.respond(answer).await;
/// };
/// let bot = Bot::start(bot, declared, greet);
///
/// let client = A2AClient::new(ClientTransport::new(Client::start(ann), to_bot));
/// let message = Message::new(Role::User, vec![Part::text("hi")]);
/// let request = SendMessageRequest { message, configuration: None, metadata: None, tenant: None };
/// match client.send_message(&request).await.unwrap() {
///     SendMessageResponse::Message(message) => assert_eq!(message.text(), Some("hello")),
///     SendMessageResponse::Task(_) => unreachable!(),
/// }
/// bot.shutdown().await;
/// # });
/// ```
#[derive(Debug)]
pub struct ClientTransport {
    client: Client,
    route: Route,
    requests: AtomicU64,
}

#[derive(Debug)]
enum Route {
    Chat(Target, CallOptions),
    Service(ServiceTarget, RequestOptions),
}

impl ClientTransport {
    /// Calls `target` in a conversation.
    #[must_use]
    pub fn new(client: Client, target: impl Into<Target>) -> Self {
        Self::with_options(client, target, CallOptions::default())
    }

    /// The same with limits for each call. One answer is waited for, whatever the options say.
    #[must_use]
    pub fn with_options(client: Client, target: impl Into<Target>, options: CallOptions) -> Self {
        Self::over(client, Route::Chat(target.into(), options.answers(1)))
    }

    /// Makes each request over Service RPC: messages whose outcome is waited for.
    #[must_use]
    pub fn over_service_rpc(
        client: Client,
        target: impl Into<ServiceTarget>,
        options: RequestOptions,
    ) -> Self {
        Self::over(client, Route::Service(target.into(), options))
    }

    const fn over(client: Client, route: Route) -> Self {
        Self { client, route, requests: AtomicU64::new(1) }
    }

    /// A request of ours as it goes into a conversation.
    fn request<P: ProtoJsonPayload>(
        &self,
        service: &ServiceParams,
        method: Method,
        params: &P,
    ) -> Result<GatewayRequest, A2AError> {
        let params = to_value(params)
            .map_err(|error| A2AError::invalid_params(format!("no parameters: {error}")))?;
        let id = self.requests.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method.name(), "params": params});
        let mut headers: Vec<_> = service
            .iter()
            .flat_map(|(name, values)| values.iter().map(|value| (name.as_str(), value.as_str())))
            .collect();
        // The SDK keeps them in no order.
        headers.sort_unstable();
        let place = match self.route {
            Route::Chat(Target::Contact(_), _) | Route::Service(..) => Place::Direct,
            Route::Chat(..) => Place::Group,
        };
        let request = GatewayRequest::new(&body.to_string(), &headers, Some(VERSION), place);
        request.map_err(|answer| read_error(&answer))
    }

    /// Makes a call, and gives the text of its last reply.
    async fn answer(&self, request: &GatewayRequest) -> Result<String, A2AError> {
        match &self.route {
            Route::Chat(target, options) => {
                let replies = self.call(request, target, *options).await?;
                let last = replies.last().await;
                last.map(|reply| reply.text).map_err(|error| call_error(request.id(), &error))
            }
            Route::Service(target, options) => {
                if !Standard::A2A.is_one_shot(request.text()) {
                    return Err(needs_conversation());
                }
                let asked = self.client.request(
                    Standard::A2A,
                    target.clone(),
                    request.text(),
                    options.clone(),
                );
                let reply = asked.await.map_err(|error| failed("not_sent", error.to_string()))?;
                match reply.kind {
                    ServiceReplyKind::Answer { text, .. } => Ok(text),
                    ServiceReplyKind::Error { ref code_text, .. } => {
                        Err(failed(code_text, reply.kind.to_string()))
                    }
                    ServiceReplyKind::Silence => Err(failed("timed_out", reply.kind.to_string())),
                    kind => Err(failed("no_answer", kind.to_string())),
                }
            }
        }
    }

    async fn call(
        &self,
        request: &GatewayRequest,
        target: &Target,
        options: CallOptions,
    ) -> Result<Replies, A2AError> {
        let call = self.client.call(Standard::A2A, target.clone(), request.text(), options);
        call.await.map_err(|error| call_error(request.id(), &error))
    }

    async fn one<P: ProtoJsonPayload, R: ProtoJsonPayload>(
        &self,
        service: &ServiceParams,
        method: Method,
        params: &P,
    ) -> Result<R, A2AError> {
        let request = self.request(service, method, params)?;
        read(&self.answer(&request).await?)
    }

    /// An error before the first event is an error of the call, as it is over HTTP.
    async fn stream<P: ProtoJsonPayload>(
        &self,
        service: &ServiceParams,
        method: Method,
        params: &P,
    ) -> Result<BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError> {
        let request = self.request(service, method, params)?;
        let Route::Chat(target, options) = &self.route else { return Err(needs_conversation()) };
        let replies = self.call(&request, target, *options).await?;
        Ok(Box::pin(Events::begin(replies, request.id().to_owned()).await?))
    }
}

fn needs_conversation() -> A2AError {
    A2AError::unsupported_operation("the request needs a conversation")
}

/// The error for a call that was not made, or that has ended without its last reply.
pub(super) fn call_error(id: &str, error: &ClientError) -> A2AError {
    read_error(&call_failed(id, error))
}

#[async_trait]
impl Transport for ClientTransport {
    async fn send_message(
        &self,
        service: &ServiceParams,
        params: &SendMessageRequest,
    ) -> Result<SendMessageResponse, A2AError> {
        self.one(service, Method::SendMessage, params).await
    }

    async fn send_streaming_message(
        &self,
        service: &ServiceParams,
        params: &SendMessageRequest,
    ) -> Result<BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError> {
        self.stream(service, Method::SendStreamingMessage, params).await
    }

    async fn get_task(
        &self,
        service: &ServiceParams,
        params: &GetTaskRequest,
    ) -> Result<Task, A2AError> {
        self.one(service, Method::GetTask, params).await
    }

    async fn list_tasks(
        &self,
        service: &ServiceParams,
        params: &ListTasksRequest,
    ) -> Result<ListTasksResponse, A2AError> {
        self.one(service, Method::ListTasks, params).await
    }

    async fn cancel_task(
        &self,
        service: &ServiceParams,
        params: &CancelTaskRequest,
    ) -> Result<Task, A2AError> {
        self.one(service, Method::CancelTask, params).await
    }

    async fn subscribe_to_task(
        &self,
        service: &ServiceParams,
        params: &SubscribeToTaskRequest,
    ) -> Result<BoxStream<'static, Result<StreamResponse, A2AError>>, A2AError> {
        self.stream(service, Method::SubscribeToTask, params).await
    }

    async fn create_push_config(
        &self,
        service: &ServiceParams,
        params: &TaskPushNotificationConfig,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        self.one(service, Method::CreateTaskPushNotificationConfig, params).await
    }

    async fn get_push_config(
        &self,
        service: &ServiceParams,
        params: &GetTaskPushNotificationConfigRequest,
    ) -> Result<TaskPushNotificationConfig, A2AError> {
        self.one(service, Method::GetTaskPushNotificationConfig, params).await
    }

    async fn list_push_configs(
        &self,
        service: &ServiceParams,
        params: &ListTaskPushNotificationConfigsRequest,
    ) -> Result<ListTaskPushNotificationConfigsResponse, A2AError> {
        self.one(service, Method::ListTaskPushNotificationConfigs, params).await
    }

    async fn delete_push_config(
        &self,
        service: &ServiceParams,
        params: &DeleteTaskPushNotificationConfigRequest,
    ) -> Result<(), A2AError> {
        let request = self.request(service, Method::DeleteTaskPushNotificationConfig, params)?;
        // No binding to SimpleX has it, so whoever answers with success does so with nothing.
        self.answer(&request).await.map(|_| ())
    }

    async fn get_extended_agent_card(
        &self,
        service: &ServiceParams,
        params: &GetExtendedAgentCardRequest,
    ) -> Result<AgentCard, A2AError> {
        self.one(service, Method::GetExtendedAgentCard, params).await
    }

    async fn destroy(&self) -> Result<(), A2AError> {
        Ok(())
    }
}
