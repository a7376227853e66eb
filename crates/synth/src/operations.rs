//! Traces of operations, as tracers record them, with times that depend on the calling context: the
//! input by which trace-context profiling is measured. The numbers of operations, contexts,
//! requests and executions are configured, so Table 1 of the paper (Rohr et al. 2008) can be
//! reproduced.
//!
//! ```text
//! Config -> call_graph   which operation is called on which stack
//!        -> classes      trees of calls, each a class of traces
//!        -> frequencies  how many requests each class has
//!        -> times        how long each position takes: the truth
//!        -> generate     requests and their steps
//! ```
//!
//! An execution takes the time of its calls, one after the other, plus its own time. The own time
//! is the operation's, times a factor for its caller, one for its stack and one for its position in
//! the class, times noise. Mean and deviation of each trace-context are therefore known exactly.

mod call_graph;
mod classes;
mod config;
mod frequencies;
mod generate;
mod times;
mod truth_table;

pub use config::{OperationsConfig, SHIPPED, shipped_config};
pub use generate::{SyntheticOperations, make_operations};
pub use truth_table::{ContextTruth, write_truth};
