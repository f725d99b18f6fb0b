use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::*;

fn tool(description: &str) -> String {
    format!(r#"{{"name":"add","description":"{description}","inputSchema":{{"type":"object"}}}}"#)
}

#[test]
fn what_a_model_sees_is_pinned_and_nothing_else() {
    let base = r#"{"name":"add","title":"Add","description":"adds","inputSchema":{"type":"object"},
        "outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;
    let mut pins = Pins::default();
    assert_eq!(pins.see("bot", base), Ok(Sight::First));
    let unseen = base.replace(r#"{"name""#, r#"{"icons":[],"_meta":{"a":1},"x":2,"name""#);
    assert_eq!(pins.see("bot", &unseen), Ok(Sight::Same));
    for (from, to) in [
        (r#""Add""#, r#""add""#),
        (r#""adds""#, r#""adds.""#),
        (r#""inputSchema":{"type":"object""#, r#""inputSchema":{"type":"object","required":[]"#),
        (r#""outputSchema":{"type":"object""#, r#""outputSchema":{"type":"string""#),
        ("true", "false"),
        (r#","annotations":{"readOnlyHint":true}"#, ""),
    ] {
        let changed = base.replace(from, to);
        assert_ne!(changed, base);
        assert_eq!(pins.see("bot", &changed), Ok(Sight::Changed), "{to}");
        assert_eq!(pins.standing("bot", "add"), Standing::Changed);
        assert_eq!(pins.see("bot", base), Ok(Sight::Same));
        assert_eq!(pins.standing("bot", "add"), Standing::Accepted);
    }
}

#[test]
fn order_and_spelling_are_no_change() {
    let mut pins = Pins::default();
    let first = r#"{"name":"add","inputSchema":{"type":"object","maximum":100,"title":"é"}}"#;
    let again =
        r#"{ "inputSchema": {"title":"\u00e9", "maximum":1e2, "type":"object"},"name":"add" }"#;
    assert_eq!(pins.see("bot", first), Ok(Sight::First));
    assert_eq!(pins.see("bot", again), Ok(Sight::Same));
    // The order of elements means something.
    let pair = |a: u8, b: u8| format!(r#"{{"name":"sub","inputSchema":{{"enum":[{a},{b}]}}}}"#);
    assert_eq!(pins.see("bot", &pair(1, 2)), Ok(Sight::First));
    assert_eq!(pins.see("bot", &pair(2, 1)), Ok(Sight::Changed));
}

#[test]
fn servers_do_not_share_their_tools() {
    let mut pins = Pins::default();
    assert_eq!(pins.see("ann", &tool("adds")), Ok(Sight::First));
    assert_eq!(pins.see("bob", &tool("subtracts")), Ok(Sight::First));
    assert_eq!(pins.standing("cid", "add"), Standing::Unknown);
    assert_eq!(pins.forget("ann"), 1);
    assert_eq!(pins.forget("ann"), 0);
    assert_eq!(pins.standing("ann", "add"), Standing::Unknown);
    assert_eq!(pins.standing("bob", "add"), Standing::Accepted);
    assert_eq!(pins.len(), 1);
}

#[test]
fn only_what_was_shown_is_accepted() {
    let mut pins = Pins::default();
    pins.see("bot", &tool("adds")).unwrap();
    assert_eq!(pins.accept("bot", "add", "{}"), Err(AcceptError::NothingToAccept));
    assert_eq!(pins.accept("bot", "sub", "{}"), Err(AcceptError::NothingToAccept));
    assert!(pins.difference("bot", "add").is_none());

    pins.see("bot", &tool("adds more")).unwrap();
    let shown = String::from(pins.difference("bot", "add").unwrap().proposed);
    // It changes once more while the owner reads.
    pins.see("bot", &tool("mails")).unwrap();
    assert_eq!(pins.accept("bot", "add", &shown), Err(AcceptError::NotWhatWasShown));
    assert_eq!(pins.standing("bot", "add"), Standing::Changed);

    let shown = String::from(pins.difference("bot", "add").unwrap().proposed);
    assert_eq!(pins.accept("bot", "add", &shown), Ok(()));
    assert_eq!(pins.see("bot", &tool("mails")), Ok(Sight::Same));
    assert_eq!(pins.see("bot", &tool("adds")), Ok(Sight::Changed));
}

#[test]
fn a_definition_that_cannot_be_taken_changes_nothing() {
    let mut pins = Pins::default();
    pins.see("bot", &tool("adds")).unwrap();
    for (bad, is_expected) in [
        ("[]", (|e| matches!(e, PinError::Json(_))) as fn(PinError) -> bool),
        ("{\"name\":\"add\"", |e| matches!(e, PinError::Json(_))),
        ("{\"name\":\"add\",\"name\":\"add\"}", |e| {
            matches!(e, PinError::Json(_) | PinError::NoName)
        }),
        ("{\"description\":\"x\"}", |e| e == PinError::NoName),
        ("{\"name\":7}", |e| e == PinError::NoName),
        ("{\"name\":\"add\",\"inputSchema\":{\"a\":1,\"a\":2}}", |e| {
            matches!(e, PinError::NotCanonical(_))
        }),
        ("{\"name\":\"add\",\"inputSchema\":{\"maximum\":1e999}}", |e| {
            matches!(e, PinError::NotCanonical(CanonicalError::TooLarge { .. }))
        }),
    ] {
        let error = pins.see("bot", bad).unwrap_err();
        assert!(is_expected(error), "{bad}: {error:?}");
    }
    assert_eq!(pins.standing("bot", "add"), Standing::Accepted);
    assert_eq!(pins.len(), 1);
}

#[test]
fn lengths_are_taken_up_to_their_limits() {
    let mut pins = Pins::default();
    let empty = definition(&tool("")).unwrap().1.len();
    for (len, is_taken) in [
        (MAX_DEFINITION_LEN - 1, true),
        (MAX_DEFINITION_LEN, true),
        (MAX_DEFINITION_LEN + 1, false),
    ] {
        let seen = pins.see("bot", &tool(&"x".repeat(len - empty)));
        let too_long = Err(PinError::TooLong { len, limit: MAX_DEFINITION_LEN });
        assert_eq!(seen.is_ok(), is_taken);
        assert_eq!(seen == too_long, !is_taken);
    }
    for len in [MAX_NAME_LEN - 1, MAX_NAME_LEN, MAX_NAME_LEN + 1] {
        let name = "n".repeat(len);
        let too_long = Err(PinError::NameTooLong { len, limit: MAX_NAME_LEN });
        let is_taken = len <= MAX_NAME_LEN;
        assert_eq!(pins.see(&name, &tool("x")) == too_long, !is_taken);
        assert_eq!(pins.see("bot", &format!(r#"{{"name":"{name}"}}"#)) == too_long, !is_taken);
    }
}

#[test]
fn no_more_is_pinned_than_the_limit() {
    let mut pins = Pins::with_limit(2);
    let named = |name: &str| format!(r#"{{"name":"{name}"}}"#);
    assert_eq!(pins.see("bot", &named("a")), Ok(Sight::First));
    assert_eq!(pins.see("bot", &named("b")), Ok(Sight::First));
    let full = Err(PinError::Full { capacity: 2 });
    assert_eq!(pins.see("bot", &named("c")), full);
    assert_eq!(pins.see("new", &named("a")), full);
    assert_eq!(pins.forget("new"), 0, "a refused server leaves nothing behind");
    // What is known is seen as before.
    assert_eq!(pins.see("bot", &named("a")), Ok(Sight::Same));
    pins.forget("bot");
    assert!(pins.is_empty());
    assert_eq!(pins.see("new", &named("a")), Ok(Sight::First));
}

#[test]
fn what_is_kept_elsewhere_is_the_same_when_it_comes_back() {
    let mut pins = Pins::default();
    pins.see("ann", &tool("adds")).unwrap();
    pins.see("bob", r#"{"name":"a/b \"c\" é","inputSchema":{"maximum":1.50}}"#).unwrap();
    // A change that nobody has accepted is not kept.
    pins.see("ann", &tool("mails")).unwrap();
    let kept: Vec<_> =
        pins.iter().map(|(s, n, d)| (String::from(s), String::from(n), String::from(d))).collect();
    let mut back = Pins::default();
    for (server, name, accepted) in &kept {
        back.restore(server, accepted).unwrap();
        assert_eq!(back.standing(server, name), Standing::Accepted);
    }
    assert!(back.iter().eq(pins.iter()));
    assert_eq!(back.see("ann", &tool("adds")), Ok(Sight::Same));
    assert_eq!(back.see("ann", &tool("mails")), Ok(Sight::Changed));
}

#[test]
fn debug_shows_no_definition() {
    let mut pins = Pins::default();
    pins.see("canary", &tool("canary")).unwrap();
    pins.see("canary", &tool("canary too")).unwrap();
    let difference = pins.difference("canary", "add").unwrap();
    assert!(!format!("{pins:?} {difference:?}").contains("canary"));
}
