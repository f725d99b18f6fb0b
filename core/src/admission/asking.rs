//! Which calls of a bot its owner decides on: [`Asking`].

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use core::fmt;

use super::{
    Approvals, ApprovalsConfig, AskError, DecideError, Decided, Decision, OwnersFull, Person,
    Question,
};
use crate::chat::{CallKey, Growable};
use crate::json::{Object, compact};
use crate::time::Instant;

/// When the owner is asked.
///
/// ```
/// use agentwire_core::admission::When;
/// assert_eq!("new".parse(), Ok(When::New));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[allow(clippy::exhaustive_enums)] // What there is between never and always is told by one word.
pub enum When {
    /// Never.
    Never,
    /// For the first of its kind. What was approved once is not asked again, as long as the
    /// process lives.
    New,
    /// Each time.
    #[default]
    Always,
}

/// The text is none of `never`, `new` and `always`.
///
/// ```
/// use agentwire_core::admission::When;
/// let error = "often".parse::<When>().unwrap_err();
/// assert_eq!(error.to_string(), "neither never, new nor always");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(clippy::exhaustive_structs)]
pub struct WhenError;

impl fmt::Display for WhenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("neither never, new nor always")
    }
}

impl core::error::Error for WhenError {}

impl core::str::FromStr for When {
    type Err = WhenError;

    fn from_str(text: &str) -> Result<Self, WhenError> {
        match text {
            "never" => Ok(Self::Never),
            "new" => Ok(Self::New),
            "always" => Ok(Self::Always),
            _ => Err(WhenError),
        }
    }
}

/// What was approved once and is not asked again under [`When::New`]: at most
/// [`CAPACITY`](Self::CAPACITY) kinds of things. What finds no room is asked again.
///
/// ```
/// use agentwire_core::admission::{Approved, When};
/// let mut approved = Approved::default();
/// assert!(!approved.is_settled(When::New, &"send to @4"));
/// approved.add("send to @4");
/// assert!(approved.is_settled(When::New, &"send to @4"));
/// assert!(!approved.is_settled(When::Always, &"send to @4"));
/// ```
#[derive(Clone)]
pub struct Approved<K>(BTreeSet<K>);

impl<K> Default for Approved<K> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K> fmt::Debug for Approved<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Approved({})", self.0.len())
    }
}

impl<K: Ord> Approved<K> {
    /// How many kinds of things are remembered at most.
    pub const CAPACITY: usize = 10_000;

    /// Whether nobody is asked about a thing of this kind.
    pub fn is_settled(&self, when: When, kind: &K) -> bool {
        match when {
            When::Never => true,
            When::New => self.0.contains(kind),
            When::Always => false,
        }
    }

    /// A thing of this kind was approved.
    pub fn add(&mut self, kind: K) {
        if self.0.len() < Self::CAPACITY {
            self.0.insert(kind);
        }
    }
}

/// What a call is about, for whoever decides on it. `Display` has no text of the request but the
/// names of the method and the tool, which it shows only if they are plain; `Debug` has none.
///
/// ```
/// use agentwire_core::admission::Subject;
/// let request = r#"{"id":1,"method":"tools/call","params":{"name":"echo","arguments":{}}}"#;
/// let subject = Subject::of("mcp", request);
/// assert_eq!(subject.to_string(), "mcp tools/call echo with 30 bytes of parameters");
/// assert_eq!(subject.params(), r#"{"name":"echo","arguments":{}}"#);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Subject {
    protocol: String,
    method: String,
    tool: Option<String>,
    params: String,
}

impl Subject {
    /// What a request of a protocol is about.
    pub fn of(protocol: &str, request: &str) -> Self {
        let request = Object::parse(request).ok();
        let method = request.and_then(|request| request.str("method").ok().flatten());
        let params = request.and_then(|request| request.get("params").ok().flatten());
        let method: String = method.map(|method| method.chars().collect()).unwrap_or_default();
        let tool = params.filter(|_| method == "tools/call").and_then(|params| {
            let name = params.as_object()?.str("name").ok().flatten()?;
            Some(name.chars().collect())
        });
        let mut text = String::new();
        if let Some(params) = params {
            compact(params.get(), |piece| text.push_str(piece));
        }
        Self { protocol: protocol.to_owned(), method, tool, params: text }
    }

    /// The protocol's name.
    pub fn protocol(&self) -> &str {
        &self.protocol
    }

    /// The method, as the caller writes it.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The tool that `tools/call` names, as the caller writes it.
    pub fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// The parameters: JSON without white space between its values, or nothing.
    pub fn params(&self) -> &str {
        &self.params
    }
}

/// Shows a name that somebody else has chosen, if it cannot be taken for anything else.
fn plain(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-/".contains(&byte);
    match name.len() {
        1..=128 if name.bytes().all(is_plain) => write!(f, " {name}"),
        len => write!(f, " (a name of {len} bytes)"),
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.protocol)?;
        plain(f, &self.method)?;
        if let Some(tool) = &self.tool {
            plain(f, tool)?;
        }
        write!(f, " with {} bytes of parameters", self.params.len())
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject")
            .field("protocol", &self.protocol)
            .field("method_len", &self.method.len())
            .field("params_len", &self.params.len())
            .finish_non_exhaustive()
    }
}

