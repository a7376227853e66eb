//! Model of a service before any assignment: how much more often than by chance a call comes some
//! time after a receipt, or after the response to an earlier call. Unrelated events have each lag
//! equally often in both directions, so the difference of the two directions shows which events
//! calls follow. This needs no assignment. So it finds the delays even if many requests are open
//! and any initial assignment is mostly wrong. (Project 5, section 5.2, correlates whole signals
//! for the same reason.)

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::density::{Axis, Density};
use super::model::{CallDelay, ServiceModel};
use super::service::REPLY;
use super::service::{OPEN, Service};
use super::shapes::Shapes;
use super::threads::ThreadEvidence;
use super::trigger::Trigger;
use crate::tuning::auto::learning::correlate::{BINS, MAX_EVENTS, MIN_EXCESS};

/// The model of `service` from correlation alone.
pub(super) fn model(service: &Service, shapes: &mut Shapes, axis: Axis) -> ServiceModel {
    let mut receipts: FxHashMap<u32, Vec<i64>> = FxHashMap::default();
    for request in &service.requests {
        receipts.entry(request.kind).or_default().push(request.begin);
    }
    let [mut begins, mut ends]: [FxHashMap<u32, Vec<i64>>; 2] = Default::default();
    for call in &service.calls {
        begins.entry(call.kind).or_default().push(call.begin);
        if call.end != OPEN {
            ends.entry(call.kind).or_default().push(call.end);
        }
    }
    ends.values_mut().for_each(|times| times.sort_unstable());
    let mut replies: FxHashMap<u32, Vec<i64>> = FxHashMap::default();
    for request in service.requests.iter().filter(|request| request.end != OPEN) {
        replies.entry(request.kind).or_default().push(request.end);
    }
    let mut model = ServiceModel {
        threads: ThreadEvidence::from_service(service),
        usual: service.usual.clone(),
        ..ServiceModel::default()
    };
    let mut kinds: Vec<u32> = begins.keys().copied().collect();
    kinds.sort_unstable();
    let mut of: Vec<u32> = receipts.keys().copied().collect();
    of.sort_unstable();
    let longest = service
        .requests
        .iter()
        .map(|request| service.request_end(request).saturating_sub(request.begin))
        .max();
    let longest = longest.unwrap_or(0);
    for request in of {
        let asked = receipts[&request].len() as f64;
        let mut shape = 0;
        let what = kinds.iter().map(|kind| (*kind, begins[kind].as_slice()));
        let reply = replies.get(&request).map(|times| (REPLY, times.as_slice()));
        for (kind, times) in what.chain(reply) {
            let mut triggers = vec![(Trigger::Receipt, receipts[&request].as_slice())];
            for other in kinds.iter().filter(|other| **other != kind) {
                triggers
                    .extend(ends.get(other).map(|times| (Trigger::End(*other), times.as_slice())));
            }
            let mut best: Option<(f64, Trigger, Vec<i64>)> = None;
            for (trigger, before) in triggers {
                let lags = Lags::from_times(before, times, axis, longest);
                let (samples, information) = lags.excess(axis);
                if (samples.len() as f64)
                    < MIN_EXCESS * (times.len() as f64).min(before.len() as f64)
                {
                    continue;
                }
                if best.as_ref().is_none_or(|(best, _, _)| information > *best) {
                    best = Some((information, trigger, samples));
                }
            }
            let Some((_, trigger, samples)) = best else { continue };
            let density = Density::from_delays(axis, &samples, None);
            let delay = CallDelay { trigger, density, open: [(0.25f64).ln(); 4] };
            model.delays.insert((request, kind, 0), Arc::new(delay));
            model.triggers.push(trigger);
            if kind != REPLY {
                let count = times.len() as f64 / service.requests.len().max(1) as f64;
                for _ in 0..count.round() as usize {
                    shape = shapes.with_call(shape, kind);
                }
            }
        }
        model.finals.insert(request, vec![(shape, asked)]);
    }
    model.triggers.sort_unstable();
    model.triggers.dedup();
    model.triggers.retain(|trigger| !matches!(trigger, Trigger::Last | Trigger::Receipt));
    let times = || service.requests.iter().chain(&service.calls).map(|span| span.begin);
    let span = times()
        .max()
        .zip(times().min())
        .map_or(1, |(last, first)| last.saturating_sub(first))
        .max(1);
    for kind in kinds {
        model.spontaneous.insert(kind, (0.5 / span as f64).ln());
    }
    model
}

