//! What the runs have shown, as tables of the documentation.

use core::fmt::Write as _;

use serde_json::Value;

use crate::peers::{AGENTS, CLIENTS, Sdk, Seen};

/// The way of a client into a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// HTTP, to a gateway.
    Gateway,
    /// A transport of its own.
    Transport,
}

/// One client at one agent.
pub(crate) struct Run {
    pub(crate) client: Sdk,
    pub(crate) agent: Sdk,
    pub(crate) way: Way,
    pub(crate) direct: Vec<Seen>,
    pub(crate) through: Vec<Seen>,
}

/// How many results are the same, of each client at each agent.
pub(crate) fn clients(runs: &[Run]) -> String {
    let mut text =
        String::from("| client | way | agent | calls | the same both ways | listed below |\n");
    text.push_str("|---|---|---|---|---|---|\n");
    for Run { client, agent, way, direct, through } in runs {
        let same = direct.iter().zip(through).filter(|(direct, through)| direct == through).count();
        let (client, agent) = (client.package(), agent.package());
        let (calls, other) = (direct.len(), direct.len() - same);
        let way = match way {
            Way::Gateway => "gateway",
            Way::Transport => "transport",
        };
        let _ = writeln!(text, "| `{client}` | {way} | `{agent}` | {calls} | {same} | {other} |");
    }
    text
}

/// What comes through a conversation, call by call and agent by agent.
pub(crate) fn calls(runs: &[Run]) -> String {
    let mut text = String::from("| call |");
    for agent in AGENTS {
        let _ = write!(text, " from `{}` |", agent.package());
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(AGENTS.len()));
    text.push('\n');
    let calls = runs.first().map(|run| run.through.len()).unwrap_or_default();
    for call in 0..calls {
        let cells = AGENTS.map(|agent| cell(runs, agent, call));
        let _ = write!(text, "| {} |", runs[0].through[call].call);
        for (place, cell) in cells.iter().enumerate() {
            let is_repeated = place > 0 && *cell == cells[0];
            let _ = write!(text, " {} |", if is_repeated { "the same" } else { cell });
        }
        text.push('\n');
    }
    text
}

/// What the clients get from an agent for a call: once, if it is the same for all.
fn cell(runs: &[Run], agent: Sdk, call: usize) -> String {
    let of = |client: Sdk| {
        let mut runs = runs.iter().filter(|run| run.agent == agent);
        let run = runs.find(|run| run.client == client).expect("a run");
        shown(&run.through[call].what)
    };
    let first = of(CLIENTS[0]);
    if CLIENTS.iter().all(|client| of(*client) == first) {
        return first;
    }
    let each = CLIENTS.map(|client| format!("`{}`: {}", client.package(), of(client)));
    each.join("; ")
}

/// What has to differ.
pub(crate) fn differences(runs: &[Run]) -> String {
    let mut text = String::from("| call | agent | directly | through a conversation | why |\n");
    text.push_str("|---|---|---|---|---|\n");
    // The rule is the agent's, so one client shows it.
    for run in runs.iter().filter(|run| run.client == CLIENTS[0]) {
        for (direct, through) in run.direct.iter().zip(&run.through) {
            if let Some(difference) = run.agent.differs(&direct.call) {
                let (call, agent) = (&direct.call, run.agent.package());
                let (before, after) = (shown(&direct.what), shown(&through.what));
                let why = difference.why;
                let _ = writeln!(text, "| {call} | `{agent}` | {before} | {after} | {why} |");
            }
        }
    }
    text
}

/// Events in their order, each with what it carries.
fn shown(what: &Value) -> String {
    format!("`{}`", plainly(what))
}

fn plainly(what: &Value) -> String {
    let carried = |parts: &[Value]| {
        let texts: Vec<_> = parts.iter().filter_map(Value::as_str).collect();
        match texts.split_first() {
            Some((first, [])) => (*first).to_owned(),
            Some((first, parts)) => format!("{first} ({})", parts.join(", ")),
            None => String::new(),
        }
    };
    match what {
        Value::Array(events) if events.iter().any(Value::is_array) => {
            let events = events.iter().map(|event| match event {
                Value::Array(parts) => carried(parts),
                other => other.as_str().unwrap_or_default().to_owned(),
            });
            events.collect::<Vec<_>>().join(" → ")
        }
        Value::Array(parts) => carried(parts),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}
