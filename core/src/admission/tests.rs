use super::*;
use crate::chat::{CallKey, Inline, ItemId};
use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

type Machine = Admission<Inline<3>>;

fn at(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1_000)
}

fn contact(id: i64) -> Person {
    Person::Contact(ContactId(id))
}

fn member(group: i64, name: &str) -> Person {
    Person::Member(GroupId(group), MemberId::new(name).unwrap())
}

fn with(change: impl FnOnce(&mut AdmissionConfig)) -> Machine {
    let mut config = AdmissionConfig::default();
    change(&mut config);
    Admission::with_limit(config, usize::MAX)
}

fn key(text: &str) -> SignerKey {
    SignerKey::parse(text).unwrap()
}

#[test]
fn by_default_everybody_may_call_and_nobody_is_followed() {
    let mut machine = with(|_| {});
    for id in 0..100 {
        let admitted = machine.admit(at(0), contact(id)).unwrap();
        assert_eq!(machine.callers(), 0);
        machine.end(at(0), admitted);
    }
}

#[test]
fn only_those_listed_may_call_where_it_is_said() {
    let mut machine = with(|config| config.only_listed = true);
    assert_eq!(machine.admit(at(0), contact(1)), Err(Refused::NotAllowed));
    let signer = key("MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=");
    let entries = [
        Allowed::Person(contact(1)),
        Allowed::Group(GroupId(7)),
        Allowed::Person(Person::Signer(signer)),
    ];
    for entry in entries {
        machine.allow(entry).unwrap();
        machine.allow(entry).unwrap();
    }
    assert_eq!(machine.allow(Allowed::Person(contact(2))), Err(AllowListFull { capacity: 3 }));
    for (person, is_allowed) in [
        (contact(1), true),
        (contact(7), false),
        (member(7, "a"), true),
        (Person::Channel(GroupId(7)), true),
        (member(8, "a"), false),
        (Person::signer(Some(signer)), true),
        (Person::signer(None), false),
    ] {
        assert_eq!(machine.is_allowed(&person), is_allowed, "{person:?}");
        assert_eq!(machine.admit(at(0), person).is_ok(), is_allowed);
    }
    assert!(machine.disallow(&Allowed::Person(contact(1))));
    assert!(!machine.disallow(&Allowed::Person(contact(1))));
    assert!(!machine.is_allowed(&contact(1)) && machine.is_allowed(&member(7, "b")));
}

#[test]
fn a_person_is_who_the_chat_core_knows() {
    let ann = MemberId::new("ann").unwrap();
    let group = Chat::Group(GroupId(7));
    assert_eq!(Person::of(group, Sender::Member(ann)), member(7, "ann"));
    assert_eq!(Person::of(group, Sender::Channel), Person::Channel(GroupId(7)));
    assert_eq!(Person::of(Chat::Direct(ContactId(7)), Sender::Contact), contact(7));
    let people = [contact(7), member(7, "ann"), member(8, "ann"), Person::Channel(GroupId(7))];
    let mut hashes: Vec<u32> = people.iter().map(Person::hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 4);
}

#[test]
fn as_many_calls_of_one_caller_are_run_as_can_be() {
    let mut machine = with(|config| {
        config.max_open = Some(2);
        config.retry_when_open = 5;
    });
    let first = machine.admit(at(0), contact(1)).unwrap();
    let second = machine.admit(at(0), contact(1)).unwrap();
    let refused = machine.admit(at(0), contact(1)).unwrap_err();
    assert_eq!(refused, Refused::TooManyOpen { limit: 2, retry_after: 5 });
    assert_eq!(refused.failure(), Failure::RateLimited { retry_after: 5 });
    // Nobody else notices.
    let other = machine.admit(at(0), contact(2)).unwrap();
    assert_eq!((machine.open(&contact(1)), machine.open(&contact(2))), (2, 1));
    machine.end(at(0), first);
    let third = machine.admit(at(0), contact(1)).unwrap();
    for admitted in [second, third, other] {
        machine.end(at(0), admitted);
    }
    assert_eq!(machine.open(&contact(1)), 0);
}

