//! When the owner is asked, and what one answer stands for: [`Approval`].

use std::sync::{Mutex, PoisonError};

use agentwire_core::admission::Approved;

use super::{Action, Approver, Decision, When};

/// Asks the owner where that is wanted.
pub(super) struct Approval<A> {
    when: When,
    approver: A,
    /// What was approved once.
    approved: Mutex<Approved<String>>,
}

impl<A: Approver> Approval<A> {
    pub(super) fn new(when: When, approver: A) -> Self {
        Self { when, approver, approved: Mutex::default() }
    }

    /// Goes on only if the owner lets it; the decision otherwise.
    pub(super) async fn ask(&self, action: &Action) -> Result<(), Decision> {
        let approved = || self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = action.kind();
        if kind.as_ref().is_some_and(|kind| approved().is_settled(self.when, kind)) {
            return Ok(());
        }
        match self.approver.decide(action).await {
            Decision::Approved => {}
            other => return Err(other),
        }
        if let Some(kind) = kind {
            approved().add(kind);
        }
        Ok(())
    }
}
