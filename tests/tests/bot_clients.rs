//! Published clients of the chat core's bot API from the Python and npm registries, against the
//! loopback's server, unchanged: each runs as a process of its own. Where they speak to an older
//! core, the tests say how today's answers them (`core/docs/loopback-api.md`, "Published clients").

use core::time::Duration;
use std::path::PathBuf;
use std::process::Stdio;

use agentwire_tests::cores::{Cores, command, event};
use agentwire_tests::peers::{program, root};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// A process that is spoken to in lines of JSON.
struct Peer {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    calls: u64,
}

impl Peer {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("it starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { _child: child, input, output, calls: 0 }
    }

    async fn line(&mut self) -> Value {
        let line = timeout(Duration::from_secs(60), self.output.next_line()).await;
        let line = line.expect("in time").expect("UTF-8").expect("it still runs");
        serde_json::from_str(&line).expect("JSON")
    }

    /// What the peer says next under this name.
    async fn told(&mut self, what: &str) -> Value {
        loop {
            let mut line = self.line().await;
            if line.get(what).is_some() {
                return line[what].take();
            }
        }
    }

    /// Calls a function of the package; its value, or its error as a text.
    async fn call(
        &mut self,
        on: Option<&str>,
        call: &[&str],
        args: Value,
    ) -> Result<Value, String> {
        self.calls += 1;
        let mut request = json!({"id": self.calls, "call": call, "args": args});
        match on {
            Some(on) => request["on"] = on.into(),
            None => request["keep"] = "client".into(),
        }
        self.input.write_all(format!("{request}\n").as_bytes()).await.expect("it still reads");
        let mut answer = self.line().await;
        assert_eq!(answer["id"], self.calls);
        match answer.get("error") {
            Some(error) => Err(error.as_str().expect("a text").to_owned()),
            None => Ok(answer["value"].take()),
        }
    }
}

/// The folder with `node_modules`, and its package, called from outside.
fn npm(package: &str) -> Peer {
    let script = root().join("tests/peers/call.mjs");
    let package_file = agentwire_tests::peers::folder().join("node_modules").join(package);
    assert!(package_file.is_dir(), "no {package} in {}", package_file.display());
    let mut node = Command::new("node");
    node.arg(script).arg(agentwire_tests::peers::folder()).arg(package);
    Peer::start(node)
}

fn python(script: &str, arg: &str) -> Peer {
    let path: PathBuf = root().join("tests/peers").join(script);
    let mut python = Command::new(program("python"));
    python.arg(path).arg(arg);
    Peer::start(python)
}

/// npm `simplex-chat` 0.2.1: connect, profile, address, contact, send, receive, quote.
#[tokio::test]
async fn the_npm_client_connects_sends_receives_and_quotes() {
    let cores = Cores::start(&["caller", "bot", "stranger"]).await;
    let (contact, [group, _]) = cores.acquaint();
    let mut of_bot = cores.connect(1).await;
    let mut npm = npm("simplex-chat");
    npm.call(None, &["ChatClient", "create"], json!([cores.url(0)])).await.expect("connected");
    let client = Some("client");

    let user = npm.call(client, &["apiGetActiveUser"], json!([])).await.expect("a user");
    assert_eq!((&user["userId"], &user["profile"]["displayName"]), (&json!(1), &json!("caller")));
    let profile = json!({"displayName": "caller", "fullName": "A caller"});
    let changed = npm.call(client, &["apiUpdateProfile"], json!([1, profile])).await;
    assert_eq!(changed.expect("changed"), profile);
    let same = npm.call(client, &["apiUpdateProfile"], json!([1, profile])).await;
    assert_eq!(same.expect("unchanged"), Value::Null);

    let text = "/_call mcp {}";
    let sent = npm.call(client, &["apiSendTextMessage"], json!(["@", contact.0, text])).await;
    let sent = sent.expect("sent");
    let received = event(&mut of_bot, "newChatItems").await;
    let item = &received["chatItems"][0];
    assert_eq!(item["chatItem"]["meta"]["itemText"], text);

    // The bot quotes it; the client finds the quote among what its queue holds.
    let (to, id) = (&item["chatInfo"]["contact"]["contactId"], &item["chatItem"]["meta"]["itemId"]);
    let reply = json!([{"msgContent": {"type": "text", "text": "{}"}, "quotedItemId": id}]);
    command(&mut of_bot, &format!("/_send @{to} json {reply}")).await;
    let reply = loop {
        let event = npm.call(client, &["msgQ", "dequeue"], json!([])).await.expect("an event");
        if event["type"] == "newChatItems" {
            break event;
        }
    };
    let quote = &reply["chatItems"][0]["chatItem"]["quotedItem"];
    assert_eq!(quote["itemId"], sent[0]["chatItem"]["meta"]["itemId"]);

    // It quotes as well, in a group.
    let messages = json!([{"msgContent": {"type": "text", "text": "first"}}]);
    let sent = npm.call(client, &["apiSendMessages"], json!(["#", group.0, messages])).await;
    let id = &sent.expect("sent")[0]["chatItem"]["meta"]["itemId"];
    let messages = json!([{"msgContent": {"type": "text", "text": "second"}, "quotedItemId": id}]);
    npm.call(client, &["apiSendMessages"], json!(["#", group.0, messages])).await.expect("sent");
    event(&mut of_bot, "newChatItems").await;
    let second = event(&mut of_bot, "newChatItems").await;
    let quote = &second["chatItems"][0]["chatItem"]["quotedItem"];
    assert_eq!(quote["content"]["text"], "first");

    let members = npm.call(client, &["apiListMembers"], json!([group.0])).await.expect("members");
    assert_eq!(members[0]["localDisplayName"], "bot");
    let chat = npm.call(client, &["apiGetChat"], json!(["@", contact.0])).await.expect("a chat");
    assert_eq!(chat["chatItems"].as_array().map(Vec::len), Some(2));

    // It connects by the address of another.
    let mut of_stranger = cores.connect(2).await;
    let created = command(&mut of_stranger, "/_address 1").await;
    let link = &created["connLinkContact"]["connFullLink"];
    let kind = npm.call(client, &["apiConnect"], json!([link])).await;
    assert_eq!(kind.expect("sent"), "contact");
    let asked = event(&mut of_stranger, "receivedContactRequest").await;
    assert_eq!(asked["contactRequest"]["profile"]["fullName"], "A caller");
}

