//! A bot at a chat core: it greets whoever sends it an A2A message. The README explains it.

use agentwire_core::{binding::Standard, chat::session::Declared};
use agentwire_tokio::bot::{Bot, Replier, Request};
use agentwire_tokio::link::Core;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let core = Core::new(std::env::args().nth(1).unwrap_or("ws://127.0.0.1:5225".into()));
    let serves = vec![Declared::new(Standard::A2A, ["1.0"])];
    let greet = |request: Request, replier: Replier| async move {
        let parts = r#"{"messageId":"1","role":"ROLE_AGENT","parts":[{"text":"hello"}]}"#;
        let id = request.id.unwrap_or_default();
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"message":{parts}}}}}"#);
        let _ = replier.respond(answer).await;
    };
    let bot = Bot::connect(core, serves, greet).await?;
    println!("{}", bot.address().await?);
    core::future::pending().await
}
