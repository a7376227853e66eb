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

pub use estimate::{estimate, estimate_with};
pub use facts::{ClockSet, HostFacts};
pub use hints::Hints;
pub use model::{Clocks, Evidence, HintCheck, Hinted, HostClock, Source, Step};
pub use samples::Samples;
