//! A service's events in parts that are searched at the same time. Whenever no request is open the past is settled: what came before
//! tells nothing of what comes then, but by the model, so a part ends there, and the parts together give what a search through
//! all would.

use std::ops::Range;

use super::model::Model;
use super::search::{Found, Search};
use super::service::{Event, Service};
use super::shapes::Shapes;
use crate::parallel;

/// There are so many parts at most, of so many events at least.
const MOST: usize = 64;
const LEAST_EVENTS: usize = 2048;

/// Finds the best assignment of the calls of `service` by `model`, keeping up to `width` hypotheses.
pub(super) fn search(
    service: &Service,
    events: &[(i64, Event)],
    shapes: &Shapes,
    model: &Model,
    width: usize,
    with_shares: bool,
) -> Found {
    let parts = parts(events, LEAST_EVENTS.max(events.len() / MOST));
    search_parts(service, events, parts, shapes, model, width, with_shares)
}

fn search_parts(
    service: &Service,
    events: &[(i64, Event)],
    parts: Vec<Range<usize>>,
    shapes: &Shapes,
    model: &Model,
    width: usize,
    with_shares: bool,
) -> Found {
    let found = parallel::one_by_one(parts.len(), |part| {
        let (events, mut shapes, mut model) = (&events[parts[part].clone()], shapes.clone(), model.clone());
        let calls = calls(events);
        let found = Search::run(service, events, calls.clone(), &mut shapes, &mut model, width, with_shares);
        (found, calls.start)
    });
    let mut all = Found::of(0..service.calls.len() as u32, with_shares);
    for ((mut found, first), part) in found.into_iter().zip(parts) {
        for (_, event) in &events[part] {
            let Event::Call(call) = event else { continue };
            let (to, from) = (*call as usize, (call - first) as usize);
            all.owner[to] = found.owner[from];
            if let (Some(to), Some(from)) = (all.shares.get_mut(to), found.shares.get_mut(from)) {
                *to = std::mem::take(from);
            }
        }
    }
    all
}

/// Cuts `events` into parts of at least so many; behind each no request is open.
fn parts(events: &[(i64, Event)], least: usize) -> Vec<Range<usize>> {
    let (mut parts, mut begin, mut open) = (Vec::new(), 0, 0_u64);
    for (at, (_, event)) in events.iter().enumerate() {
        match event {
            Event::Receipt(_) => open += 1,
            Event::Reply(_) => open = open.saturating_sub(1),
            Event::Call(_) | Event::Answer(_) => {}
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

/// From the first of the calls among `events` to the last.
fn calls(events: &[(i64, Event)]) -> Range<u32> {
    let call = |(_, event): &(i64, Event)| match event {
        Event::Call(call) => Some(*call),
        _ => None,
    };
    let calls = events.iter().filter_map(call);
    calls.clone().min().unwrap_or(0)..calls.max().map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infer::auto::density::Axis;
    use crate::infer::auto::learn::learn;
    use crate::infer::auto::service::{Span, events, made_for};

    #[test]
    fn parts_together_are_what_one_search_through_all_finds() {
        // Groups of three requests that overlap, one call each, of which the second is hardly told from the third.
        let span = |begin, end, kind| Span { begin, end, kind };
        let mut service = Service { window: 1_000_000, ..Service::default() };
        for group in 0..60_i64 {
            for place in 0..3 {
                let begin = 1000 * group + 10 * place;
                service.requests.push(span(begin, begin + 300 + group % 7, 9));
                service.calls.push(span(begin + 40 + (group * 37 + place * 11) % 23, begin + 200, 1));
            }
        }
        service.calls.sort_unstable_by_key(|call| call.begin);
        let (events, mut shapes) = (events(&service), Shapes::new());
        let owner: Vec<u32> = (0..180).collect();
        let axis = Axis { resolution: service.resolution() };
        let model = learn(&service, &made_for(&service, &owner), |_| true, &mut shapes, axis);
        for width in [8, 24] {
            let find = |least: usize| {
                search_parts(&service, &events, parts(&events, least), &shapes, &model, width, true)
            };
            let whole = find(usize::MAX);
            assert!(whole.shares.iter().any(|shares| shares.len() > 2), "some are in doubt");
            for least in [1, 50, 200] {
                assert!(parts(&events, least).len() > 1);
                let found = find(least);
                assert_eq!((found.owner, found.shares), (whole.owner.clone(), whole.shares.clone()));
            }
        }
    }

    #[test]
    fn a_part_ends_where_no_request_is_open() {
        use Event::{Call, Receipt, Reply};
        let events = [
            Receipt(0),
            Call(0),
            Reply(0),
            Call(3),
            Receipt(1),
            Receipt(2),
            Reply(1),
            Call(1),
            Reply(2),
            Call(2),
        ];
        let events: Vec<(i64, Event)> = (0..).zip(events).collect();
        assert_eq!(parts(&events, 1), [0..3, 3..4, 4..9, 9..10]);
        assert_eq!(parts(&events, 4), [0..4, 4..9, 9..10]);
        assert_eq!(parts(&events, 5), [0..9, 9..10]);
        assert_eq!(parts(&events, 100).len(), 1);
        assert!(parts(&[], 1).is_empty());
        assert_eq!(calls(&events[3..]), 1..4);
        assert_eq!(calls(&events[4..7]), 0..0);
    }
}
