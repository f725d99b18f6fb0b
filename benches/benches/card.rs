//! Agent Cards: the canonical form beside two crates that write it, and signatures beside bare
//! `p256` on the same bytes.
//!
//! First a table of ratios, measured in turn in one run, then criterion's figures. Everybody starts
//! from the card's text, as it arrives, and ends with the canonical text. The rows named "parsed"
//! are what the others take once `serde_json` has read the text into a tree, which is not part of
//! them.

use core::hint::black_box;

use a2a_protocol_types::signing::{Jwks, verify_card_json_with_jwks};
use agentwire_benches::{Candidate, Medians, host, inputs};
use agentwire_core::card::{Card, Form, KeySet, SecretKey, Signer, Verifier};
use agentwire_core::json::canonical::jcs;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use criterion::{Criterion, Throughput};
use p256::ecdsa::signature::{Signer as _, Verifier as _};
use p256::ecdsa::{Signature, SigningKey};
use serde_json::Value;

/// Cards as small agents have them and as large ones do, in bytes.
const SIZES: [usize; 3] = [1_000, 5_000, 20_000];

/// A card of a size: what each side needs to sign and verify it.
struct Case {
    text: String,
    /// The card with its signature.
    signed: String,
    tree: Value,
    key: SecretKey,
    keys: KeySet,
    bare: SigningKey,
    /// The bytes that are signed.
    input: Vec<u8>,
    signature: Signature,
    /// The key set as a2a-protocol-types has it.
    jwks: Jwks,
}

impl Case {
    fn new(bytes: usize) -> Self {
        let text = inputs::agent_card(bytes);
        let key = SecretKey::from_bytes(&[7; 32]).expect("a key");
        let card = Card::parse(&text).expect("a card");
        let signature = Signer::new(&key, "k").and_then(|it| it.sign(&card)).expect("it is clean");
        let signed = card.with_signatures(core::slice::from_ref(&signature), false);
        let mut keys = KeySet::new();
        keys.add(key.public(), Some("k")).expect("room");
        let payload = URL_SAFE_NO_PAD.encode(card.canonical(Form::Spec).expect("a form"));
        let input = format!("{}.{payload}", signature.protected()).into_bytes();
        let bare = SigningKey::from_slice(&[7; 32]).expect("a key");
        let raw = URL_SAFE_NO_PAD.decode(signature.signature()).expect("base64url");
        let tree = serde_json::from_str(&text).expect("JSON");
        let jwks = format!("{{\"keys\":[{}]}}", key.public().to_jwk(Some("k")));
        let jwks = serde_json::from_str(&jwks).expect("a key set");
        let signature = Signature::from_slice(&raw).expect("a signature");
        let case = Self { text, signed, tree, key, keys, bare, input, signature, jwks };
        case.agree();
        case
    }

    /// Everybody comes to the same texts and verdicts.
    fn agree(&self) {
        let ours = jcs(&self.text).expect("a form");
        let theirs = serde_json_canonicalizer::to_string(&self.tree).expect("a form");
        assert_eq!(ours, theirs);
        let theirs = a2a_protocol_types::signing::canonicalize(&self.tree).expect("a form");
        assert_eq!(ours.as_bytes(), theirs);
        let card = Card::parse(&self.text).and_then(|card| card.canonical(Form::Spec));
        assert_eq!(card.as_ref(), Ok(&ours));
        let theirs = a2a_protocol_types::signing::canonicalize_card_json(&self.tree);
        assert_eq!(ours.as_bytes(), theirs.expect("a form"));
        assert!(self.verify() && self.verify_bare() && self.verify_theirs());
        let signature: Signature = self.bare.sign(&self.input);
        assert_eq!(signature, self.signature);
    }

    fn parse(&self) -> Value {
        serde_json::from_str(black_box(&self.text)).expect("JSON")
    }

