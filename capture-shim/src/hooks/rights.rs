//! Rights that a process gives up: its user, its root directory, its view of the files, system
//! calls. Each loss may deprive the process's log of the means to grow, and the logs of its
//! children of the means to begin. For the first three, descriptors are kept that still lead to the
//! logs ([`crate::log::keep`]). For the last, everything needed is made ahead, unless the filter
//! permits the calls that make it.

use core::ffi::{c_char, c_int, c_long};

use libc::uid_t;

use crate::c_library::types;
use crate::flows::socket_scan;
use crate::log::confinement::{self, KeptAbilities};
use crate::log::{self, directory, keep, log_reserve, program_facts, segment};
use crate::platform::identity;
use crate::platform::raw::{self, PAGE};
use crate::platform::seccomp::{self, FilterCopy};
use crate::state::thread;
use crate::tuning::FEW_DESCRIPTORS;

/// Changes the user, to which the log is given first.
///
/// # Safety
/// As for `setuid` or `seteuid`.
pub(crate) unsafe fn setuid(real: types::setuid, user: uid_t) -> c_int {
    confinement::hand_over(user);
    // SAFETY: the program's own call.
    unsafe { real(user) }
}

/// # Safety
/// As for `setreuid`.
pub(crate) unsafe fn setreuid(real: types::setreuid, user: uid_t, effective: uid_t) -> c_int {
    confinement::hand_over(effective);
    // SAFETY: the program's own call.
    unsafe { real(user, effective) }
}

/// # Safety
/// As for `setresuid`.
pub(crate) unsafe fn setresuid(
    real: types::setresuid,
    user: uid_t,
    effective: uid_t,
    saved: uid_t,
) -> c_int {
    confinement::hand_over(effective);
    // SAFETY: the program's own call.
    unsafe { real(user, effective, saved) }
}

/// Makes a call that sets a limit: `limit` is the resource and its new limit, `None` if unknown.
/// With a limit of almost no descriptors or file size, no log could be made later, so a log is
/// prepared before.
fn set_limit(limit: Option<(c_int, u64)>, call: impl FnOnce() -> c_int) -> c_int {
    let is_hard = |(resource, most): (c_int, u64)| match resource as libc::__rlimit_resource_t {
        libc::RLIMIT_NOFILE => most < FEW_DESCRIPTORS,
        libc::RLIMIT_FSIZE => most < segment::FIRST_SEGMENT_BYTES as u64,
        _ => false,
    };
    if limit.is_some_and(is_hard) && !confinement::is_vfork_child() {
        let socket = uses_sockets();
        confinement::provide_reserve(KeptAbilities {
            populate: log_reserve::can_populate(),
            socket,
            fork: false,
        });
    }
    call()
}

/// Whether the process has a log, or a socket that it may have inherited. Inherited sockets have
/// low numbers.
fn uses_sockets() -> bool {
    log::existing_writer().is_some() || socket_scan::any_low_socket()
}

/// Resource and new limit of a call; `None` if the program's pointer is null or invalid.
fn requested_limit(resource: c_int, limit: *const libc::rlimit) -> Option<(c_int, u64)> {
    // SAFETY: found readable.
    (!limit.is_null() && raw::is_readable(limit)).then(|| (resource, unsafe { (*limit).rlim_cur }))
}

/// # Safety
/// As for `setrlimit`.
pub(crate) unsafe fn setrlimit(
    real: types::setrlimit,
    resource: c_int,
    new: *const libc::rlimit,
) -> c_int {
    // SAFETY: the program's own call.
    set_limit(requested_limit(resource, new), || unsafe { real(resource, new) })
}

/// # Safety
/// As for `prlimit`.
pub(crate) unsafe fn prlimit(
    real: types::prlimit,
    process: libc::pid_t,
    resource: c_int,
    new: *const libc::rlimit,
    old: *mut libc::rlimit,
) -> c_int {
    // SAFETY: the program's own call.
    set_limit(requested_limit(resource, new), || unsafe { real(process, resource, new, old) })
}

/// Makes a call after which paths may lead to other files; keeps what leads to the logs before.
fn change_root(call: impl FnOnce() -> c_long) -> c_long {
    if confinement::is_vfork_child() {
        return call();
    }
    program_facts::remember_facts();
    keep::keep_directory();
    keep::keep_recorder();
    let result = call();
    if result == 0 {
        directory::set_uprooted();
    }
    result
}

/// # Safety
/// As for `chroot`.
pub(crate) unsafe fn chroot(real: types::chroot, path: *const c_char) -> c_int {
    // SAFETY: the program's own call.
    change_root(|| unsafe { real(path) }.into()) as c_int
}

/// # Safety
/// As for `pivot_root`.
pub(crate) unsafe fn pivot_root(
    real: types::pivot_root,
    path: *const c_char,
    old: *const c_char,
) -> c_int {
    // SAFETY: the program's own call.
    change_root(|| unsafe { real(path, old) }.into()) as c_int
}

/// Enters another namespace, which may have other mounts.
///
/// # Safety
/// As for `setns`. The kind of the namespace is not visible from the descriptor; `kind` may state
/// it.
pub(crate) unsafe fn setns(real: types::setns, fd: c_int, kind: c_int) -> c_int {
    let call = || {
        // SAFETY: the program's own call.
        let result = unsafe { real(fd, kind) };
        thread::current_thread().recent.forget_namespace();
        result
    };
    if kind != 0 && kind & libc::CLONE_NEWNS == 0 {
        call()
    } else {
        change_root(|| call().into()) as c_int
    }
}

