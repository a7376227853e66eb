//! Parts of a service's events that are searched in parallel. Whenever no request is open, earlier
//! events affect later ones only through the model. So a part ends there, and the parts together
//! have the same result as a search through all events.
//!
//! A service that is never idle is cut into pieces of sufficient length. The state at a cut is
//! computed again from events before it, and events after it are searched as well. Both are
//! searched twice, but each call counts once.

use std::borrow::Cow;
use std::ops::Range;

use super::assignment::Assignment;
use super::events::ServiceEvent;
use super::model::ServiceModel;
use super::search::BeamSearch;
use super::service::{RequestId, Service};
use super::shapes::Shapes;
use crate::tuning::auto::search::hypotheses::{
    EVENTS_AFTER_CUT, EVENTS_BEFORE_CUT, FRAGMENT_FACTOR, MAX_IDLE_RANGES, MIN_EVENTS_OF_FRAGMENT,
    MIN_EVENTS_OF_RANGE,
};
use out_of_core::workers;

/// Events that are searched on one processor.
#[derive(Debug, PartialEq)]
struct EventFragment {
    /// Calls that this fragment assigns.
    counted: Range<usize>,
    /// These calls with the events around them.
    searched: Range<usize>,
    /// The requests that are open before the searched events.
    open: Vec<RequestId>,
}

/// Finds the best assignment of the calls of `service` under `model`, keeping up to `width`
/// hypotheses. If `with_shares`, the probabilities of each call's possible requests are found as
/// well ([`Assignment::shares`]).
pub(super) fn search(
    service: &Service,
    events: &[(i64, ServiceEvent)],
    shapes: &Shapes,
    model: &ServiceModel,
    width: usize,
    with_shares: bool,
) -> Assignment {
    let parts = split_when_idle(events, MIN_EVENTS_OF_RANGE.max(events.len() / MAX_IDLE_RANGES));
    let parts = parts
        .into_iter()
        .flat_map(|part| split_range(events, part, MIN_EVENTS_OF_FRAGMENT))
        .collect();
    search_fragments(service, events, parts, shapes, model, width, with_shares)
}

fn search_fragments(
    service: &Service,
    events: &[(i64, ServiceEvent)],
    parts: Vec<EventFragment>,
    shapes: &Shapes,
    model: &ServiceModel,
    width: usize,
    with_shares: bool,
) -> Assignment {
    let found = workers::map_items(parts.len(), |part| {
        let (EventFragment { searched, open, .. }, mut shapes, mut model) =
            (&parts[part], shapes.clone(), model.clone());
        let mut events = Cow::Borrowed(&events[searched.clone()]);
        if let Some((begin, _)) = events.first().copied().filter(|_| !open.is_empty()) {
            events
                .to_mut()
                .splice(0..0, open.iter().map(|request| (begin, ServiceEvent::Receipt(*request))));
        }
        let calls = calls(&events);
        let found = BeamSearch::run(
            service,
            &events,
            calls.clone(),
            &mut shapes,
            &mut model,
            width,
            with_shares,
        );
        (found, calls.start)
    });
    let mut all = Assignment::unassigned(0..service.calls.len(), with_shares);
    for ((mut found, first), part) in found.into_iter().zip(parts) {
        for (_, event) in &events[part.counted] {
            let ServiceEvent::Call(call) = event else { continue };
            let (to, from) = (call.index(), call.index() - first);
            all.request_of_call[to] = found.request_of_call[from];
            if let (Some(to), Some(from)) = (all.shares.get_mut(to), found.shares.get_mut(from)) {
                *to = std::mem::take(from);
            }
        }
    }
    all
}

/// Cuts `events` into parts of at least `least` events; no request is open after each.
fn split_when_idle(events: &[(i64, ServiceEvent)], least: usize) -> Vec<Range<usize>> {
    let (mut parts, mut begin, mut open) = (Vec::new(), 0, 0_u64);
    for (at, (_, event)) in events.iter().enumerate() {
        match event {
            ServiceEvent::Receipt(_) => open += 1,
            ServiceEvent::Reply(_) => open = open.saturating_sub(1),
            ServiceEvent::Call(_) | ServiceEvent::Answer(_) => {}
        }
        let end = at + 1;
        if open == 0 && end - begin >= least {
            parts.push(begin..end);
            begin = end;
        }
    }
    if begin < events.len() {
        parts.push(begin..events.len());
    }
    parts
}

/// Cuts a part of the events into fragments of at least `least` events. No request is open before
/// and after the part.
fn split_range(
    events: &[(i64, ServiceEvent)],
    part: Range<usize>,
    least: usize,
) -> Vec<EventFragment> {
    let (mut open, mut most) = (0_usize, 0);
    for (_, event) in &events[part.clone()] {
        match event {
            ServiceEvent::Receipt(_) => open += 1,
            ServiceEvent::Reply(_) => open = open.saturating_sub(1),
            ServiceEvent::Call(_) | ServiceEvent::Answer(_) => {}
        }
        most = most.max(open);
    }
    let twice = most * (EVENTS_BEFORE_CUT + EVENTS_AFTER_CUT);
    let pieces = (part.len() / least.max(FRAGMENT_FACTOR * twice)).max(1);
    let cut = |piece: usize| part.start + part.len() * piece / pieces;
    let mut found: Vec<EventFragment> = Vec::with_capacity(pieces);
    // The requests that are open at the beginning of the searched events.
    let (mut open, mut at) = (Vec::new(), part.start);
    for piece in 0..pieces {
        let counted = cut(piece)..cut(piece + 1);
        let begin = counted.start.saturating_sub(most * EVENTS_BEFORE_CUT).max(part.start);
        let end = (counted.end + most * EVENTS_AFTER_CUT).min(part.end);
        for (_, event) in &events[at..begin] {
            match event {
                ServiceEvent::Receipt(request) => open.push(*request),
                ServiceEvent::Reply(request) => open.retain(|open| open != request),
                ServiceEvent::Call(_) | ServiceEvent::Answer(_) => {}
            }
        }
        at = begin;
        found.push(EventFragment { counted, searched: begin..end, open: open.clone() });
    }
    found
}

