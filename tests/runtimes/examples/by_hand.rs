//! Two agents without any runtime: a plain loop, and time that is just a number. Where nothing is
//! to be received, the loop goes straight to the next time that anybody waits for; a program with
//! a real core would sleep until then.
//!
//! `cargo run -p runtimes --bin by_hand` ends with exit code 0 if the bot gave the right answer.
//! With an argument the bot answers that instead.

use agentwire_core::simplex::{Input, Link, Output};
use agentwire_core::time::Instant;
use runtimes::{Agent, Verdict, Wrong, agents};

fn main() -> Verdict {
    let (mut caller, mut bot) = agents(std::env::args().nth(1));
    let mut now = Instant::ZERO;
    loop {
        let mut until = None;
        let mut is_idle = true;
        for agent in [&mut caller, &mut bot] {
            while let Some(frame) = agent.socket.try_receive() {
                agent.session.handle_input(now, Input::Frame(Link::Chat, &frame))?;
                is_idle = false;
                outputs(agent, now)?;
            }
            agent.session.handle_timeout(now);
            until = [until, outputs(agent, now)?].into_iter().flatten().min();
            if let Some(verdict) = agent.verdict() {
                verdict?;
                println!("by hand: one request answered, one ended in time");
                return Ok(());
            }
        }
        // What the second agent sent may be there for the first one: both are looked after once
        // more before time passes.
        if is_idle {
            now = until.filter(|until| *until > now).ok_or(Wrong::Stuck)?;
        }
    }
}

/// Does everything that there is to do now. Until when nothing more is.
fn outputs(agent: &mut Agent, now: Instant) -> Result<Option<Instant>, Wrong> {
    loop {
        match agent.session.poll_output() {
            Output::Connect(link) => {
                agent.session.handle_input(now, Input::Connected(link))?;
            }
            Output::Transmit(transmit) => agent.socket.send(now, &transmit.frame),
            Output::Event(event) => agent.handle_event(now, event),
            Output::Timeout(until) => return Ok(until),
            // Of a core that does not answer, and of a journal that outlives the process.
            Output::Disconnect(_) | Output::Save(_) => return Err(Wrong::Stuck),
        }
    }
}
