//! Traces of operations, as tracers write them down, whose times depend on the calling context:
//! what trace-context profiling is measured with. How many operations, contexts, requests and
//! executions there are is given; so Table 1 of the paper (Rohr et al. 2008) can be made again.
//!
//! ```text
//! Config -> call_graph   which operation is called on which stack
//!        -> classes      trees of calls, each a class of traces
//!        -> frequencies  how many requests each class has
//!        -> times        how long each position takes: the truth
//!        -> generate     requests and their steps
//! ```
//!
//! An execution takes the time of its calls, one after the other, and a time of its own. That is
//! the operation's, times a factor for its caller, one for its stack and one for its position in
//! the class, times noise. So mean and deviation of each trace-context are known exactly.

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