#[test]
fn the_rate_and_the_quota_are_each_callers_own() {
    let mut machine = with(|config| {
        config.rate = Some(RateLimit::new(2, Duration::from_secs(10)));
        config.quota = Some(RateLimit::new(3, Duration::from_secs(100)));
    });
    let mut call = |now, id| {
        let admitted = machine.admit(at(now), contact(id))?;
        machine.end(at(now), admitted);
        Ok(())
    };
    assert_eq!(call(0, 1), Ok(()));
    assert_eq!(call(3, 1), Ok(()));
    assert_eq!(call(3, 1), Err(Refused::TooOften { retry_after: 7 }));
    assert_eq!(call(3, 2), Ok(()));
    assert_eq!(call(10, 1), Ok(()));
    let over = call(11, 1).unwrap_err();
    assert_eq!(over, Refused::OverQuota { retry_after: 89 });
    assert_eq!(over.failure(), Failure::QuotaExceeded { retry_after: 89 });
    assert_eq!(call(99, 1), Err(Refused::OverQuota { retry_after: 1 }));
    assert_eq!(call(100, 1), Ok(()));
}

#[test]
fn as_many_callers_are_followed_as_can_be_and_those_of_old_are_forgotten() {
    let mut machine = with(|config| config.rate = Some(RateLimit::new(1, Duration::from_secs(10))));
    for id in 1..=3_i64 {
        let admitted = machine.admit(at(id.unsigned_abs()), contact(id)).unwrap();
        machine.end(at(id.unsigned_abs()), admitted);
    }
    let refused = machine.admit(at(4), contact(4)).unwrap_err();
    assert_eq!(refused, Refused::TooManyCallers { capacity: 3, retry_after: 7 });
    // Those who are followed are served all the same, as far as their limits go.
    assert!(matches!(machine.admit(at(4), contact(3)), Err(Refused::TooOften { .. })));
    let admitted = machine.admit(at(11), contact(4)).unwrap();
    assert_eq!(machine.callers(), 3);
    // Whose call is open is not forgotten.
    assert!(machine.admit(at(1_000), contact(5)).is_ok());
    assert_eq!(machine.open(&contact(4)), 1);
    machine.end(at(1_000), admitted);
    let mut machine = with(|config| config.max_open = Some(1));
    let _open: Vec<Admitted> =
        (1..=3).map(|id| machine.admit(at(0), contact(id)).unwrap()).collect();
    let refused = machine.admit(at(0), contact(4)).unwrap_err();
    assert_eq!(refused, Refused::TooManyCallers { capacity: 3, retry_after: 1 });
}

