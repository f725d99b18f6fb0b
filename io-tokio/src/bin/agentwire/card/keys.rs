//! `agentwire card key`: keys made, read and shown.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use agentwire_core::card::{KeyError, KeySet, PublicKey, SecretKey};
use zeroize::Zeroizing;

use super::args::{KeyAction, KeyFormat, NewKeyArgs, ShowKeyArgs};
use super::print;
use crate::exit::{ExitCode, Failure};
use crate::input;
use crate::output::Output;

pub(super) fn run(action: &KeyAction, output: &mut Output) -> Result<(), Failure> {
    match action {
        KeyAction::New(args) => new(args, output),
        KeyAction::Show(args) => show(args, output),
    }
}

/// A failure that names the file.
fn refused(path: &Path, why: impl core::fmt::Display) -> Failure {
    Failure::new(ExitCode::Refused, format!("{}: {why}", path.display()))
}

fn is_jwk(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Reads a private key.
pub(super) fn secret(path: &Path) -> Result<SecretKey, Failure> {
    let key = private(&input::secret(path)?).map_err(|error| refused(path, error))?;
    input::warn_of_readers(path);
    Ok(key)
}

fn private(text: &str) -> Result<SecretKey, KeyError> {
    if is_jwk(text) { SecretKey::from_jwk(text) } else { SecretKey::from_pem(text) }
}

/// Adds the public keys of a file to a set.
pub(super) fn add_public(path: &Path, keys: &mut KeySet) -> Result<(), Failure> {
    keys.add_text(&input::file(path)?).map_err(|error| refused(path, error))
}

/// The public key of a file with a public or a private key.
fn public(path: &Path) -> Result<PublicKey, Failure> {
    let text = input::secret(path)?;
    let read = if is_jwk(&text) { PublicKey::from_jwk(&text) } else { PublicKey::from_pem(&text) };
    let read = match read {
        Err(KeyError::Private) => private(&text).map(|key| key.public()),
        read => read,
    };
    read.map_err(|error| refused(path, error))
}

fn new(args: &NewKeyArgs, output: &mut Output) -> Result<(), Failure> {
    let path = &args.file;
    let key = loop {
        let mut bytes = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *bytes).map_err(|error| refused(path, error))?;
        // All but one of four billion numbers are a key.
        if let Ok(key) = SecretKey::from_bytes(&bytes) {
            break key;
        }
    };
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).map_err(|error| refused(path, error))?;
    let written = file.write_all(key.to_pem().as_bytes()).and_then(|()| file.sync_all());
    written.map_err(|error| refused(path, error))?;
    show_as(&key.public(), args.kid.as_deref(), KeyFormat::Jwks, output)
}

fn show(args: &ShowKeyArgs, output: &mut Output) -> Result<(), Failure> {
    show_as(&public(&args.file)?, args.kid.as_deref(), args.format, output)
}

fn show_as(
    key: &PublicKey,
    kid: Option<&str>,
    format: KeyFormat,
    output: &mut Output,
) -> Result<(), Failure> {
    let thumbprint = key.thumbprint();
    let jwk = key.to_jwk(Some(kid.unwrap_or(&thumbprint)));
    match format {
        KeyFormat::Jwks => print(&format!("{{\"keys\":[{jwk}]}}"), output),
        KeyFormat::Jwk => print(&jwk, output),
        KeyFormat::Pem => {
            let pem = key.to_pem();
            if output.is_json() {
                output.json(&serde_json::json!({"pem": pem}))
            } else {
                output.line(pem.trim_end())
            }
        }
    }
}
