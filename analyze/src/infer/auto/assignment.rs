//! What a search finds of a service: which request each call was made for.

use std::ops::Range;

use super::NONE;

/// What was found of a service.
#[derive(Debug, Default)]
pub(super) struct Assignment {
    /// The request of each call in the best hypothesis; [`NONE`] is none.
    pub(super) owner: Vec<u32>,
    /// For each call its possible requests, [`NONE`] among them, with the probabilities; only where
    /// they are asked for.
    pub(super) shares: Vec<Vec<(u32, f64)>>,
}

impl Assignment {
    /// What is known of these calls before anything is.
    pub(super) fn of(calls: Range<u32>, with_shares: bool) -> Assignment {
        let shares = if with_shares { vec![Vec::new(); calls.len()] } else { Vec::new() };
        Assignment { owner: vec![NONE; calls.len()], shares }
    }
}