#[test]
fn a_flood_of_one_caller_takes_nothing_from_another() {
    let mut machine = with(|config| config.max_open = Some(4));
    let (mut open, mut refused) = (Vec::new(), 0);
    for call in 0..10_000 {
        match machine.admit(at(0), contact(1)) {
            Ok(admitted) => open.push(admitted),
            Err(Refused::TooManyOpen { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        if call % 1_000 == 0 {
            let admitted = machine.admit(at(0), contact(2)).unwrap();
            machine.end(at(0), admitted);
        }
    }
    assert_eq!((open.len(), refused), (4, 9_996));
}

#[test]
fn time_never_runs_backwards() {
    let mut machine = with(|config| config.rate = Some(RateLimit::new(1, Duration::from_secs(10))));
    let _open = machine.admit(at(100), contact(1)).unwrap();
    let refused = machine.admit(at(0), contact(1));
    assert_eq!(refused, Err(Refused::TooOften { retry_after: 10 }));
}

// Approval.

type Waiting = Approvals<Inline<3>>;

fn owned_by(owners: &[Person]) -> Waiting {
    let mut approvals = Approvals::with_limit(ApprovalsConfig::default(), 3);
    for owner in owners {
        approvals.add_owner(*owner).unwrap();
    }
    approvals
}

fn call(id: i64) -> CallKey {
    CallKey::new(Chat::Direct(ContactId(9)), ItemId(id))
}

#[test]
fn the_wrong_person_changes_nothing_and_the_right_one_decides_once() {
    let mut approvals = owned_by(&[contact(1), contact(2)]);
    approvals.ask(at(0), call(7), contact(9)).unwrap();
    assert_eq!(approvals.ask(at(0), call(7), contact(9)), Err(AskError::Waiting));
    let question = approvals.poll_question().unwrap();
    assert_eq!((question.call, question.owner), (call(7), contact(1)));
    assert_eq!(approvals.poll_question(), None);
    for (by, error) in [
        (contact(9), DecideError::NotAnOwner),
        (contact(2), DecideError::NotAsked),
        (member(1, "1"), DecideError::NotAnOwner),
    ] {
        assert_eq!(approvals.decide(at(1), call(7), by, Decision::Approve), Err(error));
        assert_eq!(approvals.waiting(), 1);
    }
    let decided = approvals.decide(at(1), call(7), contact(1), Decision::Approve).unwrap();
    assert_eq!((decided.caller, decided.decision), (contact(9), Decision::Approve));
    for decision in [Decision::Approve, Decision::Decline] {
        let again = approvals.decide(at(1), call(7), contact(1), decision);
        assert_eq!(again, Err(DecideError::NotWaiting));
    }
}

#[test]
fn nobody_can_be_asked_where_there_is_no_owner() {
    let mut approvals = owned_by(&[]);
    assert_eq!(approvals.ask(at(0), call(7), contact(9)), Err(AskError::NoOwner));
    for id in 1..=3 {
        approvals.add_owner(contact(id)).unwrap();
    }
    approvals.add_owner(contact(3)).unwrap();
    assert_eq!(approvals.add_owner(contact(4)), Err(OwnersFull { capacity: 3 }));
}

#[test]
fn who_is_removed_between_the_question_and_the_answer_decides_nothing() {
    let mut approvals = owned_by(&[contact(1), contact(2)]);
    approvals.ask(at(0), call(7), contact(9)).unwrap();
    assert_eq!(approvals.poll_question().unwrap().owner, contact(1));
    assert!(approvals.remove_owner(&contact(1)) && !approvals.remove_owner(&contact(1)));
    let refused = approvals.decide(at(1), call(7), contact(1), Decision::Approve);
    assert_eq!(refused, Err(DecideError::NotAnOwner));
    // The owner who is left is asked, and decides.
    assert_eq!(approvals.poll_question().unwrap().owner, contact(2));
    assert_eq!(approvals.poll_question(), None);
    assert!(approvals.decide(at(1), call(7), contact(2), Decision::Decline).is_ok());
    // With nobody left the wait ends by itself.
    approvals.ask(at(0), call(8), contact(9)).unwrap();
    approvals.remove_owner(&contact(2));
    assert_eq!(approvals.poll_question(), None);
    assert_eq!(approvals.handle_timeout(at(111)), Some(call(8)));
}

#[test]
fn a_wait_ends_at_its_limit() {
    let mut approvals = owned_by(&[contact(1)]);
    approvals.ask(at(0), call(7), contact(9)).unwrap();
    approvals.ask(at(10), call(8), contact(9)).unwrap();
    let _ = (approvals.poll_question(), approvals.poll_question());
    assert_eq!(approvals.poll_timeout(), Some(at(110)));
    assert_eq!(approvals.handle_timeout(at(109)), None);
    let late = approvals.decide(at(110), call(7), contact(1), Decision::Approve);
    assert_eq!(late, Err(DecideError::NotWaiting));
    assert_eq!(approvals.handle_timeout(at(110)), Some(call(7)));
    assert_eq!(approvals.handle_timeout(at(110)), None);
    assert!(approvals.decide(at(110), call(8), contact(1), Decision::Approve).is_ok());
    assert_eq!((approvals.waiting(), approvals.poll_timeout()), (0, None));
}

#[test]
fn as_many_calls_wait_as_can() {
    let mut approvals = owned_by(&[contact(1)]);
    for id in 0..3 {
        approvals.ask(at(0), call(id), contact(9)).unwrap();
    }
    assert_eq!(approvals.ask(at(0), call(3), contact(9)), Err(AskError::Full { capacity: 3 }));
    assert!(approvals.cancel(call(1)) && !approvals.cancel(call(1)));
    approvals.ask(at(0), call(3), contact(9)).unwrap();
    let mut asked = Vec::new();
    while let Some(question) = approvals.poll_question() {
        asked.push(question.call.item.0);
    }
    asked.sort_unstable();
    assert_eq!(asked, [0, 2, 3]);
}

#[test]
fn a_call_that_waited_is_asked_anew_after_a_restart_and_decided_once() {
    let mut before = owned_by(&[contact(1)]);
    before.ask(at(0), call(7), contact(9)).unwrap();
    let _ = before.poll_question();
    // The answer comes first: nobody waits yet. Whoever asks anew before reading misses none.
    let mut after = owned_by(&[contact(1)]);
    let early = after.decide(at(0), call(7), contact(1), Decision::Approve);
    assert_eq!(early, Err(DecideError::NotWaiting));
    after.ask(at(0), call(7), contact(9)).unwrap();
    let _ = after.poll_question();
    assert!(after.decide(at(0), call(7), contact(1), Decision::Approve).is_ok());
    let second = after.decide(at(0), call(7), contact(1), Decision::Approve);
    assert_eq!(second, Err(DecideError::NotWaiting));
}

#[test]
fn debug_shows_numbers() {
    let mut machine = with(|_| {});
    machine.allow(Allowed::Person(member(7, "secret"))).unwrap();
    let mut approvals = owned_by(&[member(7, "secret")]);
    approvals.ask(at(0), call(7), contact(9)).unwrap();
    assert!(!format!("{machine:?} {approvals:?}").contains("secret"));
}
