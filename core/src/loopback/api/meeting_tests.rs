//! The rules of the module's table about how profiles meet and part, each by its name.

use alloc::{
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::time::Duration;

use serde_json::{Value, json};

use super::tests::{Bench, NOW, chat_error, link_of, service_error, store_error, stranger, text};

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// simplex-chat `bots/api/COMMANDS.md`, `APILeaveGroup`; `bots/api/EVENTS.md`, `LeftMember`.
#[test]
fn who_leaves_a_group_is_told_and_so_are_the_others() {
    let mut bench = Bench::new();
    let group = bench.group_of(bench.bot);
    let left = bench.command(bench.of_bot, &format!("/_leave #{group}"));
    assert_eq!(left["type"], "leftMemberUser");
    assert_eq!(left["groupInfo"]["groupId"], group);
    assert_eq!(left["groupInfo"]["membership"]["memberStatus"], "left");
    let events = bench.events_of(bench.of_ann, "leftMember");
    assert_eq!(events[0]["member"]["localDisplayName"], "bot");
    let again = bench.command(bench.of_bot, &format!("/_leave #{group}"));
    assert_eq!(again, chat_error("groupMemberUserRemoved"));
    let unknown = bench.command(bench.of_bot, "/_leave #999999");
    assert_eq!(unknown["chatError"]["storeError"]["type"], "groupNotFound");
}

/// simplex-chat `bots/api/COMMANDS.md`, `APIDeleteChat`; `Commands.hs`, `APIDeleteChat`.
#[test]
fn a_deleted_contact_is_told_unless_it_is_not_to_be() {
    let mut bench = Bench::new();
    let (to_bot, to_ann) = (bench.to_bot, bench.to_ann);
    bench.ann_sends(&json!([text("hello")]));
    bench.events(bench.of_bot);
    let cleared = bench.command(bench.of_ann, &format!("/_delete @{to_bot} messages"));
    assert_eq!(cleared["contact"]["contactStatus"], "active");
    let chat = bench.command(bench.of_ann, &format!("/_get chat @{to_bot} count=9"));
    assert_eq!(chat["chat"]["chatItems"], json!([]));

    let deleted = bench.command(bench.of_ann, &format!("/_delete @{to_bot} entity"));
    assert_eq!(deleted["type"], "contactDeleted");
    assert_eq!(deleted["contact"]["contactStatus"], "deletedByUser");
    let told = bench.events_of(bench.of_bot, "contactDeletedByContact");
    assert_eq!(told[0]["contact"]["contactId"], to_ann);
    assert_eq!(told[0]["contact"]["contactStatus"], "deleted");
    let refused = bench.command(bench.of_bot, &format!("/_send @{to_ann} text hello"));
    let error = &refused["chatError"]["errorType"];
    assert_eq!(
        (&error["type"], &error["contact"]["contactId"]),
        (&json!("contactNotActive"), &json!(to_ann))
    );

    bench.command(bench.of_ann, &format!("/_delete @{to_bot} full notify=off"));
    assert_eq!(bench.events(bench.of_bot), [Value::Null; 0]);
    let gone = bench.command(bench.of_ann, &format!("/_delete @{to_bot}"));
    assert_eq!(gone["chatError"]["storeError"]["type"], "contactNotFound");
}

/// simplex-chat `Commands.hs`, `APIDeleteChat`: `CEGroupUserRole gInfo GROwner`;
/// `bots/api/EVENTS.md`, `GroupDeleted`.
#[test]
fn a_group_is_its_owners_to_delete() {
    let mut bench = Bench::new();
    let (of_ann, of_bot) = (bench.group_of(bench.ann), bench.group_of(bench.bot));
    let refused = bench.command(bench.of_bot, &format!("/_delete #{of_bot}"));
    let error = &refused["chatError"]["errorType"];
    assert_eq!(
        (&error["type"], &error["requiredRole"]),
        (&json!("groupUserRole"), &json!("owner"))
    );
    let deleted = bench.command(bench.of_ann, &format!("/_delete #{of_ann} full"));
    assert_eq!(
        (&deleted["type"], &deleted["localDeletion"]),
        (&json!("groupDeletedUser"), &json!(false))
    );
    let told = bench.events_of(bench.of_bot, "groupDeleted");
    assert_eq!(told[0]["groupInfo"]["groupId"], of_bot);
    assert_eq!(told[0]["member"]["memberRole"], "owner");
    let deleted = bench.command(bench.of_bot, &format!("/_delete #{of_bot}"));
    assert_eq!(deleted["localDeletion"], true);
    let groups = bench.command(bench.of_bot, "/_groups 1");
    assert_eq!(groups["groups"], json!([]));
}

/// simplex-chat `bots/api/COMMANDS.md`, `APIAddContact`, `APIConnect`; `bots/api/TYPES.md`,
/// `InvitationLinkPlan`, `PendingContactConnection`.
#[test]
fn an_invitation_makes_one_contact() {
    let mut bench = Bench::new();
    let (eve, of_eve) = stranger(&mut bench);
    let made = bench.command(bench.of_bot, "/_connect 1");
    assert_eq!(made["type"], "invitation");
    let link = &made["connLinkInvitation"];
    assert_eq!(&made["connection"]["connLinkInv"], link);
    assert_eq!(made["connection"]["pccConnStatus"]["type"], "new");
    let (full, short) =
        (link["connFullLink"].as_str().unwrap(), link["connShortLink"].as_str().unwrap());

    let of_bot = bench.of_bot;
    let plan = |bench: &mut Bench, client, link: &str| {
        let plan = bench.command(client, &format!("/_connect plan 1 {link}"));
        plan["connectionPlan"]["invitationLinkPlan"].clone()
    };
    assert_eq!(plan(&mut bench, of_bot, short)["type"], "ownLink");
    assert_eq!(plan(&mut bench, of_eve, full), json!({"type": "ok"}));
    let data = plan(&mut bench, of_eve, short)["contactSLinkData_"].clone();
    assert_eq!(data["profile"]["displayName"], "bot");

    let sent = bench.command(of_eve, &format!("/_connect 1 {full} {short}"));
    assert_eq!(sent["type"], "sentConfirmation");
    assert_eq!(kinds(&bench.events(of_eve)), ["contactSndReady", "contactConnected"]);
    assert_eq!(kinds(&bench.events(bench.of_bot)), ["contactConnecting", "contactConnected"]);
    assert_eq!(bench.net.contacts(eve).len(), 1);
    for (client, name) in [(of_eve, "bot"), (bench.of_bot, "eve")] {
        let known = plan(&mut bench, client, short);
        assert_eq!(
            (&known["type"], &known["contact"]["localDisplayName"]),
            (&json!("known"), &json!(name))
        );
    }
    // It leads nowhere for whoever comes second.
    for command in [format!("/connect {short}"), format!("/_connect plan 1 {short}")] {
        let spent = bench.command(bench.of_ann, &command);
        assert_eq!(spent["chatError"]["agentError"]["smpErr"]["type"], "AUTH");
    }
}

/// simplex-chat `bots/api/COMMANDS.md`, `APIDeleteChat`, `ContactConnectionDeleted`.
#[test]
fn an_invitation_that_waits_can_be_deleted() {
    let mut bench = Bench::new();
    let made = bench.command(bench.of_bot, "/c");
    let id = made["connection"]["pccConnId"].as_i64().unwrap();
    let short = made["connLinkInvitation"]["connShortLink"].as_str().unwrap();
    let deleted = bench.command(bench.of_bot, &format!("/_delete :{id}"));
    assert_eq!(deleted["type"], "contactConnectionDeleted");
    assert_eq!(deleted["connection"], made["connection"]);
    let nowhere = bench.command(bench.of_ann, &format!("/connect {short}"));
    assert_eq!(nowhere["chatError"]["agentError"]["smpErr"]["type"], "AUTH");
    let again = bench.command(bench.of_bot, &format!("/_delete :{id}"));
    let error = json!({"type": "pendingConnectionNotFound", "connId": id});
    assert_eq!(again["chatError"]["storeError"], error);
}

/// simplex-chat `Commands.hs`, `connectViaContact`: `generateRandomProfile`; `bots/api/TYPES.md`,
/// `Connection`, `customUserProfileId`.
#[test]
fn who_is_incognito_shows_a_profile_that_is_made_up() {
    let mut bench = Bench::new();
    let (_, of_eve) = stranger(&mut bench);
    bench.command(bench.of_bot, "/_address 1");
    let (full, short) = (link_of(&mut bench, "connFullLink"), link_of(&mut bench, "connShortLink"));
    let sent = bench.command(of_eve, &format!("/_connect 1 incognito=on {full} {short}"));
    let shown = sent["customUserProfile"]["displayName"].as_str().unwrap().to_string();
    assert_ne!(shown, "eve");
    let asked = bench.events_of(bench.of_bot, "receivedContactRequest");
    assert_eq!(asked[0]["contactRequest"]["localDisplayName"], *shown);
    assert_eq!(asked[0]["contactRequest"]["profile"]["displayName"], *shown);
    let id = asked[0]["contactRequest"]["contactRequestId"].as_i64().unwrap();
    let accepted = bench.command(bench.of_bot, &format!("/_accept {id}"));
    assert_eq!(accepted["contact"]["localDisplayName"], *shown);
    assert_eq!(accepted["contact"]["activeConn"].get("customUserProfileId"), None);
    let connected = bench.events_of(of_eve, "contactConnected");
    assert_eq!(connected[0]["userCustomProfile"]["displayName"], *shown);
    assert!(connected[0]["contact"]["activeConn"]["customUserProfileId"].is_i64());
    bench.events(bench.of_bot);
    // Nothing of what the profile says of itself gets there.
    bench
        .command(of_eve, &format!("/_profile 1 {}", json!({"displayName": "eva", "fullName": ""})));
    assert_eq!(bench.events(bench.of_bot), [Value::Null; 0]);
    let contacts = bench.command(bench.of_bot, "/_contacts 1");
    let names: Vec<&Value> = contacts["contacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["profile"]["displayName"])
        .collect();
    assert_eq!(names, ["ann", &*shown]);

    // The other side can be, too: its answer and its invitations.
    let made = bench.command(bench.of_bot, "/_connect 1 incognito=on");
    let short = made["connLinkInvitation"]["connShortLink"].as_str().unwrap();
    assert!(made["connection"]["customUserProfileId"].is_i64());
    let plan = bench.command(of_eve, &format!("/_connect plan 1 {short}"));
    let plan = &plan["connectionPlan"]["invitationLinkPlan"]["contactSLinkData_"];
    assert_ne!(plan["profile"]["displayName"], "bot");
    bench.command(of_eve, &format!("/connect {short}"));
    let connected = bench.events_of(of_eve, "contactConnected");
    assert_eq!(connected[0]["contact"]["profile"]["displayName"], plan["profile"]["displayName"]);
    assert_eq!(
        bench.events_of(bench.of_bot, "contactConnected")[0]["contact"]["localDisplayName"],
        "eva"
    );
}

/// simplex-chat `bots/api/COMMANDS.md`, `APICreateGroupLink`, `APIGetGroupLink`,
/// `APIDeleteGroupLink`; `bots/api/TYPES.md`, `GroupLinkPlan`; `bots/api/EVENTS.md`,
/// `GroupLinkConnecting`, `UserJoinedGroup`.
#[test]
fn a_group_is_joined_by_its_link() {
    let mut bench = Bench::new();
    let (_, of_eve) = stranger(&mut bench);
    let (of_ann, of_bot) = (bench.group_of(bench.ann), bench.group_of(bench.bot));
    let refused = bench.command(bench.of_bot, &format!("/_create link #{of_bot} member"));
    assert_eq!(refused["chatError"]["errorType"]["requiredRole"], "admin");
    let none = bench.command(bench.of_ann, &format!("/_get link #{of_ann}"));
    assert_eq!(none["chatError"]["storeError"]["type"], "groupLinkNotFound");
    let made = bench.command(bench.of_ann, &format!("/_create link #{of_ann} member"));
    assert_eq!(made["type"], "groupLinkCreated");
    let shown = bench.command(bench.of_ann, &format!("/_get link #{of_ann}"));
    assert_eq!(shown["groupLink"], made["groupLink"]);
    let twice = bench.command(bench.of_ann, &format!("/_create link #{of_ann}"));
    assert_eq!(twice["chatError"]["storeError"]["type"], "duplicateGroupLink");
    let link = made["groupLink"]["connLinkContact"]["connShortLink"].as_str().unwrap();

    let (ann, bot) = (bench.of_ann, bench.of_bot);
    let plan = |bench: &mut Bench, client| {
        let plan = bench.command(client, &format!("/_connect plan 1 {link}"));
        plan["connectionPlan"]["groupLinkPlan"].clone()
    };
    assert_eq!(plan(&mut bench, ann)["type"], "ownLink");
    assert_eq!(plan(&mut bench, bot)["groupInfo"]["groupId"], of_bot);
    let new = plan(&mut bench, of_eve);
    assert_eq!(new["type"], "ok");
    assert_eq!(new["groupSLinkData_"]["groupProfile"]["displayName"], "team");
    assert_eq!(new["groupSLinkInfo_"], json!({"direct": true, "groupRelays": []}));

    let sent = bench.command(of_eve, &format!("/connect {link}"));
    assert_eq!(sent["type"], "sentInvitation");
    assert_eq!(sent["connection"]["groupLinkId"], made["groupLink"]["groupLinkId"]);
    let events = bench.events(of_eve);
    assert_eq!(kinds(&events), ["groupLinkConnecting", "userJoinedGroup"]);
    assert_eq!(events[1]["hostMember"]["localDisplayName"], "ann");
    for client in [bench.of_ann, bench.of_bot] {
        let joined = bench.events_of(client, "joinedGroupMember");
        assert_eq!(joined[0]["member"]["localDisplayName"], "eve");
    }
    let known = plan(&mut bench, of_eve);
    assert_eq!(
        (&known["type"], &known["groupInfo"]["localDisplayName"]),
        (&json!("known"), &json!("team"))
    );
    bench.command(bench.of_ann, &format!("/_delete link #{of_ann}"));
    let nowhere = bench.command(bench.of_bot, &format!("/_connect plan 1 {link}"));
    assert_eq!(nowhere["chatError"]["agentError"]["smpErr"]["type"], "AUTH");
}

/// simplex-chat `bots/api/TYPES.md`, `CIDirection`, `GroupMemberRole`; `bots/api/COMMANDS.md`,
/// `Connect`, `StartedConnectionToGroup`.
#[test]
fn a_channel_speaks_itself_and_its_subscribers_read() {
    let mut bench = Bench::new();
    let (eve, of_eve) = stranger(&mut bench);
    let news = bench.net.create_channel(bench.ann, "news").unwrap();
    bench.net.create_group_link(news).unwrap();
    let (_, link) = bench.net.group_links(news).unwrap();
    assert!(link.contains("/c#"), "{link}");
    let started = bench.command(of_eve, &format!("/connect {link}"));
    assert_eq!(started["type"], "startedConnectionToGroup");
    assert_eq!(started["groupInfo"]["useRelays"], true);
    assert_eq!(started["groupInfo"]["membership"]["memberRole"], "observer");
    let of_owner = bench.net.group_id(news, bench.ann).unwrap().0;
    let sent = bench.command(bench.of_ann, &format!("/_send #{of_owner} text hello"));
    assert_eq!(sent["chatItems"][0]["chatItem"]["chatDir"], json!({"type": "groupSnd"}));
    assert_eq!(sent["chatItems"][0]["chatItem"]["meta"]["showGroupAsSender"], true);
    let received = bench.events_of(of_eve, "newChatItems");
    assert_eq!(received[0]["chatItems"][0]["chatItem"]["chatDir"], json!({"type": "channelRcv"}));
    let of_reader = bench.net.group_id(news, eve).unwrap().0;
    let refused = bench.command(of_eve, &format!("/_send #{of_reader} text me too"));
    assert_eq!(refused["chatError"]["errorType"]["requiredRole"], "author");
}

/// simplex-chat `bots/api/TYPES.md`, `GroupChatScope`, `GroupChatScopeInfo`; `Commands.hs`,
/// `sendRefP`.
#[test]
fn a_support_chat_is_the_members_and_the_owners() {
    let mut bench = Bench::new();
    let eve = bench.net.add_profile("eve").unwrap();
    bench.net.join(bench.group, eve).unwrap();
    let of_eve = bench.api.connect(eve).unwrap();
    for client in [bench.of_ann, bench.of_bot, of_eve] {
        bench.events(client);
    }
    let of_member = bench.group_of(bench.bot);
    let sent = bench.command(bench.of_bot, &format!("/_send #{of_member}(_support) text help"));
    let info = &sent["chatItems"][0]["chatInfo"];
    assert_eq!(info["groupChatScope"], json!({"type": "memberSupport"}));
    let received = bench.events_of(bench.of_ann, "newChatItems");
    let info = &received[0]["chatItems"][0]["chatInfo"];
    let member = &info["groupChatScope"]["groupMember_"];
    assert_eq!(member["localDisplayName"], "bot");
    assert_eq!(bench.events(of_eve), [Value::Null; 0]);

    let (of_owner, member) = (bench.group_of(bench.ann), &member["groupMemberId"]);
    let to = format!("#{of_owner}(_support:{member})");
    let item = &received[0]["chatItems"][0]["chatItem"]["meta"]["itemId"];
    let reply = json!([{"msgContent": {"type": "text", "text": "yes"}, "quotedItemId": item}]);
    bench.command(bench.of_ann, &format!("/_send {to} json {reply}"));
    let received = bench.events_of(bench.of_bot, "newChatItems");
    assert_eq!(
        received[0]["chatItems"][0]["chatInfo"]["groupChatScope"],
        json!({"type": "memberSupport"})
    );
    assert_eq!(
        received[0]["chatItems"][0]["chatItem"]["quotedItem"]["chatDir"]["type"],
        "groupSnd"
    );
    assert_eq!(bench.events(of_eve), [Value::Null; 0]);
    // It is a conversation of its own.
    let count = |chat: &Value| chat["chat"]["chatItems"].as_array().unwrap().len();
    let support = bench.command(bench.of_ann, &format!("/_get chat {to} count=9"));
    let group = bench.command(bench.of_ann, &format!("/_get chat #{of_owner} count=9"));
    assert_eq!((count(&support), count(&group)), (2, 0));
    // A member moderates nobody.
    let third = bench.net.member_of(bench.group, bench.bot, eve).unwrap().group_member_id.0;
    let refused =
        bench.command(bench.of_bot, &format!("/_send #{of_member}(_support:{third}) text x"));
    assert_eq!(refused["chatError"]["errorType"]["requiredRole"], "moderator");
}

/// simplex-chat `bots/api/COMMANDS.md`, `APIConnectPlan`; `bots/api/TYPES.md`,
/// `SimplexDomainError`; `Commands.hs`, `APISendServiceRequest`, `ConnectTarget`.
#[test]
fn a_name_leads_where_its_owners_address_is() {
    let mut bench = Bench::new();
    let (_, of_eve) = stranger(&mut bench);
    bench.net.name_profile(bench.bot, "@bot.simplex").unwrap();
    let plan = "/_connect plan 1 @Bot.simplex resolve=unknown";
    let error = |bench: &mut Bench, command: &str| {
        let response = bench.command(of_eve, command);
        response["chatError"]["errorType"]["simplexDomainError"]["type"].clone()
    };
    assert_eq!(error(&mut bench, plan), "noValidLink");
    assert_eq!(error(&mut bench, "/connect @nobody.simplex"), "unknownDomain");
    bench.command(bench.of_bot, "/_stop");
    bench.command(bench.of_bot, "/_start main=on service_requests=on");
    bench.command(bench.of_bot, "/_address 1 pq_ratchet=on");
    let planned = bench.command(of_eve, plan);
    let data = &planned["connectionPlan"]["contactAddressPlan"]["contactSLinkData_"];
    assert_eq!(data["profile"]["displayName"], "bot");
    assert_eq!(planned["planSimplexName"]["nameType"], "contact");
    assert_eq!(planned["planSimplexName"]["nameDomain"]["domain"], "bot");
    let request = "/_service_request 1 @bot.simplex {}";
    assert_eq!(bench.command_at(NOW, of_eve, request), None);
    assert_eq!(bench.events_of(bench.of_bot, "serviceRequest").len(), 1);
    let second = bench.api.connect(bench.net.profiles()[2]).unwrap();
    assert_eq!(bench.command(second, "/connect @bot.simplex")["type"], "sentInvitation");
    let wrong = bench.command(second, "/connect nothing at all");
    assert_eq!(wrong["chatError"]["errorType"]["message"], "Failed reading: empty");
}

/// simplex-chat `Commands.hs`, `APIRotateAddressRatchetKeys`, `setMyAddressData`: the full link
/// stays; simplexmq `Agent.hs`, `keepAddressKeys`.
#[test]
fn keys_are_rotated_behind_the_short_link() {
    let mut bench = Bench::new();
    let (_, of_eve) = stranger(&mut bench);
    bench.command(bench.of_bot, "/_address 1 pq_ratchet=on");
    let (full, short) = (link_of(&mut bench, "connFullLink"), link_of(&mut bench, "connShortLink"));
    let resolved = |bench: &mut Bench| -> String {
        let plan = bench.command(of_eve, &format!("/_connect plan 1 {short}"));
        plan["connLink"]["connFullLink"].as_str().unwrap().to_string()
    };
    assert_eq!(resolved(&mut bench), full);
    let rotated = bench.command(bench.of_bot, "/_rotate_address_keys 1");
    assert_eq!(rotated["type"], "userContactLink");
    assert_eq!(
        rotated["contactLink"]["connLinkContact"],
        json!({"connFullLink": full, "connShortLink": short})
    );
    let later = resolved(&mut bench);
    assert_ne!(later, full);
    // Whoever has the old keys is served, too: it is a silent bot that does not answer here.
    for link in [&full, &later, &short] {
        let client = bench.api.connect(bench.ann).unwrap();
        let request = format!("/_service_request 1 {link} timeout=1 {{}}");
        assert_eq!(bench.command_at(NOW, client, &request), None);
        let end = bench.net.poll_timeout().unwrap();
        bench.net.handle_timeout(end);
        let answer = bench.frames(client).remove(0);
        assert_eq!(answer["resp"], service_error("timeout"));
    }
    let none = bench.command(bench.of_ann, "/_rotate_address_keys 1");
    assert_eq!(none, store_error("userContactLinkNotFound"));
}

/// simplex-chat `Library/Internal.hs`, `deleteTimedItem`: `CEvtChatItemsDeleted user deletions
/// True True`.
#[test]
fn an_item_that_disappears_is_shown_once_more() {
    let mut bench = Bench::new();
    let to_bot = bench.to_bot;
    let sent = bench.command(bench.of_ann, &format!("/_send @{to_bot} ttl=60 text psst"));
    let own = &sent["chatItems"][0]["chatItem"]["meta"]["itemId"];
    for client in [bench.of_ann, bench.of_bot] {
        bench.events(client);
    }
    bench.net.handle_timeout(NOW.saturating_add(Duration::from_secs(60)));
    for (client, direction) in [(bench.of_ann, "directSnd"), (bench.of_bot, "directRcv")] {
        let events = bench.events_of(client, "chatItemsDeleted");
        assert_eq!((&events[0]["timed"], &events[0]["byUser"]), (&json!(true), &json!(true)));
        let gone = &events[0]["chatItemDeletions"][0];
        assert_eq!(gone.get("toChatItem"), None);
        let gone = &gone["deletedChatItem"]["chatItem"];
        assert_eq!(
            (&gone["chatDir"]["type"], &gone["meta"]["itemText"]),
            (&json!(direction), &json!("psst"))
        );
        if direction == "directSnd" {
            assert_eq!(&gone["meta"]["itemId"], own);
        }
    }
}
