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
    CALLS_PER_CHANGE, LOSING, MAX_ITERATIONS, PATIENCE, WIDTH,
};

/// The model of a service, the requests of its calls under it, and the restarts.
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
        supposes: true,
    };
    let mut begun = run_restarts(service, axis, shapes, background);
    let owner = learner.best_requests(shapes, &begun.model);
    let (_, owner) = learner.run_iterations(owner, MAX_ITERATIONS, background, shapes);
    let (model, owner) =
        learner.run_iterations(owner, LAST_ITERATIONS, BackgroundAssumption::WhileIdle, shapes);
    begun.add(&owner, shapes);
    (model, owner, begun)
}

/// Share of the background calls.
pub(super) fn background_share(owner: &[Option<RequestId>]) -> f64 {
    owner.iter().filter(|owner| owner.is_none()).count() as f64 / owner.len().max(1) as f64
}

impl EmStep<'_> {
    /// Model and assignment, each computed from the other, in up to `rounds` EM iterations.
    fn run_iterations(
        &self,
        mut owner: Vec<Option<RequestId>>,
        rounds: usize,
        background: BackgroundAssumption,
        shapes: &mut Shapes,
    ) -> (ServiceModel, Vec<Option<RequestId>>) {
        let mut model = ServiceModel::default();
        let mut round = IterationState::default();
        for _ in 0..rounds {
            model = self.model(&owner, background, shapes);
            let found = self.best_requests(shapes, &model);
            let changed = found.iter().zip(&owner).filter(|(one, other)| one != other).count();
            owner = found;
            if round.is_last(changed, &owner) {
                break;
            }
        }
        (model, owner)
    }
}

/// State of the EM iterations so far.
#[derive(Debug, Default)]
struct IterationState {
    /// The fewest calls with a changed request in an iteration, and the number of iterations since.
    least: Option<usize>,
    since: usize,
    /// Share of the background calls, and number of iterations in which it grew since.
    background_part: Option<f64>,
    losing: usize,
}

impl IterationState {
    /// Returns whether learning stops after an iteration with this number of `changed` calls and
    /// these requests of all calls.
    fn is_last(&mut self, changed: usize, owner: &[Option<RequestId>]) -> bool {
        self.since =
            if self.least.is_none_or(|least| changed < least) { 0 } else { self.since + 1 };
        self.least = Some(self.least.map_or(changed, |least| least.min(changed)));
        let now = background_share(owner);
        let grew = self.background_part.is_some_and(|before| now > before + LOSING.1);
        self.losing = if grew { self.losing + 1 } else { 0 };
        self.background_part = Some(now);
        changed * CALLS_PER_CHANGE <= owner.len()
            || self.since == PATIENCE
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
            let owner: Vec<Option<RequestId>> =
                (0..1000).map(|call| (call >= *background_part).then_some(first)).collect();
            round.is_last(*changed, &owner)
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
