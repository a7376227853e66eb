//! Resources: what a moment of a step was, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::step::Step;
use crate::waits::Waits;

/// What those who worked for a step did or waited for at a moment, while it waited for none of its
/// calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// They computed.
    Processor,
    /// They could have run, but had no processor.
    Runnable,
    /// They waited for a file or a disk.
    Disk,
    /// They waited for a lock or another thread.
    Lock,
    /// They waited for another program.
    Peer,
    /// They slept.
    Asleep,
    /// Nobody can tell.
    Unknown,
}

impl Resource {
    /// All of them.
    pub const ALL: [Resource; 7] = [
        Resource::Processor,
        Resource::Runnable,
        Resource::Disk,
        Resource::Lock,
        Resource::Peer,
        Resource::Asleep,
        Resource::Unknown,
    ];

    /// Time in nanoseconds that a step spent so; `None` where that was not recorded.
    pub fn of(self, step: &Step) -> Option<i64> {
        let wait = |of: fn(&Waits) -> i64| step.waits.as_ref().map(of);
        match self {
            Resource::Processor => step.processor_ns,
            Resource::Runnable => wait(|waits| waits.runnable_ns),
            Resource::Disk => wait(|waits| waits.disk_ns),
            Resource::Lock => wait(|waits| waits.lock_ns),
            Resource::Peer => wait(|waits| waits.peer_ns),
            Resource::Asleep => wait(|waits| waits.asleep_ns),
            Resource::Unknown => wait(|waits| waits.unknown_ns),
        }
    }

    /// Its column in the table of steps.
    pub fn column(self) -> &'static str {
        match self {
            Resource::Processor => "processor_ns",
            Resource::Runnable => "runnable_ns",
            Resource::Disk => "disk_ns",
            Resource::Lock => "lock_ns",
            Resource::Peer => "peer_ns",
            Resource::Asleep => "asleep_ns",
            Resource::Unknown => "unknown_ns",
        }
    }

    /// What time spent so is called in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Resource::Processor => "processor time",
            Resource::Runnable => "time without a processor",
            Resource::Disk => "wait for the disk",
            Resource::Lock => "wait for locks and threads",
            Resource::Peer => "wait for other programs",
            Resource::Asleep => "sleep",
            Resource::Unknown => "unknown time",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.column().trim_end_matches("_ns"))
    }
}

impl FromStr for Resource {
    type Err = String;

    fn from_str(text: &str) -> Result<Resource, String> {
        let of = |resource: &Resource| resource.to_string() == text;
        let known = || Resource::ALL.map(|resource| resource.to_string()).join(", ");
        Resource::ALL
            .into_iter()
            .find(of)
            .ok_or_else(|| format!("'{text}' is no resource; it is one of {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_name_and_its_time() {
        let waits = Waits {
            runnable_ns: 1,
            disk_ns: 2,
            lock_ns: 3,
            peer_ns: 4,
            asleep_ns: 5,
            unknown_ns: 6,
        };
        let step = Step { processor_ns: Some(0), waits: Some(waits), ..Step::of(1, 2) };
        let times = Resource::ALL.map(|resource| resource.of(&step));
        assert_eq!(times, [0, 1, 2, 3, 4, 5, 6].map(Some));
        assert_eq!(Resource::Disk.of(&Step::of(1, 2)), None);
        for resource in Resource::ALL {
            assert_eq!(resource.to_string().parse(), Ok(resource));
        }
        assert!("cpu".parse::<Resource>().unwrap_err().contains("processor, runnable, disk"));
    }
}
