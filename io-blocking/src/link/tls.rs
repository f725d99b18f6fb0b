//! Whose certificates are trusted, with rustls and ring.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, RootCertStore};

use super::LinkError;

/// What a client of a core at `wss://` does: those in the file are trusted, or without one those of
/// the system.
#[doc(hidden)]
pub fn client_config(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, LinkError> {
    let roots = match ca_file {
        Some(path) => own_roots(path)?,
        None => system_roots()?,
    };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| LinkError::Tls(error.to_string().into()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn own_roots(path: &Path) -> Result<RootCertStore, LinkError> {
    let unread = |error| match error {
        pem::Error::Io(error) => LinkError::CaFile(error.kind()),
        _ => LinkError::CaFile(io::ErrorKind::InvalidData),
    };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(unread)? {
        let added = roots.add(certificate.map_err(unread)?);
        added.map_err(|_| LinkError::CaFile(io::ErrorKind::InvalidData))?;
    }
    if roots.is_empty() {
        return Err(LinkError::CaFile(io::ErrorKind::UnexpectedEof));
    }
    Ok(roots)
}

fn system_roots() -> Result<RootCertStore, LinkError> {
    let mut roots = RootCertStore::empty();
    // A store often holds a few that cannot be read; the others count.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(LinkError::NoRoots) } else { Ok(roots) }
}
