//! The arenas of glibc's allocator. Each new thread gets one of up to eight arenas a processor, and
//! memory that was given back to one arena is not there for another. Stages begin threads all the
//! time, but no more at once than there are processors. With more arenas than processors, memory
//! would be held that nobody uses (docs/decisions/0428).

/// Limits the arenas to as many as there are processors. It is called before there are threads.
#[cfg(target_env = "gnu")]
pub(crate) fn limit_arenas() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let most = libc::c_int::try_from(processors).unwrap_or(libc::c_int::MAX);
    // SAFETY: `mallopt` takes numbers and sets a bound; with one that it does not take nothing
    // changes.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, most) };
}

/// Other allocators have no arenas to be limited.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn limit_arenas() {}
