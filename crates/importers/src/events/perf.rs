//! `import perf`: the text that `perf script` writes, and `perf.data` itself. Which of them a file
//! is, its first bytes tell.

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
