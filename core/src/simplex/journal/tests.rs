use super::disk::Disk;
use super::*;
use crate::chat::{Chat, ContactId, GroupId};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec;

const SENT: &str = "2026-08-15T15:30:48Z";
const HOUR: Duration = Duration::from_secs(3_600);

fn noon() -> Timestamp {
    Timestamp::parse(SENT).unwrap()
}

fn later(span: Duration) -> Timestamp {
    noon().saturating_add(span)
}

fn command(id: i64) -> Item<'static> {
    Item::direct(ContactId(4), ItemId(id), "/_call a2a {}").at(SENT)
}

fn key(id: i64) -> CallKey {
    CallKey::new(Chat::Direct(ContactId(4)), ItemId(id))
}

fn with(change: impl FnOnce(&mut JournalConfig)) -> Journal {
    let mut config = JournalConfig::default();
    change(&mut config);
    Journal::durable(config)
}

/// Runs a command as far as the confirmation of its answer.
fn serve(journal: &mut Journal, id: i64, now: Timestamp) {
    let item = command(id);
    assert_eq!(journal.handle_command(&item, now), Seen::New);
    assert_eq!(journal.accept(&item, now, false), Accept::Run);
    assert!(journal.start(key(id)));
    assert!(journal.finish(key(id), "{}"));
    assert!(journal.confirm(key(id), now));
}

/// A chat core, a caller's screen and a service, all of which outlive the bot.
#[derive(Default)]
struct World {
    /// How often the handler's effect has happened.
    effects: usize,
    /// The last replies that the core took.
    answers: Vec<String>,
}

