//! Importers of text files with one message or one call per row.
//!
//! `messages`, `calls` and `project5` are the importers. Two of them read CSV: `rows` splits a file
//! into rows, `columns` finds the columns by their names, `values` parses times, numbers and names.
//! The importer of span tables uses the same modules. `lines` splits Project 5's traces. `tables`
//! opens the files of one import in sequence.

mod calls;
mod columns;
mod flags;
mod messages;
mod nodes;
mod project5;
mod rows;
mod tables;
mod values;

pub(crate) use calls::CALLS;
pub use calls::CallImporter;
pub(crate) use flags::{TableFlags, UnitFlag};
pub(crate) use messages::MESSAGES;
pub use messages::MessageImporter;
pub(crate) use project5::PROJECT5;
pub use project5::Project5Importer;
pub(crate) use rows::{CsvRows, NextRow};
pub use values::TimeUnit;
pub(crate) use values::{WrongValue, parse_number, parse_text, parse_time};
