//! Analysis: requests of one source, each in its canonical form, and the model of their workload.
//!
//! A source yields its requests one by one, so that memory does not grow with their number. To get
//! rows or a single request, the source is read again: it yields the same requests each time.

mod flows;
mod join_stream;
mod joined_events;
pub mod lanes;
mod processor_time;
pub mod request_details;
mod request_source;
mod request_table;
mod workload_report;

pub use flows::FlowSource;
pub use join_stream::JoinStream;
pub use joined_events::JoinedSource;
pub use processor_time::ProcessorTime;
pub use request_source::{RequestRecord, RequestSource, SourceOutcome, SourceRequest};
pub use request_table::{RequestTableRow, rows_table};
pub use workload_report::{WorkloadReport, analyze_requests};
