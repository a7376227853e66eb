#![doc = include_str!("operations/README.md")]

mod entry;
pub mod fuzz;
mod in_order;
mod in_place;
mod log_operations;
mod operation_file;
mod tuning;

pub use entry::OperationEntry;
pub use in_place::{SnippetReplacement, replace_log_snippets, replace_snippets, update_operations};
pub use log_operations::{RecognisedOperations, operations_of_log};
pub use operation_file::{EXTENSION, OperationFile, OperationFileError, write_operations};
