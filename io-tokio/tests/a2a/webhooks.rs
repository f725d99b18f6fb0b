//! Webhooks, and other ways in which a request asks for more than an answer. A conversation has no
//! use for push notifications, so none of them is ever called: not a public one, and not one that
//! leads inside.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use agentwire_core::a2a::Incoming;
use agentwire_core::binding::Place;
use agentwire_core::json::to_text;
use tokio::net::TcpListener;

use crate::agent::{Agent, CARD, result, task};
use crate::proxy::{World, is_error, message, request, with};
use crate::{gateway, proxy};

/// What a proxy answers before anything goes to the agent; nothing if it would go there. A caller's
/// own client refuses the same.
fn at_the_proxy(request: &str) -> String {
    let refused = Incoming::read(request, Place::Direct, &[]).err();
    refused.map(|refused| to_text(|out| refused.write(out))).unwrap_or_default()
}

/// Somebody who counts who connects.
async fn webhook() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    (format!("http://127.0.0.1:{port}/hook"), called)
}

/// Webhooks that lead inside, and credentials that are more than one header.
fn configs(own: &str) -> Vec<String> {
    let urls = [
        own,
        "http://169.254.169.254/",
        "http://127.0.0.1/",
        "https://localhost/",
        "https://[::ffff:127.0.0.1]/",
        "https://2130706433/",
        "https://user:password@hook.example/",
        "https://hook.example/",
        "file:///etc/passwd",
    ];
    let mut configs: Vec<_> = urls.iter().map(|url| format!(r#"{{"url":"{url}"}}"#)).collect();
    let credentials = [
        r#""authentication":{"scheme":"Bearer","credentials":"x\r\nX-Evil: y"}"#,
        r#""authentication":{"scheme":"Bearer\r\nX-Evil: y","credentials":"x"}"#,
        r#""token":"x\r\nX-Evil: y""#,
    ];
    configs.extend(
        credentials.iter().map(|more| format!(r#"{{"url":"https://hook.example/",{more}}}"#)),
    );
    configs
}

/// The requests that carry such a configuration, and their parameters.
fn carrying(config: &str) -> Vec<(&'static str, String)> {
    let inline = |name: &str, inner: &str| {
        let configuration = format!(r#","{name}":{{"{inner}":{config}}}}}"#);
        message("").strip_suffix('}').unwrap().to_owned() + &configuration
    };
    let inside = config.strip_prefix('{').unwrap();
    vec![
        ("CreateTaskPushNotificationConfig", format!(r#"{{"taskId":"t",{inside}"#)),
        ("SendMessage", inline("configuration", "taskPushNotificationConfig")),
        ("SendMessage", inline("configuration", "task_push_notification_config")),
        ("SendStreamingMessage", inline("configuration", "taskPushNotificationConfig")),
    ]
}

#[tokio::test]
async fn none_is_taken_and_none_is_called() {
    let (own, called) = webhook().await;
    let answer = || result(&format!("{{\"task\":{}}}", task("t", "COMPLETED")));
    let http = gateway::World::new(move |_| answer()).await;
    for config in configs(&own) {
        for (method, params) in carrying(&config) {
            let reply = at_the_proxy(&request(method, &params));
            let refused = is_error(&reply, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED");
            assert!(refused, "{method} {params} {reply}");
            let body = gateway::request(method, &params);
            let reply = http.post(&body).await.body;
            assert!(reply.contains("-32003"), "{method} {params} {reply}");
            assert!(!reply.contains("Evil") && !reply.contains("169.254"), "{reply}");
        }
    }
    for method in [
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    ] {
        let reply = at_the_proxy(&request(method, r#"{"taskId":"t","id":"t"}"#));
        assert!(is_error(&reply, -32003, "PUSH_NOTIFICATION_NOT_SUPPORTED"), "{reply}");
    }
    assert_eq!(http.agent.requests().len(), 0);
    assert_eq!(called.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_service_parameter_is_one_header_and_no_more() {
    let world = World::new(|_| result(&format!("{{\"task\":{}}}", task("t", "COMPLETED")))).await;
    for parameters in [
        r#"{"A2A-Version":"1.0","Authorization":"Bearer x\r\nX-Evil: y"}"#,
        r#"{"A2A-Version":"1.0","Authorization":"Bearer x\nX-Evil: y"}"#,
        r#"{"A2A-Version":"1.0","Authorization":"Bearer x\rX-Evil: y"}"#,
        r#"{"A2A-Version":"1.0","Authorization":"Bearer x\u0000"}"#,
        r#"{"A2A-Version":"1.0","Authorization\r\nX-Evil":"y"}"#,
        r#"{"A2A-Version":"1.0","X Evil":"y"}"#,
        r#"{"A2A-Version":"1.0","X-Evil:":"y"}"#,
        r#"{"A2A-Version":"1.0\r\nX-Evil: y"}"#,
        r#"{"A2A-Version":"1.0","authorization":"a","Authorization":"b"}"#,
    ] {
        let reply = at_the_proxy(&with("SendMessage", &message(""), parameters));
        assert!(reply.contains("-32600") || reply.contains("-32009"), "{parameters} {reply}");
    }
    // What a header may have passes.
    let parameters = r#"{"A2A-Version":"1.0","Authorization":"Bearer a\tb c"}"#;
    world.ann(&with("SendMessage", &message(""), parameters)).await;
    assert_eq!(world.agent.requests()[0].header("authorization"), Some("Bearer a\tb c"));
    assert!(world.agent.requests()[0].header("x-evil").is_none());
}

#[tokio::test]
async fn a_redirect_leads_nowhere() {
    let (own, called) = webhook().await;
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"] {
        let location = format!("Location: {own}\r\n");
        let redirect = crate::agent::answer(status, "text/html", &location, "");
        let agent = Agent::start(CARD, move |_| redirect.clone()).await;
        let world = proxy::World::of(agent, agentwire_tokio::a2a::UpstreamConfig::default()).await;
        for method in ["SendMessage", "SendStreamingMessage"] {
            let reply = world.ann(&request(method, &message(""))).await.remove(0);
            assert!(is_error(&reply, -32603, "AGENT_STATUS"), "{reply}");
        }
    }
    assert_eq!(called.load(Ordering::Relaxed), 0);
}