/// What one approval stands for: a caller, and what it calls.
type Kind = (Person, String, String, Option<String>);

fn kind(caller: Person, subject: &Subject) -> Kind {
    (caller, subject.protocol.clone(), subject.method.clone(), subject.tool.clone())
}

/// Which calls the owner of a bot decides on, and those that wait for it: [`Approvals`], with
/// [`When`] and what the calls are about. Owners' own calls wait for nobody.
///
/// ```
/// use agentwire_core::admission::{
///     ApprovalsConfig, Asking, Decision, Person, Subject, When,
/// };
/// use agentwire_core::chat::{CallKey, Chat, ContactId, ItemId};
/// use agentwire_core::time::Instant;
///
/// let mut asking = Asking::new(When::New, ApprovalsConfig::default());
/// let (owner, ann) = (Person::Contact(ContactId(1)), Person::Contact(ContactId(4)));
/// asking.add_owner(owner).unwrap();
///
/// let now = Instant::ZERO;
/// let subject = || Subject::of("a2a", r#"{"method":"GetTask","params":{"id":"t"}}"#);
/// let call = |item| CallKey::new(Chat::Direct(ContactId(4)), ItemId(item));
/// assert!(asking.is_settled(owner, &subject()) && !asking.is_settled(ann, &subject()));
/// asking.ask(now, call(17), ann, subject()).unwrap();
/// let (question, about) = asking.poll_question().unwrap();
/// assert_eq!((question.owner, about.method()), (owner, "GetTask"));
/// assert!(asking.decide(now, call(17), owner, Decision::Approve).is_ok());
/// assert!(asking.is_settled(ann, &subject()));
/// ```
pub struct Asking {
    when: When,
    wait: core::time::Duration,
    approvals: Approvals<Growable>,
    subjects: BTreeMap<CallKey, Subject>,
    approved: Approved<Kind>,
}

impl Asking {
    /// How many calls wait at most, and how many owners there are.
    pub const CALLS: usize = 256;

    /// Nobody waits, and there is no owner.
    pub fn new(when: When, config: ApprovalsConfig) -> Self {
        Self {
            when,
            wait: config.wait,
            approvals: Approvals::with_limit(config, Self::CALLS),
            subjects: BTreeMap::new(),
            approved: Approved::default(),
        }
    }

    /// When an owner is asked.
    pub const fn when(&self) -> When {
        self.when
    }

    /// How long a call waits.
    pub const fn wait(&self) -> core::time::Duration {
        self.wait
    }

    /// Makes somebody an owner: see [`Approvals::add_owner`].
    ///
    /// # Errors
    /// [`OwnersFull`]
    pub fn add_owner(&mut self, owner: Person) -> Result<(), OwnersFull> {
        self.approvals.add_owner(owner)
    }

    /// Somebody is an owner no longer: see [`Approvals::remove_owner`].
    pub fn remove_owner(&mut self, owner: &Person) -> bool {
        self.approvals.remove_owner(owner)
    }

    /// Whether a call waits for nobody: it is an owner's, or it was settled before.
    pub fn is_settled(&self, caller: Person, subject: &Subject) -> bool {
        self.approvals.is_owner(&caller)
            || self.approved.is_settled(self.when, &kind(caller, subject))
    }

    /// A call that is not [settled](Self::is_settled) waits for an owner's word.
    ///
    /// # Errors
    /// [`AskError`]
    pub fn ask(
        &mut self,
        now: Instant,
        call: CallKey,
        caller: Person,
        subject: Subject,
    ) -> Result<(), AskError> {
        self.approvals.ask(now, call, caller)?;
        self.subjects.insert(call, subject);
        Ok(())
    }

    /// Whom to ask next, and about what: repeat until `None`.
    pub fn poll_question(&mut self) -> Option<(Question, &Subject)> {
        let question = self.approvals.poll_question()?;
        // Each call that waits has one.
        Some((question, self.subjects.get(&question.call)?))
    }

    /// What a call is about that waits.
    pub fn subject(&self, call: CallKey) -> Option<&Subject> {
        self.subjects.get(&call)
    }

    /// Somebody decides a call.
    ///
    /// # Errors
    /// [`DecideError`]; nothing has changed then.
    pub fn decide(
        &mut self,
        now: Instant,
        call: CallKey,
        by: Person,
        decision: Decision,
    ) -> Result<Decided, DecideError> {
        let decided = self.approvals.decide(now, call, by, decision)?;
        let subject = self.subjects.remove(&call);
        let is_kept = decision == Decision::Approve && self.when == When::New;
        if let Some(subject) = subject.filter(|_| is_kept) {
            self.approved.add(kind(decided.caller, &subject));
        }
        Ok(decided)
    }

    /// A call waits no longer: see [`Approvals::cancel`].
    pub fn cancel(&mut self, call: CallKey) -> bool {
        self.subjects.remove(&call);
        self.approvals.cancel(call)
    }

