//! EM iterations until model and assignment converge, and the stopping rule.

use super::beginnings::{RestartResults, run_restarts};
use super::density::Axis;
use super::events::events;
use super::learner::EmStep;
use super::model::{BackgroundAssumption, ServiceModel};
use super::service::{RequestId, Service};
use super::shapes::Shapes;
use crate::tuning::auto::learning::beginnings::LAST_ITERATIONS;
use crate::tuning::auto::learning::rounds::{
    CALLS_PER_CHANGE, LOSING, MAX_FRUITLESS, MAX_ITERATIONS, WIDTH,
};

/// The model of a service, the requests of its calls under this model, and the restarts.
pub(super) fn learn_model(
    service: &Service,
    shapes: &mut Shapes,
    background: BackgroundAssumption,
) -> (ServiceModel, Vec<Option<RequestId>>, RestartResults) {
    let axis = Axis { resolution: service.resolution() };
    let learner = EmStep {
        service,
        events: events(service),
        axis,
        width: WIDTH,
        exchanges: true,
        assumes_fifo: true,
    };
    let mut restarts = run_restarts(service, axis, shapes, background);
    let request_of_call = learner.best_requests(shapes, &restarts.model);
    let (_, request_of_call) =
        learner.run_iterations(request_of_call, MAX_ITERATIONS, background, shapes);
    let (model, request_of_call) = learner.run_iterations(
        request_of_call,
        LAST_ITERATIONS,
        BackgroundAssumption::WhileIdle,
        shapes,
    );
    restarts.add(&request_of_call, shapes);
    (model, request_of_call, restarts)
}

/// Share of the calls that are assigned to no request (background calls).
pub(super) fn background_share(request_of_call: &[Option<RequestId>]) -> f64 {
    request_of_call.iter().filter(|request| request.is_none()).count() as f64
        / request_of_call.len().max(1) as f64
}

impl EmStep<'_> {
    /// Model and assignment, each computed from the other, in up to `rounds` EM iterations.
    fn run_iterations(
        &self,
        mut request_of_call: Vec<Option<RequestId>>,
        rounds: usize,
        background: BackgroundAssumption,
        shapes: &mut Shapes,
    ) -> (ServiceModel, Vec<Option<RequestId>>) {
        let mut model = ServiceModel::default();
        let mut round = IterationState::default();
        for _ in 0..rounds {
            model = self.model(&request_of_call, background, shapes);
            let found = self.best_requests(shapes, &model);
            let changed =
                found.iter().zip(&request_of_call).filter(|(one, other)| one != other).count();
            request_of_call = found;
            if round.is_last(changed, &request_of_call) {
                break;
            }
        }
        (model, request_of_call)
    }
}

/// State of the EM iterations so far.
#[derive(Debug, Default)]
struct IterationState {
    /// The fewest calls with a changed request in an iteration.
    least: Option<usize>,
    /// Number of iterations since that iteration.
    since: usize,
    /// Share of the background calls after the last iteration.
    background_part: Option<f64>,
    /// Number of consecutive iterations in which this share has grown.
    losing: usize,
}

impl IterationState {
    /// Returns whether learning stops after an iteration with this number of `changed` calls and
    /// these requests of all calls.
    fn is_last(&mut self, changed: usize, request_of_call: &[Option<RequestId>]) -> bool {
        self.since =
            if self.least.is_none_or(|least| changed < least) { 0 } else { self.since + 1 };
        self.least = Some(self.least.map_or(changed, |least| least.min(changed)));
        let now = background_share(request_of_call);
        let grew = self.background_part.is_some_and(|before| now > before + LOSING.1);
        self.losing = if grew { self.losing + 1 } else { 0 };
        self.background_part = Some(now);
        changed * CALLS_PER_CHANGE <= request_of_call.len()
            || self.since == MAX_FRUITLESS
            || self.losing == LOSING.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The iteration after which learning stops, given the number of changed calls and of
    /// background calls, of 1000.
    fn last(rounds: &[(usize, usize)]) -> Option<usize> {
        let mut round = IterationState::default();
        rounds.iter().position(|(changed, background_part)| {
            let first = RequestId::from_index(0);
            let request_of_call: Vec<Option<RequestId>> =
                (0..1000).map(|call| (call >= *background_part).then_some(first)).collect();
            round.is_last(*changed, &request_of_call)
        })
    }

    #[test]
    fn learning_stops_when_changes_are_few_or_no_longer_decrease() {
        assert_eq!(last(&[(300, 0), (90, 0), (20, 0), (2, 0), (0, 0)]), Some(3));
        assert_eq!(last(&[(300, 0), (90, 0), (95, 0), (91, 0), (0, 0)]), Some(3));
        assert_eq!(last(&[(300, 0), (90, 0), (95, 0), (80, 0), (81, 0)]), None);
    }

    #[test]
    fn learning_stops_when_background_calls_keep_growing() {
        assert_eq!(last(&[(300, 90), (250, 140), (200, 190), (150, 230)]), Some(2));
        // The share converges soon.
        assert_eq!(last(&[(300, 258), (250, 297), (200, 306), (150, 307)]), None);
        assert_eq!(last(&[(300, 140), (250, 190), (200, 120), (150, 170)]), None);
    }
}
