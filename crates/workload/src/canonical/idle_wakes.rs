//! Idle wakes: a thread is woken for work that another thread has taken already, and waits again.
//!
//! Which thread of a pool takes up a task is random, and if a running thread takes it first, the
//! woken thread finds nothing. So its activation is left out; its small usage is charged to the
//! waker. If it has no known waker, as after an interrupt, its usage is charged to the seed's
//! thread.

use super::plan::{ActivationPlan, SyncPoint, ThreadActivation};
use crate::demands::Demands;
use crate::tuning::{IDLE_WAKE_SHARE, MAX_IDLE_WAKE_NS};

impl ActivationPlan {
    /// The plan without idle wakes: activations that woke nothing and demanded next to nothing.
    pub(super) fn without_idle_wakes(mut self) -> ActivationPlan {
        let all: i64 = self.activations.iter().map(|of| of.total_demands().processor_ns).sum();
        let limit = MAX_IDLE_WAKE_NS.min(all / IDLE_WAKE_SHARE);
        let mut wakes_another = vec![false; self.activations.len()];
        for mark in self.activations.iter().flat_map(|of| &of.sources) {
            wakes_another[mark.activation] = true;
        }
        let is_idle = |(place, of): (usize, &ThreadActivation)| {
            let demands = of.total_demands();
            let processor_ns = demands.processor_ns;
            place != self.seed
                && !wakes_another[place]
                && processor_ns <= limit
                && demands == Demands { processor_ns, ..Demands::default() }
        };
        let idle: Vec<bool> = self.activations.iter().enumerate().map(is_idle).collect();
        if !idle.contains(&true) {
            return self;
        }
        let mut places: Vec<(usize, usize)> = (0..idle.len()).map(|place| (place, 0)).collect();
        for place in (0..idle.len()).filter(|place| idle[*place]) {
            let left = std::mem::take(&mut self.activations[place]);
            let last = self.activations[self.seed].works.len().saturating_sub(1);
            let with_seed = SyncPoint { activation: self.seed, work: last };
            let waker = left.sources.first().copied().unwrap_or(with_seed);
            places[place] = (waker.activation, 0);
            if let Some(work) = self.activations[waker.activation].works.get_mut(waker.work) {
                *work += left.total_demands();
            }
            let later = self.activations.iter_mut().filter(|of| of.previous == Some(place));
            later.for_each(|of| of.previous = left.previous);
            for mark in left.sources {
                self.remove_sync_point(mark);
            }
        }
        self.keep_activations(&places)
    }

    /// Joins the works around a point of an activation, unless the point still wakes another
    /// activation.
    fn remove_sync_point(&mut self, point: SyncPoint) {
        if self.activations.iter().any(|of| of.sources.contains(&point)) {
            return;
        }
        let works = &mut self.activations[point.activation].works;
        if point.work + 1 >= works.len() {
            return;
        }
        let next = works.remove(point.work + 1);
        works[point.work] += next;
        let marks = self.activations.iter_mut().flat_map(|of| &mut of.sources);
        let later =
            |mark: &&mut SyncPoint| mark.activation == point.activation && mark.work > point.work;
        marks.filter(later).for_each(|mark| mark.work -= 1);
    }
}

#[cfg(test)]
mod tests {
    use out_of_core::NameId;

    use super::*;

    fn activation(sources: Vec<SyncPoint>, times: &[i64]) -> ThreadActivation {
        let work = |time: &i64| Demands { processor_ns: *time, ..Demands::default() };
        ThreadActivation {
            works: times.iter().map(work).collect(),
            ..ThreadActivation::new(NameId::from_index(1), sources)
        }
    }

    fn point(activation: usize, work: usize) -> SyncPoint {
        SyncPoint { activation, work }
    }

    /// A worker wakes two helpers, after 7 and 2 ms. The first finds nothing for `idle` ns.
    fn plan(idle: i64) -> ActivationPlan {
        let worker = activation(vec![], &[7_000_000, 2_000_000, 1_000_000]);
        let first = activation(vec![point(0, 0)], &[idle]);
        let second = activation(vec![point(0, 1)], &[15_000_000]);
        ActivationPlan { activations: vec![worker, first, second], seed: 0 }
    }

    fn works(plan: &ActivationPlan) -> Vec<Vec<i64>> {
        let times = |of: &ThreadActivation| of.works.iter().map(|work| work.processor_ns).collect();
        plan.activations.iter().map(times).collect()
    }

    #[test]
    fn an_idle_wake_is_left_out() {
        let left = plan(20_000).without_idle_wakes();
        assert_eq!(works(&left), [vec![9_020_000, 1_000_000], vec![15_000_000]]);
        assert_eq!(left.activations[1].sources, [point(0, 0)]);
    }

    #[test]
    fn a_wake_with_work_stays() {
        assert_eq!(works(&plan(100_001).without_idle_wakes()).len(), 3);
        // A hundredth of a short request is not negligible.
        let short = ActivationPlan {
            activations: vec![
                activation(vec![], &[30_000, 30_000]),
                activation(vec![point(0, 0)], &[20_000]),
            ],
            seed: 0,
        };
        assert_eq!(works(&short.without_idle_wakes()).len(), 2);
        let mut sends = plan(20_000);
        sends.activations[1].works[0].sent_bytes = 1;
        assert_eq!(works(&sends.without_idle_wakes()).len(), 3);
        let mut leads = plan(20_000);
        leads.activations.push(activation(vec![point(1, 0)], &[5_000_000]));
        assert_eq!(works(&leads.without_idle_wakes()).len(), 4);
    }

    #[test]
    fn an_idle_wake_without_a_cause_is_charged_to_the_seed_thread() {
        let mut plan = plan(200_000);
        plan.activations.push(activation(vec![], &[30_000]));
        let left = works(&plan.without_idle_wakes());
        assert_eq!((left.len(), left[0].last()), (3, Some(&1_030_000)));
    }

    #[test]
    fn later_activations_follow_earlier_ones_of_the_thread() {
        let mut plan = plan(20_000);
        let later =
            ThreadActivation { previous: Some(1), ..activation(vec![point(0, 1)], &[3_000_000]) };
        plan.activations.push(later);
        let left = plan.without_idle_wakes();
        assert_eq!((left.activations.len(), left.activations[2].previous), (3, None));
    }
}
