//! Two agents on embassy-executor: two tasks of one pool. On a microcontroller the executor and the
//! clock are the chip's; here both are those for `std`, and `drive` is the same.
//!
//! `cargo run -p runtimes --bin embassy` ends with exit code 0 if the bot gave the right answer.
//! With an argument the bot answers that instead.

use agentwire_core::simplex::{Input, Link, Output};
use agentwire_core::time::Instant;
use embassy_executor::Executor;
use embassy_futures::select::{Either, select};
use embassy_time::Timer;
use runtimes::{Agent, Verdict, Wrong, agents};
use std::sync::OnceLock;

static VERDICT: OnceLock<Verdict> = OnceLock::new();

fn main() -> Verdict {
    let (caller, bot) = agents(std::env::args().nth(1));
    // Tasks live in statics, and so does what runs them.
    let executor = Box::leak(Box::new(Executor::new()));
    let spawn = |spawner: embassy_executor::Spawner| {
        for agent in [caller, bot] {
            spawner.spawn(task(agent).expect("the pool has room for two"));
        }
    };
    executor.run_until(spawn, || VERDICT.get().is_some());
    VERDICT.get().copied().unwrap_or(Err(Wrong::Stuck))?;
    println!("embassy: one request answered, one ended in time");
    Ok(())
}

#[embassy_executor::task(pool_size = 2)]
async fn task(agent: Agent) {
    let verdict = drive(agent).await;
    VERDICT.get_or_init(|| verdict);
}

fn now() -> Instant {
    Instant::from_millis(embassy_time::Instant::now().as_millis())
}

/// Drives a session until its application says how it went.
async fn drive(mut agent: Agent) -> Verdict {
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
        let until = until.map_or(embassy_time::Instant::MAX, |until| {
            embassy_time::Instant::from_millis(until.as_millis())
        });
        match select(agent.socket.receive(), Timer::at(until)).await {
            Either::First(frame) => {
                agent.session.handle_input(now(), Input::Frame(Link::Chat, &frame))?;
            }
            Either::Second(()) => agent.session.handle_timeout(now()),
        }
    }
}
