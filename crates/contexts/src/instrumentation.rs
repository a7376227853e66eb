//! Random partial instrumentations (trace-context profiling, section 5): how the number of
//! contexts, and the part of the standard deviation that they explain, depend on the monitored
//! operations.
//!
//! An operation that is not instrumented vanishes, and its calls become calls of the nearest
//! instrumented caller. Everything is computed from classes of traces and the merged moments of
//! their positions, never from executions. A trace remains one trace if its root vanishes: it then
//! consists of several calls of an external caller, as in the paper, where the number of traces
//! never exceeds that of full instrumentation.

mod choice;
mod evaluate;
mod results;

pub use evaluate::{evaluate_one, evaluate_random};
pub use results::{InstrumentationPoint, InstrumentationResults};
