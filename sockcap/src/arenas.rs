//! The arenas of glibc's allocator. Each new thread gets one of up to eight arenas per processor,
//! and memory that was freed in one arena is not available to another. Stages start threads all the
//! time, but never run more than there are processors. With more arenas than processors, memory
//! would be held unused (docs/decisions/0428).

/// Limits the arenas to the number of processors. It must be called before threads are started.
#[cfg(target_env = "gnu")]
pub(crate) fn limit_arenas() {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let most = libc::c_int::try_from(processors).unwrap_or(libc::c_int::MAX);
    // SAFETY: `mallopt` takes integers and sets a limit; an invalid value changes nothing.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, most) };
}

/// Other allocators have no arenas to limit.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn limit_arenas() {}
