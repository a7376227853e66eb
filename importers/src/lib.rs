//! Importers: what other tools have captured comes into the data directory, where the stages after
//! find it.
//!
//! There are two kinds. What saw socket calls or packets becomes ordinary logs,
//! `hosts/NAME/*.sclog`, and is matched as recorded logs are. What is messages already becomes
//! `imports/NAME/messages.parquet` and `nodes.parquet` ([`target`]), which reconcile puts together
//! with what the logs give. No importer writes the trace itself, so recordings and imports of all
//! kinds combine, in any order, and each can be made anew.

mod error;
pub mod fuzz;
mod importer;
mod pcap;
mod reading;
mod strace;
mod summary;
mod tabular;
mod target;

pub use error::Error;
pub use importer::Importer;
pub use pcap::{Captured, Packets, Sniffer};
pub use strace::{Strace, how_to_run as how_to_run_strace, options as strace_options};
pub use summary::{At, Place, Skip, Skipped, Summary};
pub use tabular::{Calls, Messages, Project5, Unit};
