//! Goroutines that were started for a request, as servers of HTTP/2 do: one reads what comes on a
//! connection and starts another one for each request, a third one writes what they answer. So the
//! one that is started holds the request, though it has neither received it nor answers it itself.
//!
//! Who was started for which request, their order tells ([`in_order`](super::in_order)). That they
//! are started for requests at all shows in the answers: they write these, or let those go on who
//! do, if these wait.

use rustc_hash::{FxHashMap, FxHashSet};

use super::in_order::{Times, pairs, within};
use crate::infer::auto::service::{OPEN, Service, UNKNOWN_THREAD};
use crate::tuning::auto::workers::{MIN_ANSWERING, MIN_FOLLOWED};

/// The goroutines that were started for requests, each with its own; and those whose request is not
/// known. `starts` are those that each one started, `from` those whom each one let go on.
pub(super) fn of(
    service: &Service,
    starts: &FxHashMap<u32, Times>,
    from: &FxHashMap<u32, Times>,
) -> (Vec<(u32, u32)>, FxHashSet<u32>) {
    let mut received: FxHashMap<u32, Times> = FxHashMap::default();
    for (request, (span, [receiver, _])) in
        (0..).zip(service.requests.iter().zip(&service.request_threads))
    {
        if *receiver != UNKNOWN_THREAD {
            received.entry(*receiver).or_default().push((span.begin, request));
        }
    }
    let (mut found, mut unknown) = (Vec::new(), FxHashSet::default());
    for (receiver, mut received) in received {
        let Some(starts) = starts.get(&receiver) else { continue };
        received.sort_unstable();
        let begun = pairs(&received, |first, until| within(starts, first, until).to_vec());
        let mut own: Vec<(u32, u32)> =
            begun.into_iter().map(|(request, (_, started))| (started, request)).collect();
        // Who receives may answer some requests itself.
        own.retain(|(_, request)| {
            let [receiver, answerer] = service.request_threads[*request as usize];
            receiver != answerer && service.requests[*request as usize].end != OPEN
        });
        let answers = own.iter().filter(|(started, request)| {
            let [_, answerer] = service.request_threads[*request as usize];
            let span = service.requests[*request as usize];
            let lets = || {
                within(from.get(started)?, span.begin, span.end)
                    .iter()
                    .find(|(_, to)| *to == answerer)
            };
            *started == answerer || lets().is_some()
        });
        let is_rule = own.len() as f64 >= MIN_FOLLOWED * received.len() as f64
            && answers.count() as f64 >= MIN_ANSWERING * own.len() as f64;
        if is_rule {
            unknown.extend(starts.iter().map(|(_, started)| *started));
            found.append(&mut own);
        }
    }
    for (started, _) in &found {
        unknown.remove(started);
    }
    (found, unknown)
}
