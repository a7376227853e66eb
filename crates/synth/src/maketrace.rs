//! maketrace (Project 5, section 7.1.1): traces from tracelets. A tracelet is a template of an
//! ordered sequence of messages between nodes, with random delays between them; it represents one
//! causal path, or several that are interleaved on purpose. A configuration ([`TraceConfig`]) sets
//! how many sequences of each tracelet run in parallel, and how long each thinks between two
//! invocations. Traces of any length are thus made directly, without simulating a system, and the
//! causes are known ([`TruthTable`]).

mod config;

mod generate;
mod shipped;
mod tracelet;
mod truth_table;

pub use crate::delay::DelayDistribution;
pub use config::{ConfigChanges, TraceConfig};
pub use generate::{SyntheticTrace, make_trace};
pub use shipped::{SHIPPED, shipped_config};
pub use truth_table::TruthTable;
