//! The program, with cards at URLs.

use std::process::{Command, Output, Stdio};

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_tokio::bot::{Bot, BotConfig, Replier, Request};
use agentwire_tokio::link::Core;
use agentwire_tokio::network::{Network, Profile};
use agentwire_tokio::server::Server;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

use crate::host::{CARD_PATH, Host, KEYS_PATH, LINK};
use crate::{key, shop};

async fn run(args: &[&str], host: &Host) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentwire"));
    command.args(args).stdin(Stdio::null());
    if host.ca_file.exists() {
        command.arg("--card-ca-file").arg(&host.ca_file);
    }
    spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn text(bytes: &[u8]) -> &str {
    core::str::from_utf8(bytes).unwrap()
}

/// What it prints, of a run that ends with this exit code.
async fn result(args: &[&str], host: &Host, code: i32) -> String {
    let output = run(args, host).await;
    let shown = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{args:?} {shown:?}");
    format!("{}{}", shown.0, shown.1)
}

const LOCAL: &str = "--card-allow-local";

#[tokio::test(flavor = "multi_thread")]
async fn a_card_at_a_url_is_verified_with_its_hosts_keys() {
    let (host, old) = shop().await;
    let url = host.at(CARD_PATH);
    let verified = result(&["card", "verify", &url, LOCAL], &host, 0).await;
    let expected =
        format!("verified   signature 0, by the key k\nform       spec\nsimplex    {LINK}\n");
    assert_eq!(verified, expected);
    assert_eq!(result(&["card", "link", &url, LOCAL], &host, 0).await, format!("{LINK}\n"));
    result(&["card", "lint", &url, LOCAL], &host, 0).await;
    // Not without being allowed.
    let refused = result(&["card", "verify", &url], &host, 6).await;
    assert!(refused.contains("not one of the public internet"), "{refused}");
    assert!(refused.contains("--card-allow-local"), "{refused}");
    // A new key, and the old one revoked.
    let new = key(8);
    host.page(CARD_PATH, "", &host.sign(&host.at(KEYS_PATH), &[(&new, "n")]));
    let refused = result(&["card", "verify", &url, LOCAL], &host, 6).await;
    assert!(refused.contains("no trusted key has this kid"), "{refused}");
    host.publish("", &[(&new, "n"), (&old, "k")]);
    let verified = result(&["card", "verify", &url, LOCAL, "--json"], &host, 0).await;
    let verified: Value = serde_json::from_str(&verified).unwrap();
    assert_eq!((&verified["verified"], &verified["kid"]), (&json!(true), &json!("n")));
    // A redirect is said to be one.
    host.raw(CARD_PATH, format!("HTTP/1.1 302 Found\r\nLocation: {}\r\n\r\n", host.at("/x")));
    let refused = result(&["card", "verify", &url, LOCAL], &host, 6).await;
    assert!(refused.contains("302") && refused.contains("points elsewhere"), "{refused}");
    assert!(!host.asked().contains(&String::from("/x")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_is_discovered_and_called() {
    let (host, _) = shop().await;
    let url = host.at(CARD_PATH);
    let found = result(&["discover", "--offline", &url, LOCAL], &host, 0).await;
    let expected = format!("Shop: an Agent Card, signed by the key k\nsimplex    {LINK}\n");
    assert_eq!(found, expected);
    let found = result(&["--json", "discover", "--offline", &url, LOCAL], &host, 0).await;
    let found: Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&found["kind"], &found["kid"]), (&json!("card"), &json!("k")));
    assert_eq!(found["simplex"][0]["url"], LINK);
    // To the core that is not there, with the link that the card names.
    let call = ["call", "--core", "ws://127.0.0.1:1", "--to", &url, "tools/list", LOCAL];
    let failed = result(&call, &host, 4).await;
    assert!(failed.contains("127.0.0.1:1"), "{failed}");
    // A card that was changed after it was signed leads nowhere.
    let changed = host.sign(&host.at(KEYS_PATH), &[(&key(7), "k")]).replace("anvils", "rockets");
    host.page(CARD_PATH, "", &changed);
    for args in [&call[..], &["discover", "--offline", &url, LOCAL]] {
        let refused = result(args, &host, 6).await;
        assert!(refused.contains("has been changed"), "{refused}");
    }
    // One without a signature is its host's all the same, one without an interface leads nowhere.
    host.page(CARD_PATH, "", r#"{"name":"Shop","supportedInterfaces":[]}"#);
    let refused = result(&["discover", "--offline", &url, LOCAL], &host, 6).await;
    assert!(refused.contains("no signature vouches") && refused.contains("no SimpleX interface"));
    let refused = result(&call, &host, 6).await;
    assert!(refused.contains("no SimpleX interface"), "{refused}");
    assert_eq!(
        run(&["call", "--to", "http://agent.example/c.json", "m"], &host).await.status.code(),
        Some(2)
    );
}

/// Says which tenant it was asked for.
async fn tenant(request: Request, replier: Replier) {
    let asked: Value = serde_json::from_str(&request.text).unwrap();
    let text = asked["params"]["tenant"].as_str().unwrap_or("none");
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]});
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"message": message}});
    replier.respond(answer.to_string()).await.unwrap();
}

async fn core_of(server: &Server, profile: Profile) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    tokio::spawn(server.serve(profile, listener));
    url
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_called_by_its_cards_url() {
    let network = Network::in_real_time(1);
    let [ann, bot] = ["ann", "bot"].map(|name| network.add_profile(name).unwrap());
    let server = Server::new(&network, 1);
    let (ann, bot) = (core_of(&server, ann).await, core_of(&server, bot).await);
    let declared = || vec![Declared::new(Standard::A2A, ["1.0"])];
    let config = BotConfig::from(declared()).service(declared());
    let bot = Bot::connect(Core::new(bot), config, tenant).await.unwrap();
    let link = bot.address().await.unwrap();
    let (host, _) = shop().await;
    let url = host.at(CARD_PATH);
    let call = ["call", "--protocol", "a2a", "--core", &ann, "--text", "hi", "--to", &url, LOCAL];
    for (more, tenant) in [("", "none"), (r#","tenant":"t""#, "t")] {
        let interface = format!(
            r#"{{"name":"A","supportedInterfaces":[{{"url":"{link}","protocolBinding":"https://simplex.chat/protocol/a2a/v1","protocolVersion":"1.0"{more}}}]}}"#
        );
        host.page(CARD_PATH, "", &interface);
        let answer = result(&call, &host, 0).await;
        assert_eq!(answer.trim(), tenant);
    }
}
