//! One request and its answer.

use core::{fmt, mem};

use agentwire_core::a2a::ownership::{Admitted, Owner, OwnershipError, Store};
use agentwire_core::a2a::{
    A2aError, Answer, ErrorBody, Incoming, MadeTask, Method, StreamEvent, TaskState, text_field,
    write_invalid_answer,
};
use agentwire_core::binding::Failure;
use agentwire_core::chat::responder::AnswerError;
use agentwire_core::json::{Object, Str, Value, Writer, to_text};
use agentwire_core::jsonrpc::write_result;
use tokio::time::{Duration, sleep, timeout};

use super::proxy::Shared;
use super::source::Source;
use super::upstream::Answered;
use crate::bot::{Replier, ReplyError};
use crate::http::HttpError;

/// How a request ends.
pub(super) enum Outcome {
    /// With this last reply.
    Answered(String),
    /// With the binding's error.
    Failed(Failure<'static>),
    /// It has been answered, or nobody is there any more.
    Gone,
}

/// How long to wait until there is room for a reply again.
const ROOM_DELAY: Duration = Duration::from_millis(20);

/// How long to wait for what follows a task as it was before the message. Whoever shows it goes on
/// with its next step at once; where nothing comes, the task still waits.
const NEXT_STEP: Duration = Duration::from_secs(2);

/// One request on its way.
pub(super) struct Exchange<'r, S> {
    shared: &'r Shared<S>,
    request: Incoming<'r>,
    /// `None` over Service RPC.
    owner: Option<Owner>,
    /// What has been learnt last: the ids that the events of a stream repeat.
    learnt: (Option<String>, Option<String>),
}

type Ended<T> = Result<T, Outcome>;

