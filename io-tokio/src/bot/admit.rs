//! A gate with an allow-list and limits of each caller's own.

use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentwire_core::admission::{
    Admission, AdmissionConfig, Admitted, AllowListFull, Allowed, Person,
};
use agentwire_core::binding::Failure;
use agentwire_core::chat::Growable;
use agentwire_core::time::Instant;

use super::{Gate, Request, Via};

/// Whoever an [`Admission`] admits. Clones share one: through them the allow-list is changed while
/// the bot is at work.
///
/// ```
/// use agentwire_core::admission::{AdmissionConfig, Allowed, Person};
/// use agentwire_core::binding::Standard;
/// use agentwire_core::chat::{ContactId, session::Declared};
/// use agentwire_core::rpc::RateLimit;
/// use agentwire_tokio::bot::{Admitting, BotConfig};
/// use core::time::Duration;
///
/// let mut limits = AdmissionConfig::default();
/// limits.only_listed = true;
/// limits.rate = Some(RateLimit::new(10, Duration::from_secs(60)));
/// let gate = Admitting::new(limits);
/// gate.allow(Allowed::Person(Person::Contact(ContactId(4)))).unwrap();
/// let config = BotConfig::from(vec![Declared::new(Standard::A2A, ["1.0"])]).gate(gate.clone());
/// assert!(gate.disallow(&Allowed::Person(Person::Contact(ContactId(4)))));
/// ```
#[derive(Clone)]
pub struct Admitting {
    admission: Arc<Mutex<Admission<Growable>>>,
}

impl Admitting {
    /// How many callers' limits are followed, and how many entries the allow-list has, at most.
    pub const CALLERS: usize = 4_096;

    /// A gate with these limits and an empty allow-list.
    #[must_use]
    pub fn new(limits: AdmissionConfig) -> Self {
        let admission = Admission::with_limit(limits, Self::CALLERS);
        Self { admission: Arc::new(Mutex::new(admission)) }
    }

    /// Lets somebody in: see [`Admission::allow`].
    ///
    /// # Errors
    /// [`AllowListFull`]
    pub fn allow(&self, allowed: Allowed) -> Result<(), AllowListFull> {
        lock(&self.admission).allow(allowed)
    }

    /// Takes an entry from the allow-list. `false` if there was none.
    pub fn disallow(&self, allowed: &Allowed) -> bool {
        lock(&self.admission).disallow(allowed)
    }
}

impl fmt::Debug for Admitting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitting").field("admission", &*lock(&self.admission)).finish()
    }
}

impl<B: Send + Sync + 'static> Gate<B> for Admitting {
    type Pass = AdmittedCall;

    fn admit(&self, now: Instant, request: &Request<B>) -> Result<AdmittedCall, Failure<'static>> {
        let person = match &request.via {
            Via::Chat { chat, sender, .. } => Person::of(*chat, *sender),
            Via::Service { signer } => Person::signer(*signer),
        };
        let admitted = lock(&self.admission).admit(now, person).map_err(|why| {
            tracing::info!(%why, "refused");
            why.failure()
        })?;
        let admission = Arc::clone(&self.admission);
        Ok(AdmittedCall { admitted: Some(admitted), at: now, admission })
    }
}

/// A call that counts against its caller until this is dropped.
#[derive(Debug)]
pub struct AdmittedCall {
    admitted: Option<Admitted>,
    at: Instant,
    admission: Arc<Mutex<Admission<Growable>>>,
}

impl Drop for AdmittedCall {
    fn drop(&mut self) {
        if let Some(admitted) = self.admitted.take() {
            // Its time is the machine's own: it does not run backwards.
            lock(&self.admission).end(self.at, admitted);
        }
    }
}

/// Nothing in the machine panics; should it, its numbers are still whole.
fn lock(admission: &Mutex<Admission<Growable>>) -> MutexGuard<'_, Admission<Growable>> {
    admission.lock().unwrap_or_else(PoisonError::into_inner)
}
