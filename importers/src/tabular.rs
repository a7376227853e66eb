//! Importers of text files with one message or one call a row.
//!
//! `messages`, `calls` and `project5` are the importers. Two of them read CSV: `rows` splits a file
//! into rows, `columns` finds the columns by their names, `values` reads times, numbers and names.
//! `lines` splits Project 5's traces. `tables` opens the files of one import one after the other.

mod calls;
mod columns;
mod lines;
mod messages;
mod nodes;
mod project5;
mod rows;
mod tables;
mod values;

pub use calls::Calls;
pub use messages::Messages;
pub(crate) use nodes::NodeTable;
pub use project5::Project5;
pub use values::Unit;
