//! `agentwire loopback`: chat cores that are none, on ports.

mod args;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use agentwire_core::chat::GroupId;
use agentwire_core::loopback::{GroupRef, Loopback, ProfileId, SetupError};
use agentwire_tokio::network::{Network, Profile};
use agentwire_tokio::server::{Recorded, Server};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

pub(crate) use args::LoopbackArgs;
use args::{Group, Pair, SimplexName};

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
    let (profiles, links) = set_up(args, &network)?;
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
        show(output, &network, &profile, &links, &listener)?;
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

/// The links by which groups are joined, by their owners.
type GroupLinks = BTreeMap<(ProfileId, GroupId), String>;

/// The profiles in the order of the command line, and what connects them.
fn set_up(args: &LoopbackArgs, network: &Network) -> Result<(Vec<Profile>, GroupLinks), Failure> {
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
    let links = network.with(|net| {
        for (one, other) in pairs {
            net.connect(one, other).map_err(|error| usage(error.to_string()))?;
        }
        let mut groups = BTreeMap::new();
        let mut links = GroupLinks::new();
        let all = args.group.iter().map(|group| (group, false));
        for (group, is_channel) in all.chain(args.channel.iter().map(|group| (group, true))) {
            let members = group.members.iter().map(|name| find(name));
            let members = members.collect::<Result<Vec<ProfileId>, Failure>>()?;
            let made = create_group(net, group, is_channel, &members)?;
            if let Some((owner, made)) = members.first().copied().zip(made) {
                if groups.insert(group.name.clone(), made).is_some() {
                    return Err(usage(format!("{}: there are two of this name", group.name)));
                }
                let link = net.group_id(made, owner).zip(net.group_links(made));
                links.extend(link.map(|(id, (_, short))| ((owner, id), short)));
            }
        }
        for SimplexName { owner, name } in &args.name {
            let wrong = |error: SetupError| usage(format!("{name}: {error}"));
            if name.starts_with('@') {
                net.name_profile(find(owner)?, name).map_err(wrong)?;
            } else {
                let missing = || usage(format!("{owner}: there is no such group"));
                let group = groups.get(owner).copied().ok_or_else(missing)?;
                net.name_group(group, name).map_err(wrong)?;
            }
        }
        // Nobody is told of what was there from the beginning.
        for profile in &profiles {
            while net.poll_event(profile.id()).is_some() {}
        }
        Ok::<GroupLinks, Failure>(links)
    })?;
    Ok((profiles, links))
}

fn create_group(
    net: &mut Loopback,
    group: &Group,
    is_channel: bool,
    members: &[ProfileId],
) -> Result<Option<GroupRef>, Failure> {
    let wrong = |error: SetupError| usage(format!("{}: {error}", group.name));
    let mut made: Option<GroupRef> = None;
    for member in members {
        match made {
            None if is_channel => {
                made = Some(net.create_channel(*member, &group.name).map_err(wrong)?);
            }
            None => made = Some(net.create_group(*member, &group.name).map_err(wrong)?),
            Some(made) => drop(net.join(made, *member).map_err(wrong)?),
        }
    }
    if let Some(made) = made {
        net.create_group_link(made).map_err(wrong)?;
    }
    Ok(made)
}

/// Where a profile's core listens, and with whom it can speak.
fn show(
    output: &mut Output,
    network: &Network,
    profile: &Profile,
    links: &GroupLinks,
    listener: &TcpListener,
) -> Result<(), Failure> {
    let id = profile.id();
    let url = format!("ws://{}", listener.local_addr()?);
    let (contacts, groups) = network.with(|net| (net.contacts(id), net.groups(id)));
    if output.is_json() {
        let contacts = contacts.iter().map(
            |contact| serde_json::json!({"contactId": contact.contact.0, "name": contact.name}),
        );
        let groups = groups.iter().map(|(group, name)| {
            let mut shown = serde_json::json!({"groupId": group.0, "name": name});
            if let Some(link) = links.get(&(id, *group)) {
                shown["link"] = link.as_str().into();
            }
            shown
        });
        return output.json(&serde_json::json!({
            "profile": profile.name(),
            "url": url,
            "contacts": contacts.collect::<Vec<_>>(),
            "groups": groups.collect::<Vec<_>>(),
        }));
    }
    let contacts =
        contacts.iter().map(|contact| format!("@{} {}", contact.contact.0, contact.name));
    let shown = groups.iter().map(|(id, name)| format!("#{} {name}", id.0));
    let chats = contacts.chain(shown).collect::<Vec<_>>().join(", ");
    let terminal = output.terminal();
    let name = terminal.paint(NAME, escape(profile.name()));
    if chats.is_empty() {
        output.line(format_args!("{name} {url}"))?;
    } else {
        output.line(format_args!("{name} {url}  {}", terminal.paint(DIM, escape(&chats))))?;
    }
    for (group, name) in &groups {
        if let Some(link) = links.get(&(id, *group)) {
            output.line(format_args!("  {}: {link}", escape(name)))?;
        }
    }
    Ok(())
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
