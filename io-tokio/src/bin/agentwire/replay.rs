//! `agentwire replay`: a recording, run through a session once more.

use std::fs;
use std::path::PathBuf;

use agentwire_core::binding::Standard;
use agentwire_core::chat::session::Declared;
use agentwire_core::simplex::SessionConfig;
use agentwire_core::simplex::replay::{Difference, Line, LineKind, Replay, Report};
use clap::Args as Arguments;

use crate::exit::{ExitCode, Failure};
use crate::output::Output;
use crate::terminal::{DIM, NAME, escape};

/// The revisions and versions that a replayed session serves.
const MCP: [&str; 1] = ["2026-07-28"];
const A2A: [&str; 1] = ["1.0"];

/// Run a recording of `agentwire loopback --record` through the session once more.
///
/// For each profile in it: what came from its core goes in, and what comes out is held against what
/// was sent then. Exit code 1 if something differs.
///
/// What no session has sent, such as the single commands of `agentwire doctor` and `agentwire
/// connect`, differs too: name the profiles of bots with --profile.
#[derive(Debug, Arguments)]
pub(crate) struct ReplayArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// This profile alone; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Vec<String>,
}

pub(crate) fn run(args: &ReplayArgs, output: &mut Output) -> Result<(), Failure> {
    let shown = args.file.display();
    let text = fs::read_to_string(&args.file).map_err(|error| {
        Failure::new(ExitCode::Config, format!("{shown} cannot be read: {error}"))
    })?;
    let mut lines = Vec::new();
    let mut profiles: Vec<String> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = Line::parse(line).ok_or_else(|| {
            let message = format!("{shown}: line {} is none of a recording", at + 1);
            Failure::new(ExitCode::Corrupt, message)
        })?;
        if !profiles.contains(&line.profile) {
            profiles.push(line.profile.clone());
        }
        lines.push((at + 1, line));
    }
    if let Some(unknown) = args.profile.iter().find(|name| !profiles.contains(name)) {
        let message = format!("{unknown}: there is no such profile in {shown}");
        return Err(Failure::new(ExitCode::Usage, message));
    }
    profiles.retain(|name| args.profile.is_empty() || args.profile.contains(name));
    let mut differ = 0;
    for profile in &profiles {
        let own: Vec<_> = lines.iter().filter(|(_, line)| line.profile == *profile).collect();
        let report = replay(&own);
        differ += report.differ;
        show(output, profile, &report)?;
    }
    match differ {
        0 => Ok(()),
        differ => Err(Failure::new(ExitCode::ToolError, format!("{differ} commands differ"))),
    }
}

fn replay(lines: &[&(usize, Line)]) -> Report {
    // What a session was told to do shows in what it has sent: one that serves asks at its start
    // which conversations there are.
    let has_sent = |words: &str| {
        let sent = lines.iter().filter(|(_, line)| line.kind == LineKind::ToCore);
        sent.map(|(_, line)| &line.frame).any(|frame| frame.contains(words))
    };
    let mut config = SessionConfig::default();
    config.service_requests = has_sent("service_requests=on");
    let declared = if has_sent("/_get chats ") {
        vec![Declared::new(Standard::MCP, MCP), Declared::new(Standard::A2A, A2A)]
    } else {
        Vec::new()
    };
    let mut replay = Replay::new(config, declared);
    for (number, line) in lines {
        replay.line(*number, line);
    }
    replay.finish()
}

fn show(output: &mut Output, profile: &str, report: &Report) -> Result<(), Failure> {
    if output.is_json() {
        let differences = report.differences.iter().map(|difference| {
            serde_json::json!({
                "line": difference.line,
                "recorded": difference.recorded,
                "replayed": difference.replayed,
            })
        });
        return output.json(&serde_json::json!({
            "profile": profile,
            "frames": report.frames,
            "unread": report.unread,
            "commands": report.commands,
            "requests": report.requests,
            "replies": report.replies,
            "differ": report.differ,
            "differences": differences.collect::<Vec<_>>(),
        }));
    }
    let terminal = output.terminal();
    output.line(format_args!(
        "{} {} frames, {} commands, {} requests, {} replies: {} differ",
        terminal.paint(NAME, escape(profile)),
        report.frames,
        report.commands,
        report.requests,
        report.replies,
        report.differ,
    ))?;
    for Difference { line, recorded, replayed, .. } in &report.differences {
        output.line(format_args!("  line {line}"))?;
        for (name, command) in [("recorded", recorded), ("replayed", replayed)] {
            let text = command.as_deref().map_or("nothing".into(), escape);
            output.line(format_args!("    {}  {text}", terminal.paint(DIM, name)))?;
        }
    }
    Ok(())
}