    /// Moves time on: see [`Approvals::handle_timeout`].
    pub fn handle_timeout(&mut self, now: Instant) -> Option<CallKey> {
        let call = self.approvals.handle_timeout(now)?;
        self.subjects.remove(&call);
        Some(call)
    }

    /// When the first call has waited too long.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.approvals.poll_timeout()
    }

    /// Whether a call waits.
    pub fn is_waiting(&self, call: CallKey) -> bool {
        self.approvals.is_waiting(call)
    }

    /// How many calls wait.
    pub fn waiting(&self) -> usize {
        self.approvals.waiting()
    }
}

impl fmt::Debug for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asking")
            .field("when", &self.when)
            .field("approvals", &self.approvals)
            .field("approved", &self.approved)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::{Chat, ContactId, ItemId};

    const OWNER: Person = Person::Contact(ContactId(1));
    const ANN: Person = Person::Contact(ContactId(4));
    const BOB: Person = Person::Contact(ContactId(5));

    fn tool(name: &str) -> Subject {
        let request = alloc::format!(r#"{{"method":"tools/call","params":{{"name":"{name}"}}}}"#);
        Subject::of("mcp", &request)
    }

    fn asking(when: When) -> Asking {
        let mut asking = Asking::new(when, ApprovalsConfig::default());
        asking.add_owner(OWNER).unwrap();
        asking
    }

    fn approve(asking: &mut Asking, item: i64, caller: Person, subject: Subject) {
        let call = CallKey::new(Chat::Direct(ContactId(4)), ItemId(item));
        asking.ask(Instant::ZERO, call, caller, subject.clone()).unwrap();
        assert_eq!(asking.poll_question().unwrap().1, &subject);
        assert!(asking.decide(Instant::ZERO, call, OWNER, Decision::Approve).is_ok());
        assert_eq!((asking.waiting(), asking.subject(call)), (0, None));
    }

    #[test]
    fn one_approval_stands_for_one_caller_and_one_tool_where_the_first_is_asked_about() {
        let mut asking = asking(When::New);
        approve(&mut asking, 1, ANN, tool("echo"));
        assert!(asking.is_settled(ANN, &tool("echo")));
        assert!(!asking.is_settled(BOB, &tool("echo")) && !asking.is_settled(ANN, &tool("rm")));
        assert!(!asking.is_settled(ANN, &Subject::of("mcp", r#"{"method":"tools/list"}"#)));
        // What is declined is asked again.
        let call = CallKey::new(Chat::Direct(ContactId(4)), ItemId(2));
        asking.ask(Instant::ZERO, call, BOB, tool("echo")).unwrap();
        let _ = asking.poll_question();
        assert!(asking.decide(Instant::ZERO, call, OWNER, Decision::Decline).is_ok());
        assert!(!asking.is_settled(BOB, &tool("echo")));
    }

    #[test]
    fn an_approval_counts_once_where_each_call_is_asked_about() {
        let mut asking = asking(When::Always);
        approve(&mut asking, 1, ANN, tool("echo"));
        assert!(!asking.is_settled(ANN, &tool("echo")));
        assert!(asking.is_settled(OWNER, &tool("echo")));
        assert!(self::asking(When::Never).is_settled(ANN, &tool("echo")));
    }

    #[test]
    fn a_wait_that_is_over_leaves_nothing() {
        let mut asking = asking(When::Always);
        let call = |item| CallKey::new(Chat::Direct(ContactId(4)), ItemId(item));
        for item in 0..2 {
            asking.ask(Instant::ZERO, call(item), ANN, tool("echo")).unwrap();
        }
        assert!(asking.cancel(call(0)) && asking.subject(call(0)).is_none());
        let late = asking.poll_timeout().unwrap();
        assert_eq!(asking.handle_timeout(late), Some(call(1)));
        assert_eq!(asking.subject(call(1)), None);
        assert_eq!(asking.handle_timeout(late), None);
    }

    #[test]
    fn so_many_kinds_are_remembered() {
        let mut approved = Approved::default();
        for kind in 0..=Approved::<usize>::CAPACITY {
            approved.add(kind);
        }
        let last = Approved::<usize>::CAPACITY;
        assert!(approved.is_settled(When::New, &(last - 1)));
        assert!(!approved.is_settled(When::New, &last));
    }

    #[test]
    fn a_name_that_could_be_taken_for_something_else_is_not_shown() {
        let shown = |name: &str| alloc::format!("{}", tool(name));
        assert_eq!(shown("a/b-c_d.e"), "mcp tools/call a/b-c_d.e with 20 bytes of parameters");
        for name in ["", "a b", "ok 4-17?", "e\\n", &"x".repeat(129)] {
            assert!(shown(name).starts_with("mcp tools/call (a name of "), "{name}");
        }
        assert!(shown(&"x".repeat(128)).contains("xxx"));
        assert!(!alloc::format!("{:?}", tool("secret")).contains("secret"));
    }
}
