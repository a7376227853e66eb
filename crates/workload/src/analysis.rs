//! Analysis: requests of one source, each in its canonical form, and the model of their workload.
//!
//! A source gives its requests one by one, so that memory does not grow with them. Whoever wants
//! rows or one request reads the source once more: it gives the same requests each time.

mod answer;
mod flows;
mod join_stream;
mod joined_events;
pub mod lanes;
pub mod one;
mod processor_time;
mod row;
mod source;

pub use answer::{Answer, analyze};
pub use flows::FlowSource;
pub use join_stream::JoinStream;
pub use joined_events::JoinedSource;
pub use processor_time::ProcessorTime;
pub use row::{Row, rows_table};
pub use source::{Found, Outcome, Source, Told};
