//! Importers of events: records of kernel and program tracers. All files of one command become one
//! table, `DIR/events/NAME.parquet`, in the order of time.
//!
//! ```text
//!  driver               a format                    events
//!  opens each file -->  reads it into a batch  -->  EventWriter sorts them by time
//! ```
//!
//! [`driver`] is the importer that all kinds share, [`format`](mod@format) the part that is
//! specific to each kind, and [`sink`] collects the events.

mod ctf;
mod driver;
mod flags;
mod format;
mod lines;
#[cfg(test)]
mod order_tests;
mod perf;
mod sink;
mod source;
mod value;

pub(crate) use ctf::CTF;
pub(crate) use lines::EVENTS;
pub(crate) use perf::PERF;
pub use perf::{PerfLineOutcome, PerfText, PerfTextReader};