/// Number of pairs of events by the time between them (their lag), in both directions.
struct Lags {
    /// Number of pairs with the call after the other event, by the bin of the lag.
    after: Vec<f64>,
    /// Number of pairs with the call before the other event.
    before: Vec<f64>,
    /// Number of calls.
    calls: f64,
}

impl Lags {
    /// Counts the lags between the times `first` and `then`, both sorted, up to `longest`.
    fn from_times(first: &[i64], then: &[i64], axis: Axis, longest: i64) -> Lags {
        let bins = bin(axis, longest) + 1;
        let mut lags =
            Lags { after: vec![0.0; bins], before: vec![0.0; bins], calls: then.len() as f64 };
        let mut at = 0;
        for time in then {
            while first.get(at).is_some_and(|event| event <= time) {
                at += 1;
            }
            for event in first[..at].iter().rev().take(MAX_EVENTS) {
                let lag = time.saturating_sub(*event);
                if lag > longest {
                    break;
                }
                lags.after[bin(axis, lag)] += 1.0;
            }
            for event in first[at..].iter().take(MAX_EVENTS) {
                let lag = event.saturating_sub(*time);
                if lag > longest {
                    break;
                }
                lags.before[bin(axis, lag)] += 1.0;
            }
        }
        lags
    }

    /// Samples of the lags that are more frequent in one direction than in the other, and the
    /// information that they give about the times of calls, in nats per call.
    fn excess(&self, axis: Axis) -> (Vec<i64>, f64) {
        let mut samples = Vec::new();
        let mut information = 0.0;
        for (at, (after, before)) in self.after.iter().zip(&self.before).enumerate() {
            let more = after - before;
            // An excess within the scatter of chance does not count.
            if more <= 2.0 * (after + before).sqrt() {
                continue;
            }
            information += more * (after / before.max(1.0)).ln();
            let lag = |part: f64| {
                (2f64.powf((at as f64 + part) / BINS) * axis.resolution) - axis.resolution
            };
            let count = more as usize;
            samples
                .extend((0..count).map(|sample| lag((sample as f64 + 0.5) / count as f64) as i64));
        }
        (samples, information / self.calls.max(1.0))
    }
}

/// The bin of a lag.
fn bin(axis: Axis, lag: i64) -> usize {
    ((axis.place(lag) - axis.resolution.log2()) * BINS).max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::service::NodeSpan;

    #[test]
    fn the_delay_is_found_with_dozens_of_open_requests() {
        // Requests at random times, 1 ms apart on average and open for 40 ms, each with a call
        // after six to seven milliseconds.
        let mut service = Service { window: 1_000_000_000, ..Service::default() };
        for request in 0..600_i64 {
            let lot = (request as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d;
            let begin = (lot.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 34) as i64 % 600_000_000;
            service.requests.push(NodeSpan { begin, end: begin + 40_000_000, kind: 9 });
            let call = begin + 6_000_000 + (request * 31) % 64 * 15_000;
            service.calls.push(NodeSpan { begin: call, end: call + 1_000_000, kind: 1 });
        }
        service.requests.sort_by_key(|request| request.begin);
        service.calls.sort_by_key(|call| call.begin);
        let model = model(&service, &mut Shapes::new(), Axis { resolution: 1000.0 });
        let delay = &model.delays[&(9, 1, 0)];
        assert_eq!(delay.trigger, Trigger::Receipt);
        let density = |ms: i64| delay.density.log(ms * 1_000_000, 0, false);
        let likeliest = (1..40).max_by(|one, other| density(*one).total_cmp(&density(*other)));
        assert!(matches!(likeliest, Some(6 | 7)), "{likeliest:?}");
    }
}
