//! Assigns the calls of all services of a batch, on all processors.

use std::cmp::Reverse;
use std::sync::Mutex;

use message_trace::Progress;
use out_of_core::workers::{self, lock_mutex};
use tracing::debug;

use super::assignment::Assignment;
use super::estimate::{self, LearnedModel};
use super::service::Service;

/// The assignment of each service, in the order of `services`. The largest services are processed
/// first. `known` has the models of earlier batches and receives the models of this batch.
pub(super) fn assign(
    services: &[Service],
    known: &mut Vec<Option<LearnedModel>>,
    progress: &dyn Progress,
) -> Vec<Assignment> {
    let mut order: Vec<usize> = (0..services.len()).collect();
    order.sort_by_key(|at| Reverse(services[*at].calls.len()));
    known.resize_with(services.len().max(known.len()), || None);
    let shared: Vec<Mutex<Option<LearnedModel>>> = known.drain(..).map(Mutex::new).collect();
    let found = workers::map_items(order.len(), |place| {
        let service = &services[order[place]];
        let mut known = lock_mutex(&shared[order[place]]);
        if service.calls.is_empty() || !service.is_answered() {
            // Processes come and go; the model of a process without calls is dropped.
            *known = None;
            return Assignment::default();
        }
        let (found, learned) = estimate::estimate(service, known.take());
        *known = Some(learned);
        debug!(
            node = order[place],
            requests = service.requests.len(),
            calls = service.calls.len(),
            event_loop = service.is_loop.is_some(),
            found = service.attributed_to.len(),
            traced = service.traced_for.len(),
            "calls of a service are assigned"
        );
        found
    });
    *known = shared.into_iter().map(|known| lock_mutex(&known).take()).collect();
    let mut found: Vec<(usize, Assignment)> = order.into_iter().zip(found).collect();
    found.sort_unstable_by_key(|(at, _)| *at);
    progress.advance_step(services.iter().map(|service| service.calls.len() as u64).sum());
    found.into_iter().map(|(_, found)| found).collect()
}
