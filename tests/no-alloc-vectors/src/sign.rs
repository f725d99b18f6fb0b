//! Signed Service RPC requests.

use agentwire_core::rpc::sign::{HEADROOM, MasterSecret, PublicKey, SecretKey, SessionBinding};

use crate::Check;

pub(crate) const CHECKS: &[Check] = &[
    ("sign: the known signature of a known request", known_signature),
    ("sign: what is altered does not verify", altered),
    ("sign: each responder has a key of its own", separate_keys),
];

const SECRET: &str = "MC4CAQAwBQYDK2VwBCIEIDfEfevydXXfKajz3sRkcQ7RPvfWUPoq6pu1TYHV1DEe";
const PUBLIC: &str = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";
const PAYLOAD: &[u8; 75] =
    br#"{"protocol":"mcp","request":{"id":1,"jsonrpc":"2.0","method":"tools/list"}}"#;
const SIGNATURE: [u8; 64] = [
    0xea, 0xe3, 0x24, 0x22, 0xdf, 0x48, 0x94, 0x00, 0xe4, 0xd2, 0x90, 0x3d, 0x94, 0xfc, 0x93, 0xff,
    0x01, 0x89, 0x46, 0x74, 0x1a, 0xd2, 0x76, 0x55, 0x51, 0xe6, 0x91, 0x05, 0x26, 0xc0, 0xcb, 0x36,
    0x3e, 0x56, 0x9a, 0x44, 0x7c, 0x4d, 0xdb, 0x1d, 0x37, 0xce, 0x59, 0x81, 0xe5, 0xed, 0x4a, 0x3e,
    0xc8, 0xdf, 0xee, 0x4b, 0x88, 0x1c, 0x03, 0x93, 0x63, 0x9b, 0xf3, 0x37, 0x9e, 0xf1, 0x03, 0x0b,
];

fn binding() -> SessionBinding {
    let mut data = [0; 112];
    for (byte, value) in data.iter_mut().zip(0..) {
        *byte = value;
    }
    SessionBinding::of_data(&data)
}

/// The payload behind room for what the signature binds it to.
fn message() -> [u8; HEADROOM + PAYLOAD.len()] {
    let mut message = [0; HEADROOM + PAYLOAD.len()];
    message[HEADROOM..].copy_from_slice(PAYLOAD);
    message
}

fn known_signature() -> bool {
    let (Ok(secret), Ok(public)) = (SecretKey::parse(SECRET), PublicKey::parse(PUBLIC)) else {
        return false;
    };
    secret.public() == public
        && secret.sign(&binding(), PAYLOAD) == SIGNATURE
        && public.verify(&binding(), &mut message(), &SIGNATURE).is_ok()
}

fn altered() -> bool {
    let Ok(public) = PublicKey::parse(PUBLIC) else { return false };
    let mut signature = SIGNATURE;
    signature[0] ^= 1;
    let mut payload = message();
    payload[HEADROOM] ^= 1;
    public.verify(&binding(), &mut message(), &signature).is_err()
        && public.verify(&binding(), &mut payload, &SIGNATURE).is_err()
        && public.verify(&SessionBinding::of_data(&[0; 112]), &mut message(), &SIGNATURE).is_err()
}

fn separate_keys() -> bool {
    let master = MasterSecret::new([7; 32]);
    let (a, b) = (master.key_for("a"), master.key_for("b"));
    a.public() != b.public() && a.public() == master.key_for("a").public()
}
