//! Resources: how each moment of a step was spent, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::step::Step;
use crate::waits::WaitTimes;

/// Activity or wait of the threads that worked for a step, outside of waits for its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepResource {
    /// Computing.
    Processor,
    /// Ready to run, but without a processor.
    Runnable,
    /// Waiting for a file or a disk.
    Disk,
    /// Waiting for a lock or another thread.
    Lock,
    /// Waiting for another program.
    Peer,
    /// Sleeping.
    Asleep,
    /// The thread's state is unknown.
    Unknown,
}

impl StepResource {
    /// All resources.
    pub const ALL: [StepResource; 7] = [
        StepResource::Processor,
        StepResource::Runnable,
        StepResource::Disk,
        StepResource::Lock,
        StepResource::Peer,
        StepResource::Asleep,
        StepResource::Unknown,
    ];

    /// Returns the time in nanoseconds that a step spent on the resource; `None` if that was not
    /// recorded.
    pub fn time_in_step(self, step: &Step) -> Option<i64> {
        let wait = |of: fn(&WaitTimes) -> i64| step.waits.as_ref().map(of);
        match self {
            StepResource::Processor => step.processor_ns,
            StepResource::Runnable => wait(|waits| waits.runnable_ns),
            StepResource::Disk => wait(|waits| waits.disk_ns),
            StepResource::Lock => wait(|waits| waits.lock_ns),
            StepResource::Peer => wait(|waits| waits.peer_ns),
            StepResource::Asleep => wait(|waits| waits.asleep_ns),
            StepResource::Unknown => wait(|waits| waits.unknown_ns),
        }
    }

    /// Returns the resource's column in the table of steps.
    pub fn column_name(self) -> &'static str {
        match self {
            StepResource::Processor => "processor_ns",
            StepResource::Runnable => "runnable_ns",
            StepResource::Disk => "disk_ns",
            StepResource::Lock => "lock_ns",
            StepResource::Peer => "peer_ns",
            StepResource::Asleep => "asleep_ns",
            StepResource::Unknown => "unknown_ns",
        }
    }

    /// Returns the words for such time in a sentence.
    pub fn sentence_words(self) -> &'static str {
        match self {
            StepResource::Processor => "processor time",
            StepResource::Runnable => "time without a processor",
            StepResource::Disk => "wait for the disk",
            StepResource::Lock => "wait for locks and threads",
            StepResource::Peer => "wait for other programs",
            StepResource::Asleep => "sleep",
            StepResource::Unknown => "unknown time",
        }
    }
}

impl fmt::Display for StepResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.column_name().trim_end_matches("_ns"))
    }
}

impl FromStr for StepResource {
    type Err = String;

    fn from_str(text: &str) -> Result<StepResource, String> {
        let of = |resource: &StepResource| resource.to_string() == text;
        let known = || StepResource::ALL.map(|resource| resource.to_string()).join(", ");
        StepResource::ALL
            .into_iter()
            .find(of)
            .ok_or_else(|| format!("'{text}' is not a resource; choose one of {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NameId;

    #[test]
    fn each_resource_has_a_name_and_its_time() {
        let waits = WaitTimes {
            runnable_ns: 1,
            disk_ns: 2,
            lock_ns: 3,
            peer_ns: 4,
            asleep_ns: 5,
            unknown_ns: 6,
        };
        let step = Step {
            processor_ns: Some(0),
            waits: Some(waits),
            ..Step::new(NameId::from_index(1), NameId::from_index(2))
        };
        let times = StepResource::ALL.map(|resource| resource.time_in_step(&step));
        assert_eq!(times, [0, 1, 2, 3, 4, 5, 6].map(Some));
        assert_eq!(
            StepResource::Disk
                .time_in_step(&Step::new(NameId::from_index(1), NameId::from_index(2))),
            None
        );
        for resource in StepResource::ALL {
            assert_eq!(resource.to_string().parse(), Ok(resource));
        }
        assert!("cpu".parse::<StepResource>().unwrap_err().contains("processor, runnable, disk"));
    }
}
