//! The owner's control chat: where a bot's owner is asked about calls, and answers.
//!
//! ```text
//!  Asking ──▶ ControlChats ──▶ /_send to the owner:   May @4 call mcp tools/call echo with 30 bytes
//!                   ▲                                 of parameters? Answer "ok 4-17" or "no 4-17"
//!                   │                                 within 2 min. (and the parameters)
//!                   └── /_get chat, while calls wait: ok 4-17
//! ```
//!
//! The code names the command: its conversation and its item, so a question that an earlier process
//! has put is found again in the chat, and its answer counts if it came meanwhile. Whoever answers
//! and does not decide the call is told why, and the call goes on waiting. What cannot be shown
//! whole is declined: nobody decides on it.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use super::OwnedFrame;
use super::command::{ChatRef, Command, Composed, Page, SendOptions};
use super::error::CoreErrorKind;
use super::frame::{Body, ChatItem, Direction};
use crate::admission::{Asking, Decided, Decision, Person};
use crate::chat::{CallKey, Chat, ContactId, GroupId, ItemId};
use crate::time::Instant;

/// How often the chats are looked at while calls wait.
pub const LOOK: Duration = Duration::from_millis(500);

/// Messages that are read with one command.
const PAGE: u32 = 100;

/// How many remarks to owners wait to be sent; further ones are not made.
const MAX_REMARKS: usize = 16;

/// What to do next.
///
/// ```
/// use agentwire_core::simplex::control::ControlStep;
/// assert_eq!(ControlStep::Wait(None), ControlStep::Wait(None));
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlStep {
    /// Have the core do this, and hand in what it [answers](ControlChats::handle_answer).
    Command(String),
    /// An owner has decided a call.
    Decided(Decided),
    /// Nothing before this time; `None`: before a call waits. In both cases at once when another
    /// call waits.
    Wait(Option<Instant>),
}

impl fmt::Debug for ControlStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(text) => write!(f, "Command({} bytes)", text.len()),
            Self::Decided(decided) => f.debug_tuple("Decided").field(decided).finish(),
            Self::Wait(until) => f.debug_tuple("Wait").field(until).finish(),
        }
    }
}

/// What was there before this process, by the calls that were asked about: the first answer.
type History = BTreeMap<CallKey, Option<Decision>>;

/// The chat with one owner.
#[derive(Default)]
struct ControlChat {
    /// The newest message that was read; `None` before the first look.
    seen: Option<ItemId>,
    history: History,
    /// The calls that were asked about here.
    asked: BTreeSet<CallKey>,
}

enum Todo {
    Look(ContactId),
    Ask(ContactId, CallKey),
    Remark(ContactId, String),
}

/// The control chats of a bot's owners, who are contacts. An owner of another kind is not asked
/// here. See the [module](self).
///
/// ```
/// use agentwire_core::admission::{ApprovalsConfig, Asking, Person, Subject, When};
/// use agentwire_core::chat::{CallKey, Chat, ContactId, ItemId};
/// use agentwire_core::simplex::control::{ControlChats, ControlStep};
/// use agentwire_core::time::Instant;
///
/// let mut asking = Asking::new(When::Always, ApprovalsConfig::default());
/// asking.add_owner(Person::Contact(ContactId(1))).unwrap();
/// let mut chats = ControlChats::new();
/// assert_eq!(chats.poll_step(Instant::ZERO, &mut asking), ControlStep::Wait(None));
///
/// let call = CallKey::new(Chat::Direct(ContactId(4)), ItemId(17));
/// let subject = Subject::of("mcp", r#"{"method":"tools/list"}"#);
/// asking.ask(Instant::ZERO, call, Person::Contact(ContactId(4)), subject).unwrap();
/// // What the chat has so far is read first.
/// let step = chats.poll_step(Instant::ZERO, &mut asking);
/// assert_eq!(step, ControlStep::Command("/_get chat @1 count=100".into()));
/// ```
#[derive(Default)]
pub struct ControlChats {
    chats: BTreeMap<ContactId, ControlChat>,
    todo: VecDeque<Todo>,
    running: Option<Todo>,
    decided: VecDeque<Decided>,
    /// Not before this time is something tried that failed.
    hold: Option<Instant>,
    /// When the chats are looked at next.
    look: Instant,
}

