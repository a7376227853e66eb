//! An assignment of the calls of a service to its requests, as found by a search.

use std::ops::Range;

use super::service::RequestId;
use crate::tuning::auto::search::hypotheses::EQUAL_SHARES;

/// The assignment of a service's calls to its requests.
#[derive(Debug, Default)]
pub(super) struct Assignment {
    /// The request of each call in the best hypothesis; `None` if the call was made for no request.
    pub(super) request_of_call: Vec<Option<RequestId>>,
    /// For each call its possible requests, `None` for no request, with their probabilities; empty
    /// if they were not asked for.
    pub(super) shares: Vec<Vec<(Option<RequestId>, f64)>>,
}

impl Assignment {
    /// An assignment of these calls before anything is known.
    pub(super) fn unassigned(calls: Range<usize>, with_shares: bool) -> Assignment {
        let shares = if with_shares { vec![Vec::new(); calls.len()] } else { Vec::new() };
        Assignment { request_of_call: vec![None; calls.len()], shares }
    }

    /// Makes the request of the best hypothesis the likeliest request of each call that
    /// `is_selected`, if it has a share at all: it exchanges its share with the likeliest request.
    /// If many calls have the same time, hundreds of hypotheses shift one of them, and together
    /// they outweigh the best hypothesis. For any other call this is done only if the two shares
    /// are equal: then hypotheses with either request are equally likely, and the best one decides.
    pub(super) fn prefer_best(&mut self, is_selected: impl Fn(usize) -> bool) {
        for (call, (best_request, shares)) in
            self.request_of_call.iter().zip(&mut self.shares).enumerate()
        {
            let likeliest = (0..shares.len()).max_by(|a, b| shares[*a].1.total_cmp(&shares[*b].1));
            let best = shares.iter().position(|(request, _)| request == best_request);
            if let Some((best, likeliest)) = best.zip(likeliest) {
                let share = shares[best].1;
                if !is_selected(call) && shares[likeliest].1 - share > EQUAL_SHARES {
                    continue;
                }
                shares[best].1 = std::mem::replace(&mut shares[likeliest].1, share);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_hypothesis_is_preferred_for_the_selected_calls() {
        let [four, seven, nine] = [4, 7, 9].map(|request| Some(RequestId::from_index(request)));
        let shares = vec![(four, 0.3), (seven, 0.5), (None, 0.2)];
        let mut found =
            Assignment { request_of_call: vec![four, four, nine], shares: vec![shares; 3] };
        found.prefer_best(|call| call != 1);
        assert_eq!(found.shares[0], [(four, 0.5), (seven, 0.3), (None, 0.2)]);
        for call in [1, 2] {
            assert_eq!(found.shares[call], [(four, 0.3), (seven, 0.5), (None, 0.2)], "{call}");
        }
    }

    #[test]
    fn the_best_hypothesis_decides_between_equal_shares() {
        let [four, seven] = [4, 7].map(|request| Some(RequestId::from_index(request)));
        let shares = vec![(four, 0.5 - 1e-9), (seven, 0.5 + 1e-9)];
        let mut found = Assignment { request_of_call: vec![four], shares: vec![shares] };
        found.prefer_best(|_| false);
        assert_eq!(found.shares[0], [(four, 0.5 + 1e-9), (seven, 0.5 - 1e-9)]);
    }
}
