//! Tasks of Tokio, the runtime of most servers in Rust: a few threads run whichever task can go on,
//! so a thread's records tell nothing of a request. Where the program's file names its functions,
//! each record says which task it is of, and who lets a task go on or starts it has a record.
//!
//! Three places are changed before the program's `main`, when it has one thread:
//!
//! ```text
//!   table of each kind of task         tables.rs, entries.rs
//!     poll ----------------------->  note the task; its poll; note the one before
//!
//!   table of wakers                    tables.rs, entries.rs
//!     wake, wake_by_ref ---------->  record who lets it go on; its wake
//!
//!   function that takes up a task      start.rs, entries.rs
//!   which is started
//!     jmp ------------------------>  record who starts it; what the jump replaced; go on there
//! ```
//!
//! All are found by the names that Rust gives to them. Where a name is missing, a table has other
//! fields or the function begins with other instructions than are known, nothing is changed. Where
//! the function hands over something else than a task, it is never looked at again.

mod entries;
mod instructions;
mod layout;
mod names;
mod start;
mod tables;
mod task;

use crate::platform::symbols;

/// Prepares the program, if it runs tasks of Tokio.
pub(super) fn follow_tasks() {
    symbols::with_program(|program| {
        let mut found = names::TokioFunctions::new();
        let read = program.for_each_function(|name, address| found.match_name(name, address));
        if read.is_none() || found.polls.addresses().is_empty() {
            return;
        }
        let Some(constants) = program.constants_range() else { return };
        if tables::hook_tables(&found, constants)
            && let Some(extent) = program.memory_range()
        {
            found
                .starters
                .addresses()
                .iter()
                .for_each(|function| start::hook_starter(*function, extent));
        }
    });
}
