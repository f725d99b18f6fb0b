//! What a core knows of an address, and the way there: [`Reached`].

use core::fmt;

use agentwire_core::binding::Binding;
use agentwire_core::chat::{ContactId, GroupId};
use agentwire_core::json::{Object, Str, Value};
use agentwire_core::profile::{self, Choice, Declarations, Needs, Route, Served, Source};
use agentwire_core::rpc::{Fit, Framing, RequestEnvelope};
use agentwire_core::simplex::OwnedFrame;
use agentwire_core::simplex::command::Command;
use agentwire_core::simplex::frame::{Body, Contact, Group, PlanKind, PlanState};

use super::{Address, ReachError, Who};
use crate::client::{Client, CoreCallError, Target};

/// Bytes of an envelope around a request: names, quotes and the longest key there is.
const ENVELOPE: usize = 256;

/// Where a request goes.
///
/// ```
/// use agentwire_core::chat::ContactId;
/// use agentwire_tokio::client::Target;
/// use agentwire_tokio::reach::Destination;
/// let destination = Destination::Conversation(Target::Contact(ContactId(4)));
/// assert!(!matches!(destination, Destination::Service(_)));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Destination {
    /// Into a conversation, with [`Client::call`].
    Conversation(Target),
    /// To the address with this link or name over Service RPC, with [`Client::request`].
    Service(String),
}

/// What the profile's core knows of an address.
///
/// ```no_run
/// use agentwire_core::binding::Standard;
/// use agentwire_core::profile::Needs;
/// use agentwire_tokio::client::{CallOptions, Client};
/// use agentwire_tokio::reach::{Address, Destination, Reached};
///
/// async fn ask(client: &Client, to: &Address, request: &str) -> Result<(), Box<dyn core::error::Error>> {
///     let reached = Reached::find(client, to).await?;
///     let (destination, why) = reached.route(&Standard::MCP, request, Needs::default())?;
///     println!("{}", why.why);
///     if let Destination::Conversation(target) = destination {
///         let call = client.call(Standard::MCP, target, request, CallOptions::default());
///         println!("{}", call.await?.last().await?.text);
///     }
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Reached {
    conversation: Conversation,
    /// The declarations that apply to the conversation.
    chat: Preferences,
    /// Those that apply to the contact address.
    contact: Preferences,
    /// The contact address.
    link: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Conversation {
    None,
    Contact(ContactId),
    Member { target: Target, direct: Option<ContactId>, direct_messages: bool },
    Everyone(GroupId),
}

/// The preferences of a profile or a group, as JSON text, if there are any.
#[derive(Clone, Default)]
struct Preferences(Option<(Source, String)>);

impl fmt::Debug for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reached")
            .field("conversation", &self.conversation)
            .field("has_address", &self.link.is_some())
            .finish_non_exhaustive()
    }
}

