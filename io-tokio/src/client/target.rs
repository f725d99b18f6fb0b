//! Whom a request over Service RPC is for: [`ServiceTarget`].

use core::fmt;

use agentwire_core::loopback::{self, ServiceAddress};

/// Whom a request over Service RPC is for, and who signs it.
///
/// ```
/// use agentwire_core::loopback::ServiceAddress;
/// use agentwire_tokio::client::ServiceTarget;
/// fn of(address: ServiceAddress) -> ServiceTarget {
///     ServiceTarget::from(address)
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ServiceTarget(Place);

#[derive(Clone, PartialEq, Eq)]
enum Place {
    Embedded(loopback::ServiceTarget),
}

impl ServiceTarget {
    pub(crate) const fn is_signed(&self) -> bool {
        match &self.0 {
            Place::Embedded(target) => target.signer.is_some(),
        }
    }

    pub(crate) fn embedded(self) -> Option<loopback::ServiceTarget> {
        match self.0 {
            Place::Embedded(target) => Some(target),
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
