//! Who may call a bot, and how often.

use core::time::Duration;

use agentwire_core::admission::{AdmissionConfig, Allowed, ApprovalsConfig, Person, When};
use agentwire_core::binding::Binding;
use agentwire_core::chat::GroupId;
use agentwire_core::rpc::RateLimit;
use agentwire_core::simplex::UserId;
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::frame::Body;
use agentwire_tokio::bot::{Admitting, Approving, Bot};
use agentwire_tokio::reach::{Address, Who};

use clap::ValueEnum;

use crate::args::CoreArgs;
use crate::config::Limits;
use crate::core_api::CoreApi;
use crate::exit::{ExitCode, Failure};

/// What the owner is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Approve {
    /// Nothing.
    Never,
    /// The first of its kind.
    New,
    /// Each one.
    Always,
}

impl From<Approve> for When {
    fn from(approve: Approve) -> Self {
        match approve {
            Approve::Never => Self::Never,
            Approve::New => Self::New,
            Approve::Always => Self::Always,
        }
    }
}

/// Who may call, how often, and with whose approval.
pub(crate) type Gate = Approving<Admitting>;

/// Asks the owners in their chats with the bot from now on.
pub(crate) fn ask_owners<B: Binding + Send + Sync + 'static>(gate: Gate, bot: &Bot<B>) {
    let client = bot.client();
    tokio::spawn(async move { gate.in_chats(&client).await });
}

/// Who may call, how often, and with whose approval.
pub(crate) async fn gate(at: &CoreArgs, wanted: &Limits) -> Result<Gate, Failure> {
    let mut limits = AdmissionConfig::default();
    limits.only_listed = !wanted.allow.is_empty();
    limits.max_open = wanted.max_open;
    limits.rate = wanted.per_minute.map(|most| RateLimit::new(most, Duration::from_secs(60)));
    limits.quota = wanted.per_day.map(|most| RateLimit::new(most, Duration::from_secs(86_400)));
    let when = wanted.approve.unwrap_or(When::Never);
    let gate = Approving::new(Admitting::new(limits), when, ApprovalsConfig::default());
    if wanted.allow.is_empty() && wanted.owner.is_empty() {
        return Ok(gate);
    }
    let (mut core, user) = CoreApi::start(at).await?;
    for whom in &wanted.allow {
        let allowed = allowed(&mut core, user, "allow", whom).await?;
        gate.gate()
            .allow(allowed)
            .map_err(|error| Failure::new(ExitCode::Config, format!("allow {whom}: {error}")))?;
    }
    for whom in &wanted.owner {
        let Allowed::Person(owner) = allowed(&mut core, user, "owner", whom).await? else {
            let problem = format!("owner {whom}: a contact is wanted");
            return Err(Failure::new(ExitCode::Usage, problem));
        };
        gate.add_owner(owner)
            .map_err(|error| Failure::new(ExitCode::Config, format!("owner {whom}: {error}")))?;
    }
    core.close().await;
    Ok(gate)
}

async fn allowed(
    core: &mut CoreApi,
    user: UserId,
    what: &str,
    whom: &str,
) -> Result<Allowed, Failure> {
    let wrong = |why: &str| Failure::new(ExitCode::Usage, format!("{what} {whom}: {why}"));
    let address: Address = whom.parse().map_err(|error| wrong(&format!("{error}")))?;
    match address {
        Address::Contact(who) => {
            let answer = core.ask(&Command::Contacts(user)).await?;
            let Some(Body::Contacts(contacts)) = answer.body() else {
                return Err(core.unexpected("/_contacts"));
            };
            let is_it = |id: i64, name: String| match &who {
                Who::Number(number) => *number == id,
                Who::Name(wanted) => *wanted == name,
            };
            let found = contacts
                .filter_map(Result::ok)
                .find(|contact| is_it(contact.id.0, contact.name.chars().collect()));
            let contact = found.ok_or_else(|| wrong("the profile has no such contact"))?;
            Ok(Allowed::Person(Person::Contact(contact.id)))
        }
        Address::Everyone(who) => {
            let answer = core.ask(&Command::Groups(user)).await?;
            let Some(Body::Groups(groups)) = answer.body() else {
                return Err(core.unexpected("/_groups"));
            };
            let is_it = |id: GroupId, name: String| match &who {
                Who::Number(number) => *number == id.0,
                Who::Name(wanted) => *wanted == name,
            };
            let found = groups
                .filter_map(Result::ok)
                .find(|group| is_it(group.id, group.name.chars().collect()));
            let group = found.ok_or_else(|| wrong("the profile is in no such group"))?;
            Ok(Allowed::Group(group.id))
        }
        _ => Err(wrong("a contact or a group is wanted")),
    }
}
