//! Calls of a service while no request is open.

use rustc_hash::FxHashMap;

use super::events::ServiceEvent;
use super::service::Service;
use crate::tuning::auto::model::fit::{IDLE_NEVER, MIN_IDLE};

/// Logarithm of the rate of calls of each kind while no request is open, per nanosecond.
pub(super) fn while_idle(service: &Service, events: &[(i64, ServiceEvent)]) -> FxHashMap<u32, f64> {
    let mut counts: FxHashMap<u32, f64> =
        service.calls.iter().map(|call| (call.kind, IDLE_NEVER)).collect();
    let (mut open, mut idle, mut since) =
        (0_usize, 0.0, events.first().map_or(0, |(time, _)| *time));
    let begin = since;
    for (time, event) in events {
        match event {
            ServiceEvent::Receipt(_) => {
                if open == 0 {
                    idle += time.saturating_sub(since) as f64;
                }
                open += 1;
            }
            ServiceEvent::Reply(_) => {
                open = open.saturating_sub(1);
                since = *time;
            }
            ServiceEvent::Call(call) if open == 0 => {
                *counts.entry(service.calls[call.index()].kind).or_default() += 1.0;
            }
            ServiceEvent::Call(_) | ServiceEvent::Answer(_) => {}
        }
    }
    let all = events.last().map_or(1, |(time, _)| time.saturating_sub(begin)).max(1) as f64;
    let idle = f64::max(idle, MIN_IDLE * all);
    // If there is hardly any idle time, a kind that never occurred in it is rarer still.
    let rate = |count: f64| (count / if count > IDLE_NEVER { idle } else { all }).ln();
    counts.into_iter().map(|(kind, count)| (kind, rate(count))).collect()
}
