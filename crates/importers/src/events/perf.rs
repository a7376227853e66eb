//! `import perf`: the text that `perf script` writes, and `perf.data` itself. Which of them a file
//! is, its first bytes tell.

mod asked;
mod data;
mod fields;
mod header;
mod kind;
mod line;
mod reader;
mod script;
mod text;
mod tracepoint;

pub(crate) use kind::PERF;
pub use reader::PerfTextReader;
pub use text::{PerfText, Taken};
