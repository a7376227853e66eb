//! Schedule: the begin of each activation with unlimited processors (Magpie, section 4).

use super::plan::{ActivationPlan, SyncPoint};

/// The begin of each activation in nanoseconds from the begin of the request: as soon as everything
/// that must precede it has ended. `order` is the result of [`ActivationPlan::topological_order`].
pub(super) fn schedule_begins(plan: &ActivationPlan, order: &[usize]) -> Vec<i64> {
    let mut begins: Vec<Option<i64>> = vec![None; plan.activations.len()];
    for place in order {
        let activation = &plan.activations[*place];
        let points = activation.sources.iter().map(|mark| time_of_point(plan, &begins, *mark));
        let last =
            SyncPoint { activation: activation.previous.unwrap_or(usize::MAX), work: usize::MAX };
        let begin = points.chain([time_of_point(plan, &begins, last)]).flatten().max();
        begins[*place] = Some(begin.unwrap_or(0));
    }
    begins.into_iter().map(Option::unwrap_or_default).collect()
}

/// The time of a point; `None` if it is not known yet, as clocks contradict each other.
fn time_of_point(plan: &ActivationPlan, begins: &[Option<i64>], mark: SyncPoint) -> Option<i64> {
    let begin = (*begins.get(mark.activation)?)?;
    let works = plan.activations[mark.activation].works.iter();
    let used = works.take(mark.work.saturating_add(1)).map(|work| work.processor_ns);
    Some(begin.saturating_add(used.sum()))
}
