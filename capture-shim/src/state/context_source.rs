//! Language runtime that is asked at each record which context (such as a coroutine) the thread
//! runs.
//!
//! Other runtimes report each change, see [`super::thread::ThreadLogState::context`].

use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::thread::{self, ThreadLogState};

/// Functions by which a runtime is asked for contexts.
pub(crate) struct ContextSource {
    /// Number of the context that the calling thread runs; 0 for none.
    pub(crate) current_number: fn() -> u32,
    /// Start of the context with this number, for its first record; `None` later, or if the start
    /// is not known.
    pub(crate) take_start: fn(u32) -> Option<ContextStart>,
}

/// Start of a context.
#[derive(Clone, Copy)]
pub(crate) struct ContextStart {
    /// Time of the start, in ticks.
    pub(crate) ticks: u64,
    /// Id of the thread that started the context, or the number that logs have for the starting
    /// context.
    pub(crate) starter: u32,
}

/// Value of `ThreadLogState::context` if the [`ContextSource`] is to be asked for the number.
pub(crate) const ASKED: u32 = u32::MAX;

/// Runtime to be asked; null for none.
static SOURCE: AtomicPtr<ContextSource> = AtomicPtr::new(core::ptr::null_mut());

/// Runtime to be asked.
fn source() -> Option<&'static ContextSource> {
    // SAFETY: null or a static.
    unsafe { SOURCE.load(Acquire).as_ref() }
}

/// Has the library ask `runtime` for contexts from now on, in the calling thread and in threads
/// that begin to write later.
pub(crate) fn ask_runtime(runtime: &'static ContextSource) {
    SOURCE.store(core::ptr::from_ref(runtime).cast_mut(), Release);
    begin_asking(thread::current_thread());
}

/// Value of `ThreadLogState::context` for a thread that runs no reported context: [`ASKED`] if a
/// runtime is to be asked, otherwise 0.
#[inline]
pub(crate) fn default_number() -> u32 {
    if source().is_some() { ASKED } else { 0 }
}

/// Has a thread that begins to write into the log ask the runtime, if there is one to be asked.
pub(crate) fn begin_asking(thread: &ThreadLogState) {
    if source().is_some() && thread.context.load(Relaxed) == 0 {
        thread.context.store(ASKED, Relaxed);
    }
}

/// Number of the context that the calling thread runs, from the runtime; 0 for none.
#[inline(never)]
pub(super) fn asked_number() -> u32 {
    source().map_or(0, |source| (source.current_number)())
}

/// Start of the context of this number, if no record of it was written before.
#[inline(never)]
pub(crate) fn take_start(number: u32) -> Option<ContextStart> {
    (source()?.take_start)(number)
}
