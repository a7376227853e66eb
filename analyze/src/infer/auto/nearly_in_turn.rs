//! Nearly FIFO services. Several threads take work from each other, and the thread that was woken
//! last may go first, so requests overtake each other all the time, but mostly not by far. No delay
//! shows which request proceeds. The order shows it, at both ends of a call: when its request began
//! to wait for the call, and when its request proceeded after the response. Each end alone is weak
//! evidence. Both ends together leave few candidates.
//!
//! Chains of receipt, calls and response are formed of all calls ([`chains`]), and calls are
//! exchanged between them at random, with exchanges farther from the order being rarer
//! ([`sampling`]). The request that occurs most often is the likeliest.
//!
//! If threads read received messages FIFO and process them next, this finds most calls. But nothing
//! shows that they do. So the order decides which request is the likeliest, but not its
//! probability.

mod chains;
mod sampling;

use super::assignment::Assignment;
use super::doubted;
use super::service::Service;
use super::strict::RejectedFifo;
use crate::tuning::auto::search::doubted::AMBIGUOUS_SHARE;
use crate::tuning::auto::search::nearly_in_turn::{
    MAX_COST, MIN_CHAINED, MIN_CHAINS, RECEIPT_POWER, WAKE_UP_POWER,
};
use chains::RequestChains;

/// Assigns calls to the requests that the order at both ends makes likeliest, if there are many
/// coalesced writes and the model is mostly ambiguous. `tried` is a rejected FIFO order.
pub(super) fn commit_near_fifo(service: &Service, tried: &RejectedFifo, found: &mut Assignment) {
    let is_applicable = service.has_coalesced_writes()
        && doubted::count_ambiguous_calls(found) as f64
            >= AMBIGUOUS_SHARE * service.calls.len() as f64;
    if !is_applicable {
        return;
    }
    let mut is_resolved = vec![false; service.calls.len()];
    let both = [RECEIPT_POWER, WAKE_UP_POWER]
        .map(|power| RequestChains::from_service(service, tried, power));
    let [for_request, for_share] = both;
    for (mut for_request, mut for_share) in for_request.into_iter().zip(for_share) {
        if for_share.len() < MIN_CHAINS || for_share.share_of_all() < MIN_CHAINED {
            continue;
        }
        let shares = sampling::sample_exchanges(&mut for_share);
        if for_share.mean_cost() > MAX_COST {
            continue;
        }
        for ((call, seen), (_, preferred)) in
            shares.into_iter().zip(sampling::sample_exchanges(&mut for_request))
        {
            let all: u32 = seen.iter().map(|(_, times)| times).sum();
            let share = |times: u32| f64::from(times) / f64::from(all.max(1));
            found.shares[call.index()] =
                seen.iter().map(|(request, times)| (Some(*request), share(*times))).collect();
            let likeliest = preferred.iter().max_by_key(|(request, times)| (*times, *request));
            is_resolved[call.index()] = true;
            found.request_of_call[call.index()] = likeliest.map(|(request, _)| *request);
        }
    }
    found.prefer_best(|call| is_resolved[call]);
}

#[cfg(test)]
#[path = "nearly_in_turn_tests.rs"]
mod tests;