/// One life of a bot: it hands in what was left, then the item, and is killed after so many steps.
/// A step is what happens at once or not at all: a save, an effect, a message to the core, its
/// confirmation. `Err` when it was killed.
fn live(
    world: &mut World,
    disk: &mut Disk,
    is_idempotent: bool,
    mut steps: usize,
    told: &[Item<'_>],
) -> Result<(), ()> {
    let now = noon();
    let mut journal = disk.restore(JournalConfig::default());
    let left: Vec<Record> = journal.unfinished().cloned().collect();
    let mut step = || {
        steps = steps.checked_sub(1).ok_or(())?;
        Ok(())
    };
    for item in left.iter().map(Record::item).chain(told.iter().copied()) {
        let key = CallKey::from(&item);
        let answer: String = match journal.handle_command(&item, now) {
            Seen::Silence(_) => continue,
            Seen::Answer(answer) => answer.into(),
            Seen::New => match journal.accept(&item, now, is_idempotent) {
                Accept::Run => {
                    step()?;
                    disk.save(&journal.take_changes()).unwrap();
                    journal.start(key);
                    step()?;
                    disk.save(&journal.take_changes()).unwrap();
                    step()?;
                    world.effects += 1;
                    "done".into()
                }
                Accept::OutcomeUnknown => "unknown".into(),
                other => panic!("{other:?}"),
            },
        };
        journal.finish(key, &answer);
        step()?;
        disk.save(&journal.take_changes()).unwrap();
        step()?;
        world.answers.push(answer);
        step()?;
        journal.confirm(key, now);
        disk.save(&journal.take_changes()).unwrap();
    }
    Ok(())
}

#[test]
fn killed_between_any_two_steps_a_command_runs_once_or_its_outcome_is_unknown() {
    for is_idempotent in [false, true] {
        for kills in [vec![], vec![0], vec![0, 1], vec![0, 1, 2]] {
            for first in 0..7 {
                for then in 0..7 {
                    let (mut world, mut disk) = (World::default(), Disk::default());
                    let item = [command(7)];
                    let mut lives: VecDeque<usize> = [first, then].into();
                    lives.extend(&kills);
                    // The core tells of the item in every life.
                    for steps in lives {
                        let _ = live(&mut world, &mut disk, is_idempotent, steps, &item);
                    }
                    live(&mut world, &mut disk, is_idempotent, usize::MAX, &item).unwrap();
                    let before = world.answers.len();
                    live(&mut world, &mut disk, is_idempotent, usize::MAX, &item).unwrap();
                    assert_eq!(world.answers.len(), before, "confirmed: silence");

                    let last = world.answers.last().unwrap();
                    // Sent twice only where the bot died before it knew that the core had it.
                    assert!(world.answers.iter().all(|answer| answer == last));
                    if is_idempotent {
                        assert!(world.effects <= 3);
                    } else {
                        assert!(world.effects <= 1, "{first} {then}");
                        assert!(last == "unknown" || world.effects == 1);
                    }
                    assert!(disk.records[&key(7)].stage == Stage::Confirmed);
                }
            }
        }
    }
}

#[test]
fn a_command_that_was_accepted_runs_after_a_restart_though_the_core_does_not_tell_of_it_again() {
    let (mut world, mut disk) = (World::default(), Disk::default());
    assert!(live(&mut world, &mut disk, false, 1, &[command(7)]).is_err());
    assert_eq!(world.effects, 0);
    live(&mut world, &mut disk, false, usize::MAX, &[]).unwrap();
    assert_eq!((world.effects, world.answers.as_slice()), (1, &["done".into()][..]));
    // Without the save there was no mark: nothing is lost, for the core tells of it.
    let (mut world, mut disk) = (World::default(), Disk::default());
    assert!(live(&mut world, &mut disk, false, 0, &[command(7)]).is_err());
    assert!(disk.records.is_empty());
    live(&mut world, &mut disk, false, usize::MAX, &[command(7)]).unwrap();
    assert_eq!(world.effects, 1);
}

#[test]
fn an_idempotent_command_that_never_ends_is_set_aside_after_its_starts() {
    let mut disk = Disk::default();
    for times in 1..=4 {
        let mut journal = disk.restore(JournalConfig::default());
        let item = command(7);
        assert_eq!(journal.handle_command(&item, noon()), Seen::New);
        let accept = journal.accept(&item, noon(), true);
        if times == 4 {
            assert_eq!(accept, Accept::OutcomeUnknown);
        } else {
            assert_eq!(accept, Accept::Run);
            assert!(journal.start(key(7)));
            disk.save(&journal.take_changes()).unwrap();
        }
    }
}

#[test]
fn in_one_life_a_command_is_handled_once_whatever_its_stage() {
    let mut journal = with(|_| {});
    let item = command(7);
    let busy = Seen::Silence(Silence::InWork);
    assert_eq!(journal.accept(&item, noon(), false), Accept::Run);
    assert_eq!(journal.handle_command(&item, noon()), busy);
    journal.start(key(7));
    assert_eq!(journal.handle_command(&item, noon()), busy);
    journal.finish(key(7), "{}");
    assert_eq!(journal.handle_command(&item, noon()), busy);
    // The core has refused the answer.
    journal.lose(key(7));
    assert_eq!(journal.handle_command(&item, noon()), Seen::Answer("{}"));
    assert_eq!(journal.handle_command(&item, noon()), busy);
    journal.handle_disconnect();
    assert_eq!(journal.unconfirmed().count(), 1);
    assert_eq!(journal.handle_command(&item, noon()), Seen::Answer("{}"));
    assert!(journal.confirm(key(7), noon()));
    assert_eq!(journal.handle_command(&item, noon()), Seen::Silence(Silence::Answered));
    assert_eq!((journal.open(), journal.done()), (0, 1));
}

#[test]
fn a_disconnect_does_not_touch_what_is_being_run() {
    let mut journal = with(|_| {});
    let item = command(7);
    let _ = journal.accept(&item, noon(), false);
    journal.handle_disconnect();
    assert_eq!(journal.handle_command(&item, noon()), Seen::Silence(Silence::InWork));
    assert_eq!(journal.unfinished().count(), 0);
}

#[test]
fn steps_out_of_order_change_nothing() {
    let mut journal = with(|_| {});
    assert!(!journal.start(key(7)) && !journal.finish(key(7), "{}"));
    assert!(!journal.confirm(key(7), noon()));
    journal.lose(key(7));
    assert_eq!(journal.take_changes(), []);
    let _ = journal.accept(&command(7), noon(), false);
    assert!(!journal.confirm(key(7), noon()));
    assert!(journal.start(key(7)) && journal.finish(key(7), "a"));
    assert!(!journal.start(key(7)) && !journal.finish(key(7), "b"));
    assert!(journal.confirm(key(7), noon()));
    assert!(!journal.confirm(key(7), noon()) && !journal.finish(key(7), "c"));
    assert_eq!(journal.take_changes().len(), 4);
}

#[test]
fn a_command_older_than_the_limit_is_expired_at_the_limit_it_is_not() {
    for (span, accept) in [
        (HOUR - Duration::from_millis(1), Accept::Run),
        (HOUR, Accept::Run),
        (HOUR + Duration::from_millis(1), Accept::Expired),
        (100 * HOUR, Accept::Expired),
    ] {
        let mut journal = with(|_| {});
        assert_eq!(journal.accept(&command(7), later(span), false), accept, "{span:?}");
        assert_eq!(journal.open(), usize::from(accept == Accept::Run));
    }
    // One that was accepted in time and not begun before the bot slept.
    let mut disk = Disk::default();
    let mut journal = with(|_| {});
    let _ = journal.accept(&command(7), noon(), false);
    disk.save(&journal.take_changes()).unwrap();
    for (is_idempotent, has_begun) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut disk = disk.clone();
        if has_begun {
            disk.save(&[Change::Started { key: key(7), times: 1 }]).unwrap();
        }
        let mut journal = disk.restore(JournalConfig::default());
        let accept = journal.accept(&command(7), later(72 * HOUR), is_idempotent);
        let expected = if has_begun { Accept::OutcomeUnknown } else { Accept::Expired };
        assert_eq!(accept, expected);
        assert!(journal.finish(key(7), "{}"));
    }
}

