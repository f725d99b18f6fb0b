//! The crate `simploxide-client`, a published client of the chat core's bot API, against the
//! loopback's server, unchanged: what it sends is answered, and what it is sent is of a shape that
//! its types take. What they do not take is `Undocumented`, which these tests refuse.

use core::error::Error;
use core::fmt::Debug;
use core::time::Duration;
use std::sync::Arc;

use agentwire_tests::cores::Cores;
use simploxide_client::events::Event;
use simploxide_client::prelude::*;
use simploxide_client::types::{CIDirection, ConnectionPlan, ContactAddressPlan};
use simploxide_client::ws::{self, ClientResult};
use tokio::time::timeout;

type Tested = Result<(), Box<dyn Error>>;

async fn connect(
    cores: &Cores,
    profile: usize,
) -> Result<(ws::Client, ws::EventStream), ws::ConnectError> {
    ws::connect(cores.url(profile)).await
}

/// Whether the client's types know all of a value: no variant, and no member, is undocumented.
fn understood(value: &impl Debug) -> Result<(), Box<dyn Error>> {
    let shown = format!("{value:?}");
    if shown.contains("Undocumented(") || shown.contains("undocumented: Object {\"") {
        return Err(format!("not understood: {shown}").into());
    }
    Ok(())
}

/// The next event that `pick` takes; one that the client's types do not know whole is a failure.
async fn event<T>(
    events: &mut ws::EventStream,
    pick: impl Fn(&Event) -> Option<T>,
) -> Result<T, Box<dyn Error>> {
    let picked = async {
        loop {
            let any = events.wait_for_any(ALL).await?.ok_or("the connection has ended")?;
            understood(&any)?;
            if let Some(picked) = pick(&any) {
                return Ok(picked);
            }
        }
    };
    timeout(Duration::from_secs(60), picked).await?
}

/// The kinds of events that the loopback reports.
const ALL: [EventKind; 9] = [
    EventKind::NewChatItems,
    EventKind::ChatItemsStatusesUpdated,
    EventKind::ChatItemUpdated,
    EventKind::ChatItemsDeleted,
    EventKind::ContactConnected,
    EventKind::ContactUpdated,
    EventKind::ReceivedContactRequest,
    EventKind::AcceptingContactRequest,
    EventKind::Undocumented,
];

async fn new_items(events: &mut ws::EventStream) -> Result<Arc<NewChatItems>, Box<dyn Error>> {
    event(events, |event| match event {
        Event::NewChatItems(items) => Some(Arc::clone(items)),
        _ => None,
    })
    .await
}

/// Answers each text with itself, quoting it.
async fn echo(items: Arc<NewChatItems>, bot: ws::Bot) -> ClientResult<StreamEvents> {
    for (chat, message, content) in items.chat_items.filter_messages() {
        let text = content.text().map_or("", String::as_str).to_owned();
        bot.send_msg(chat, format!("Echo: {text}")).reply_to(message).await?;
    }
    Ok(StreamEvents::Continue)
}

/// Connect, send, receive, quote: a bot as its examples show one, and a caller.
#[tokio::test]
async fn a_bot_of_its_examples_answers() -> Tested {
    let cores = Cores::start(&["caller", "bot"]).await;
    let (bot, events) =
        ws::BotBuilder::new("bot", cores.ports[1]).auto_accept_with("Welcome.").connect().await?;
    let address = bot.address().await?;
    let serving = tokio::spawn(events.into_dispatcher(bot).on(echo).dispatch());

    let (caller, mut events) = connect(&cores, 0).await?;
    let plan = caller.connection_plan(UserId::from_raw(1), address.clone()).await?;
    assert!(matches!(
        &plan.connection_plan,
        ConnectionPlan::ContactAddress { contact_address_plan: ContactAddressPlan::Ok { .. }, .. }
    ));
    understood(&plan)?;
    caller.initiate_connection(address).await?;
    let contact = event(&mut events, |event| match event {
        Event::ContactConnected(connected) => Some(connected.contact.contact_id),
        _ => None,
    })
    .await?;
    let welcome = new_items(&mut events).await?;
    assert_eq!(welcome.chat_items[0].chat_item.meta.item_text, "Welcome.");

    for number in 0..20 {
        let text = format!("/_call mcp {{\"id\":{number}}}");
        let to = ContactId::from_raw(contact);
        let sent = caller.send_message(to, text.clone()).await?;
        understood(&sent)?;
        let reply = new_items(&mut events).await?;
        let reply = &reply.chat_items[0].chat_item;
        assert_eq!(reply.meta.item_text, format!("Echo: {text}"));
        let quote = reply.quoted_item.as_ref().ok_or("no quote")?;
        assert_eq!(quote.item_id, Some(sent.chat_items[0].chat_item.meta.item_id));
        assert!(matches!(quote.chat_dir, Some(CIDirection::DirectSnd)));
    }
    serving.abort();
    Ok(())
}

