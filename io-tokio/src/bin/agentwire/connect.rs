//! `agentwire connect`: connects to a contact, or subscribes to a group or a channel.

use core::time::Duration;

use agentwire_core::chat::{Chat, Mention, Sender};
use agentwire_core::discovery::link::Link;
use agentwire_core::discovery::name::Name;
use agentwire_core::simplex::UserId;
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::frame::{Body, Direction, GroupChangeKind, PlanKind, PlanState};
use serde_json::json;
use tokio::time::Instant;

use crate::args::ConnectArgs;
use crate::core_api::{Answer, CoreApi};
use crate::exit::{ExitCode, Failure};
use crate::output::Output;
use crate::signals::Shutdown;
use crate::terminal::{NAME, escape, escape_lines};

/// How often the core is asked whether it is connected now, besides after each event.
const LOOK: Duration = Duration::from_secs(5);

/// What one is connected to now.
struct Connected {
    chat: Chat,
    name: String,
    was_known: bool,
}

pub(crate) async fn run(
    args: &ConnectArgs,
    output: &mut Output,
    mut end: Shutdown,
) -> Result<(), Failure> {
    if let (Err(link), Err(_)) = (Link::parse(&args.target), Name::parse(&args.target)) {
        let problem = format!(
            "{}: neither a SimpleX link nor a name: {link}; agentwire inspect link says more",
            args.target
        );
        return Err(Failure::new(ExitCode::Usage, problem));
    }
    let (mut core, user) = CoreApi::start(&args.core).await?;
    let done = async {
        let connected = connect(&mut core, user, args).await?;
        tell(&connected, output)?;
        if args.follow {
            follow(&mut core, connected.chat, output).await?;
        }
        Ok(())
    };
    let result = tokio::select! {
        biased;
        () = end.requested() => Ok(()),
        result = done => result,
    };
    core.close().await;
    result
}

fn tell(connected: &Connected, output: &mut Output) -> Result<(), Failure> {
    let Connected { chat, name, was_known } = connected;
    if output.is_json() {
        let kind = if chat.is_group() { "group" } else { "contact" };
        return output.json(&json!({
            "kind": kind,
            "chat": chat.to_string(),
            "name": name,
            "known": was_known,
        }));
    }
    let shown = escape(name);
    let name = output.terminal().paint(NAME, &shown);
    let how = if *was_known { "already connected" } else { "connected" };
    output.line(format_args!("{how}: {name} ({chat})"))
}

async fn connect(
    core: &mut CoreApi,
    user: UserId,
    args: &ConnectArgs,
) -> Result<Connected, Failure> {
    let until = Instant::now() + Duration::from_secs(args.timeout.into());
    let mut has_begun = false;
    loop {
        match plan(core, user, &args.target).await? {
            Planned::There(chat, name) => {
                return Ok(Connected { chat, name, was_known: !has_begun });
            }
            Planned::New if !has_begun => {
                has_begun = true;
                let command =
                    Command::ConnectTo { incognito: args.incognito, target: &args.target };
                let answer = core.ask(&command).await?;
                if let Some(there) = met(&answer) {
                    return Ok(Connected { was_known: true, ..there });
                }
            }
            Planned::New | Planned::Connecting => {}
        }
        // Something has to happen first.
        let next = (Instant::now() + LOOK).min(until);
        loop {
            match core.event(next, "connecting").await {
                // Perhaps that was it: the core is asked.
                Ok(event) => {
                    let body = event.body();
                    if let Some(Body::ContactConnected(_) | Body::Group(_)) = body {
                        break;
                    }
                }
                Err(failure) if failure.code() == ExitCode::Timeout && next < until => break,
                Err(failure) if failure.code() == ExitCode::Timeout => {
                    let problem = format!(
                        "the other side has not answered in {} s; it may be away, and the core \
                         goes on trying: run the same command again later",
                        args.timeout
                    );
                    return Err(Failure::new(ExitCode::Timeout, problem));
                }
                Err(failure) => return Err(failure),
            }
        }
    }
}

enum Planned {
    New,
    Connecting,
    There(Chat, String),
}

async fn plan(core: &mut CoreApi, user: UserId, target: &str) -> Result<Planned, Failure> {
    let answer = core.ask(&Command::ConnectPlan { user, target }).await?;
    let Some(Body::Plan(plan)) = answer.body() else {
        return Err(core.unexpected("/_connect plan"));
    };
    if plan.state == PlanState::Own {
        return Err(Failure::new(ExitCode::Refused, "the link is this profile's own"));
    }
    let contact = plan
        .contact
        .map(|contact| Planned::There(Chat::Direct(contact.id), contact.name.chars().collect()));
    let group =
        plan.group.map(|group| Planned::There(Chat::Group(group.id), group.name.chars().collect()));
    Ok(match (plan.state, plan.kind) {
        (PlanState::Known, PlanKind::Group) => group.unwrap_or(Planned::Connecting),
        (PlanState::Known, _) => contact.or(group).unwrap_or(Planned::Connecting),
        (PlanState::New, _) => Planned::New,
        _ => Planned::Connecting,
    })
}

/// Whom the core's answer says one is connected to already.
fn met(answer: &Answer) -> Option<Connected> {
    match answer.body()? {
        Body::ContactAlreadyExists(contact) => Some(Connected {
            chat: Chat::Direct(contact.id),
            name: contact.name.chars().collect(),
            was_known: true,
        }),
        _ => None,
    }
}

/// Prints what is said in a conversation, for ever.
async fn follow(core: &mut CoreApi, chat: Chat, output: &mut Output) -> Result<(), Failure> {
    loop {
        // A day, and then another one.
        let until = Instant::now() + Duration::from_secs(86_400);
        let event = match core.event(until, "messages").await {
            Err(failure) if failure.code() == ExitCode::Timeout => continue,
            event => event?,
        };
        match event.body() {
            Some(Body::NewChatItems(items)) => {
                for item in items.filter_map(Result::ok) {
                    if item.chat != Some(chat) || item.direction.is_own() {
                        continue;
                    }
                    let name = match item.direction {
                        Direction::GroupReceived(Some(member)) => Some(member.name),
                        _ => None,
                    };
                    let name = name.map(|name| name.chars().collect::<String>());
                    let mut scratch = vec![0; item.decode_len()];
                    let mut mentions = [Mention::new("", ""); 5];
                    let Ok(item) = item.decode(&mut scratch, &mut mentions) else { continue };
                    let from = match item.sender {
                        Sender::Member(member) => Some(member.get().to_owned()),
                        _ => None,
                    };
                    if output.is_json() {
                        output.json(&json!({
                            "kind": "message",
                            "chat": chat.to_string(),
                            "item": item.id.0,
                            "member": from,
                            "name": name,
                            "time": item.sent_at,
                            "text": item.text,
                        }))?;
                    } else {
                        if let Some(name) = name {
                            let shown = format!("{}:", escape(&name));
                            let shown = output.terminal().paint(NAME, shown);
                            output.line(shown)?;
                        }
                        output.line(escape_lines(item.text))?;
                    }
                }
            }
            Some(Body::Group(change))
                if Chat::Group(change.group.id) == chat
                    && change.kind == GroupChangeKind::Deleted =>
            {
                return Err(Failure::new(ExitCode::Refused, "the group is gone"));
            }
            _ => {}
        }
    }
}