#[test]
fn an_item_without_a_time_that_could_be_true_is_as_old_as_its_record() {
    let mut disk = Disk::default();
    for (id, sent_at) in [(1, None), (2, Some("soon")), (3, Some("7026-08-15T15:30:48Z"))] {
        let mut item = command(id);
        item.sent_at = sent_at;
        let mut journal = disk.restore(JournalConfig::default());
        assert_eq!(journal.accept(&item, noon(), false), Accept::Run);
        disk.save(&journal.take_changes()).unwrap();
        let mut journal = disk.restore(JournalConfig::default());
        let too_late = later(HOUR + Duration::from_millis(1));
        assert_eq!(journal.accept(&item, too_late, false), Accept::Expired);
    }
    // A clock that is a little fast is believed, and does not make a command older.
    let mut journal = with(|_| {});
    let item = command(7).at("2026-08-15T15:40:48Z");
    assert_eq!(journal.accept(&item, noon(), false), Accept::Run);
}

#[test]
fn a_refused_command_is_refused_once() {
    let mut journal = with(|_| {});
    let item = command(7);
    assert!(journal.refuse(&item, noon(), "{\"error\":1}"));
    assert_eq!(journal.handle_command(&item, noon()), Seen::Silence(Silence::InWork));
    assert!(journal.confirm(key(7), noon()));
    assert_eq!(journal.handle_command(&item, noon()), Seen::Silence(Silence::Answered));
    // One that was accepted and is refused after all.
    let _ = journal.accept(&command(8), noon(), false);
    assert!(journal.refuse(&command(8), noon(), "{}"));
    assert!(!journal.refuse(&command(8), noon(), "{}"));
}

#[test]
fn ordinary_messages_and_new_texts_are_none_of_its_business() {
    let mut journal = with(|config| config.max_done = 0);
    serve(&mut journal, 7, noon());
    assert_eq!(journal.mark().map(|mark| mark.item), Some(ItemId(7)));
    let hello = Item::direct(ContactId(4), ItemId(6), "hello").at(SENT);
    assert_eq!(journal.handle_command(&hello, noon()), Seen::New);
    assert_eq!(journal.handle_command(&command(7).edit(), noon()), Seen::New);
    let broken = Item::direct(ContactId(4), ItemId(6), "/_call  a2a {}").at(SENT);
    assert_eq!(journal.handle_command(&broken, noon()), Seen::Silence(Silence::Forgotten));
}