impl Reached {
    /// Asks the core. Nothing is sent to the other side; of an address that the profile is not
    /// connected to, what it publishes with its link is fetched.
    ///
    /// # Errors
    /// [`ReachError`]
    pub async fn find<B: Binding + Send + 'static>(
        client: &Client<B>,
        address: &Address,
    ) -> Result<Self, ReachError> {
        match address {
            Address::Contact(who) => {
                let answer = client.of_user(Command::Contacts).await?;
                Self::contact(&answer, who)?.ok_or(ReachError::NoContact)
            }
            Address::Everyone(who) => {
                let (group, chat, _) = find_group(client, who).await?;
                let conversation = Conversation::Everyone(group);
                Ok(Self { conversation, chat, contact: Preferences::default(), link: None })
            }
            Address::Member { group, name } => Self::member(client, group, name).await,
            Address::Link(link) => {
                let plan = |user| Command::ConnectPlan { user, target: link };
                Self::planned(&client.of_user(plan).await?, link)
            }
        }
    }

    /// Where `request` goes, and why: `needs` is what the caller wants besides; what the request
    /// itself needs is found out here.
    ///
    /// # Errors
    /// [`ReachError::NoRoute`], and when the route that is chosen has no way yet.
    pub fn route<B: Binding>(
        &self,
        binding: &B,
        request: &str,
        mut needs: Needs,
    ) -> Result<(Destination, Choice), ReachError> {
        needs.conversation |= !binding.is_one_shot(request);
        needs.too_large_for_rpc |= is_too_large(binding, request);
        let served = |preferences: &Preferences| preferences.served(binding);
        let (chat, rpc) = (served(&self.chat).0, served(&self.contact).1);
        let address_known = self.link.is_some();
        let target = match self.conversation {
            Conversation::None | Conversation::Contact(_) => {
                profile::Target::Contact { chat, rpc, address_known }
            }
            Conversation::Everyone(_) => {
                profile::Target::Member { chat, direct_messages: false, rpc, address_known }
            }
            Conversation::Member { direct_messages, .. } => {
                profile::Target::Member { chat, direct_messages, rpc, address_known }
            }
        };
        let choice = profile::choose(&target, &needs)?;
        let destination = match (choice.route, &self.conversation) {
            (Route::Rpc, _) => {
                Destination::Service(self.link.clone().ok_or(ReachError::NoAddress)?)
            }
            (_, Conversation::None) => return Err(ReachError::NotConnected),
            (_, &Conversation::Contact(contact)) => {
                Destination::Conversation(Target::Contact(contact))
            }
            (_, &Conversation::Everyone(group)) => {
                Destination::Conversation(Target::Everyone(group))
            }
            (Route::DirectChat, Conversation::Member { direct, .. }) => {
                let contact = direct.ok_or(ReachError::NoDirectChat)?;
                Destination::Conversation(Target::Contact(contact))
            }
            (_, Conversation::Member { target, .. }) => Destination::Conversation(target.clone()),
        };
        Ok((destination, choice))
    }

    /// Whether the protocol is declared for the conversation, and for Service RPC.
    #[must_use]
    pub fn served<B: Binding>(&self, binding: &B) -> (Served, Served) {
        (self.chat.served(binding).0, self.contact.served(binding).1)
    }

    /// The declarations, as the JSON of the preferences in which they stand.
    #[must_use]
    pub fn preferences(&self) -> Option<&str> {
        self.chat.0.as_ref().map(|(_, text)| text.as_str())
    }

    /// Whether there is a conversation.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.conversation != Conversation::None
    }

    /// The conversation itself, whatever is declared.
    #[must_use]
    pub fn conversation(&self) -> Option<Destination> {
        Some(Destination::Conversation(match &self.conversation {
            Conversation::None => return None,
            &Conversation::Contact(contact) => Target::Contact(contact),
            &Conversation::Everyone(group) => Target::Everyone(group),
            Conversation::Member { target, .. } => target.clone(),
        }))
    }

    /// The contact address, where it is known.
    #[must_use]
    pub fn link(&self) -> Option<&str> {
        self.link.as_deref()
    }

    fn of_contact(contact: &Contact<'_>) -> Self {
        let preferences = Preferences::of(contact.profile, Source::Profile);
        Self {
            conversation: Conversation::Contact(contact.id),
            chat: preferences.clone(),
            contact: preferences,
            link: contact.profile.and_then(contact_link),
        }
    }

    /// The contact of the core's list.
    fn contact(answer: &OwnedFrame, who: &Who) -> Result<Option<Self>, CoreCallError> {
        let Some(Ok(Body::Contacts(mut contacts))) = answer.frame().map(|frame| frame.body())
        else {
            return Err(CoreCallError::Unexpected);
        };
        let found = contacts.find_map(|contact| {
            let contact = contact.ok()?;
            is_it(who, contact.id.0, contact.name).then(|| Self::of_contact(&contact))
        });
        Ok(found)
    }

    async fn member<B: Binding + Send + 'static>(
        client: &Client<B>,
        group: &Who,
        name: &str,
    ) -> Result<Self, ReachError> {
        let (group, chat, direct_messages) = find_group(client, group).await?;
        let target = client.member(group, name).await.map_err(|error| match error {
            CoreCallError::NotFound => ReachError::NoMember,
            error => error.into(),
        })?;
        let direct = member_contact(client, group, name).await?;
        // What a member declares is only seen in the profile of the contact it may be.
        let contact = match direct {
            Some(contact) => {
                let answer = client.of_user(Command::Contacts).await?;
                Self::contact(&answer, &Who::Number(contact.0))?
            }
            None => None,
        };
        let (contact, link) = contact.map(|found| (found.contact, found.link)).unwrap_or_default();
        let conversation = Conversation::Member { target, direct, direct_messages };
        Ok(Self { conversation, chat, contact, link })
    }

    /// What connecting by a link would do.
    fn planned(answer: &OwnedFrame, link: &str) -> Result<Self, ReachError> {
        let Some(Ok(Body::Plan(plan))) = answer.frame().map(|frame| frame.body()) else {
            return Err(CoreCallError::Unexpected.into());
        };
        if plan.state == PlanState::Own {
            return Err(ReachError::Own);
        }
        if !matches!(plan.kind, PlanKind::Address) {
            return Err(ReachError::NotAContact);
        }
        let link = Some(link.to_owned());
        if let (PlanState::Known, Some(contact)) = (plan.state, plan.contact) {
            return Ok(Self { link, ..Self::of_contact(&contact) });
        }
        let profile = plan.link_data.and_then(|data| data.object("profile").ok().flatten());
        let preferences = Preferences::of(profile, Source::Profile);
        let conversation = Conversation::None;
        Ok(Self { conversation, chat: preferences.clone(), contact: preferences, link })
    }
}

