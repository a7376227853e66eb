#![doc = include_str!("operations/README.md")]

mod entry;
mod file;
pub mod fuzz;
mod in_order;
mod in_place;
mod of_log;
mod tuning;

pub use entry::Entry;
pub use file::{EXTENSION, Error, OperationFile, write};
pub use in_place::{Replaced, replace, replace_heads, update};
pub use of_log::{Told, of_log};
