//! Random exchanges of calls between requests, accepted with the ratio of the likelihoods after and
//! before. So chains occur as often as they are likely (the Metropolis method), and a call has each
//! of its requests as often as that is likely. The random seed is fixed, so equal services have
//! equal results.

use rustc_hash::FxHashMap;

use super::chains::RequestChains;
use crate::infer::auto::service::{MadeCallId, RequestId};
use crate::tuning::auto::search::nearly_in_turn::{
    FAR_CALLS, MAX_TRIES, NEAR_CALLS, SAMPLING_SWEEPS, TRIES_PER_CALL,
};

/// The calls of `chains`, each with its possible requests and how often each of these was observed.
/// Afterwards `chains` are in the state of the last observation.
pub(super) fn sample_exchanges(
    chains: &mut RequestChains<'_>,
) -> Vec<(MadeCallId, Vec<(RequestId, u32)>)> {
    let mut seen: FxHashMap<MadeCallId, FxHashMap<RequestId, u32>> = FxHashMap::default();
    let mut random = XorShift(0x9E37_79B9_7F4A_7C15);
    let [unseen, counted] = SAMPLING_SWEEPS;
    let most = MAX_TRIES / (unseen + counted);
    let tries = (TRIES_PER_CALL * chains.steps() * chains.len()).min(most);
    for round in 0..unseen + counted {
        for _ in 0..tries {
            try_exchange(chains, &mut random);
        }
        if round >= unseen {
            for (call, request) in chains.links() {
                *seen.entry(call).or_default().entry(request).or_default() += 1;
            }
        }
    }
    let sorted = |of: FxHashMap<RequestId, u32>| {
        let mut of: Vec<(RequestId, u32)> = of.into_iter().collect();
        of.sort_unstable();
        of
    };
    let mut likely: Vec<_> = seen.into_iter().map(|(call, of)| (call, sorted(of))).collect();
    likely.sort_unstable();
    likely
}

/// Proposes an exchange of two calls, and accepts or undoes it.
fn try_exchange(chains: &mut RequestChains<'_>, random: &mut XorShift) {
    let step = random.number_below(chains.steps());
    let far = if random.number_below(2) == 0 { NEAR_CALLS } else { FAR_CALLS };
    let one = random.number_below(chains.len());
    let other = one + 1 + random.number_below(far);
    let with_later_steps = random.number_below(2) == 0;
    if other >= chains.len() {
        return;
    }
    let worse = chains.exchange(step, [one, other], with_later_steps);
    if worse > 0.0 && random.share() >= (-worse).exp() {
        // The requests have changed places, so the same calls exchange them back.
        chains.exchange(step, [one, other], with_later_steps);
    }
}

/// Pseudorandom numbers (xorshift, by Marsaglia).
struct XorShift(u64);

impl XorShift {
    fn next(&mut self) -> u64 {
        for shift in [13, -7, 17] {
            self.0 ^= if shift > 0 { self.0 << shift } else { self.0 >> -shift };
        }
        self.0
    }

    /// A number below `bound`, which is not 0.
    fn number_below(&mut self, bound: usize) -> usize {
        ((self.next() >> 11) % bound as u64) as usize
    }

    /// A number in 0..1.
    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
