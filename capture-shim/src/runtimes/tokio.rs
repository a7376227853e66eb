//! Tasks of Tokio, the runtime of most servers in Rust: a few threads run whichever task is ready,
//! so a thread's records do not identify a request. If the program's file names its functions, each
//! record states its task, and each task that wakes or starts another one is recorded.
//!
//! Three places are changed before the program's `main`, while it has one thread:
//!
//! ```text
//!   table of each kind of task         tables.rs, entries.rs
//!     poll ----------------------->  note the task; its poll; note the one before
//!
//!   table of wakers                    tables.rs, entries.rs
//!     wake, wake_by_ref ---------->  record the waking task; its wake
//!
//!   function that takes up a task      start.rs, entries.rs
//!   which is started
//!     jmp ------------------------>  record the starting task; what the jump replaced; go on there
//! ```
//!
//! The places are found by the names that Rust gives to them. If a name is missing, a table has
//! other fields, or the function begins with unknown instructions, nothing is changed. If the
//! function that takes up a task is passed something other than a task, it is ignored from then on.

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