/// What npm `simplex-chat` 0.2.1 sends or expects as cores of its time did.
#[tokio::test]
async fn the_npm_client_differs_from_todays_core() {
    let cores = Cores::start(&["caller", "bot"]).await;
    let (contact, _) = cores.acquaint();
    let mut npm = npm("simplex-chat");
    npm.call(None, &["ChatClient", "create"], json!([cores.url(0)])).await.expect("connected");
    let client = Some("client");
    // `/_start subscribe=off expire=off`, where `main=` has to come first.
    let start = npm.call(client, &["apiStartChat"], json!([])).await;
    assert_eq!(start, Err("error starting chat".into()));
    // `/_get chats pcc=off`, without the user.
    let chats = npm.call(client, &["apiGetChats"], json!([1])).await;
    assert_eq!(chats, Err("error loading chats".into()));
    // The content of the message alone, where `UpdatedMessage` stands today.
    let sent = npm.call(client, &["apiSendTextMessage"], json!(["@", contact.0, "x"])).await;
    let id = &sent.expect("sent")[0]["chatItem"]["meta"]["itemId"];
    let content = json!({"type": "text", "text": "y"});
    let edit = npm.call(client, &["apiUpdateChatItem"], json!(["@", contact.0, id, content])).await;
    assert_eq!(edit, Err("error updating chat item".into()));
    // `chatItemDeleted`, where today's core says `chatItemsDeleted`: it is done all the same.
    let deleted =
        npm.call(client, &["apiDeleteChatItem"], json!(["@", contact.0, id, "broadcast"])).await;
    assert_eq!(deleted, Err("error deleting chat item".into()));
    // `connReqContact`, where the links are in `connLinkContact` today.
    let address = npm.call(client, &["apiCreateUserAddress"], json!([])).await;
    assert_eq!(address, Ok(Value::Null));
}

/// PyPI `simplex-chat-py` 0.1.0: connect, profile, receive, and quote in a group; and what it sends
/// or expects otherwise than today's core.
#[tokio::test]
async fn the_python_client_connects_receives_and_quotes() {
    let cores = Cores::start(&["caller", "bot"]).await;
    let (contact, [group, theirs]) = cores.acquaint();
    let mut of_caller = cores.connect(0).await;
    let mut bot = python("simplex_chat_bot.py", &cores.ports[1].to_string());
    let profile = bot.told("profile").await;
    assert_eq!(profile["toProfile"]["fullName"], "A bot");
    assert_eq!(bot.told("contacts").await["contacts"][0]["localDisplayName"], "caller");
    assert_eq!(bot.told("groups").await["groups"][0]["groupId"], theirs.0);
    // It has made an address; its settings lack `businessAddress`, so that it accepts nobody.
    assert!(bot.told("address").await.as_str().is_some_and(|link| link.starts_with("simplex:")));
    let settings = bot.told("settings").await;
    assert_eq!(settings["contactLink"]["addressSettings"], json!({"businessAddress": false}));

    let sent = command(&mut of_caller, &format!("/_send #{} text hello", group.0)).await;
    let read = bot.told("read").await;
    assert_eq!((&read["text"], &read["group"]), (&json!("hello"), &json!(true)));
    assert_eq!(bot.told("replied").await["type"], "newChatItems");
    let reply = event(&mut of_caller, "newChatItems").await;
    let item = &reply["chatItems"][0]["chatItem"];
    assert_eq!(item["meta"]["itemText"], "Re: hello");
    let id = &sent["chatItems"][0]["chatItem"]["meta"]["itemId"];
    assert_eq!(&item["quotedItem"]["itemId"], id);

    // In a direct chat it replies to the contact's name, which the grammar does not take.
    command(&mut of_caller, &format!("/_send @{} text hello", contact.0)).await;
    assert_eq!(bot.told("read").await["group"], false);
    let refused = bot.told("replied").await;
    assert_eq!(refused["chatError"]["errorType"]["message"], "Failed reading: empty");
}
