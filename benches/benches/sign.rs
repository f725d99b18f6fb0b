//! Signing and verifying a Service RPC request, beside bare `ed25519-dalek` on the same bytes.
//!
//! First a table of ratios, measured in turn in one run, then criterion's figures. The bare rows
//! get the bytes that are signed as they are; ours hash the session's associated data first and
//! put the two together.

use core::hint::black_box;

use agentwire_benches::{Candidate, Medians, host};
use agentwire_core::rpc::sign::{ED25519_SIGNATURE_LEN, HEADROOM, SecretKey, SessionBinding};
use criterion::{BatchSize, Criterion, Throughput};
use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _};

const SEED: [u8; 32] = [7; 32];

/// Payloads of a short request, of the advised limit, and one between them, in bytes.
const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// A request of a size: what both sides need to sign and verify it.
struct Case {
    ad: [u8; 112],
    ours: SecretKey,
    bare: SigningKey,
    /// Headroom, then the payload.
    message: Vec<u8>,
    signature: [u8; ED25519_SIGNATURE_LEN],
}

impl Case {
    fn new(size: usize) -> Self {
        let (ad, ours) = ([9; 112], SecretKey::from_bytes(SEED));
        let binding = SessionBinding::of_data(&ad);
        let message = [binding.as_bytes(), vec![b'x'; size].as_slice()].concat();
        let bare = SigningKey::from_bytes(&SEED);
        let signature = bare.sign(&message).to_bytes();
        let case = Self { ad, ours, bare, message, signature };
        assert_eq!(case.sign(), case.sign_bare(), "one signature, whoever makes it");
        case
    }

    fn sign(&self) -> [u8; ED25519_SIGNATURE_LEN] {
        let binding = SessionBinding::of_data(black_box(&self.ad));
        self.ours.sign(&binding, black_box(&self.message[HEADROOM..]))
    }

    fn sign_bare(&self) -> [u8; ED25519_SIGNATURE_LEN] {
        self.bare.sign(black_box(&self.message)).to_bytes()
    }

    fn verify(&self, message: &mut [u8]) -> bool {
        let binding = SessionBinding::of_data(black_box(&self.ad));
        self.ours.public().verify(&binding, black_box(message), &self.signature).is_ok()
    }

    fn verify_strict_bare(&self) -> bool {
        let signature = Signature::from_bytes(&self.signature);
        self.bare.verifying_key().verify_strict(black_box(&self.message), &signature).is_ok()
    }

    fn verify_lax_bare(&self) -> bool {
        let signature = Signature::from_bytes(&self.signature);
        self.bare.verifying_key().verify(black_box(&self.message), &signature).is_ok()
    }
}

fn ratios() {
    host::print(&["agentwire-core", "ed25519-dalek"]);
    for size in SIZES {
        let case = Case::new(size);
        let mut message = case.message.clone();
        assert!(case.verify(&mut message) && case.verify_strict_bare() && case.verify_lax_bare());
        println!("a payload of {size} bytes");
        let byte = |signature: [u8; ED25519_SIGNATURE_LEN]| usize::from(signature[0]);
        let signing = Medians::measure(vec![
            Candidate::new("sign, ed25519-dalek", || byte(case.sign_bare())),
            Candidate::new("sign, agentwire", || byte(case.sign())),
        ]);
        print!("{signing}");
        let verifying = Medians::measure(vec![
            Candidate::new("verify strictly, ed25519-dalek", || {
                usize::from(case.verify_strict_bare())
            }),
            Candidate::new("verify strictly, agentwire", || usize::from(case.verify(&mut message))),
            Candidate::new("verify laxly, ed25519-dalek", || usize::from(case.verify_lax_bare())),
        ]);
        print!("{verifying}");
    }
}

fn detail(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sign");
    for size in SIZES {
        let case = Case::new(size);
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("sign/ed25519-dalek/{size}"), |b| b.iter(|| case.sign_bare()));
        group.bench_function(format!("sign/agentwire/{size}"), |b| b.iter(|| case.sign()));
        group.bench_function(format!("verify/ed25519-dalek/{size}"), |b| {
            b.iter(|| case.verify_strict_bare());
        });
        group.bench_function(format!("verify/agentwire/{size}"), |b| {
            b.iter_batched_ref(
                || case.message.clone(),
                |message| case.verify(message),
                BatchSize::SmallInput,
            );
        });
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