impl ControlChats {
    /// No chat was looked at yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What to do next: repeat until [`ControlStep::Wait`], or until a command was given out.
    pub fn poll_step(&mut self, now: Instant, asking: &mut Asking) -> ControlStep {
        if let Some(decided) = self.decided.pop_front() {
            return ControlStep::Decided(decided);
        }
        while let Some((question, _)) = asking.poll_question() {
            if let Person::Contact(owner) = question.owner {
                self.chats.entry(owner).or_default();
                self.todo.push_back(Todo::Ask(owner, question.call));
            }
        }
        if self.running.is_some() {
            return ControlStep::Wait(None);
        }
        if let Some(hold) = self.hold.filter(|hold| *hold > now) {
            return ControlStep::Wait(Some(hold));
        }
        self.hold = None;
        if self.todo.is_empty() && asking.waiting() > 0 {
            if self.look > now {
                return ControlStep::Wait(Some(self.look));
            }
            self.look = now.saturating_add(LOOK);
            self.todo.extend(self.chats.keys().copied().map(Todo::Look));
        }
        while let Some(todo) = self.todo.pop_front() {
            if let Some(step) = self.begin(now, todo, asking) {
                return step;
            }
        }
        for chat in self.chats.values_mut() {
            chat.asked.retain(|call| asking.is_waiting(*call));
        }
        ControlStep::Wait((asking.waiting() > 0).then_some(self.look))
    }

    /// Begins something; `None` if there is nothing to do for it any more.
    fn begin(&mut self, now: Instant, todo: Todo, asking: &mut Asking) -> Option<ControlStep> {
        let text = match &todo {
            Todo::Look(owner) => {
                let page = match self.chats.get(owner)?.seen {
                    Some(item) => Page::After { item, count: PAGE },
                    None => Page::Last { count: PAGE },
                };
                Command::GetChat { chat: ChatRef::from(Chat::Direct(*owner)), page }.to_text()
            }
            Todo::Ask(owner, call) => {
                let (owner, call) = (*owner, *call);
                let subject = asking.subject(call)?;
                let chat = self.chats.get_mut(&owner)?;
                if chat.seen.is_none() {
                    self.todo.push_front(todo);
                    return self.begin(now, Todo::Look(owner), asking);
                }
                if chat.asked.contains(&call) {
                    return None;
                }
                if let Some(answer) = chat.history.remove(&call) {
                    // An earlier process has asked.
                    chat.asked.insert(call);
                    if let Some(decision) = answer {
                        self.decide(now, call, owner, decision, asking);
                    }
                    return self.decided.pop_front().map(ControlStep::Decided);
                }
                send(owner, &question(call, &format!("{subject}"), subject.params(), asking))
            }
            Todo::Remark(owner, text) => send(*owner, text),
        };
        if let Ok(text) = text {
            self.running = Some(todo);
            return Some(ControlStep::Command(text));
        }
        if let Todo::Ask(owner, call) = todo {
            self.decide(now, call, owner, Decision::Decline, asking);
        }
        self.decided.pop_front().map(ControlStep::Decided)
    }

    /// What the core has answered to the command; an error where it has not, with what it refused
    /// with, if it did.
    pub fn handle_answer(
        &mut self,
        now: Instant,
        answer: Result<&OwnedFrame, Option<CoreErrorKind>>,
        asking: &mut Asking,
    ) {
        let Some(todo) = self.running.take() else { return };
        match (todo, answer) {
            (Todo::Look(owner), Ok(frame)) => match frame.frame().map(|frame| frame.body()) {
                Some(Ok(Body::Chat(page))) => self.read(now, owner, page.flatten(), asking),
                _ => self.again(now, Todo::Look(owner)),
            },
            (Todo::Ask(owner, call), Ok(_)) => {
                if let Some(chat) = self.chats.get_mut(&owner) {
                    chat.asked.insert(call);
                }
            }
            (Todo::Ask(owner, call), Err(Some(CoreErrorKind::LargeMsg))) => {
                self.decide(now, call, owner, Decision::Decline, asking);
            }
            (Todo::Remark(..), _) => {}
            (todo, Err(_)) => self.again(now, todo),
        }
    }

    fn again(&mut self, now: Instant, todo: Todo) {
        self.hold = Some(now.saturating_add(LOOK));
        // A look is due again soon by itself; a question is put as long as its call waits.
        if let Todo::Ask(..) = todo {
            self.todo.push_front(todo);
        }
    }

