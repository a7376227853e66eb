//! Importers: what other tools have captured comes into the data directory, where the stages after
//! find it.
//!
//! There are two kinds. What saw socket calls or packets becomes ordinary logs,
//! `hosts/NAME/*.sclog`, and is matched as recorded logs are. What is messages already becomes
//! `imports/NAME/messages.parquet` and `nodes.parquet` ([`target`]), which reconcile puts together
//! with what the logs give. No importer writes the trace itself, so recordings and imports of all
//! kinds combine, in any order, and each can be made anew.
//!
//! What the importers share is here: the trait, what they tell of their work, and how a place in a
//! file is named.

mod calls;
mod columns;
mod error;
pub mod fuzz;
mod lines;
mod messages;
mod nodes;
mod packets;
mod project5;
mod reading;
mod rows;
mod strace;
mod summary;
mod tables;
mod target;
mod values;

use std::path::PathBuf;

use message_trace::{DataDir, Progress};

pub use calls::Calls;
pub use error::Error;
pub use messages::Messages;
pub use packets::{Captured, Packets, Sniffer};
pub use project5::Project5;
pub use strace::{Strace, how_to_run as how_to_run_strace, options as strace_options};
pub use summary::{At, Place, Skip, Skipped, Summary};
pub use values::Unit;

/// Brings files of one kind into a data directory. What the user may choose is in the importer
/// itself.
pub trait Importer {
    /// What is read, for one and for several: `["row", "rows"]`.
    fn reads(&self) -> [&'static str; 2];

    /// What is made of it, for one and for several: `["message", "messages"]`.
    fn makes(&self) -> [&'static str; 2];

    /// Imports `files` together into `data`. `progress` is told of one step for each file, whose
    /// units are bytes of the file as it is on disk.
    ///
    /// What cannot be used is skipped and counted ([`Skipped`]), and what can is kept; importing
    /// the same again replaces what was there.
    ///
    /// # Errors
    /// When a file cannot be read or is of another kind, when nothing in the files can be used, or
    /// when the data directory cannot be written; what was imported before under the same name is
    /// then still there.
    fn import(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<Summary, Error>;
}
