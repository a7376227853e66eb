//! Layer 8, runtimes: what a thread runs, in programs whose runtime switches threads between tasks.
//!
//! Each runtime has a folder, a line in `RUNTIMES` and a name for the user's switch. It reports
//! through `contexts` which task the thread runs, and which tasks one task starts and wakes. A
//! runtime that is absent, or whose version is unknown, leaves the program as it is.
//!
//! Go is followed by the injected library (`exports/injected/goroutines.rs`), since its programs
//! load none. That library names other runtimes and follows none of them.

#[cfg(not(feature = "injected"))]
mod contexts;
#[cfg(not(feature = "injected"))]
mod java;
mod named_only;
#[cfg(not(feature = "injected"))]
mod node;
#[cfg(not(feature = "injected"))]
mod numbers;
#[cfg(not(feature = "injected"))]
mod python;
#[cfg(not(feature = "injected"))]
mod ruby;
#[cfg(all(target_arch = "x86_64", not(feature = "injected")))]
mod tokio;
#[cfg(not(feature = "injected"))]
mod words;

#[cfg(not(feature = "injected"))]
use crate::state::{options, unfollowed_runtime};

/// Runtime whose tasks can be followed.
#[cfg(not(feature = "injected"))]
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
#[cfg(not(feature = "injected"))]
const RUNTIMES: &[Runtime] = &[
    Runtime { name: b"java", follow: java::follow_virtual_threads, find: None },
    Runtime { name: b"node", follow: node::follow_requests, find: Some(node::find_program) },
    Runtime { name: b"python", follow: python::follow_contexts, find: Some(python::find_program) },
    Runtime { name: b"ruby", follow: ruby::follow_fibers, find: Some(ruby::find_program) },
    #[cfg(target_arch = "x86_64")]
    Runtime { name: b"tokio", follow: tokio::follow_tasks, find: None },
];

/// Prepares the program for each runtime that the user did not leave out. Notes one that the
/// program has and the user left out, and one that is not followed at all.
pub(crate) fn follow_runtimes() {
    named_only::note_program();
    #[cfg(not(feature = "injected"))]
    for runtime in RUNTIMES {
        if options::follows_runtime(runtime.name) {
            (runtime.follow)();
        } else if runtime.find.is_some_and(|find| find()) {
            unfollowed_runtime::note_left_out();
        }
    }
}
