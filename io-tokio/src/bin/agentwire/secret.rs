//! Secrets that files hold. They never stand in the command line, which every process can read.

use std::fs;
use std::path::Path;

use crate::exit::{ExitCode, Failure};

/// A token: visible characters, without what stands around them.
pub(crate) fn read_token(path: &Path) -> Result<String, Failure> {
    let token = read_secret(path)?;
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = format!("{}: a token is visible characters", path.display());
        return Err(Failure::new(ExitCode::Config, message));
    }
    Ok(token)
}

/// What a file holds, without white space around it.
pub(crate) fn read_secret(path: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::new(ExitCode::Config, format!("{} cannot be read: {error}", path.display()))
    })?;
    Ok(text.trim().to_owned())
}
