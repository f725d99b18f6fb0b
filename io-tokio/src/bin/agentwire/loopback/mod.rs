//! `agentwire loopback`: chat cores that are none, on ports.

mod args;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use agentwire_core::loopback::{GroupRef, Loopback, ProfileId, SetupError};
use agentwire_tokio::network::{Network, Profile};
use agentwire_tokio::server::{Recorded, Server};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

pub(crate) use args::LoopbackArgs;
use args::{Group, Pair};

use crate::exit::{ExitCode, Failure};
use crate::output::Output;
use crate::signals::Shutdown;
use crate::terminal::{DIM, NAME, escape};

/// Serves until a signal comes.
pub(crate) async fn run(
    args: &LoopbackArgs,
    output: &mut Output,
    mut shutdown: Shutdown,
) -> Result<(), Failure> {
    let network = Network::in_real_time(args.seed);
    let profiles = set_up(args, &network)?;
    network.with(|net| net.set_faults(args.faults.faults()));
    let server = Server::new(&network, args.seed);
    server.cut_every(args.faults.cut_every);
    let file = args.record.as_deref().map(create).transpose()?;
    let recording = file.map(|file| (file, server.record()));

    let mut listeners = Vec::new();
    for (profile, port) in profiles.into_iter().zip(&args.profile) {
        let listener =
            TcpListener::bind(port.address).await.map_err(|error| bound(port, &error))?;
        listeners.push((profile, listener));
    }
    let mut served = JoinSet::new();
    for (profile, listener) in listeners {
        if args.maintenance {
            server.stop(&profile);
        }
        show(output, &network, &profile, &listener)?;
        served.spawn(server.serve(profile, listener));
    }
    let mut recording = recording.map(|(file, recorded)| Box::pin(write(file, recorded)));
    let written = async {
        match &mut recording {
            Some(recording) => recording.await,
            None => core::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = shutdown.requested() => {}
        failed = written => failed?,
    }
    server.close();
    while served.join_next().await.is_some() {}
    // Nothing records any more, so the recording ends.
    drop(server);
    match recording {
        Some(recording) => recording.await,
        None => Ok(()),
    }
}

/// The profiles in the order of the command line, and what connects them.
fn set_up(args: &LoopbackArgs, network: &Network) -> Result<Vec<Profile>, Failure> {
    let mut profiles = Vec::new();
    let mut ids = BTreeMap::new();
    for port in &args.profile {
        let wrong = |error: SetupError| usage(format!("{}: {error}", port.name));
        let profile = network.add_profile(&port.name).map_err(wrong)?;
        if ids.insert(port.name.clone(), profile.id()).is_some() {
            return Err(usage(format!("{}: there are two profiles of this name", port.name)));
        }
        profiles.push(profile);
    }
    let find = |name: &str| {
        ids.get(name).copied().ok_or_else(|| usage(format!("{name}: there is no such profile")))
    };
    let mut pairs = Vec::new();
    for Pair(one, other) in &args.contact {
        pairs.push((find(one)?, find(other)?));
    }
    if args.contact.is_empty() && !args.strangers {
        let ids: Vec<ProfileId> = profiles.iter().map(Profile::id).collect();
        let all = ids.iter().enumerate();
        pairs.extend(all.flat_map(|(at, one)| ids[at + 1..].iter().map(|other| (*one, *other))));
    }
    network.with(|net| {
        for (one, other) in pairs {
            net.connect(one, other).map_err(|error| usage(error.to_string()))?;
        }
        for group in &args.group {
            let members = group.members.iter().map(|name| find(name));
            let members = members.collect::<Result<Vec<ProfileId>, Failure>>()?;
            create_group(net, group, &members)?;
        }
        // Nobody is told of what was there from the beginning.
        for profile in &profiles {
            while net.poll_event(profile.id()).is_some() {}
        }
        Ok::<(), Failure>(())
    })?;
    Ok(profiles)
}

fn create_group(net: &mut Loopback, group: &Group, members: &[ProfileId]) -> Result<(), Failure> {
    let wrong = |error: SetupError| usage(format!("{}: {error}", group.name));
    let mut made: Option<GroupRef> = None;
    for member in members {
        match made {
            None => made = Some(net.create_group(*member, &group.name).map_err(wrong)?),
            Some(made) => drop(net.join(made, *member).map_err(wrong)?),
        }
    }
    Ok(())
}

/// Where a profile's core listens, and with whom it can speak.
fn show(
    output: &mut Output,
    network: &Network,
    profile: &Profile,
    listener: &TcpListener,
) -> Result<(), Failure> {
    let id = profile.id();
    let url = format!("ws://{}", listener.local_addr()?);
    let (contacts, groups) = network.with(|net| (net.contacts(id), net.groups(id)));
    if output.is_json() {
        let contacts = contacts.iter().map(
            |contact| serde_json::json!({"contactId": contact.contact.0, "name": contact.name}),
        );
        let groups =
            groups.iter().map(|(id, name)| serde_json::json!({"groupId": id.0, "name": name}));
        return output.json(&serde_json::json!({
            "profile": profile.name(),
            "url": url,
            "contacts": contacts.collect::<Vec<_>>(),
            "groups": groups.collect::<Vec<_>>(),
        }));
    }
    let contacts =
        contacts.iter().map(|contact| format!("@{} {}", contact.contact.0, contact.name));
    let groups = groups.iter().map(|(id, name)| format!("#{} {name}", id.0));
    let chats = contacts.chain(groups).collect::<Vec<_>>().join(", ");
    let terminal = output.terminal();
    output.line(format_args!(
        "{} {url}  {}",
        terminal.paint(NAME, escape(profile.name())),
        terminal.paint(DIM, escape(&chats))
    ))
}

fn usage(message: impl Into<String>) -> Failure {
    Failure::new(ExitCode::Usage, message)
}

fn bound(port: &args::Port, error: &io::Error) -> Failure {
    let code = match error.kind() {
        io::ErrorKind::AddrInUse => ExitCode::Locked,
        _ => ExitCode::Config,
    };
    Failure::new(code, format!("{} cannot listen on {}: {error}", port.name, port.address))
}

fn create(path: &Path) -> Result<BufWriter<File>, Failure> {
    let failed = |error: io::Error| {
        Failure::new(ExitCode::Config, format!("{} cannot be written: {error}", path.display()))
    };
    Ok(BufWriter::new(File::create(path).map_err(failed)?))
}

/// Writes what is recorded until the server is gone.
async fn write(
    mut file: BufWriter<File>,
    mut recorded: UnboundedReceiver<Recorded>,
) -> Result<(), Failure> {
    while let Some(first) = recorded.recv().await {
        writeln!(file, "{first}")?;
        while let Ok(more) = recorded.try_recv() {
            writeln!(file, "{more}")?;
        }
        // What has happened can be read while it goes on.
        file.flush()?;
    }
    Ok(())
}
