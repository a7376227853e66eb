//! Services that take up what waits nearly in turn. Several threads take work from each other, and
//! the last that was woken may go first, so requests overtake each other all the time, but mostly
//! not by far. No delay tells who goes on then. The order does, at both ends of a call: when its
//! request began to wait for it, and when its request went on after its answer. Each end alone
//! tells little. Both together leave few places.
//!
//! Chains of receipt, calls and answer are made of all calls ([`chains`]), and calls are exchanged
//! between them at random, those that are further from the order less often ([`sampling`]). What
//! most of what is seen so has is the likeliest.
//!
//! Threads read in turn what they receive, and do it next. Where that is so, it tells most calls.
//! But nothing shows that it is so. So it counts for who is likeliest, and not for how likely that
//! is.

mod chains;
mod sampling;

use super::NONE;
use super::assignment::Assignment;
use super::doubted;
use super::service::Service;
use super::strict::RejectedFifo;
use crate::tuning::auto::search::doubted::GUESSED_SHARE;
use crate::tuning::auto::search::nearly_in_turn::{
    MAX_COST, MIN_CHAINED, MIN_CHAINS, RECEIVED, WOKEN,
};
use chains::RequestChains;

/// Gives calls to the requests that the order at both ends makes likeliest, where many calls were
/// written together, and the model guesses most. `tried` is an order that is not kept.
pub(super) fn commit_near_fifo(service: &Service, tried: &RejectedFifo, found: &mut Assignment) {
    let is_meant = service.has_coalesced_writes()
        && doubted::count_ambiguous_calls(found) as f64
            >= GUESSED_SHARE * service.calls.len() as f64;
    if !is_meant {
        return;
    }
    let mut is_told = vec![false; service.calls.len()];
    let ways = [RECEIVED, WOKEN].map(|power| RequestChains::from_service(service, tried, power));
    let [for_whom, how_likely] = ways;
    for (mut for_whom, mut how_likely) in for_whom.into_iter().zip(how_likely) {
        if how_likely.len() < MIN_CHAINS || how_likely.share_of_all() < MIN_CHAINED {
            continue;
        }
        let shares = sampling::sample_exchanges(&mut how_likely);
        if how_likely.mean_cost() > MAX_COST {
            continue;
        }
        for ((call, seen), (_, preferred)) in
            shares.into_iter().zip(sampling::sample_exchanges(&mut for_whom))
        {
            let all: u32 = seen.iter().map(|(_, times)| times).sum();
            let share = |times: u32| f64::from(times) / f64::from(all.max(1));
            found.shares[call as usize] =
                seen.iter().map(|(request, times)| (*request, share(*times))).collect();
            let likeliest = preferred.iter().max_by_key(|(request, times)| (*times, *request));
            is_told[call as usize] = true;
            found.request_of_call[call as usize] = likeliest.map_or(NONE, |(request, _)| *request);
        }
    }
    found.prefer_best(|call| is_told[call]);
}

#[cfg(test)]
#[path = "nearly_in_turn_tests.rs"]
mod tests;
