//! When the owner is asked, and what one answer stands for: [`Approval`].

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use super::{Action, Approver, Decision, When};

/// Kinds of actions that one approval each stands for, under [`When::New`].
const APPROVED: usize = 10_000;

/// Asks the owner where that is wanted.
pub(super) struct Approval<A> {
    when: When,
    approver: A,
    /// What was approved once.
    approved: Mutex<BTreeSet<String>>,
}

impl<A: Approver> Approval<A> {
    pub(super) const fn new(when: When, approver: A) -> Self {
        Self { when, approver, approved: Mutex::new(BTreeSet::new()) }
    }

    /// Goes on only if the owner lets it; the decision otherwise.
    pub(super) async fn ask(&self, action: &Action) -> Result<(), Decision> {
        let approved = || self.approved.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = action.kind();
        let is_settled = match (self.when, &kind) {
            (When::Never, Some(_)) => true,
            (When::New, Some(kind)) => approved().contains(kind),
            _ => false,
        };
        if is_settled {
            return Ok(());
        }
        match self.approver.decide(action).await {
            Decision::Approved => {}
            other => return Err(other),
        }
        let mut approved = approved();
        if let Some(kind) = kind.filter(|_| approved.len() < APPROVED) {
            approved.insert(kind);
        }
        Ok(())
    }
}
