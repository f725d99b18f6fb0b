//! The command line of `agentwire loopback`.

use core::net::SocketAddr;
use core::num::NonZeroU64;
use core::time::Duration;
use std::path::PathBuf;

use agentwire_core::discovery::name::Name;
use agentwire_core::loopback::Faults;
use clap::Args as Arguments;

/// Stand in for chat cores: the WebSocket API of simplex-chat, for each profile on a port of its own.
///
/// Programs that speak to a core speak to it. Nothing is stored, and nothing leaves this machine.
#[derive(Debug, Arguments)]
pub(crate) struct LoopbackArgs {
    /// A profile, and where its core listens: bot=127.0.0.1:5226. Port 0 takes a free one.
    #[arg(long, value_name = "NAME=ADDRESS", required = true, value_parser = port)]
    pub(crate) profile: Vec<Port>,

    /// Two profiles that are contacts of each other. Without any, all are.
    #[arg(long, value_name = "NAME:NAME", value_parser = pair)]
    pub(crate) contact: Vec<Pair>,

    /// No profile is a contact of another: they meet by their addresses.
    #[arg(long, conflicts_with = "contact")]
    pub(crate) strangers: bool,

    /// A group and its members, the owner first: team=caller,bot. Others join by its link.
    #[arg(long, value_name = "NAME=NAME,...", value_parser = group)]
    pub(crate) group: Vec<Group>,

    /// A channel, its owner and who has subscribed: news=bot. Others subscribe by its link.
    #[arg(long, value_name = "NAME=NAME,...", value_parser = group)]
    pub(crate) channel: Vec<Group>,

    /// A SimpleX name: bot=@bot.simplex for a profile's address, team=#team.simplex for a group.
    #[arg(long, value_name = "NAME=SIMPLEX-NAME", value_parser = name)]
    pub(crate) name: Vec<SimplexName>,

    /// Start without running chats: the first client sends `/_start`.
    #[arg(long)]
    pub(crate) maintenance: bool,

    /// What ids and faults are drawn from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) faults: FaultArgs,

    /// Write every frame into this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// What goes wrong on purpose.
#[derive(Debug, Arguments)]
#[command(next_help_heading = "Faults")]
pub(crate) struct FaultArgs {
    /// How many of a thousand messages never arrive.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1000))]
    pub(crate) drop: u16,

    /// How many of a thousand messages are reported twice.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1000))]
    pub(crate) duplicate: u16,

    /// How many of a thousand messages are followed by an edit that appends a space.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1000))]
    pub(crate) edit: u16,

    /// How many of a thousand messages are overtaken by others, for a second at most.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1000))]
    pub(crate) reorder: u16,

    /// How long messages travel, in milliseconds.
    #[arg(long, value_name = "MS[-MS]", value_parser = delay)]
    pub(crate) delay: Option<Delay>,

    /// Cut each connection after so many frames from the core.
    #[arg(long, value_name = "N")]
    pub(crate) cut_every: Option<NonZeroU64>,
}

/// How late a message can be that others overtake.
const REORDER_BY: Duration = Duration::from_secs(1);

impl FaultArgs {
    pub(crate) fn faults(&self) -> Faults {
        let delay = self.delay.unwrap_or_default();
        Faults::new()
            .drop(self.drop)
            .duplicate(self.duplicate)
            .edit(self.edit)
            .reorder(self.reorder, REORDER_BY)
            .delay(delay.min, delay.max)
    }
}

/// Where a profile's core listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) address: SocketAddr,
}

fn port(text: &str) -> Result<Port, String> {
    let (name, address) = text.rsplit_once('=').ok_or("not NAME=ADDRESS")?;
    let address: SocketAddr =
        address.parse().map_err(|_| "the address is not one as 127.0.0.1:5225")?;
    if !address.ip().is_loopback() {
        return Err("the API has no password, so only addresses of this machine are for it".into());
    }
    Ok(Port { name: name.into(), address })
}

/// Two names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair(pub(crate) String, pub(crate) String);

fn pair(text: &str) -> Result<Pair, &'static str> {
    let (one, other) = text.split_once(':').ok_or("not NAME:NAME")?;
    Ok(Pair(one.into(), other.into()))
}

/// A group and its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) members: Vec<String>,
}

fn group(text: &str) -> Result<Group, &'static str> {
    let (name, members) = text.rsplit_once('=').ok_or("not NAME=NAME,...")?;
    let members = members.split(',').map(String::from).collect();
    Ok(Group { name: name.into(), members })
}

/// A SimpleX name and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SimplexName {
    pub(crate) owner: String,
    pub(crate) name: String,
}

fn name(text: &str) -> Result<SimplexName, String> {
    let (owner, name) = text.rsplit_once('=').ok_or("not NAME=@NAME.simplex or NAME=#NAME")?;
    if !name.starts_with(['@', '#']) {
        return Err("a SimpleX name begins with @ for a profile, with # for a group".into());
    }
    Name::parse(name).map_err(|error| error.to_string())?;
    Ok(SimplexName { owner: owner.into(), name: name.into() })
}

/// The shortest and the longest time that a message travels.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Delay {
    min: Duration,
    max: Duration,
}

fn delay(text: &str) -> Result<Delay, &'static str> {
    let (min, max) = text.split_once('-').unwrap_or((text, text));
    let millis = |text: &str| text.parse().map(Duration::from_millis);
    let (min, max) = (millis(min), millis(max));
    match (min, max) {
        (Ok(min), Ok(max)) if min <= max => Ok(Delay { min, max }),
        _ => Err("not milliseconds, as 80 or 20-300"),
    }
}

#[cfg(test)]
mod tests {

    #[test]
    fn a_profile_has_a_name_and_an_address_of_this_machine() {
        let port = |text| super::port(text).map(|port| (port.name, port.address.to_string()));
        assert_eq!(port("bot=127.0.0.1:5226"), Ok(("bot".into(), "127.0.0.1:5226".into())));
        assert_eq!(port("a=b=[::1]:0"), Ok(("a=b".into(), "[::1]:0".into())));
        for wrong in ["bot", "bot=5226", "bot=0.0.0.0:5226", "bot=192.0.2.1:5226", "bot=localhost"]
        {
            assert!(port(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_delay_is_a_time_or_two() {
        let delay = |text| super::delay(text).map(|d| (d.min.as_millis(), d.max.as_millis()));
        assert_eq!(delay("80"), Ok((80, 80)));
        assert_eq!(delay("20-300"), Ok((20, 300)));
        for wrong in ["", "-", "300-20", "1s", "1-2-3"] {
            assert!(delay(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_says_whether_it_is_a_groups() {
        let name = |text| super::name(text).map(|found| (found.owner, found.name));
        assert_eq!(name("bot=@bot.simplex"), Ok(("bot".into(), "@bot.simplex".into())));
        assert_eq!(name("team=#team"), Ok(("team".into(), "#team".into())));
        for wrong in ["bot", "bot=bot.simplex", "bot=@bot", "bot=@", "bot=@-.simplex"] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_group_has_members() {
        let group = super::group("team=caller,bot").expect("well-formed");
        assert_eq!((group.name.as_str(), group.members.len()), ("team", 2));
        assert!(super::group("team").is_err());
    }
}