/// Keeps descriptors if, by the `flags` of a call, the process is about to give itself or a child
/// its own mounts. These may hide the data directory later.
#[inline(always)]
pub(crate) fn keep_for_new_mounts(flags: c_int) {
    if flags & libc::CLONE_NEWNS != 0 {
        keep_directory_and_recorder();
    }
}

/// Keeps the directory of the host, and a socket of the recorder.
#[cold]
#[inline(never)]
fn keep_directory_and_recorder() {
    if !confinement::is_vfork_child() {
        keep::keep_directory();
        keep::keep_recorder();
    }
}

/// # Safety
/// As for `unshare`.
pub(crate) unsafe fn unshare(real: types::unshare, flags: c_int) -> c_int {
    keep_for_new_mounts(flags);
    // SAFETY: the program's own call.
    let result = unsafe { real(flags) };
    thread::current_thread().recent.forget_namespace();
    result
}

/// Makes a call that drops rights on files (`landlock_restrict_self`). Most processes that make it
/// have no socket, and few of those will have one or a child: unpackers, converters.
pub(crate) fn restrict_files(call: impl FnOnce() -> c_long) -> c_long {
    if !confinement::is_vfork_child() {
        confinement::provide_reserve(KeptAbilities {
            populate: log_reserve::can_populate(),
            socket: uses_sockets(),
            fork: true,
        });
    }
    call()
}

/// Makes ahead everything for which the process would need system calls that `filter` will not
/// permit.
fn provide_after(filter: &FilterCopy) {
    let permits = |number, arguments| filter.will_permit(number, &arguments);
    let all = |numbers: &[c_long]| numbers.iter().all(|number| permits(*number, [0; 6]));
    let can_query = all(&[libc::SYS_getsockopt, libc::SYS_getsockname, libc::SYS_getpeername]);
    let remembered = !can_query && socket_scan::remember_all();
    let [create, map] = raw::new_log_arguments();
    let can_make_log = permits(libc::SYS_openat, create)
        && permits(libc::SYS_mmap, map)
        && all(&[libc::SYS_fallocate, libc::SYS_close, libc::SYS_madvise]);
    if !can_make_log {
        // Flags by which libc makes children.
        let fork = (libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD) as usize;
        confinement::provide_reserve(KeptAbilities {
            populate: log_reserve::can_populate()
                && permits(libc::SYS_madvise, raw::populate_arguments()),
            socket: remembered
                || [libc::SYS_socket, libc::SYS_socketpair]
                    .iter()
                    .any(|number| permits(*number, [0; 6]))
                || can_query && socket_scan::any_socket(),
            fork: permits(libc::SYS_clone, [fork, 0, 0, PAGE, PAGE, 0]),
        });
    }
}

/// Makes a call that restricts the system calls of the process to those that `filter` permits. What
/// would need other system calls is prepared before.
fn apply_filter(filter: FilterCopy, call: impl FnOnce() -> c_long) -> c_long {
    identity::find_thread_id();
    provide_after(&filter);
    let result = call();
    if result >= 0 {
        seccomp::enforce_filter(filter);
    } else {
        seccomp::discard(filter);
    }
    result
}

/// Makes a call that restricts the system calls of the process to those that the filter `program`
/// permits.
fn restrict_to(program: c_long, call: impl FnOnce() -> c_long) -> c_long {
    if confinement::is_vfork_child() {
        return call();
    }
    // SAFETY: the argument that the program passes to the kernel.
    let copy =
        unsafe { seccomp::copy_filter(core::ptr::with_exposed_provenance(program as usize)) };
    match copy {
        Some(copy) => apply_filter(copy, call),
        None => call_unprepared(call),
    }
}

/// Makes a call that sets seccomp's strict mode, which permits almost no system call.
fn restrict_strictly(call: impl FnOnce() -> c_long) -> c_long {
    if confinement::is_vfork_child() { call() } else { apply_filter(FilterCopy::NONE, call) }
}

/// Makes a call that the kernel is expected to refuse, without preparations. If the kernel accepts
/// it, no system call counts as permitted any more.
fn call_unprepared(call: impl FnOnce() -> c_long) -> c_long {
    let result = call();
    if result >= 0 {
        seccomp::permit_nothing();
    }
    result
}

/// Makes any `prctl`, and prepares for a seccomp filter that it sets.
///
/// # Safety
/// As for `prctl`, which is variadic like [`super::dup::fcntl`].
pub(crate) unsafe fn prctl(
    real: types::prctl,
    option: c_int,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { real(option, a, b, c, d) };
    if option != libc::PR_SET_SECCOMP {
        return call();
    }
    let result = match a as u32 {
        libc::SECCOMP_MODE_FILTER => restrict_to(b, || call().into()),
        _ => restrict_strictly(|| call().into()),
    };
    result as c_int
}

/// Hook of the system call `seccomp`, for which libc has no function. `call` makes the program's
/// call.
pub(crate) fn handle_seccomp(
    operation: c_long,
    flags: c_long,
    program: c_long,
    call: impl FnOnce() -> c_long,
) -> c_long {
    match operation as u32 {
        // Strict mode accepts neither flags nor a program.
        libc::SECCOMP_SET_MODE_STRICT if flags as u32 != 0 || program != 0 => call_unprepared(call),
        libc::SECCOMP_SET_MODE_STRICT => restrict_strictly(call),
        libc::SECCOMP_SET_MODE_FILTER => restrict_to(program, call),
        // Other operations only query.
        _ => call(),
    }
}
