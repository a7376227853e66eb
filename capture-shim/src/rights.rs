//! What a process gives up: its user, its root directory, its view of the files, system calls. Each
//! may cost its log the way by which it grows, and the logs of its children the way by which they
//! begin. Against the first three the way is kept ([`crate::keep`]), against the last what is
//! needed is made ahead, unless the filter permits it.

use core::ffi::{CStr, c_char, c_int, c_long};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use libc::uid_t;

use crate::hooks::types;
use crate::log::{self, Standing};
use crate::raw::PAGE;
use crate::text::{PATH, Scratch, Text};
use crate::{describe, identity, keep, raw, reserve, seccomp, segment, spares, start, state};

/// Whether the paths that the process knew may lead elsewhere now. A child inherits that, and the
/// mark.
static UPROOTED: AtomicBool = AtomicBool::new(false);

/// Whether the data directory is no more where it was.
pub(crate) fn is_uprooted() -> bool {
    UPROOTED.load(Relaxed)
}

/// Whether the caller is a `vfork` child, whose rights are its own while its memory is its
/// parent's, which must not be taken for a process that has given up anything.
fn is_aside() -> bool {
    log::state_of_table().is_none()
}

/// What a process can still do when it has given up something.
#[derive(Clone, Copy)]
struct Left {
    /// Whether it can give the pages of a mapping room.
    populate: bool,
    /// Whether it may use sockets: it has some, or can make them.
    socket: bool,
    /// Whether it can make children with a copy of its memory.
    fork: bool,
}

/// Provides for a time in which no log can be made, and none be opened.
fn provide(left: Left) {
    let Some(state) = state::current() else { return };
    if left.socket || left.fork {
        start::remember();
    }
    if let Standing::Silent(state) = log::standing()
        && left.socket
    {
        start::begin_ahead(state, if left.populate { segment::FIRST } else { reserve::AHEAD });
    } else if let Some(writer) = log::existing()
        && let Some(header) = writer.header()
    {
        reserve::make(state, header, !left.populate);
    }
    if left.fork {
        spares::make(state, !left.populate);
    }
}

/// The log goes to the user as whom the process will run, which could not open it again otherwise.
/// Where it is refused to give it away, or that user cannot reach the log's directory, the ways to
/// both are kept.
fn hand_over(user: uid_t) {
    if user == uid_t::MAX || user == raw::geteuid() || is_aside() {
        return;
    }
    let Some(mut memory) = Scratch::new() else { return };
    let path: &mut Text<PATH> = memory.text();
    start::push_home(path);
    let path = path.as_c_str();
    if raw::status(path).is_none() {
        // The new user may not be let to.
        start::make_directories();
    }
    let is_writable = raw::status(path).is_some_and(|status| status.st_mode & 0o7 == 0o7);
    let is_open = is_writable && is_open_to_all(path);
    if !is_open {
        keep::directory();
    }
    if !is_writable {
        // The last moment at which this process can make a log.
        provide(Left { populate: reserve::can_populate(), socket: true, fork: false });
    }
    if let Some(writer) = log::existing() {
        let is_given = raw::geteuid() == 0 && raw::chown(writer.state().path(), user);
        if !is_given || !is_open {
            keep::log(writer.state());
        }
    }
}

/// Whether every user is let through to the directory `path`, as far as the modes say.
fn is_open_to_all(path: &CStr) -> bool {
    let Some(mut memory) = Scratch::new() else { return false };
    let prefix: &mut Text<PATH> = memory.text();
    let mode =
        |prefix: &Text<PATH>| raw::status(prefix.as_c_str()).map(|status| status.st_mode & 0o7);
    for byte in path.to_bytes() {
        if *byte == b'/'
            && !prefix.as_bytes().is_empty()
            && mode(prefix).is_some_and(|mode| mode & 1 == 0)
        {
            return false;
        }
        prefix.push(&[*byte]);
    }
    prefix.is_whole()
}

/// # Safety
/// As `setuid` or `seteuid`.
pub(crate) unsafe fn setuid(real: types::setuid, user: uid_t) -> c_int {
    hand_over(user);
    // SAFETY: the program's own call.
    unsafe { real(user) }
}

/// # Safety
/// As `setreuid`.
pub(crate) unsafe fn setreuid(real: types::setreuid, user: uid_t, effective: uid_t) -> c_int {
    hand_over(effective);
    // SAFETY: the program's own call.
    unsafe { real(user, effective) }
}

/// # Safety
/// As `setresuid`.
pub(crate) unsafe fn setresuid(
    real: types::setresuid,
    user: uid_t,
    effective: uid_t,
    saved: uid_t,
) -> c_int {
    hand_over(effective);
    // SAFETY: the program's own call.
    unsafe { real(user, effective, saved) }
}

/// Makes a call that sets a limit, where `asked` is of which resource and to how much. With next to
/// no descriptors or size of files left, no log could be made.
fn limit(asked: Option<(c_int, u64)>, call: impl FnOnce() -> c_int) -> c_int {
    const DESCRIPTORS: u64 = 16;
    let is_hard = |(resource, most): (c_int, u64)| match resource as libc::__rlimit_resource_t {
        libc::RLIMIT_NOFILE => most < DESCRIPTORS,
        libc::RLIMIT_FSIZE => most < segment::FIRST as u64,
        _ => false,
    };
    if asked.is_some_and(is_hard) && !is_aside() {
        let socket = describe::any_socket();
        provide(Left { populate: reserve::can_populate(), socket, fork: false });
    }
    call()
}