#[test]
fn as_many_commands_are_open_as_can_be_and_no_more() {
    let mut journal = with(|config| config.max_open = 2);
    let _ = journal.accept(&command(1), noon(), false);
    assert_eq!(journal.accept(&command(2), noon(), false), Accept::Run);
    assert_eq!(journal.accept(&command(3), noon(), false), Accept::Full { capacity: 2 });
    assert!(!journal.refuse(&command(3), noon(), "{}"));
    assert_eq!(journal.open(), 2);
    // An answer that the core has not taken is still open; one that it has taken is not.
    journal.finish(key(1), "{}");
    assert_eq!(journal.accept(&command(3), noon(), false), Accept::Full { capacity: 2 });
    journal.confirm(key(1), noon());
    assert_eq!(journal.accept(&command(3), noon(), false), Accept::Run);
}

#[test]
fn as_many_answered_commands_are_kept_as_can_be_and_the_rest_meets_silence() {
    let mut journal = with(|config| config.max_done = 2);
    for id in 1..=3 {
        serve(&mut journal, id, noon());
        assert_eq!(journal.done(), usize::try_from(id).unwrap().min(2));
        assert_eq!(journal.mark().map(|mark| mark.item.0), (id == 3).then_some(1));
    }
    assert_eq!(journal.handle_command(&command(1), noon()), Seen::Silence(Silence::Forgotten));
    assert_eq!(journal.handle_command(&command(2), noon()), Seen::Silence(Silence::Answered));
    assert_eq!(journal.handle_command(&command(4), noon()), Seen::New);
}

#[test]
fn what_is_open_is_found_below_the_mark() {
    let mut journal = with(|config| config.max_done = 0);
    let _ = journal.accept(&command(1), noon(), false);
    serve(&mut journal, 2, noon());
    assert_eq!(journal.mark().map(|mark| mark.item), Some(ItemId(2)));
    assert_eq!(journal.handle_command(&command(1), noon()), Seen::Silence(Silence::InWork));
    assert!(journal.finish(key(1), "{}"));
}

#[test]
fn answered_commands_are_forgotten_with_their_age() {
    let keep = JournalConfig::default().keep;
    let mut journal = with(|_| {});
    serve(&mut journal, 1, noon());
    journal.forget(later(keep));
    assert_eq!(journal.done(), 1);
    journal.forget(later(keep + Duration::from_millis(1)));
    assert_eq!((journal.done(), journal.mark()), (0, Some(Mark::new(ItemId(1), noon()))));
    // Years later a history is read again, from the stone age to an absurd time.
    let now = later(20_000 * HOUR);
    for sent_at in [SENT, "1970-01-01T00:00:00Z", "7026-01-01T00:00:00Z", "soon"] {
        let seen = journal.handle_command(&command(1).at(sent_at), now);
        assert_eq!(seen, Seen::Silence(Silence::Forgotten), "{sent_at}");
    }
}

#[test]
fn an_answer_that_nobody_takes_is_given_up_with_its_age() {
    let keep = JournalConfig::default().keep;
    let mut journal = with(|_| {});
    let _ = journal.accept(&command(1), noon(), false);
    journal.finish(key(1), "{}");
    journal.forget(later(2 * keep));
    assert_eq!(journal.open(), 1, "it is on its way");
    journal.lose(key(1));
    journal.forget(later(keep));
    assert_eq!(journal.open(), 1);
    journal.forget(later(keep + Duration::from_millis(1)));
    assert_eq!((journal.open(), journal.mark().is_some()), (0, true));
}