/// The range from the first to the last call among `events`.
fn calls(events: &[(i64, ServiceEvent)]) -> Range<usize> {
    let call = |(_, event): &(i64, ServiceEvent)| match event {
        ServiceEvent::Call(call) => Some(call.index()),
        _ => None,
    };
    let calls = events.iter().filter_map(call);
    calls.clone().min().unwrap_or(0)..calls.max().map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::density::Axis;
    use crate::infer::auto::events::{calls_by_request, events};
    use crate::infer::auto::learn::learn;
    use crate::infer::auto::service::{MadeCallId, NodeSpan};
    use crate::infer::auto::tests::requests;

    #[test]
    fn parts_give_the_result_of_one_search() {
        // Groups of three overlapping requests with one call each. The second and the third are
        // hard to distinguish.
        let span = |begin, end, kind| NodeSpan { begin, end, kind };
        let mut service = Service { window: 1_000_000, ..Service::default() };
        for group in 0..60_i64 {
            for place in 0..3 {
                let begin = 1000 * group + 10 * place;
                service.requests.push(span(begin, begin + 300 + group % 7, 9));
                service.calls.push(span(
                    begin + 40 + (group * 37 + place * 11) % 23,
                    begin + 200,
                    1,
                ));
            }
        }
        service.calls.sort_unstable_by_key(|call| call.begin);
        let (events, mut shapes) = (events(&service), Shapes::new());
        let request_of_call = requests(0..180);
        let axis = Axis { resolution: service.resolution() };
        let model = learn(
            &service,
            &calls_by_request(&service, &request_of_call),
            |_| true,
            &mut shapes,
            axis,
        );
        for width in [8, 24] {
            let find = |least: usize| {
                let parts = split_when_idle(&events, least).into_iter();
                let parts = parts.flat_map(|part| split_range(&events, part, usize::MAX)).collect();
                search_fragments(&service, &events, parts, &shapes, &model, width, true)
            };
            let whole = find(usize::MAX);
            assert!(whole.shares.iter().any(|shares| shares.len() > 2), "some are ambiguous");
            for least in [1, 50, 200] {
                assert!(split_when_idle(&events, least).len() > 1);
                let found = find(least);
                assert_eq!(
                    (found.request_of_call, found.shares),
                    (whole.request_of_call.clone(), whole.shares.clone())
                );
            }
        }
    }

    #[test]
    fn a_service_that_is_never_idle_is_cut_and_each_call_counts_once() {
        // Twenty requests are open at a time; each makes its call after a delay that hardly any
        // other has.
        let mut service = Service { window: 1_000_000_000, ..Service::default() };
        for request in 0..4000_i64 {
            let begin = 1_000_000 * request;
            service.requests.push(NodeSpan { begin, end: begin + 20_000_000, kind: 9 });
            let call = begin + 8_000_000 + request * 7_919 % 900_000;
            service.calls.push(NodeSpan { begin: call, end: call + 2_000_000, kind: 1 });
        }
        let (events, mut shapes) = (events(&service), Shapes::new());
        let request_of_call = requests(0..4000);
        let axis = Axis { resolution: service.resolution() };
        let model = learn(
            &service,
            &calls_by_request(&service, &request_of_call),
            |_| true,
            &mut shapes,
            axis,
        );
        let whole = split_range(&events, 0..events.len(), usize::MAX);
        assert_eq!(
            whole,
            [EventFragment { counted: 0..12_000, searched: 0..12_000, open: Vec::new() }]
        );
        let cut = split_range(&events, 0..events.len(), 3000);
        assert_eq!(cut.iter().map(|part| part.counted.len()).collect::<Vec<_>>(), [3000; 4]);
        assert!(
            cut[1].open.len() >= 19 && cut[1].searched.start < cut[1].counted.start,
            "{:?}",
            cut[1]
        );
        let found = search_fragments(&service, &events, cut, &shapes, &model, 24, true);
        assert_eq!(found.request_of_call, request_of_call);
        assert!(found.shares.iter().all(|shares| {
            let all: f64 = shares.iter().map(|(_, share)| share).sum();
            (0.99..1.01).contains(&all)
        }));
    }

    #[test]
    fn a_part_ends_where_no_request_is_open() {
        let receipt = |request| ServiceEvent::Receipt(RequestId::from_index(request));
        let reply = |request| ServiceEvent::Reply(RequestId::from_index(request));
        let call = |call| ServiceEvent::Call(MadeCallId::from_index(call));
        let events = [
            receipt(0),
            call(0),
            reply(0),
            call(3),
            receipt(1),
            receipt(2),
            reply(1),
            call(1),
            reply(2),
            call(2),
        ];
        let events: Vec<(i64, ServiceEvent)> = (0..).zip(events).collect();
        assert_eq!(split_when_idle(&events, 1), [0..3, 3..4, 4..9, 9..10]);
        assert_eq!(split_when_idle(&events, 4), [0..4, 4..9, 9..10]);
        assert_eq!(split_when_idle(&events, 5), [0..9, 9..10]);
        assert_eq!(split_when_idle(&events, 100).len(), 1);
        assert!(split_when_idle(&[], 1).is_empty());
        assert_eq!(calls(&events[3..]), 1..4);
        assert_eq!(calls(&events[4..7]), 0..0);
    }
}
