//! Two agents on smol: a bot in a task of its own, and a caller beside it.
//!
//! `cargo run -p runtimes --bin smol` ends with exit code 0 if the bot gave the right answer. With
//! an argument the bot answers that instead.

use agentwire_core::simplex::{Input, Link, Output};
use agentwire_core::time::Instant;
use core::time::Duration;
use runtimes::{Agent, Verdict, Wrong, agents};
use smol::{LocalExecutor, Timer, future};

fn main() -> Verdict {
    let (caller, bot) = agents(std::env::args().nth(1));
    // The session reads no clock: this one counts from the start of the program.
    let started = std::time::Instant::now();
    let executor = LocalExecutor::new();
    let bot = executor.spawn(drive(bot, started));
    smol::block_on(executor.run(future::or(bot, drive(caller, started))))?;
    println!("smol: one request answered, one ended in time");
    Ok(())
}

/// Drives a session until its application says how it went.
async fn drive(mut agent: Agent, started: std::time::Instant) -> Verdict {
    let now = || Instant::from_millis(u64::try_from(started.elapsed().as_millis()).unwrap_or(0));
    loop {
        // Everything that there is to do now.
        let until = loop {
            match agent.session.poll_output() {
                Output::Connect(link) => {
                    agent.session.handle_input(now(), Input::Connected(link))?;
                }
                Output::Transmit(transmit) => agent.socket.send(now(), &transmit.frame),
                Output::Event(event) => agent.handle_event(now(), event),
                Output::Timeout(until) => break until,
                // Of a core that does not answer, and of a journal that outlives the process.
                Output::Disconnect(_) | Output::Save(_) => return Err(Wrong::Stuck),
            }
        };
        if let Some(verdict) = agent.verdict() {
            return verdict;
        }
        // The next frame, or the time at which the session wants to be asked again.
        let wait = until.map_or(Duration::MAX, |until| until.duration_since(now()));
        let timer = async {
            Timer::after(wait).await;
            None
        };
        let frame = async { Some(agent.socket.receive().await) };
        match future::or(frame, timer).await {
            Some(frame) => {
                agent.session.handle_input(now(), Input::Frame(Link::Chat, &frame))?;
            }
            None => agent.session.handle_timeout(now()),
        }
    }
}
