//! Random partial instrumentations (section 5): how the number of contexts, and what they take away
//! of the standard deviation, depend on which operations are monitored.
//!
//! What is not instrumented vanishes, and its calls are those of the nearest instrumented caller.
//! All is worked out from classes of traces and the merged moments of their positions, never from
//! executions. A trace stays one trace where its root vanishes: it is then several calls of an
//! external caller, as in the paper, whose traces never are more than with full instrumentation.

mod choice;
mod evaluate;
mod results;

pub use evaluate::{evaluate_one, evaluate_random};
pub use results::{InstrumentationPoint, InstrumentationResults};