#[test]
fn a_database_that_was_replaced_numbers_its_items_anew() {
    // While the record of the same number is there, its caller and its time tell.
    let mut journal = with(|_| {});
    serve(&mut journal, 1, noon());
    let other_time = command(1).at("2026-08-16T00:00:00Z");
    assert_eq!(journal.handle_command(&other_time, later(9 * HOUR)), Seen::New);
    assert_eq!(journal.done(), 0);
    serve(&mut journal, 2, noon());
    let mut other_caller = command(2);
    other_caller.sender = Sender::Channel;
    assert_eq!(journal.handle_command(&other_caller, noon()), Seen::New);
    // Once it is forgotten, the mark's time does.
    let mut journal = with(|config| config.max_done = 0);
    serve(&mut journal, 100, noon());
    let now = later(24 * HOUR);
    let silence = Seen::Silence(Silence::Forgotten);
    for (sent_at, seen) in [
        ("2026-08-15T15:40:48Z", silence),
        ("2026-08-15T15:40:48.001Z", Seen::New),
        ("2026-08-16T15:30:48Z", Seen::New),
    ] {
        assert_eq!(journal.handle_command(&command(1).at(sent_at), now), seen, "{sent_at}");
    }
}

#[test]
fn what_was_sent_before_a_loss_may_have_been_run() {
    let lost = later(Duration::from_secs(10));
    let mut journal = with(|_| {}).after_loss(Some(lost));
    let now = later(Duration::from_secs(60));
    for (id, sent_at, accept) in [
        (1, Some(SENT), Accept::OutcomeUnknown),
        (2, Some("2026-08-15T15:30:58Z"), Accept::OutcomeUnknown),
        (3, Some("2026-08-15T15:30:58.001Z"), Accept::Run),
        (4, None, Accept::OutcomeUnknown),
        (5, Some("7026-08-15T15:30:58Z"), Accept::OutcomeUnknown),
        (6, Some("2026-08-15T10:00:00Z"), Accept::Expired),
    ] {
        let mut item = command(id);
        item.sent_at = sent_at;
        assert_eq!(journal.accept(&item, now, true), accept, "{id}");
    }
    assert_eq!(journal.open(), 1);
}

#[test]
fn five_hundred_commands_that_waited_run_in_their_order_each_once() {
    let (mut world, mut disk) = (World::default(), Disk::default());
    let waiting: Vec<Item<'_>> = (1..=500).map(command).collect();
    // In pages, each twice, and killed in the middle of one.
    for page in waiting.chunks(50) {
        let _ = live(&mut world, &mut disk, false, 123, page);
        live(&mut world, &mut disk, false, usize::MAX, page).unwrap();
        live(&mut world, &mut disk, false, usize::MAX, page).unwrap();
    }
    let unknown = world.answers.iter().filter(|answer| *answer == "unknown").count();
    // Each of the ten that were begun when the bot was killed had taken its effect.
    assert_eq!((world.effects, unknown), (500, 10));
    assert_eq!(world.answers.len(), 500);
}

#[test]
fn a_volatile_journal_keeps_no_text_and_asks_nobody_to_keep_anything() {
    let mut journal = Journal::volatile(JournalConfig::default());
    let _ = journal.accept(&command(7), noon(), false);
    assert!(journal.get(key(7)).unwrap().text.is_empty());
    serve(&mut journal, 8, noon());
    assert!(journal.take_changes().is_empty());
}

#[test]
fn a_record_stands_for_its_item_mention_and_all() {
    let mut item = Item::new(Chat::Group(GroupId(1)), Sender::Channel, ItemId(7), "");
    item.ttl = Some(60);
    for (text, name) in [
        ("/_call @bot a2a {}", Some("bot")),
        ("/_call @'a b' a2a {}", Some("a b")),
        ("/_call a2a {}", None),
    ] {
        item.text = text;
        let record = Record::accepted(&item, noon());
        let again = record.item();
        assert_eq!(again.me.map(|me| me.name), name);
        assert_eq!((again.text, again.ttl, again.sender), (text, Some(60), Sender::Channel));
        assert!(record.is_of(&again));
    }
}

#[test]
fn debug_shows_no_text() {
    let mut journal = with(|_| {});
    let item = Item::direct(ContactId(4), ItemId(7), "/_call a2a {\"secret\":1}");
    let _ = journal.accept(&item, noon(), false);
    journal.finish(key(7), "secret");
    journal.handle_disconnect();
    let mut shown = format!("{journal:?} {:?}", journal.take_changes());
    shown += &format!("{:?}", journal.get(key(7)));
    shown += &format!("{:?}", journal.handle_command(&item, noon()));
    assert!(!shown.contains("secret"), "{shown}");
}
