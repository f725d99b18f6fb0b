//! Where connections may go: [`Reach`], and the resolver that holds to it.

use core::future::Future;
use core::net::{IpAddr, SocketAddr};
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::vec::IntoIter;

use agentwire_core::discovery::public::is_public;
use hyper::Uri;
use hyper_util::client::legacy::connect::dns::Name;
use tokio::net::lookup_host;
use tower_service::Service;

use super::HttpError;

/// Where connections may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Reach {
    /// Wherever the URL leads: it is our own.
    #[default]
    Anywhere,
    /// To the public internet alone: somebody else chose the URL.
    #[cfg_attr(not(feature = "card"), allow(dead_code, reason = "a card's `jku` is such a URL"))]
    Public,
}

impl Reach {
    /// Refuses a URL with an address that is not reached. One with a name is looked at when the name
    /// has been resolved.
    pub(super) fn check(self, uri: &Uri) -> Result<(), HttpError> {
        let host = uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match host.parse() {
            Ok(address) if !self.reaches(address) => Err(HttpError::NotPublic),
            _ => Ok(()),
        }
    }

    fn reaches(self, address: IpAddr) -> bool {
        self == Self::Anywhere || is_public(address)
    }

    /// The addresses that are dialled. A name that resolves to others beside public ones is not
    /// reached at all: nobody means that.
    fn dialled(self, found: Vec<SocketAddr>) -> io::Result<IntoIter<SocketAddr>> {
        if found.iter().all(|address| self.reaches(address.ip())) {
            Ok(found.into_iter())
        } else {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, HttpError::NotPublic))
        }
    }
}

/// Resolves names as the system does. What it gives is what is dialled, so nothing can change in
/// between.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resolver(pub(super) Reach);

impl Service<Name> for Resolver {
    type Response = IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let reach = self.0;
        Box::pin(async move {
            // The port is set by whoever dials.
            let found = lookup_host((name.as_str(), 0)).await?;
            reach.dialled(found.collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_with_an_address_is_refused_before_anything_is_dialled() {
        for url in [
            "https://127.0.0.1/",
            "https://127.0.0.1:8443/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "http://169.254.169.254/latest/meta-data/",
            "https://10.0.0.1/",
            "https://[fe80::1]/",
        ] {
            let uri: Uri = url.parse().unwrap();
            assert_eq!(Reach::Public.check(&uri), Err(HttpError::NotPublic), "{url}");
            assert_eq!(Reach::Anywhere.check(&uri), Ok(()), "{url}");
        }
        for url in ["https://8.8.8.8/", "https://localhost/", "https://[2606:4700::1]/"] {
            assert_eq!(Reach::Public.check(&url.parse().unwrap()), Ok(()), "{url}");
        }
    }

    #[test]
    fn what_a_name_resolves_to_is_looked_at_before_it_is_dialled() {
        let at = |address: &str| SocketAddr::new(address.parse().unwrap(), 0);
        let public = vec![at("8.8.8.8"), at("2606:4700::1")];
        assert_eq!(Reach::Public.dialled(public.clone()).unwrap().collect::<Vec<_>>(), public);
        for address in ["127.0.0.1", "::1", "192.168.1.1", "::ffff:10.0.0.1"] {
            let found = vec![at("8.8.8.8"), at(address)];
            let refused = Reach::Public.dialled(found.clone()).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied, "{address}");
            assert!(Reach::Anywhere.dialled(found).is_ok(), "{address}");
        }
    }

    #[tokio::test]
    async fn names_of_this_machine_are_not_public() {
        // The second is a spelling of an address that only the system's resolver knows.
        for name in ["localhost", "127.1", "2130706433"] {
            let name: Name = name.parse().unwrap();
            let refused = Resolver(Reach::Public).call(name).await;
            assert!(refused.is_err(), "{refused:?}");
        }
        let name: Name = "localhost".parse().unwrap();
        assert!(Resolver(Reach::Anywhere).call(name).await.unwrap().next().is_some());
    }
}
