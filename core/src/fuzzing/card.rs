//! Agent Cards: what signing and checking must agree on, whatever the card.

use alloc::string::String;
use alloc::vec::Vec;

use arbitrary::{Result, Unstructured};

use super::generate::{Generator, Vocabulary};
use crate::card::{
    Card, CardError, Form, KeySet, Lint, MAX_SIGNATURES, Origin, Refusal, SecretKey, Signer,
    Verifier, VerifyError, etag,
};
use crate::json::Value;
use crate::json::canonical::jcs;

const LINK: &str = "https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

/// The bytes as they are, and a card made from them.
pub fn card(data: &[u8]) {
    if let Ok(text) = core::str::from_utf8(data) {
        check(text);
    }
    let words = Vocabulary {
        names: &[
            "name",
            "capabilities",
            "streaming",
            "extensions",
            "required",
            "params",
            "iconUrl",
            "icon_url",
            "skills",
            "tags",
            "securityRequirements",
            "schemes",
            "list",
            "signatures",
            "supportedInterfaces",
            "url",
            "protocolBinding",
            "protocolVersion",
            "tenant",
            "x",
        ],
        values: &[
            "\"\"",
            "[]",
            "{}",
            "null",
            "false",
            "true",
            "\"https://simplex.chat/protocol/a2a/v1\"",
            "\"https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"",
            "[{\"protected\":\"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ\",\"signature\":\"AA\"}]",
        ],
    };
    let mut bytes = Unstructured::new(data);
    let mut made = Generator::new(&mut bytes, &words);
    let _: Result<()> = made.object(5);
    if let Ok(text) = made.finish() {
        if let Ok(text) = core::str::from_utf8(&text) {
            check(text);
        }
    }
}

fn check(text: &str) {
    let Ok(card) = Card::parse(text) else { return };
    let key = SecretKey::from_bytes(&[7; 32]).expect("a key");
    let keys = {
        let mut keys = KeySet::new();
        keys.add(key.public(), Some("k")).expect("room");
        keys
    };
    let signatures: Vec<_> = card.signatures().collect();
    assert!(signatures.len() <= MAX_SIGNATURES);
    // Nobody has signed what comes in, and nothing else than the owner's key signs.
    assert!(Verifier::pinned(&keys).verify(&card).is_err());
    let origin = Origin::of("https://a.example").expect("an origin");
    assert!(Verifier::key_urls(&card, &origin).iter().all(|url| origin.has_keys(url)));

    let unsigned = card.with_signatures(&[], false);
    let bare = Card::parse(&unsigned).expect("a card without signatures is a card");
    assert_eq!(bare.signatures().count(), 0);
    for form in Form::ALL {
        let (with, without) = (card.canonical(form), bare.canonical(form));
        match (&with, &without) {
            (Ok(with), Ok(without)) => {
                assert_eq!(with, without, "the signatures are covered");
                let payload = Card::parse(with).expect("the text is a card");
                assert_eq!(payload.canonical(form).as_ref(), Ok(with), "no fixed point");
                assert_eq!(jcs(with).as_ref(), Ok(with), "not canonical");
            }
            // Something in the signatures themselves, where it does not matter whose fault it is.
            (Err(CardError::Canonical(_)), _) => {}
            (with, without) => panic!("{with:?} {without:?}"),
        }
    }
    assert_eq!(etag(&card).is_ok(), card.canonical(Form::Served).is_ok());
    interface(&card);
    if bare.canonical(Form::Spec).is_err() {
        return;
    }
    let lint = Lint::of(&bare).expect("it has a canonical form");
    signed(&bare, &key, &keys, &lint);
}

fn interface(card: &Card<'_>) {
    let Ok(added) = card.with_simplex_interface(LINK, "1.0") else { return };
    let again = Card::parse(&added).expect("a card with an interface is a card");
    let changed = added != card.text();
    assert!(!changed || again.signatures().count() == 0, "a signature of another card");
    let found = again.simplex_interfaces().filter(|it| it.url == LINK && it.version == "1.0");
    // Unless the interface that was there is hidden by a name that it has twice.
    assert!(found.count() >= 1 || again.canonical(Form::Spec).is_err());
    assert_eq!(again.with_simplex_interface(LINK, "1.0").as_deref(), Ok(&*added));
}

/// The card signed in each form.
fn signed(bare: &Card<'_>, key: &SecretKey, keys: &KeySet, lint: &Lint) {
    let signer = Signer::new(key, "k").expect("a kid");
    let spec = bare.canonical(Form::Spec);
    assert_eq!(signer.sign(bare).is_ok(), lint.is_clean());
    for form in Form::ALL {
        let Ok(payload) = bare.canonical(form) else { continue };
        assert_eq!(lint.agrees(form), Ok(&payload) == spec.as_ref());
        let signature = signer.clone().form(form).sign(bare).expect("it has a canonical form");
        let text = bare.with_signatures(&[signature], false);
        let card = Card::parse(&text).expect("a signed card is a card");
        let same = |other: &Form| bare.canonical(*other).as_ref() == Ok(&payload);
        let first = Form::ALL.into_iter().find(same).expect("itself");
        match Verifier::pinned(keys).verify(&card) {
            Ok(verified) => {
                assert!(first.covers_all() && verified.form == first);
                assert_eq!(verified.payload, payload);
            }
            Err(VerifyError::Refused(refusals)) => {
                assert_eq!(refusals, [Refusal::Form(first)]);
                assert!(!first.covers_all());
            }
            Err(error) => panic!("{error}"),
        }
        let any = Verifier::pinned(keys).accept_uncovering().verify(&card).expect("signed");
        assert_eq!(any.payload, payload);
        changed(&card, keys);
    }
}

/// With another name the card is refused, if it has one that a reader sees.
fn changed(card: &Card<'_>, keys: &KeySet) {
    let Ok(Some(name)) = card.object().get("name") else { return };
    if name.as_str().is_none() {
        return;
    }
    let at = name.get().as_ptr() as usize - card.text().as_ptr() as usize;
    let (before, rest) = card.text().split_at(at);
    let text: String = [before, "\"a name that nobody has\"", &rest[name.get().len()..]].concat();
    if name.as_str().is_some_and(|name| name == *"a name that nobody has") {
        return;
    }
    let other = Card::parse(&text).expect("a card");
    assert!(Value::parse(&text).is_ok());
    assert!(Verifier::pinned(keys).verify(&other).is_err(), "another card holds");
}
