//! `import perf`: the text output of `perf script`, and `perf.data` itself. The first bytes of a
//! file determine which of the two it is.

mod data;
mod fields;
mod header;
mod line;
mod perf_import;
mod reader;
mod script;
mod spec;
mod text;
mod tracepoint;

pub use reader::PerfTextReader;
pub(crate) use spec::PERF;
pub use text::{PerfLineOutcome, PerfText};
