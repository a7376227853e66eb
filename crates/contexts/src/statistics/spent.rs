//! Resource times: the time that executions spent computing or waiting for each resource.

use request_flow::{Step, StepResource};
use serde::{Deserialize, Serialize};

/// Mean times that steps spent on each resource, in nanoseconds. The remainder of the response time
/// is the time in which steps waited for their calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeanSpent {
    /// Sum of the probabilities of the steps' requests.
    pub weight: f64,
    /// Computing.
    pub processor: f64,
    /// Ready to run without a processor.
    pub runnable: f64,
    /// Waiting for a file or a disk.
    pub disk: f64,
    /// Waiting for a lock or another thread.
    pub lock: f64,
    /// Waiting for another program.
    pub peer: f64,
    /// Sleeping.
    pub asleep: f64,
    /// For an unknown reason.
    pub unknown: f64,
}

impl MeanSpent {
    /// The mean time of a resource.
    pub fn mean_of(&self, resource: StepResource) -> f64 {
        match resource {
            StepResource::Processor => self.processor,
            StepResource::Runnable => self.runnable,
            StepResource::Disk => self.disk,
            StepResource::Lock => self.lock,
            StepResource::Peer => self.peer,
            StepResource::Asleep => self.asleep,
            StepResource::Unknown => self.unknown,
        }
    }
}

/// Sums over the steps with recorded resources, each weighted by the probability of its request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpentSums {
    weight: f64,
    /// Times in nanoseconds, in the order of [`StepResource::ALL`].
    times: [f64; StepResource::ALL.len()],
}

impl SpentSums {
    /// Adds a step, if its resources were recorded.
    pub fn add_step(&mut self, step: &Step, weight: f64) {
        if StepResource::ALL.iter().any(|resource| resource.time_in_step(step).is_none()) {
            return;
        }
        self.weight += weight;
        for (sum, resource) in self.times.iter_mut().zip(StepResource::ALL) {
            *sum += weight * resource.time_in_step(step).unwrap_or(0) as f64;
        }
    }

    /// Adds the sums of other steps.
    pub fn merge(&mut self, other: &SpentSums) {
        self.weight += other.weight;
        self.times.iter_mut().zip(other.times).for_each(|(sum, other)| *sum += other);
    }

    /// Adds steps with known means.
    pub fn add_means(&mut self, means: &MeanSpent) {
        self.weight += means.weight;
        for (sum, resource) in self.times.iter_mut().zip(StepResource::ALL) {
            *sum += means.weight * means.mean_of(resource);
        }
    }

    /// The means; `None` if no step has resources.
    pub fn means(&self) -> Option<MeanSpent> {
        let [processor, runnable, disk, lock, peer, asleep, unknown] =
            self.times.map(|sum| sum / self.weight);
        let weight = self.weight;
        let means = MeanSpent { weight, processor, runnable, disk, lock, peer, asleep, unknown };
        (self.weight > 0.0).then_some(means)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use request_flow::{NameId, WaitTimes};

    #[test]
    fn means_include_only_steps_with_resources() {
        let mut sums = SpentSums::default();
        sums.add_step(&Step::new(NameId::from_index(1), NameId::from_index(2)), 1.0);
        assert_eq!(sums.means(), None);
        let of = |processor_ns, lock_ns| Step {
            processor_ns: Some(processor_ns),
            waits: Some(WaitTimes { lock_ns, ..WaitTimes::default() }),
            ..Step::new(NameId::from_index(1), NameId::from_index(2))
        };
        sums.add_step(&of(10, 0), 1.0);
        let mut others = SpentSums::default();
        others.add_step(&of(50, 40), 0.5);
        sums.merge(&others);
        let means = sums.means().unwrap();
        assert_eq!((means.weight, means.processor, means.lock), (1.5, 35.0 / 1.5, 20.0 / 1.5));
        let mut again = SpentSums::default();
        again.add_means(&means);
        assert_eq!(again, sums);
    }
}