    /// What stands in a chat since the last look.
    fn read<'f>(
        &mut self,
        now: Instant,
        owner: ContactId,
        items: impl Iterator<Item = ChatItem<'f>>,
        asking: &mut Asking,
    ) {
        let Some(chat) = self.chats.get_mut(&owner) else { return };
        let is_first = chat.seen.is_none();
        let mut seen = chat.seen.unwrap_or(ItemId(0));
        let (mut answers, mut count) = (Vec::new(), 0_u32);
        for item in items {
            count = count.saturating_add(1);
            seen = seen.max(item.id);
            let Some(text) = item.text.filter(|_| !item.is_live && !item.is_deleted) else {
                continue;
            };
            let text: String = text.chars().collect();
            let is_own = matches!(item.direction, Direction::DirectSent);
            if is_first && is_own {
                if let Some(call) = asked_in(&text) {
                    chat.history.entry(call).or_insert(None);
                }
            } else if let Some((decision, call)) = answer(&text).filter(|_| !is_own) {
                if !is_first {
                    answers.push((decision, call));
                } else if let Some(first @ None) = chat.history.get_mut(&call) {
                    *first = Some(decision);
                }
            }
        }
        chat.seen = Some(seen);
        for (decision, call) in answers {
            self.decide(now, call, owner, decision, asking);
        }
        if !is_first && count >= PAGE {
            self.todo.push_front(Todo::Look(owner));
        }
    }

    fn decide(
        &mut self,
        now: Instant,
        call: CallKey,
        owner: ContactId,
        decision: Decision,
        asking: &mut Asking,
    ) {
        match asking.decide(now, call, Person::Contact(owner), decision) {
            Ok(decided) => self.decided.push_back(decided),
            Err(error) => {
                let remarks = self.todo.iter().filter(|todo| matches!(todo, Todo::Remark(..)));
                if remarks.count() < MAX_REMARKS {
                    let text = format!("{}: {error}.", Code(call));
                    self.todo.push_back(Todo::Remark(owner, text));
                }
            }
        }
    }
}

impl fmt::Debug for ControlChats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControlChats")
            .field("chats", &self.chats.len())
            .field("todo", &self.todo.len())
            .finish_non_exhaustive()
    }
}

fn send(to: ContactId, text: &str) -> Result<String, super::command::CommandError> {
    let messages = [Composed::new(text)];
    let to = ChatRef::from(Chat::Direct(to));
    Command::Send { to, options: SendOptions::default(), messages: &messages }.to_text()
}

/// How a question begins, and what stands before the code with which it is approved.
const HEAD: &str = "May ";
const CODE: &str = "? Answer \"ok ";

fn question(call: CallKey, subject: &str, params: &str, asking: &Asking) -> String {
    let (code, caller) = (Code(call), call.chat);
    let minutes = asking.wait().as_secs().div_ceil(60);
    format!(
        "{HEAD}{caller} call {subject}{CODE}{code}\" or \"no {code}\" within {minutes} min.\n{params}"
    )
}

/// The call that a question is about.
fn asked_in(text: &str) -> Option<CallKey> {
    let line = text.strip_prefix(HEAD)?.lines().next()?;
    let (_, rest) = line.split_once(CODE)?;
    Code::parse(rest.split_once('"')?.0)
}

/// An answer: a word and a code.
fn answer(text: &str) -> Option<(Decision, CallKey)> {
    let mut words = text.split_whitespace();
    let decision = Decision::from_word(words.next()?)?;
    let call = Code::parse(words.next()?)?;
    words.next().is_none().then_some((decision, call))
}

/// What a call is called in a control chat: `4-17` is item 17 of the chat with contact 4, `g3-17`
/// one of group 3.
struct Code(CallKey);