impl<'r, S: Store<Error: fmt::Display + Send> + Send + 'static> Exchange<'r, S> {
    pub(super) const fn new(
        shared: &'r Shared<S>,
        request: Incoming<'r>,
        owner: Option<Owner>,
    ) -> Self {
        Self { shared, request, owner, learnt: (None, None) }
    }

    /// Answers the request. Replies before the last one go out on the way.
    pub(super) async fn run(mut self, replier: &mut Replier) -> Outcome {
        match self.answer(replier).await {
            Ok(text) => Outcome::Answered(text),
            Err(outcome) => outcome,
        }
    }

    async fn answer(&mut self, replier: &mut Replier) -> Ended<String> {
        if self.request.method == Method::GetExtendedAgentCard && !self.has_credential() {
            return Ok(self.public_card().await);
        }
        let body = match self.admit().await? {
            Admitted::Anew => self.body(|out, this| this.request.write_anew(out, this.id)),
            Admitted::Local { context } => return Ok(self.local_task(context.as_deref())),
            _ => self.body(|out, this| this.request.write(out, this.id)),
        };
        let streams = self.request.method.is_streaming();
        let (id, body) = body;
        match self.shared.upstream.call(&self.request, body, streams).await {
            Err(error) => Err(Outcome::Answered(self.failed(&error))),
            Ok(Answered::Later(retry_after)) => {
                Err(Outcome::Failed(Failure::RateLimited { retry_after }))
            }
            Ok(Answered::Challenge(challenge)) => self.challenged(&challenge).await,
            Ok(Answered::Source(source)) if streams => self.stream(source, id, replier).await,
            Ok(Answered::Source(source)) => self.one(source, id).await,
        }
    }

    fn has_credential(&self) -> bool {
        let names = self.shared.upstream.credentials();
        self.request.parameters.has_credential() || self.request.parameters.has_any(names)
    }

    async fn public_card(&self) -> String {
        let card = match &self.shared.config.card {
            Some(card) => card.clone(),
            None => self.shared.upstream.card().await,
        };
        to_text(|out| write_result(out, self.request.id.get(), card.trim()))
    }

    /// A request to the agent, and its id.
    fn body(&self, write: impl Fn(&mut Writer<'_>, &Body<'_>)) -> (i64, String) {
        let body = Body { request: &self.request, id: self.shared.next_id() };
        (body.id, to_text(|out| write(out, &body)))
    }

    async fn admit(&self) -> Ended<Admitted> {
        let (owner, method) = (self.owner.clone(), self.request.method);
        let params = self.request.params.map(|params| params.get_text().to_owned());
        let admitted = self.shared.own(move |ownership, now| {
            let params = params.as_deref().and_then(|params| Object::parse(params).ok());
            ownership.admit(now, owner.as_ref(), method, params)
        });
        admitted.await.map_err(Outcome::Failed)?.map_err(|error| self.not_owned(&error))
    }

    /// Takes what an answer names to be the caller's.
    async fn learn(&mut self, event: Option<&StreamEvent<'_>>, result: Value<'_>) -> Ended<()> {
        let Some(owner) = self.owner.clone() else { return Ok(()) };
        let Some(event) = event else { return Ok(()) };
        let text = |id: Option<Str<'_>>| id.map(|id| id.chars().collect::<String>());
        let ids = (text(event.task_id), text(event.context_id));
        if ids == self.learnt {
            return Ok(());
        }
        let (method, text) = (self.request.method, result.get().to_owned());
        let learnt = self.shared.own(move |ownership, now| {
            let result = Value::parse(&text).ok();
            result.map_or(Ok(()), |result| ownership.learn(now, &owner, method, result))
        });
        learnt.await.map_err(Outcome::Failed)?.map_err(|error| self.not_owned(&error))?;
        self.learnt = ids;
        Ok(())
    }

    fn not_owned(&self, error: &OwnershipError<S::Error>) -> Outcome {
        let error = match error {
            OwnershipError::Unknown => A2aError::TaskNotFound,
            OwnershipError::Foreign | OwnershipError::IdTooLong { .. } => {
                tracing::warn!(%error, "an answer was held back");
                A2aError::InvalidAgentResponse
            }
            error => {
                tracing::error!(%error, "a request was held back");
                return Outcome::Failed(Failure::Internal);
            }
        };
        Outcome::Answered(self.error(ErrorBody::new(error), &[]))
    }

    fn error(&self, body: ErrorBody<'_>, metadata: &[(&str, &str)]) -> String {
        to_text(|out| body.write(out, Some(self.request.id.get()), metadata))
    }

    /// The error for what has gone wrong between here and the agent.
    fn failed(&self, error: &HttpError) -> String {
        let (error, reason, message) = match error {
            HttpError::TooLarge { .. } | HttpError::Event(_) => {
                (A2aError::Internal, "answer_too_large", "the agent's answer is too large")
            }
            HttpError::CutOff => (A2aError::Internal, "cut_off", "the agent's answer was cut off"),
            HttpError::Status(status) => {
                let status = status.to_string();
                let body = ErrorBody::new(A2aError::Internal)
                    .reason("agent_status")
                    .message("the agent's server has failed");
                return self.error(body, &[("status", &status)]);
            }
            HttpError::Header => (
                A2aError::InvalidRequest,
                "invalid_request",
                "a service parameter cannot be a header",
            ),
            HttpError::MediaType | HttpError::NotUtf8 => {
                let message = "the agent's answer is neither JSON nor a stream of events";
                return self
                    .error(ErrorBody::new(A2aError::InvalidAgentResponse).message(message), &[]);
            }
            other => {
                tracing::warn!(error = %other, "the agent cannot be reached");
                (A2aError::Internal, "agent_unreachable", "the agent cannot be reached")
            }
        };
        self.error(ErrorBody::new(error).reason(reason).message(message), &[])
    }

    /// One answer, or, over Service RPC, the task at the end of its work.
    async fn one(&mut self, mut source: Source, id: i64) -> Ended<String> {
        let text = self.next(&mut source).await?;
        let answer = self.read(&text, id)?;
        let Answer::Result(result) = answer else { return Ok(self.restored(&answer)) };
        let event = self.event(result);
        let unfinished = event.filter(|event| event.end().is_none() && self.owner.is_none());
        match unfinished.and_then(|event| event.task_id) {
            Some(task) => self.wait_for(task.get()).await,
            None => {
                self.learn(event.as_ref(), result).await?;
                self.own_result(result).await
            }
        }
    }

    /// Looks at a task until it is over or waits for its caller. `task` is the text of a JSON
    /// string. What takes too long is ended from outside: the request has a limit.
    async fn wait_for(&self, task: &str) -> Ended<String> {
        loop {
            sleep(self.shared.config.poll_every).await;
            let (id, mut source) = self.ask_of(Method::GetTask, task).await?;
            let text = self.next(&mut source).await?;
            let answer = self.read(&text, id)?;
            let Answer::Result(result) = answer else { return Ok(self.restored(&answer)) };
            let event = result.as_object().and_then(StreamEvent::of_task);
            if event.is_none_or(|event| event.end().is_some()) {
                return Ok(self.as_arm(result));
            }
        }
    }

    /// A task as the arm of an answer that could be a message too.
    fn as_arm(&self, task: Value<'_>) -> String {
        let result = format!("{{\"task\":{}}}", task.get());
        to_text(|out| write_result(out, self.request.id.get(), &result))
    }

    /// The event that a result is, for the methods that have one.
    fn event<'m>(&self, result: Value<'m>) -> Option<StreamEvent<'m>> {
        let result = result.as_object()?;
        match self.request.method {
            Method::GetTask | Method::CancelTask => StreamEvent::of_task(result),
            Method::SendMessage | Method::SendStreamingMessage | Method::SubscribeToTask => {
                StreamEvent::of(result)
            }
            _ => None,
        }
    }

    /// A result as the caller gets it: of a list of tasks, its own.
    async fn own_result(&self, result: Value<'_>) -> Ended<String> {
        let is_list = self.request.method == Method::ListTasks;
        let (Some(owner), true) = (self.owner.clone(), is_list) else {
            return Ok(self.restored(&Answer::Result(result)));
        };
        let params = self.request.params;
        let names_context = params.is_some_and(|params| text_field(params, "contextId").is_some());
        let text = result.get().to_owned();
        let own = self.shared.own(move |ownership, now| match Object::parse(&text) {
            Ok(list) => ownership.own_tasks(now, &owner, list, names_context).map(Some),
            Err(_) => Ok(None),
        });
        let own = own.await.map_err(Outcome::Failed)?.map_err(|error| self.not_owned(&error))?;
        match own {
            Some(own) => Ok(to_text(|out| write_result(out, self.request.id.get(), &own))),
            None => Ok(self.error(ErrorBody::new(A2aError::InvalidAgentResponse), &[])),
        }
    }

    async fn next(&self, source: &mut Source) -> Ended<String> {
        let text = source.next().await.and_then(|text| text.ok_or(HttpError::CutOff));
        text.map_err(|error| Outcome::Answered(self.failed(&error)))
    }

    fn read<'m>(&self, text: &'m str, id: i64) -> Ended<Answer<'m>> {
        Answer::read(text, id).map_err(|fault| {
            tracing::warn!(%fault, "an answer was held back");
            let id = Some(self.request.id.get());
            Outcome::Answered(to_text(|out| write_invalid_answer(out, id, &fault)))
        })
    }

    fn restored(&self, answer: &Answer<'_>) -> String {
        to_text(|out| answer.write(out, self.request.id.get()))
    }

    /// A stream, reply by reply.
    async fn stream(
        &mut self,
        mut source: Source,
        mut id: i64,
        replier: &mut Replier,
    ) -> Ended<String> {
        let mut task: Option<String> = None;
        let mut attempts = 0;
        let (mut is_first, mut following) = (true, None);
        loop {
            let next = match following.take() {
                Some(text) => Ok(Some(text)),
                None => source.next().await,
            };
            let text = match next {
                Ok(Some(text)) => text,
                Ok(None) | Err(HttpError::CutOff | HttpError::Connection(_)) => {
                    drop(source);
                    let Some(task) = &task else {
                        return Ok(self.failed(&HttpError::CutOff));
                    };
                    match self.resume(task, &mut attempts).await? {
                        Resumed::Stream(new_id, new_source) => (id, source) = (new_id, new_source),
                        Resumed::Over(text) => return Ok(text),
                    }
                    continue;
                }
                Err(error) => return Ok(self.failed(&error)),
            };
            let answer = self.read(&text, id)?;
            let Answer::Result(result) = answer else { return Ok(self.restored(&answer)) };
            let Some(event) = self.event(result) else {
                let body = ErrorBody::new(A2aError::InvalidAgentResponse)
                    .message("the agent's stream has something in it that is no event");
                return Ok(self.error(body, &[]));
            };
            self.learn(Some(&event), result).await?;
            let reply = self.restored(&answer);
            if mem::take(&mut is_first) && self.request.is_preceded_by(&event) {
                following =
                    timeout(NEXT_STEP, source.next()).await.ok().and_then(Result::ok).flatten();
            }
            if event.end().is_some() && following.is_none() {
                return Ok(reply);
            }
            if let Some(id) = event.task_id {
                task = Some(id.get().to_owned());
                attempts = 0;
            }
            if following.is_none() {
                self.notify(replier, reply).await?;
            }
        }
    }

    /// Sends part of a stream, as soon as there is room for it.
    async fn notify(&self, replier: &mut Replier, text: String) -> Ended<()> {
        loop {
            match replier.notify(text.clone()).await {
                Ok(None) => return Ok(()),
                // An error has been sent in its place.
                Ok(Some(_)) => return Err(Outcome::Gone),
                Err(ReplyError::Busy) => sleep(ROOM_DELAY).await,
                Err(ReplyError::Answer(AnswerError::Gone) | ReplyError::Closed) => {
                    return Err(Outcome::Gone);
                }
                Err(error) => {
                    tracing::debug!(%error, "part of a stream was not sent");
                    return Err(Outcome::Failed(Failure::Internal));
                }
            }
        }
    }

    /// Takes up a stream again that was cut off. `task` is the text of a JSON string.
    async fn resume(&self, task: &str, attempts: &mut u32) -> Ended<Resumed> {
        let config = &self.shared.config;
        while *attempts < config.resume_attempts {
            let delay = config.resume_delay.saturating_mul(1 << (*attempts).min(16));
            *attempts += 1;
            sleep(delay).await;
            let Ok((id, mut source)) = self.ask_of(Method::SubscribeToTask, task).await else {
                continue;
            };
            match source {
                Source::Events(_) => return Ok(Resumed::Stream(id, source)),
                // An error: the task is over, or the agent does not do that.
                Source::One(_) => {
                    let _ = source.next().await;
                }
            }
            if let Some(text) = self.ended(task).await {
                return Ok(Resumed::Over(text));
            }
        }
        let body = ErrorBody::new(A2aError::Internal)
            .reason("cut_off")
            .message("the agent's stream was cut off before the task was over");
        let task = Value::parse(task).ok().and_then(|task| task.as_str());
        let task: String = task.map(|task| task.chars().collect()).unwrap_or_default();
        Ok(Resumed::Over(self.error(body, &[("taskId", &task)])))
    }

    /// The last event of a stream whose task is over, as `GetTask` shows it.
    async fn ended(&self, task: &str) -> Option<String> {
        let (id, mut source) = self.ask_of(Method::GetTask, task).await.ok()?;
        let text = source.next().await.ok()??;
        let Answer::Result(result) = Answer::read(&text, id).ok()? else { return None };
        let event = StreamEvent::of_task(result.as_object()?)?;
        event.end().map(|_| self.as_arm(result))
    }

    /// A request of the proxy's own about the caller's task, with the caller's service parameters.
    async fn ask_of(&self, method: Method, task: &str) -> Ended<(i64, Source)> {
        let id = self.shared.next_id();
        let tenant = self.request.tenant.map(|tenant| format!(",\"tenant\":{}", tenant.get()));
        let tenant = tenant.unwrap_or_default();
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{}\",\"params\":{{\"id\":{task}{tenant}}}}}",
            method.name()
        );
        let streams = method.is_streaming();
        match self.shared.upstream.call(&self.request, body, streams).await {
            Ok(Answered::Source(source)) => Ok((id, source)),
            Ok(Answered::Later(retry_after)) => {
                Err(Outcome::Failed(Failure::RateLimited { retry_after }))
            }
            Ok(Answered::Challenge(_)) => Err(Outcome::Failed(Failure::Internal)),
            Err(error) => Err(Outcome::Answered(self.failed(&error))),
        }
    }

    /// A task of the proxy's own, as the caller asks for it.
    fn local_task(&self, context: Option<&str>) -> String {
        let id = self.named("id").unwrap_or_default();
        let state = match self.request.method {
            Method::CancelTask => TaskState::Canceled,
            _ => TaskState::AuthRequired,
        };
        let mut task = MadeTask::new(&id, state);
        if let Some(context) = context {
            task = task.context(context);
        }
        to_text(|out| task.write(out, self.request.id.get(), self.request.method))
    }

    /// What a challenge becomes: the task it is about, or a new one, that waits for a credential.
    async fn challenged(&self, challenge: &str) -> Ended<String> {
        let method = self.request.method;
        let message = self.shared.random_id();
        let (task, context) = match method {
            Method::SendMessage | Method::SendStreamingMessage => {
                let task = self.named("taskId");
                let is_new = task.is_none();
                let task = task.unwrap_or_else(|| self.shared.random_id());
                let context = self.named("contextId");
                let context = context.or_else(|| is_new.then(|| self.shared.random_id()));
                if let (Some(owner), Some(context), true) = (&self.owner, &context, is_new) {
                    self.own_local(owner.clone(), &task, context).await?;
                }
                (task, context)
            }
            Method::GetTask | Method::CancelTask | Method::SubscribeToTask => {
                (self.named("id").unwrap_or_default(), None)
            }
            _ => {
                let body = ErrorBody::new(A2aError::Internal)
                    .reason("authentication_required")
                    .message("the agent asks for a credential");
                return Ok(self.error(body, &[("challenge", challenge)]));
            }
        };
        let mut made = MadeTask::new(&task, TaskState::AuthRequired).says(&message, challenge);
        if let Some(context) = &context {
            made = made.context(context);
        }
        Ok(to_text(|out| made.write(out, self.request.id.get(), method)))
    }

    async fn own_local(&self, owner: Owner, task: &str, context: &str) -> Ended<()> {
        let (task, context) = (task.to_owned(), context.to_owned());
        let own = self
            .shared
            .own(move |ownership, now| ownership.learn_local(now, &owner, &task, &context));
        own.await.map_err(Outcome::Failed)?.map_err(|error| self.not_owned(&error))
    }

    /// The id under this name in the parameters, or in the message among them; an admitted request
    /// names each once.
    fn named(&self, name: &str) -> Option<String> {
        let params = self.request.params?;
        let object = match self.request.method.is_send() {
            true => params.object("message").ok()??,
            false => params,
        };
        text_field(object, name)
    }
}

/// A request to the agent that is to be written.
struct Body<'r> {
    request: &'r Incoming<'r>,
    id: i64,
}

enum Resumed {
    Stream(i64, Source),
    Over(String),
}