/// Profile, lists and items.
#[tokio::test]
async fn what_it_asks_for_is_of_its_types() -> Tested {
    let cores = Cores::start(&["caller", "bot"]).await;
    let _ = cores.acquaint();
    let (client, mut events) = connect(&cores, 0).await?;
    let user = UserId::from_raw(1);
    let users = client.users().await?;
    assert_eq!((users.len(), users[0].user.profile.display_name.as_str()), (1, "caller"));
    assert_eq!(client.version().await?.to_string(), "v7.0.0.11");

    let contacts = client.contacts(user).await?;
    assert_eq!(contacts[0].local_display_name, "bot");
    understood(&contacts)?;
    let groups = client.groups(user).await?;
    assert_eq!(groups[0].group_profile.display_name, "team");
    understood(&groups)?;
    let members = client.list_members(GroupId::from_raw(groups[0].group_id)).await?;
    assert_eq!(members[0].local_display_name, "bot");
    understood(&members)?;

    let mut profile = ws::Bot::default_profile("caller");
    profile.full_name = "A caller".into();
    client.update_profile(user, profile).await?;
    assert_eq!(client.show_active_user().await?.user.profile.full_name, "A caller");

    // In the group: a message, its edit, its deletion.
    let (other, mut of_other) = connect(&cores, 1).await?;
    let group = GroupId::from_raw(groups[0].group_id);
    let sent = client.send_message(group, "one *bold* word, a https://a.example/ link").await?;
    let item = MessageId::from_raw(sent.chat_items[0].chat_item.meta.item_id);
    let received = new_items(&mut of_other).await?;
    let received = &received.chat_items[0].chat_item;
    assert!(matches!(received.chat_dir, CIDirection::GroupRcv { .. }));
    assert_eq!(received.formatted_text.as_ref().map(Vec::len), Some(5));
    client.update_message(group, item, MsgContent::make_text("two".into())).await?;
    let edited = event(&mut of_other, |event| match event {
        Event::ChatItemUpdated(updated) => Some(updated.chat_item.chat_item.meta.item_text.clone()),
        _ => None,
    });
    assert_eq!(edited.await?, "two");
    client.delete_message(group, item, CIDeleteMode::Broadcast).await?;
    event(&mut of_other, |event| match event {
        Event::ChatItemsDeleted(deleted) => Some(deleted.chat_item_deletions.len()),
        _ => None,
    })
    .await?;

    // A contact request that is accepted by hand.
    drop(other);
    let stranger = cores.network.add_profile("stranger")?;
    cores.network.with(|net| {
        let caller = net.profiles()[0];
        let address = net.create_address(caller, false).expect("none yet");
        net.request_contact(agentwire_core::time::Instant::ZERO, stranger.id(), address)
            .expect("a request");
    });
    let request = event(&mut events, |event| match event {
        Event::ReceivedContactRequest(received) => {
            Some(received.contact_request.contact_request_id)
        }
        _ => None,
    })
    .await?;
    let accepted = client.accept_contact(ContactRequestId::from_raw(request)).await?;
    assert_eq!(accepted.contact.local_display_name, "stranger");
    Ok(())
}

/// Errors are of its types too: sizes, quotes, the grammar.
#[tokio::test]
async fn what_is_refused_is_of_its_types() -> Tested {
    let cores = Cores::start(&["caller", "bot"]).await;
    let (contact, _) = cores.acquaint();
    let (client, _events) = connect(&cores, 0).await?;
    let contact = ContactId::from_raw(contact.0);
    let large = client.send_message(contact, "a".repeat(15_489)).await;
    let large = large.expect_err("too large");
    let error = large.bad_response().and_then(|error| error.chat_error());
    assert!(error.and_then(|e| e.error_store()).is_some_and(|e| e.is_large_msg()), "{large:?}");

    let quote = client.send_message(contact, "x").reply_to(MessageId::from_raw(1_000_000)).await;
    let quote = quote.expect_err("no such item");
    let error = quote.bad_response().and_then(|error| error.chat_error());
    assert!(error.and_then(|e| e.error_store()).is_some(), "{quote:?}");

    let raw = client.send_raw("/_call mcp {}".into()).await?;
    assert!(raw.contains("Failed reading: empty"), "{raw}");
    Ok(())
}

/// It knows the peer types `human` and `bot` alone: of an event that has `agent` in it, it does not
/// take the chat.
#[tokio::test]
async fn a_contact_of_the_type_agent_is_not_of_its_types() -> Tested {
    let cores = Cores::start(&["caller", "bot"]).await;
    let _ = cores.acquaint();
    cores.network.with(|net| {
        let (caller, bot) = (net.profiles()[0], net.profiles()[1]);
        let record = r#"{"displayName":"bot","fullName":"","peerType":"agent"}"#;
        let now = agentwire_core::time::Instant::ZERO;
        net.set_record(now, bot, record).expect("a record");
        while net.poll_event(caller).is_some() {}
        let to_caller = net.contacts(bot)[0].contact;
        net.send(now, bot, agentwire_core::chat::Chat::Direct(to_caller), "hello").expect("sent");
    });
    let (_client, mut events) = connect(&cores, 0).await?;
    let error = new_items(&mut events).await.expect_err("an unknown type");
    assert!(error.to_string().contains("chat_info: Undocumented("), "{error}");
    Ok(())
}
