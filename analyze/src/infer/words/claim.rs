//! The requests that share a rare word with a call, and what follows for its probabilities.

use crate::infer::call_links::{RequestId, WorkItem};
use crate::tuning::words::{DECIDING_RELIABILITY, GIVEN_RELIABILITY, OTHER_SHARE};

/// The requests that share a word with a call.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::infer) struct WordClaim {
    /// The requests.
    pub(in crate::infer) requests: Vec<WorkItem>,
    /// Number of requests that were open at the node when it made the call.
    pub(in crate::infer) open: u32,
    /// Lower bound of the probability that the match is no coincidence.
    pub(in crate::infer) at_least: f64,
    /// Best estimate of the same probability.
    pub(in crate::infer) expected: f64,
}

impl WordClaim {
    /// The likelihood of the words if the call was made for `request`, relative to the average
    /// candidate. With probability p the call was made for one of the m matching requests,
    /// otherwise for any of the k candidates, which are the open requests and none: pk/m + 1 - p
    /// for a match, 1 - p for others.
    fn likelihood_ratio(&self, request: Option<WorkItem>) -> f64 {
        let is_match = request.is_some_and(|request| self.requests.contains(&request));
        let matched = self.at_least * self.candidates() / self.requests.len() as f64;
        (if is_match { matched } else { 0.0 }) + 1.0 - self.at_least
    }

    fn candidates(&self) -> f64 {
        f64::from(self.open) + 1.0
    }

    /// The only request that shares the word, if this is reliable enough to decide for which
    /// request the call was made.
    pub(in crate::infer) fn decided(&self) -> Option<WorkItem> {
        match self.requests[..] {
            [only] if self.at_least >= DECIDING_RELIABILITY => Some(only),
            _ => None,
        }
    }

    /// The only request that shares the word, if this is so reliable that the search for the
    /// requests of other calls need not consider any other request for this call.
    pub(in crate::infer) fn given(&self) -> Option<WorkItem> {
        self.decided().filter(|_| self.at_least >= GIVEN_RELIABILITY)
    }

    /// Expected number of nats by which the claim distinguishes the candidates.
    pub(in crate::infer) fn information(&self) -> f64 {
        self.at_least * (self.candidates() / self.requests.len() as f64).ln()
    }

    /// Updates `shares`, the probabilities of the requests of a call. `matched` are the requests
    /// that share the word; `item_of` returns the work item of a request. A match that decides gets
    /// the probability that it is no coincidence. Otherwise Bayes' rule applies, where a part of
    /// the prior probability is divided equally among all candidates.
    pub(in crate::infer) fn update(
        &self,
        shares: &mut Vec<(Option<RequestId>, f64)>,
        matched: &[RequestId],
        item_of: impl Fn(RequestId) -> Option<WorkItem>,
    ) {
        if let ([only], Some(_)) = (matched, self.decided()) {
            *shares = vec![(Some(*only), self.expected), (None, 1.0 - self.expected)];
            shares.retain(|(_, share)| *share > 0.0);
            return;
        }
        let any = OTHER_SHARE / self.candidates();
        shares.iter_mut().for_each(|(_, share)| *share *= 1.0 - OTHER_SHARE);
        for request in matched {
            match shares.iter_mut().find(|(of, _)| *of == Some(*request)) {
                Some((_, share)) => *share += any,
                None => shares.push((Some(*request), any)),
            }
        }
        for (request, share) in shares.iter_mut() {
            *share *= self.likelihood_ratio(request.and_then(&item_of));
        }
        let sum: f64 = shares.iter().map(|(_, share)| share).sum();
        shares.iter_mut().for_each(|(_, share)| *share /= sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(requests: &[usize], at_least: f64) -> WordClaim {
        WordClaim {
            requests: requests.iter().map(|of| WorkItem::request_at(*of)).collect(),
            open: 3,
            at_least,
            expected: at_least,
        }
    }

    #[test]
    fn likelihood_ratios_match_handwritten_values() {
        let ratios = |claim: &WordClaim| {
            [7, 8, 9]
                .map(|of| (claim.likelihood_ratio(Some(WorkItem::request_at(of))) * 1e6).round())
        };
        // Four candidates: 0.9 * 4 / 1 + 0.1 and 0.1.
        let one = claim(&[7], 0.9);
        assert_eq!(ratios(&one), [3.7e6, 1e5, 1e5]);
        assert_eq!(one.decided(), Some(WorkItem::request_at(7)));
        // 0.9 * 4 / 2 + 0.1 for each of two.
        let two = claim(&[7, 8], 0.9);
        assert_eq!(ratios(&two), [1.9e6, 1.9e6, 1e5]);
        assert_eq!(two.decided(), None);
        assert!(one.information() > two.information());
        assert_eq!((one.given(), two.given()), (None, None), "it is not certain enough");
        assert_eq!(claim(&[7], 0.995).given(), Some(WorkItem::request_at(7)));
        // An unreliable match says little, and decides nothing.
        let unreliable = claim(&[7], 0.2);
        assert_eq!(ratios(&unreliable), [1.6e6, 8e5, 8e5]);
        assert_eq!(unreliable.decided(), None);
    }

    #[test]
    fn shares_are_updated_by_bayes_rule() {
        let [one, other] = [7, 8].map(RequestId::from_index);
        let item_of = |request: RequestId| Some(WorkItem::request_at(request.index()));
        let mut shares = vec![(Some(other), 1.0)];
        claim(&[7], 0.96).update(&mut shares, &[one], item_of);
        assert_eq!(shares.len(), 2);
        assert!(shares[0] == (Some(one), 0.96) && shares[1].0.is_none());
        let mut shares = vec![(Some(other), 1.0)];
        claim(&[7], 0.2).update(&mut shares, &[one], item_of);
        // Prior probabilities 0.95 and 0.05 / 4; ratios 0.8 and 1.6.
        let expected = [0.95 * 0.8, 0.0125 * 1.6];
        let sum: f64 = expected.iter().sum();
        for (found, wanted) in shares.iter().zip(expected) {
            assert!((found.1 - wanted / sum).abs() < 1e-12, "{shares:?}");
        }
    }
}
