//! maketrace (Project 5, section 7.1.1): traces from tracelets. A tracelet is a template of an
//! ordered sequence of messages between nodes, with random delays between them; it stands for one
//! causal path, or for several that are interleaved on purpose. A configuration ([`TraceConfig`])
//! says how many sequences of each tracelet run in parallel, and how long each thinks between two
//! invocations. So traces of any length are made directly, without simulating a system, and what
//! caused what is known ([`TruthTable`]).

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