/// What the program's `limit` is, which may be a wrong pointer.
fn wanted(resource: c_int, limit: *const libc::rlimit) -> Option<(c_int, u64)> {
    // SAFETY: found readable.
    (!limit.is_null() && raw::is_readable(limit)).then(|| (resource, unsafe { (*limit).rlim_cur }))
}

/// # Safety
/// As `setrlimit`.
pub(crate) unsafe fn setrlimit(
    real: types::setrlimit,
    resource: c_int,
    new: *const libc::rlimit,
) -> c_int {
    // SAFETY: the program's own call.
    limit(wanted(resource, new), || unsafe { real(resource, new) })
}

/// # Safety
/// As `prlimit`.
pub(crate) unsafe fn prlimit(
    real: types::prlimit,
    process: libc::pid_t,
    resource: c_int,
    new: *const libc::rlimit,
    old: *mut libc::rlimit,
) -> c_int {
    // SAFETY: the program's own call.
    limit(wanted(resource, new), || unsafe { real(process, resource, new, old) })
}

/// Makes a call after which paths may lead elsewhere.
fn uproot(call: impl FnOnce() -> c_long) -> c_long {
    if is_aside() {
        return call();
    }
    start::remember();
    keep::directory();
    let result = call();
    if result == 0 {
        UPROOTED.store(true, Relaxed);
    }
    result
}

/// # Safety
/// As `chroot`.
pub(crate) unsafe fn chroot(real: types::chroot, path: *const c_char) -> c_int {
    // SAFETY: the program's own call.
    uproot(|| unsafe { real(path) }.into()) as c_int
}

/// # Safety
/// As `pivot_root`.
pub(crate) unsafe fn pivot_root(
    real: types::pivot_root,
    path: *const c_char,
    old: *const c_char,
) -> c_int {
    // SAFETY: the program's own call.
    uproot(|| unsafe { real(path, old) }.into()) as c_int
}

/// # Safety
/// As `setns`. A descriptor does not say of which kind its namespace is, unless the caller does.
pub(crate) unsafe fn setns(real: types::setns, fd: c_int, kind: c_int) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { real(fd, kind) };
    if kind != 0 && kind & libc::CLONE_NEWNS == 0 {
        call()
    } else {
        uproot(|| call().into()) as c_int
    }
}

/// # Safety
/// As `unshare`. Mounts of its own may hide the data directory later, so paths stay good, but not
/// for sure.
pub(crate) unsafe fn unshare(real: types::unshare, flags: c_int) -> c_int {
    if flags & libc::CLONE_NEWNS != 0 && !is_aside() {
        keep::directory();
    }
    // SAFETY: the program's own call.
    unsafe { real(flags) }
}

/// A call that takes away rights on files (`landlock_restrict_self`).
pub(crate) fn fence(call: impl FnOnce() -> c_long) -> c_long {
    if !is_aside() {
        provide(Left { populate: reserve::can_populate(), socket: true, fork: true });
    }
    call()
}

/// Provides for a time behind a filter: for what it does not permit.
fn provide_behind(filter: &seccomp::Copy) {
    let permits = |number, arguments| filter.will_permit(number, &arguments);
    let all = |numbers: &[c_long]| numbers.iter().all(|number| permits(*number, [0; 6]));
    let can_ask = all(&[libc::SYS_getsockopt, libc::SYS_getsockname, libc::SYS_getpeername]);
    let remembered = !can_ask && describe::remember_all();
    let [create, map] = raw::of_new_log();
    let is_free = permits(libc::SYS_openat, create)
        && permits(libc::SYS_mmap, map)
        && all(&[libc::SYS_fallocate, libc::SYS_close, libc::SYS_madvise]);
    if !is_free {
        // By which libc makes children.
        let fork = (libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD) as usize;
        provide(Left {
            populate: reserve::can_populate() && permits(libc::SYS_madvise, raw::of_population()),
            socket: remembered
                || [libc::SYS_socket, libc::SYS_socketpair]
                    .iter()
                    .any(|number| permits(*number, [0; 6]))
                || can_ask && describe::any_socket(),
            fork: permits(libc::SYS_clone, [fork, 0, 0, PAGE, PAGE, 0]),
        });
    }
}

/// Makes a call that restricts the system calls of the process to what the filter `program` lets
/// pass; null for next to none.
fn restrict(program: *const libc::sock_fprog, call: impl FnOnce() -> c_long) -> c_long {
    if is_aside() {
        return call();
    }
    identity::learn();
    // SAFETY: what the program hands to the kernel.
    let copy = unsafe { seccomp::copy(program) };
    provide_behind(&copy);
    let result = call();
    if result >= 0 {
        seccomp::enforce(copy);
    }
    result
}

/// # Safety
/// As `prctl`, which is variadic like [`crate::aliases::fcntl`].
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
    let program = if a as u32 == libc::SECCOMP_MODE_FILTER { b } else { 0 };
    restrict(core::ptr::with_exposed_provenance(program as usize), || call().into()) as c_int
}

/// `seccomp`, which libc has no function for. `call` makes the program's call.
pub(crate) fn seccomp(operation: c_long, program: c_long, call: impl FnOnce() -> c_long) -> c_long {
    match operation as u32 {
        libc::SECCOMP_SET_MODE_STRICT => restrict(core::ptr::null(), call),
        libc::SECCOMP_SET_MODE_FILTER => {
            restrict(core::ptr::with_exposed_provenance(program as usize), call)
        }
        // Others only ask.
        _ => call(),
    }
}
