#![doc = include_str!("../README.md")]

mod assemble;
mod estimate;
mod evidence;
mod facts;
mod hints;
mod identity;
mod lines;
mod model;
mod pairs;
mod presumed;
mod samples;
#[cfg(test)]
mod synthetic;
mod tuning;

pub use estimate::{estimate_clocks, estimate_with_hints};
pub use facts::{ClockSet, HostFacts};
pub use hints::ClockHints;
pub use model::{
    ClockEvidence, ClockModel, ClockSource, HintCheck, HintSummary, HostClock, HostClockStep,
};
pub use samples::ClockSamples;
