//! Layer 8, runtimes: what a thread runs, in programs whose runtime switches threads between tasks.
//!
//! Each runtime has a folder, a line in [`RUNTIMES`] and a name for the user's switch. It reports
//! through [`contexts`] which task the thread runs, and which tasks one task starts and wakes. A
//! runtime that is absent, or whose version is unknown, leaves the program as it is.
//!
//! Go is followed by the injected library (`exports/injected/goroutines.rs`), since its programs
//! load none.

mod contexts;
mod java;
mod node;
mod python;
#[cfg(target_arch = "x86_64")]
mod tokio;
mod words;

use crate::state::{options, unfollowed_runtime};

/// Runtime whose tasks can be followed.
struct Runtime {
    /// Name in `SOCKCAP_RUNTIMES`.
    name: &'static [u8],
    /// Prepares the program, which has one thread and has not begun.
    follow: fn(),
    /// Notes the name of the runtime, and returns whether the program has it. `None` if that cannot
    /// be known without preparing the program.
    find: Option<fn() -> bool>,
}

/// Runtimes that are followed.
const RUNTIMES: &[Runtime] = &[
    Runtime { name: b"java", follow: java::follow_virtual_threads, find: None },
    Runtime { name: b"node", follow: node::follow_requests, find: Some(node::find_program) },
    Runtime { name: b"python", follow: python::follow_contexts, find: Some(python::find_program) },
    #[cfg(target_arch = "x86_64")]
    Runtime { name: b"tokio", follow: tokio::follow_tasks, find: None },
];

/// Prepares the program for each runtime that the user did not leave out, and notes one that the
/// program has and the user left out.
pub(crate) fn follow_runtimes() {
    for runtime in RUNTIMES {
        if options::follows_runtime(runtime.name) {
            (runtime.follow)();
        } else if runtime.find.is_some_and(|find| find()) {
            unfollowed_runtime::note_left_out();
        }
    }
}
