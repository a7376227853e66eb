#![doc = include_str!("../README.md")]

mod conversations;
mod copies;
mod error;
mod events;
mod flags;
mod fuzz;
mod importer;
mod kind;
mod kinds;
mod pcap;
mod reading;
mod settle;
mod spans;
mod strace;
mod summary;
mod tabular;
mod target;
mod text_lines;
mod tuning;
mod unfinished;

pub use error::Error;
pub use events::{PerfText, PerfTextReader, Taken};
pub use importer::Importer;
pub use kind::Kind;
pub use kinds::IMPORTERS;
pub use pcap::{Captured, Packets, Sniffer};
pub use strace::{Strace, how_to_run as how_to_run_strace, options as strace_options};
pub use summary::{At, Place, Skip, Skipped, Summary};
pub use tabular::{Calls, Messages, Project5, Unit};
