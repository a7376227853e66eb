#![doc = include_str!("../README.md")]

mod conversations;
mod copies;
mod error;
mod events;
mod flags;
mod fuzz;
mod import_input;
mod importer;
mod importer_registry;
mod importer_spec;
mod pcap;
mod row_resolution;
mod spans;
mod strace;
mod summary;
mod tabular;
mod target;
mod text_lines;
mod tuning;
mod unfinished;

pub use error::Error;
pub use events::{PerfLineOutcome, PerfText, PerfTextReader};
pub use importer::Importer;
pub use importer_registry::IMPORTERS;
pub use importer_spec::{ImporterEntry, ImporterSpec};
pub use pcap::{PacketImporter, Sniffer, SnifferReport};
pub use strace::{StraceImporter, how_to_run as how_to_run_strace, strace_options};
pub use summary::{FilePlace, FilePosition, ImportSummary, SkipCounts, SkippedItem};
pub use tabular::{CallImporter, MessageImporter, Project5Importer, TimeUnit};
