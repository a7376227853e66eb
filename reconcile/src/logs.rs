//! The index pass: the first reading of all logs, which keeps processes, flows with their totals,
//! and names.
//!
//! `read_logs` reads all logs, `index_pass` a single one.

pub(crate) mod ancestors;
pub(crate) mod capture;
pub(crate) mod control_group;
pub(crate) mod flow;
pub(crate) mod flow_numbers;
pub(crate) mod index_pass;
pub(crate) mod lookup;
pub(crate) mod lookups;
pub(crate) mod machines;
pub(crate) mod namespaces;
pub(crate) mod positions;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod program_gaps;
pub(crate) mod program_names;
pub(crate) mod read_logs;
pub(crate) mod steady;
