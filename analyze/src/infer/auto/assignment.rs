//! An assignment of the calls of a service to its requests, as a search finds it.

use std::ops::Range;

use super::NONE;

/// The assignment of a service's calls to its requests.
#[derive(Debug, Default)]
pub(super) struct Assignment {
    /// The request of each call in the best hypothesis; [`NONE`] is none.
    pub(super) owner: Vec<u32>,
    /// For each call its possible requests, [`NONE`] among them, with the probabilities; only where
    /// they are asked for.
    pub(super) shares: Vec<Vec<(u32, f64)>>,
}

impl Assignment {
    /// The assignment of these calls before anything is known.
    pub(super) fn of(calls: Range<u32>, with_shares: bool) -> Assignment {
        let shares = if with_shares { vec![Vec::new(); calls.len()] } else { Vec::new() };
        Assignment { owner: vec![NONE; calls.len()], shares }
    }
}
