//! Whom a request over Service RPC is for: [`ServiceTarget`].

use core::fmt;

use agentwire_core::loopback::{self, ServiceAddress};
use agentwire_core::simplex;

/// Whom a request over Service RPC is for, and who signs it: for a core a contact address or the
/// SimpleX name of one, with the private key; for the embedded loopback one of its addresses.
///
/// ```
/// use agentwire_core::simplex;
/// use agentwire_blocking::client::ServiceTarget;
/// let plain = ServiceTarget::from("@acme.simplex");
/// let signed = ServiceTarget::from(simplex::ServiceTarget::new("@acme.simplex").signed_with("MC4C"));
/// assert_ne!(plain, signed);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ServiceTarget(Place);

#[derive(Clone, PartialEq, Eq)]
enum Place {
    Embedded(loopback::ServiceTarget),
    Linked(simplex::ServiceTarget),
}

impl ServiceTarget {
    #[doc(hidden)]
    pub const fn is_signed(&self) -> bool {
        match &self.0 {
            Place::Embedded(target) => target.signer.is_some(),
            Place::Linked(target) => target.is_signed(),
        }
    }

    #[doc(hidden)]
    pub fn embedded(self) -> Option<loopback::ServiceTarget> {
        match self.0 {
            Place::Embedded(target) => Some(target),
            Place::Linked(_) => None,
        }
    }

    #[doc(hidden)]
    pub fn linked(self) -> Option<simplex::ServiceTarget> {
        match self.0 {
            Place::Embedded(_) => None,
            Place::Linked(target) => Some(target),
        }
    }
}

impl fmt::Debug for ServiceTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceTarget")
            .field("is_signed", &self.is_signed())
            .finish_non_exhaustive()
    }
}

impl From<loopback::ServiceTarget> for ServiceTarget {
    fn from(target: loopback::ServiceTarget) -> Self {
        Self(Place::Embedded(target))
    }
}

impl From<ServiceAddress> for ServiceTarget {
    fn from(address: ServiceAddress) -> Self {
        Self(Place::Embedded(address.into()))
    }
}

impl From<simplex::ServiceTarget> for ServiceTarget {
    fn from(target: simplex::ServiceTarget) -> Self {
        Self(Place::Linked(target))
    }
}

impl From<&str> for ServiceTarget {
    fn from(target: &str) -> Self {
        Self(Place::Linked(target.into()))
    }
}