    fn verify(&self) -> bool {
        let card = Card::parse(black_box(&self.signed));
        card.is_ok_and(|card| Verifier::pinned(&self.keys).verify(&card).is_ok())
    }

    fn verify_bare(&self) -> bool {
        self.bare.verifying_key().verify(black_box(&self.input), &self.signature).is_ok()
    }

    fn verify_theirs(&self) -> bool {
        let card: Value = serde_json::from_str(black_box(&self.signed)).expect("JSON");
        verify_card_json_with_jwks(&card, &self.jwks).is_ok()
    }

    fn sign(&self) -> usize {
        let card = Card::parse(black_box(&self.text)).expect("a card");
        let signer = Signer::new(&self.key, "k").expect("a kid").form(Form::Spec);
        signer.sign(&card).expect("signed").signature().len()
    }
}

fn ratios() {
    host::print(&["agentwire-core", "a2a-protocol-types", "serde_json_canonicalizer", "p256"]);
    for size in SIZES {
        let case = Case::new(size);
        println!("canonical form of a card of {size} bytes");
        let json = |text: String| text.len();
        let medians = Medians::measure(vec![
            Candidate::new("agentwire, any JSON", || json(jcs(black_box(&case.text)).expect("it"))),
            Candidate::new("agentwire, a card by section 8.4", || {
                let card = Card::parse(black_box(&case.text)).expect("a card");
                json(card.canonical(Form::Spec).expect("a form"))
            }),
            Candidate::new("serde_json_canonicalizer", || {
                json(serde_json_canonicalizer::pipe(black_box(&case.text)).expect("a form"))
            }),
            Candidate::new("a2a-protocol-types, any JSON", || {
                a2a_protocol_types::signing::canonicalize(&case.parse()).expect("a form").len()
            }),
            Candidate::new("a2a-protocol-types, a card", || {
                let tree = case.parse();
                a2a_protocol_types::signing::canonicalize_card_json(&tree).expect("a form").len()
            }),
            Candidate::new("serde_json_canonicalizer, parsed", || {
                json(serde_json_canonicalizer::to_string(black_box(&case.tree)).expect("a form"))
            }),
            Candidate::new("a2a-protocol-types, parsed", || {
                let tree = black_box(&case.tree);
                a2a_protocol_types::signing::canonicalize(tree).expect("a form").len()
            }),
        ]);
        print!("{medians}");
        println!("signature of a card of {size} bytes");
        let medians = Medians::measure(vec![
            Candidate::new("verify the bytes, p256", || usize::from(case.verify_bare())),
            Candidate::new("verify the card, agentwire", || usize::from(case.verify())),
            Candidate::new("verify the card, a2a-protocol-types", || {
                usize::from(case.verify_theirs())
            }),
        ]);
        print!("{medians}");
        let medians = Medians::measure(vec![
            Candidate::new("sign the bytes, p256", || {
                let signature: Signature = case.bare.sign(black_box(&case.input));
                usize::from(signature.to_bytes()[0])
            }),
            Candidate::new("sign the card, agentwire", || case.sign()),
        ]);
        print!("{medians}");
    }
}

fn detail(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("card");
    for size in SIZES {
        let case = Case::new(size);
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("canonical/agentwire/{size}"), |b| {
            b.iter(|| jcs(black_box(&case.text)));
        });
        group.bench_function(format!("canonical/serde_json_canonicalizer/{size}"), |b| {
            b.iter(|| serde_json_canonicalizer::pipe(black_box(&case.text)));
        });
        group.bench_function(format!("verify/p256/{size}"), |b| b.iter(|| case.verify_bare()));
        group.bench_function(format!("verify/agentwire/{size}"), |b| b.iter(|| case.verify()));
    }
    group.finish();
}

fn main() {
    if agentwire_benches::is_measured() {
        ratios();
    }
    let mut criterion = Criterion::default().configure_from_args();
    detail(&mut criterion);
    criterion.final_summary();
}
