//! Needless waits: a thread finds that the result it would wait for is already available.
//!
//! If two threads work in parallel for about the same time, it is random whether one of them must
//! wait for the other at the end, and a wait that is not needed leaves no event. So waits are left
//! out if they would be short with unlimited processors, relative to the work before them.

use super::plan::{ActivationPlan, SyncPoint, ThreadActivation};
use super::schedule;
use crate::tuning::NEEDLESS_WAIT_SHARE;

impl ActivationPlan {
    /// The plan without needless waits: the thread continues in the activation in which it waited.
    pub(super) fn without_needless_waits(mut self) -> ActivationPlan {
        let order = self.topological_order();
        let begins = schedule::schedule_begins(&self, &order);
        let count = self.activations.len();
        // Location of the works of each activation: the activation that contains them, and the
        // number of works before them.
        let mut places: Vec<(usize, usize)> = (0..count).map(|place| (place, 0)).collect();
        for place in order {
            let Some(previous) = self.activations[place].previous else { continue };
            if !self.is_needless(&begins, place, previous) {
                continue;
            }
            let (into, offset) = places[previous];
            if into == place {
                continue;
            }
            let works = std::mem::take(&mut self.activations[place].works);
            let to = &mut self.activations[into].works;
            debug_assert!(offset < to.len());
            places[place] = (into, to.len() - 1);
            let mut works = works.into_iter();
            if let (Some(last), Some(first)) = (to.last_mut(), works.next()) {
                *last += first;
            }
            to.extend(works);
            self.activations[place].sources.clear();
        }
        self.keep_activations(&places)
    }

    /// Whether the wait of the activation `place` after the activation `previous` of the same
    /// thread is needless. It is not if `previous` has no known cause: its work may be from before
    /// the request, so that the thread did not wait for the request.
    fn is_needless(&self, begins: &[i64], place: usize, previous: usize) -> bool {
        let ThreadActivation { works, sources, .. } = &self.activations[previous];
        if sources.is_empty() && previous != self.seed {
            return false;
        }
        let last_work = works.last().map_or(0, |work| work.processor_ns);
        let worked = works.iter().map(|work| work.processor_ns).sum::<i64>();
        let waited = begins[place].saturating_sub(begins[previous].saturating_add(worked));
        waited <= last_work / NEEDLESS_WAIT_SHARE
    }

    /// The plan with the remaining activations. `places` has for each activation the index of the
    /// activation that now contains its works, and the number of works before them there; an
    /// activation with another index than its own is removed.
    pub(super) fn keep_activations(self, places: &[(usize, usize)]) -> ActivationPlan {
        let stays = |place: usize| places.get(place).is_some_and(|(into, _)| *into == place);
        let mut numbers = vec![0; places.len()];
        let mut count = 0;
        for (place, number) in numbers.iter_mut().enumerate() {
            *number = count;
            count += usize::from(stays(place));
        }
        let mark = |mark: SyncPoint| {
            let (into, offset) = places[mark.activation];
            SyncPoint { activation: numbers[into], work: offset + mark.work }
        };
        let seed = places.get(self.seed).map_or(0, |(into, _)| numbers[*into]);
        let activations = self.activations.into_iter().enumerate();
        let left = activations.filter(|(place, _)| stays(*place)).map(|(_, mut activation)| {
            activation.sources.iter_mut().for_each(|source| *source = mark(*source));
            activation.previous = activation.previous.map(|place| numbers[places[place].0]);
            activation
        });
        ActivationPlan { activations: left.collect(), seed }
    }
}

#[cfg(test)]
mod tests {
    use out_of_core::NameId;

    use super::*;
    use crate::demands::Demands;

    fn works(processor_ns: &[i64]) -> Vec<Demands> {
        let of = |time: &i64| Demands { processor_ns: *time, ..Demands::default() };
        processor_ns.iter().map(of).collect()
    }

    fn activation(role: usize, sources: Vec<SyncPoint>) -> ThreadActivation {
        ThreadActivation::new(NameId::from_index(role), sources)
    }

    /// A thread wakes a helper, works for `own_work`, waits for it, and works for another 100 ns.
    fn plan(own_work: i64, helper: i64) -> ActivationPlan {
        let let_on = vec![SyncPoint { activation: 0, work: 0 }];
        let done = vec![SyncPoint { activation: 1, work: 0 }];
        let of = |role, sources, times: &[i64]| ThreadActivation {
            works: works(times),
            ..activation(role, sources)
        };
        let last = ThreadActivation { previous: Some(0), ..of(3, done, &[100]) };
        let activations = vec![of(1, vec![], &[50, own_work]), of(2, let_on, &[helper, 5]), last];
        ActivationPlan { activations, seed: 0 }
    }

    fn left(plan: ActivationPlan) -> Vec<Vec<i64>> {
        let left = plan.without_needless_waits().activations;
        let times = |of: &ThreadActivation| of.works.iter().map(|work| work.processor_ns).collect();
        left.iter().map(times).collect()
    }

    #[test]
    fn a_thread_that_works_as_long_as_its_helper_does_not_wait() {
        assert_eq!(left(plan(1000, 900)), [vec![50, 1100], vec![900, 5]]);
        assert_eq!(left(plan(1000, 1500)), [vec![50, 1100], vec![1500, 5]]);
        // 500 of 1000 is the limit.
        assert_eq!(left(plan(1000, 1501)), [vec![50, 1000], vec![1501, 5], vec![100]]);
    }

    #[test]
    fn a_thread_without_other_work_waits() {
        assert_eq!(left(plan(3, 900)), [vec![50, 3], vec![900, 5], vec![100]]);
    }

    #[test]
    fn a_busy_thread_takes_the_request_up_like_a_waiting_one() {
        let let_on = vec![SyncPoint { activation: 0, work: 0 }];
        let mut worker = ThreadActivation { previous: Some(1), ..activation(2, let_on) };
        worker.works = works(&[900]);
        let mut before = activation(2, vec![]);
        before.works = works(&[3000]);
        let mut reader = activation(1, vec![]);
        reader.works = works(&[50, 20]);
        let plan = ActivationPlan { activations: vec![reader, before, worker], seed: 0 };
        assert_eq!(left(plan), [vec![50, 20], vec![3000], vec![900]]);
    }

    #[test]
    fn activations_after_a_removed_wait_refer_to_the_joined_one() {
        // The thread wakes another one after the needless wait.
        let mut plan = plan(1000, 900);
        plan.activations[2].works.push(Demands::default());
        let source = SyncPoint { activation: 2, work: 0 };
        plan.activations.push(activation(4, vec![source]));
        let left = plan.without_needless_waits();
        assert_eq!(left.activations[2].sources, [SyncPoint { activation: 0, work: 1 }]);
        assert_eq!((left.activations.len(), left.seed), (3, 0));
    }
}