impl Code {
    fn parse(text: &str) -> Option<CallKey> {
        let number = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<i64>().ok().filter(|_| is_plain)
        };
        let (chat, item) = text.split_once('-')?;
        let chat = match chat.strip_prefix(['g', 'G']) {
            Some(group) => Chat::Group(GroupId(number(group)?)),
            None => Chat::Direct(ContactId(number(chat)?)),
        };
        Some(CallKey::new(chat, ItemId(number(item)?)))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.chat {
            Chat::Direct(ContactId(id)) => write!(f, "{id}-{}", self.0.item.0),
            Chat::Group(GroupId(id)) => write!(f, "g{id}-{}", self.0.item.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{ApprovalsConfig, Subject, When};

    const OWNER: ContactId = ContactId(1);
    const OTHER: ContactId = ContactId(2);

    fn call(item: i64) -> CallKey {
        CallKey::new(Chat::Direct(ContactId(4)), ItemId(item))
    }

    struct Rig {
        asking: Asking,
        chats: ControlChats,
        now: Instant,
        /// What was sent to each owner.
        sent: Vec<(ContactId, String)>,
        decided: Vec<(CallKey, Decision)>,
        /// What stands in the chats: whose, its number, whether it is the bot's, its text.
        items: Vec<(ContactId, i64, bool, String)>,
        /// What the core refuses messages with.
        refuses: Option<CoreErrorKind>,
    }

    impl Rig {
        fn new(owners: &[ContactId]) -> Self {
            let mut asking = Asking::new(When::Always, ApprovalsConfig::default());
            for owner in owners {
                asking.add_owner(Person::Contact(*owner)).unwrap();
            }
            Self {
                asking,
                chats: ControlChats::new(),
                now: Instant::ZERO,
                sent: Vec::new(),
                decided: Vec::new(),
                items: Vec::new(),
                refuses: None,
            }
        }

        fn ask(&mut self, item: i64) {
            let subject = Subject::of("mcp", r#"{"method":"tools/list","params":{}}"#);
            let caller = Person::Contact(ContactId(4));
            self.asking.ask(self.now, call(item), caller, subject).unwrap();
        }

        fn says(&mut self, owner: ContactId, text: &str) {
            self.put(owner, false, text);
        }

        fn put(&mut self, owner: ContactId, is_own: bool, text: &str) {
            let number = self.items.len() as i64 + 1;
            self.items.push((owner, number, is_own, text.into()));
        }

        /// Takes steps until there is nothing to do now.
        fn run(&mut self) -> Option<Instant> {
            for _ in 0..1_000 {
                match self.chats.poll_step(self.now, &mut self.asking) {
                    ControlStep::Wait(until) => return until,
                    ControlStep::Decided(decided) => {
                        self.decided.push((decided.call, decided.decision));
                    }
                    ControlStep::Command(command) => {
                        let answer = self.core(&command);
                        let answer = answer.as_ref().map_err(|kind| *kind);
                        self.chats.handle_answer(self.now, answer, &mut self.asking);
                    }
                }
            }
            panic!("there is no end of steps");
        }

        fn later(&mut self) {
            self.now = self.now.saturating_add(LOOK);
            self.run();
        }

        /// What the core makes of a command.
        fn core(&mut self, command: &str) -> Result<OwnedFrame, Option<CoreErrorKind>> {
            let mut words = command.split(' ');
            let is_send = words.next() == Some("/_send");
            let owner = words.find_map(|word| word.strip_prefix('@')).unwrap();
            let owner = ContactId(owner.parse().unwrap());
            if is_send {
                if let Some(kind) = self.refuses {
                    return Err(Some(kind));
                }
                let (_, text) = command.split_once(r#""text":""#).unwrap();
                let text = text.replace("\\\"", "'").split_once('"').unwrap().0.replace('\'', "\"");
                let text = text.replace("\\n", "\n");
                self.put(owner, true, &text);
                self.sent.push((owner, text));
                return Ok(OwnedFrame::new(r#"{"corrId":"1","resp":{"type":"cmdOk"}}"#).unwrap());
            }
            let after = command.split_once("after=").map(|(_, rest)| rest);
            let after = after.and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(0);
            let mut items = Vec::new();
            for (_, number, is_own, text) in
                self.items.iter().filter(|(whose, number, ..)| *whose == owner && *number > after)
            {
                let direction = if *is_own { "directSnd" } else { "directRcv" };
                let text = text.replace('"', "\\\"").replace('\n', "\\n");
                items.push(format!(
                    r#"{{"chatDir":{{"type":"{direction}"}},"meta":{{"itemId":{number}}},"content":{{"type":"rcvMsgContent","msgContent":{{"type":"text","text":"{text}"}}}}}}"#
                ));
            }
            let count = if after == 0 { items.len().saturating_sub(PAGE as usize) } else { 0 };
            let mut page = items.split_off(count);
            page.truncate(PAGE as usize);
            let page = page.join(",");
            let frame = format!(
                r#"{{"corrId":"1","resp":{{"type":"apiChat","chat":{{"chatInfo":{{"type":"direct","contact":{{"contactId":{},"localDisplayName":"o"}}}},"chatItems":[{page}]}}}}}}"#,
                owner.0
            );
            Ok(OwnedFrame::new(&frame).unwrap())
        }
    }

    #[test]
    fn an_owner_is_asked_and_decides_once() {
        let mut rig = Rig::new(&[OWNER]);
        rig.ask(17);
        assert!(rig.run().is_some());
        let [(OWNER, text)] = &*rig.sent else { panic!("{:?}", rig.sent) };
        assert_eq!(
            text,
            "May @4 call mcp tools/list with 2 bytes of parameters? Answer \"ok 4-17\" or \
             \"no 4-17\" within 2 min.\n{}"
        );
        for text in ["ok", "ok 4-18 now", "maybe 4-17", "ok 4-"] {
            rig.says(OWNER, text);
        }
        rig.later();
        assert_eq!((rig.decided.len(), rig.sent.len()), (0, 1));
        rig.says(OWNER, "OK 4-17");
        rig.says(OWNER, "no 4-17");
        rig.later();
        assert_eq!(rig.decided, [(call(17), Decision::Approve)]);
        // The second answer decides nothing, and the owner is told.
        let last = rig.sent.last().unwrap();
        assert_eq!(last.1, "4-17: no such call waits for a decision.");
        assert_eq!(rig.run(), None);
    }

    #[test]
    fn whoever_was_not_asked_is_refused_and_the_call_waits_on() {
        let mut rig = Rig::new(&[OWNER, OTHER]);
        rig.ask(17);
        rig.run();
        rig.asking.remove_owner(&Person::Contact(OTHER));
        rig.asking.add_owner(Person::Contact(OTHER)).unwrap();
        // The second owner has a chat here because of another call.
        rig.asking.remove_owner(&Person::Contact(OWNER));
        rig.run();
        assert_eq!(rig.sent.last().unwrap().0, OTHER);
        rig.asking.add_owner(Person::Contact(OWNER)).unwrap();
        rig.says(OWNER, "ok 4-17");
        rig.later();
        assert_eq!(rig.sent.last().unwrap(), &(OWNER, "4-17: somebody else was asked.".into()));
        rig.asking.remove_owner(&Person::Contact(OWNER));
        rig.says(OWNER, "ok 4-17");
        rig.later();
        assert_eq!(rig.sent.last().unwrap().1, "4-17: the person is no owner.");
        assert!(rig.decided.is_empty() && rig.asking.is_waiting(call(17)));
        rig.says(OTHER, "/approve 4-17");
        rig.later();
        assert_eq!(rig.decided, [(call(17), Decision::Approve)]);
    }

    #[test]
    fn a_question_of_an_earlier_process_is_not_put_again_and_its_answer_counts() {
        let mut before = Rig::new(&[OWNER]);
        for item in [16, 17, 18] {
            before.ask(item);
        }
        before.run();
        let mut rig = Rig::new(&[OWNER]);
        rig.items = before.items;
        rig.says(OWNER, "no 4-16");
        rig.says(OWNER, "ok 4-16");
        rig.says(OWNER, "ok 4-19");
        // One that was decided, one that was not, and one that nobody was asked about.
        for item in [16, 17, 19] {
            rig.ask(item);
        }
        rig.run();
        assert_eq!(rig.decided, [(call(16), Decision::Decline)]);
        let [(OWNER, text)] = &*rig.sent else { panic!("{:?}", rig.sent) };
        assert!(text.contains("4-19"));
        rig.says(OWNER, "ok 4-17");
        rig.later();
        assert_eq!(rig.decided.last(), Some(&(call(17), Decision::Approve)));
    }

    #[test]
    fn what_cannot_be_shown_is_declined_and_what_fails_is_tried_again() {
        let mut rig = Rig::new(&[OWNER]);
        rig.refuses = Some(CoreErrorKind::LargeMsg);
        rig.ask(17);
        rig.run();
        assert_eq!(rig.decided, [(call(17), Decision::Decline)]);
        rig.refuses = Some(CoreErrorKind::Other);
        rig.ask(18);
        assert_eq!(rig.run(), Some(rig.now.saturating_add(LOOK)));
        rig.refuses = None;
        rig.later();
        assert_eq!(rig.sent.len(), 1);
    }

    #[test]
    fn all_messages_are_read_in_pages_and_remarks_are_few() {
        let mut rig = Rig::new(&[OWNER]);
        rig.ask(17);
        rig.run();
        for _ in 0..250 {
            rig.says(OWNER, "ok 4-99");
        }
        rig.says(OWNER, "ok 4-17");
        rig.later();
        assert_eq!(rig.decided.len(), 1);
        assert!(rig.sent.len() <= 3 * MAX_REMARKS + 1, "{}", rig.sent.len());
    }

    #[test]
    fn nothing_is_shown_of_what_is_written() {
        let mut rig = Rig::new(&[OWNER]);
        rig.ask(17);
        rig.run();
        assert!(!format!("{:?}", rig.chats).contains("tools"));
        let step = ControlStep::Command("secret".into());
        assert_eq!(format!("{step:?}"), "Command(6 bytes)");
    }
}
