//! What a process gives up: its user, its root directory, its view of the files, system calls. Each may cost its log
//! the way by which it grows, and the logs of its children the way by which they begin; so both are provided for
//! before.

use core::ffi::{CStr, c_char, c_int, c_long};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use libc::uid_t;

use crate::hooks::types;
use crate::text::{PATH, Scratch, Text};
use crate::{describe, identity, log, raw, reserve, seccomp, spares};

/// Whether the paths that the process knew may lead elsewhere now. A child inherits that, and the mark.
static UPROOTED: AtomicBool = AtomicBool::new(false);

/// Whether the data directory is no more where it was.
pub(crate) fn is_uprooted() -> bool {
    UPROOTED.load(Relaxed)
}

/// Provides for a time without a way to the log's directory. With `much` room for children, where that may be all they
/// ever have.
fn provide(much: bool) {
    if let Some(writer) = log::writer()
        && let Some(header) = writer.header()
    {
        reserve::make(writer.state(), header);
        spares::make(writer.state(), header, much);
    }
}

/// The log goes to the user as whom the process will run, which could not open it again otherwise. Where that user cannot
/// reach the log's directory, the process is provided for.
fn hand_over(user: uid_t) {
    if user != uid_t::MAX
        && user != 0
        && raw::geteuid() == 0
        && let Some(writer) = log::writer()
    {
        let path = writer.state().path();
        if !is_open_to_all(path) {
            provide(false);
        }
        raw::chown(path, user);
    }
}

/// Whether every user is let through to the directory of the file `path`, as far as the modes say.
fn is_open_to_all(path: &CStr) -> bool {
    let Some(mut memory) = Scratch::new() else { return false };
    let prefix: &mut Text<PATH> = memory.text();
    for byte in path.to_bytes() {
        if *byte == b'/'
            && !prefix.as_bytes().is_empty()
            && raw::status(prefix.as_c_str()).is_none_or(|status| status.st_mode & 0o1 == 0)
        {
            return false;
        }
        prefix.push(&[*byte]);
    }
    prefix.is_whole() && !prefix.as_bytes().is_empty()
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
pub(crate) unsafe fn setresuid(real: types::setresuid, user: uid_t, effective: uid_t, saved: uid_t) -> c_int {
    hand_over(effective);
    // SAFETY: the program's own call.
    unsafe { real(user, effective, saved) }
}

/// Makes a call after which paths may lead elsewhere.
fn uproot(call: impl FnOnce() -> c_long) -> c_long {
    provide(false);
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
pub(crate) unsafe fn pivot_root(real: types::pivot_root, path: *const c_char, old: *const c_char) -> c_int {
    // SAFETY: the program's own call.
    uproot(|| unsafe { real(path, old) }.into()) as c_int
}

/// # Safety
/// As `setns`. A descriptor does not say of which kind its namespace is, unless the caller does.
pub(crate) unsafe fn setns(real: types::setns, fd: c_int, kind: c_int) -> c_int {
    // SAFETY: the program's own call.
    let call = || unsafe { real(fd, kind) };
    if kind != 0 && kind & libc::CLONE_NEWNS == 0 { call() } else { uproot(|| call().into()) as c_int }
}

/// # Safety
/// As `unshare`. Mounts of its own may hide the data directory later, so paths stay good, but not for sure.
pub(crate) unsafe fn unshare(real: types::unshare, flags: c_int) -> c_int {
    if flags & libc::CLONE_NEWNS != 0 {
        provide(false);
    }
    // SAFETY: the program's own call.
    unsafe { real(flags) }
}

/// A call that takes away rights on files (`landlock_restrict_self`).
pub(crate) fn fence(call: impl FnOnce() -> c_long) -> c_long {
    provide(false);
    call()
}

/// Makes a call that restricts the system calls of the process to what the filter `program` lets pass; null for next to
/// none.
fn restrict(program: *const libc::sock_fprog, call: impl FnOnce() -> c_long) -> c_long {
    identity::learn();
    provide(true);
    describe::remember_all();
    // SAFETY: what the program hands to the kernel.
    let copy = unsafe { seccomp::copy(program) };
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
        libc::SECCOMP_SET_MODE_FILTER => restrict(core::ptr::with_exposed_provenance(program as usize), call),
        // Others only ask.
        _ => call(),
    }
}
