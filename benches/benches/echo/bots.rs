//! The bots: each reads a command's text and number and answers with a message that quotes it.

use std::borrow::Cow;
use std::sync::Arc;

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_core::turns::TurnLimits;
use agentwire_tokio::bot::{Bot, BotConfig, Replier, Request};
use agentwire_tokio::link::Core;
use futures_util::{FutureExt, SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use simploxide_client::prelude::*;
use simploxide_client::ws::{self, ClientResult};
use tokio::net::TcpStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

use super::wire::{ScriptedCore, answer};

/// What a bot reads of a request.
#[derive(Deserialize)]
struct Asked<'f> {
    #[serde(borrow)]
    id: &'f RawValue,
    #[serde(borrow)]
    params: Params<'f>,
}

#[derive(Deserialize)]
struct Params<'f> {
    #[serde(borrow)]
    id: Cow<'f, str>,
}

/// The answer to a request.
pub(crate) fn echo(request: &str) -> String {
    let asked: Asked<'_> = serde_json::from_str(request).expect("a request");
    answer(asked.id.get(), &asked.params.id)
}

/// With this library.
pub(crate) async fn agentwire(core: &ScriptedCore) {
    let handler = |request: Request, replier: Replier| async move {
        // An error is the end of the run.
        let _ = replier.respond(echo(&request.text)).await;
    };
    let config = BotConfig::from(vec![Declared::new(Standard::A2A, ["1.0"])])
        .turns(TurnLimits::default().running_per_caller(64))
        .unpublished();
    let _bot = Bot::connect(Core::new(core.url.as_str()), config, handler).await.expect("a bot");
    core::future::pending().await
}

/// What is read of a frame by hand.
#[derive(Deserialize)]
struct Frame<'f> {
    #[serde(rename = "corrId")]
    corr_id: Option<&'f str>,
    #[serde(borrow)]
    resp: Resp<'f>,
}

#[derive(Deserialize)]
struct Resp<'f> {
    #[serde(borrow, default, rename = "chatItems")]
    items: Vec<ChatItem<'f>>,
}

#[derive(Deserialize)]
struct ChatItem<'f> {
    #[serde(borrow, rename = "chatItem")]
    item: Item<'f>,
}

#[derive(Deserialize)]
struct Item<'f> {
    meta: Meta,
    #[serde(borrow)]
    content: Content<'f>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "itemId")]
    id: i64,
}

#[derive(Deserialize)]
struct Content<'f> {
    #[serde(borrow, rename = "msgContent")]
    content: MsgContent<'f>,
}

#[derive(Deserialize, Serialize)]
struct MsgContent<'f> {
    #[serde(rename = "type")]
    kind: &'f str,
    #[serde(borrow)]
    text: Cow<'f, str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Composed<'f> {
    msg_content: MsgContent<'f>,
    quoted_item_id: i64,
    mentions: Mentions,
}

#[derive(Serialize)]
struct Mentions {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Command<'f> {
    corr_id: String,
    cmd: &'f str,
}

/// The command that sends this, as a frame.
fn send(corr_id: u64, text: &str, quoted_item_id: i64) -> String {
    let msg_content = MsgContent { kind: "text", text: text.into() };
    let composed = [Composed { msg_content, quoted_item_id, mentions: Mentions {} }];
    let composed = serde_json::to_string(&composed).expect("it can be written");
    let cmd = format!("/_send @3 json {composed}");
    let command = Command { corr_id: corr_id.to_string(), cmd: &cmd };
    serde_json::to_string(&command).expect("it can be written")
}

/// With serde_json.
fn read(frame: &str, corr_id: u64) -> Option<String> {
    let frame: Frame<'_> = serde_json::from_str(frame).expect("a frame");
    if frame.corr_id.is_some() {
        return None;
    }
    let item = &frame.resp.items.first()?.item;
    let request = item.content.content.text.strip_prefix("/_call a2a ")?;
    Some(send(corr_id, &echo(request), item.meta.id))
}

/// Not at all, except for what has to be known: the least that any bot could do.
fn search(frame: &str, corr_id: u64) -> Option<String> {
    if frame.starts_with(r#"{"corrId""#) {
        return None;
    }
    let between = |before: &str, after: char| {
        let (_, rest) = frame.split_once(before)?;
        rest.split(after).next()
    };
    let item = between(r#""itemId":"#, ',')?;
    let id = between(r#"\"id\":"#, ',')?;
    let text = between(r#"\"params\":{\"id\":\""#, '\\')?;
    // Escaped as it has to be in JSON in JSON in JSON.
    let answer = format!(
        concat!(
            r#"{{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":{},\\\"result\\\":{{\\\"id\\\":\\\"{}\\\","#,
            r#"\\\"contextId\\\":\\\"c\\\",\\\"status\\\":{{\\\"state\\\":"#,
            r#"\\\"TASK_STATE_COMPLETED\\\"}}}}}}"#
        ),
        id, text
    );
    Some(format!(
        concat!(
            r#"{{"corrId":"{}","cmd":"/_send @3 json [{{\"msgContent\":{{\"type\":\"text\","#,
            r#"\"text\":\"{}\"}},\"quotedItemId\":{},\"mentions\":{{}}}}]"}}"#
        ),
        corr_id, answer, item
    ))
}

/// With tokio-tungstenite and this way to read a frame and write the answer. What is there is
/// answered before anything is flushed.
async fn bare(core: &ScriptedCore, respond: fn(&str, u64) -> Option<String>) {
    let socket = TcpStream::connect(("127.0.0.1", core.port)).await.expect("it listens");
    socket.set_nodelay(true).expect("it can be set");
    let (mut socket, _) = client_async(core.url.as_str(), socket).await.expect("a WebSocket");
    let mut corr_id = 0;
    for cmd in ["/v", "/u", "/_start main=on"] {
        corr_id += 1;
        let command = Command { corr_id: corr_id.to_string(), cmd };
        let frame = serde_json::to_string(&command).expect("it can be written");
        socket.send(Message::text(frame)).await.expect("it is heard");
        socket.next().await.expect("an answer").expect("no fault");
    }
    let mut next = socket.next().await;
    while let Some(Ok(Message::Text(text))) = next {
        corr_id += 1;
        if let Some(frame) = respond(&text, corr_id) {
            socket.feed(Message::text(frame)).await.expect("it is heard");
        }
        next = match socket.next().now_or_never() {
            Some(next) => next,
            None => {
                socket.flush().await.expect("it is heard");
                socket.next().await
            }
        };
    }
}

pub(crate) async fn serde_json(core: &ScriptedCore) {
    bare(core, read).await;
}

pub(crate) async fn unread(core: &ScriptedCore) {
    bare(core, search).await;
}

/// What its dispatcher runs for each event, in a task of its own.
async fn quote(items: Arc<NewChatItems>, client: ws::Client) -> ClientResult<StreamEvents> {
    for (chat, message, content) in items.chat_items.filter_messages() {
        let text = content.text().map_or("", String::as_str);
        if let Some(request) = text.strip_prefix("/_call a2a ") {
            client.send_message(chat, echo(request)).reply_to(message).await?;
        }
    }
    Ok(StreamEvents::Continue)
}

/// With simploxide-client, as its examples show it.
pub(crate) async fn simploxide(core: &ScriptedCore) {
    let (client, events) = ws::connect(&core.url).await.expect("a core that it knows");
    client.send_raw("/_start main=on".into()).await.expect("an answer");
    let _ = events.into_dispatcher(client).on(quote).dispatch().await;
    unreachable!("the core holds the connection");
}