impl Preferences {
    fn of(profile: Option<Object<'_>>, source: Source) -> Self {
        let name = if source == Source::Profile { "preferences" } else { "groupPreferences" };
        let preferences = profile.and_then(|profile| profile.object(name).ok().flatten());
        Self(preferences.map(|preferences| (source, preferences.get_text().to_owned())))
    }

    /// In the conversation, and over Service RPC. What cannot be read says nothing.
    fn served<B: Binding>(&self, binding: &B) -> (Served, Served) {
        let Some((source, text)) = &self.0 else { return (Served::Unknown, Served::Unknown) };
        let declared = Declarations::parse(*source, text);
        let (chat, rpc) = match &declared {
            Ok(declared) => (declared.chat(binding.name()), declared.rpc(binding.name())),
            Err(error) => (Err(*error), Err(*error)),
        };
        (chat.unwrap_or(Served::Unknown), rpc.unwrap_or(Served::Unknown))
    }
}

fn is_it(who: &Who, number: i64, name: Str<'_>) -> bool {
    match who {
        Who::Number(wanted) => *wanted == number,
        Who::Name(wanted) => name == **wanted,
    }
}

/// The address in a contact's profile.
fn contact_link(profile: Object<'_>) -> Option<String> {
    let link = profile.get("contactLink").ok().flatten()?;
    // Newer cores write both forms, the short one if there is one.
    let text = |value: Value<'_>| value.as_str().map(|text| text.chars().collect());
    if let Some(links) = link.as_object() {
        let named = |name| links.get(name).ok().flatten().and_then(text);
        return named("connShortLink").or_else(|| named("connFullLink"));
    }
    text(link)
}

/// A group's number, what is declared there, and whether its members can write to each other.
async fn find_group<B: Binding + Send + 'static>(
    client: &Client<B>,
    who: &Who,
) -> Result<(GroupId, Preferences, bool), ReachError> {
    let answer = client.of_user(Command::Groups).await?;
    let Some(Ok(Body::Groups(mut groups))) = answer.frame().map(|frame| frame.body()) else {
        return Err(CoreCallError::Unexpected.into());
    };
    let found = groups.find_map(|group| {
        let group: Group<'_> = group.ok()?;
        is_it(who, group.id.0, group.name).then(|| {
            let preferences = Preferences::of(group.profile, Source::Group);
            (group.id, preferences, lets_members_write(group.profile))
        })
    });
    found.ok_or(ReachError::NoGroup)
}

fn lets_members_write(profile: Option<Object<'_>>) -> bool {
    let preference = || {
        let preferences = profile?.object("groupPreferences").ok().flatten()?;
        let messages = preferences.object("directMessages").ok().flatten()?;
        messages.str("enable").ok().flatten()
    };
    preference().is_some_and(|enable| enable == *"on")
}

/// The contact that a member is, if it is one.
async fn member_contact<B: Binding + Send + 'static>(
    client: &Client<B>,
    group: GroupId,
    name: &str,
) -> Result<Option<ContactId>, ReachError> {
    let answer = client.command(&Command::Members(group)).await?;
    let Some(Ok(Body::GroupMembers(_, members))) = answer.frame().map(|frame| frame.body()) else {
        return Err(CoreCallError::Unexpected.into());
    };
    let mut members = members.filter_map(Result::ok);
    Ok(members.find(|member| member.is_present() && member.name == *name).and_then(|m| m.contact))
}

/// Whether the request is larger than Service RPC carries for sure.
fn is_too_large<B: Binding>(binding: &B, request: &str) -> bool {
    let mut envelope = vec![0; request.len() + ENVELOPE];
    let name = binding.name();
    let written = RequestEnvelope::write(&mut envelope, name.get(), None, None, request);
    let value = written.ok().and_then(|text| Value::parse(text).ok());
    value.is_some_and(|value| Fit::of(value, Framing::SignedRequest) != Fit::Fine)
}

#[cfg(test)]
mod tests;
