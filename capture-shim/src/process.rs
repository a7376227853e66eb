//! What befalls the process: children, another program in its place, another user, its end.

use core::ffi::{c_char, c_int, c_long, c_void};
use core::sync::atomic::Ordering::Relaxed;

use libc::{pid_t, termios, uid_t, winsize};
use socket_log::encode::{self, ProcessEvent};
use socket_log::layout::state as progress;

use crate::environment::{self, Complete};
use crate::hooks::{real, types};
use crate::{clock, descriptors, fds, log, raw, segment, start, state, thread, tls};

fn event(event: ProcessEvent, value: c_int) {
    if let Some(writer) = log::writer() {
        let now = clock::now();
        writer.record(&encode::process(now, event, value), now);
    }
}

fn set_progress(value: u32) {
    if let Some(header) = log::writer().and_then(log::Writer::header) {
        header.state.store(value, Relaxed);
    }
}

/// # Safety
/// As `fork`.
pub(crate) unsafe fn fork(real: types::fork) -> pid_t {
    // SAFETY: the program's own call.
    let pid = unsafe { real() };
    match pid {
        0 => begin_child(),
        1.. => event(ProcessEvent::Fork, pid),
        _ => {}
    }
    pid
}

/// A child gets its log at once, so that it is seen even if it does nothing.
fn begin_child() {
    let Some(state) = state::current() else { return };
    // Of the threads that were about to begin, none came along; and this one is now the first of its process.
    thread::forget_beginnings();
    tls::current().creator.store(0, Relaxed);
    if !state::is_wiped_on_fork() {
        fds::forget_all(state.descriptors.load(Relaxed));
        // SAFETY: the child has one thread, and zeros are a valid state.
        unsafe { core::ptr::from_ref(state).cast_mut().write_bytes(0, 1) };
    }
    start::begin(state);
}

/// What the tail jump of `vfork` needs: libc's own, and a thread that will look at who it is before it logs.
extern "C" fn before_vfork() -> *const c_void {
    // Attached first: the child must not be taken for the thread, even if it is the first to log.
    let _ = log::writer();
    log::set_aside();
    // What the last child left: this one may need the place.
    environment::reclaim();
    crate::hooks::functions::vfork.address().cast()
}

/// `vfork` returns twice into the frame of its caller, which no function of ours may stand in between.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> pid_t {
    core::arch::naked_asm!("sub rsp, 8", "call {before}", "add rsp, 8", "jmp rax", before = sym before_vfork)
}

/// `vfork` returns twice into the frame of its caller, which no function of ours may stand in between.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn vfork() -> pid_t {
    core::arch::naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "bl {before}",
        "ldp x29, x30, [sp], #16",
        "mov x16, x0",
        "br x16",
        before = sym before_vfork,
    )
}

/// The other name of `vfork`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __vfork() -> pid_t {
    core::arch::naked_asm!("jmp {vfork}", vfork = sym vfork)
}

/// The other name of `vfork`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn __vfork() -> pid_t {
    core::arch::naked_asm!("b {vfork}", vfork = sym vfork)
}

/// Runs another program in the place of this one. Comes back only if that fails.
pub(crate) fn replace(call: impl FnOnce() -> c_int) -> c_int {
    event(ProcessEvent::Exec, 0);
    set_progress(progress::REPLACED);
    let result = call();
    set_progress(progress::RUNNING);
    result
}

type Strings = *const *const c_char;

/// # Safety
/// As `execve`.
pub(crate) unsafe fn execve(
    real: types::execve,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let mut complete = Complete::new();
    // SAFETY: the program's own call and environment.
    replace(|| unsafe { real(path, arguments, complete.of(environment)) })
}

/// # Safety
/// As `execv`.
pub(crate) unsafe fn execv(_: types::execv, path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the program's own call, with its environment said.
    unsafe { execve(real!(execve), path, arguments, environment::present()) }
}

/// # Safety
/// As `execvpe`.
pub(crate) unsafe fn execvpe(
    real: types::execvpe,
    file: *const c_char,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let mut complete = Complete::new();
    // SAFETY: the program's own call and environment.
    replace(|| unsafe { real(file, arguments, complete.of(environment)) })
}

/// # Safety
/// As `execvp`.
pub(crate) unsafe fn execvp(_: types::execvp, file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the program's own call, with its environment said.
    unsafe { execvpe(real!(execvpe), file, arguments, environment::present()) }
}

/// # Safety
/// As `fexecve`.
pub(crate) unsafe fn fexecve(
    real: types::fexecve,
    fd: c_int,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let mut complete = Complete::new();
    // SAFETY: the program's own call and environment.
    replace(|| unsafe { real(fd, arguments, complete.of(environment)) })
}

/// # Safety
/// As `execveat`.
pub(crate) unsafe fn execveat(
    real: types::execveat,
    directory: c_int,
    path: *const c_char,
    arguments: Strings,
    environment: Strings,
    flags: c_int,
) -> c_int {
    let mut complete = Complete::new();
    // SAFETY: the program's own call and environment.
    replace(|| unsafe { real(directory, path, arguments, complete.of(environment), flags) })
}

/// # Safety
/// As `posix_spawn` or `posix_spawnp`.
pub(crate) unsafe fn spawn(
    real: types::posix_spawn,
    child: *mut pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let mut complete = Complete::new();
    let mut pid = 0;
    // SAFETY: the program's own call and environment; a null place for the pid is allowed.
    let result = unsafe { real(&mut pid, path, actions, attributes, arguments, complete.of(environment)) };
    if result == 0 {
        if !child.is_null() {
            // SAFETY: the program's place for the pid.
            unsafe { *child = pid };
        }
        event(ProcessEvent::Spawn, pid);
    }
    result
}

/// # Safety
/// As `pidfd_spawn` or `pidfd_spawnp`.
pub(crate) unsafe fn pidfd_spawn(
    real: types::pidfd_spawn,
    child: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    environment: Strings,
) -> c_int {
    let mut complete = Complete::new();
    // SAFETY: the program's own call and environment.
    let result = unsafe { real(child, path, actions, attributes, arguments, complete.of(environment)) };
    match result {
        0 => {
            // SAFETY: libc has just written the child's descriptor.
            descriptors::fresh(unsafe { *child });
            // Only the descriptor names the child.
            event(ProcessEvent::Spawn, 0);
            0
        }
        // A libc without the function answers like a kernel without what it needs.
        -1 => libc::ENOSYS,
        error => error,
    }
}

/// # Safety
/// As `clone`. The child begins with its own function on its own stack, so this frame is the parent's alone; the
/// last three arguments are any value where the program gave none.
#[expect(clippy::too_many_arguments, reason = "as many as libc's function has, and that function")]
pub(crate) unsafe fn clone(
    real: types::clone,
    entry: *const c_void,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent: *mut c_void,
    local: *mut c_void,
    child: *mut c_void,
) -> c_int {
    let (shares_memory, has_own_local) = (flags & libc::CLONE_VM != 0, flags & libc::CLONE_SETTLS != 0);
    if shares_memory && !has_own_local {
        // As with `vfork`: the child has this thread's place in the log, and must not use it.
        let _ = log::writer();
        log::set_aside();
    }
    // SAFETY: the program's own call.
    let pid = unsafe { real(entry, stack, flags, argument, parent, local, child) };
    if pid > 0 && !shares_memory {
        event(ProcessEvent::Fork, pid);
    } else if pid > 0 && flags & libc::CLONE_VFORK != 0 {
        event(ProcessEvent::Spawn, pid);
    }
    pid
}

/// # Safety
/// As `daemon`.
pub(crate) unsafe fn daemon(real: types::daemon, stay: c_int, keep: c_int) -> c_int {
    // Where it succeeds, the process ends inside, and another one comes back.
    set_progress(progress::EXITED);
    // SAFETY: the program's own call.
    let result = unsafe { real(stay, keep) };
    if result == 0 {
        begin_child();
    } else {
        set_progress(progress::RUNNING);
    }
    result
}

/// # Safety
/// As `forkpty`.
pub(crate) unsafe fn forkpty(
    real: types::forkpty,
    main: *mut c_int,
    name: *mut c_char,
    terminal: *const termios,
    size: *const winsize,
) -> pid_t {
    // SAFETY: the program's own call.
    let pid = unsafe { real(main, name, terminal, size) };
    match pid {
        0 => begin_child(),
        1.. => {
            // SAFETY: libc has just written the descriptor.
            descriptors::fresh(unsafe { *main });
            event(ProcessEvent::Fork, pid);
        }
        _ => {}
    }
    pid
}

/// # Safety
/// As `_exit`.
pub(crate) unsafe fn exit(real: types::_exit, status: c_int) -> c_int {
    ended(status);
    // SAFETY: the program's own call.
    unsafe { real(status) }
}

/// The process ends.
pub(crate) fn ended(status: c_int) {
    event(ProcessEvent::Exit, status);
    set_progress(progress::EXITED);
}

extern "C" fn on_exit(status: c_int, _: *mut c_void) {
    ended(status);
}

/// Asks libc to tell of the end by `exit` or by a return from `main`, which no hook sees.
pub(crate) fn at_exit() {
    type OnExit = unsafe extern "C" fn(extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int;
    // SAFETY: asks for a name; glibc has the function, musl has not.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"on_exit".as_ptr()) };
    // That it is not there is no error which the program should find.
    // SAFETY: takes nothing.
    unsafe { libc::dlerror() };
    if !address.is_null() {
        // SAFETY: the function's type as documented.
        unsafe { core::mem::transmute::<*mut c_void, OnExit>(address)(on_exit, core::ptr::null_mut()) };
    }
}

/// Makes room in the log while that is possible.
fn reserve(writer: log::Writer) {
    if let Some(header) = writer.header() {
        segment::reserve(writer.state(), header);
    }
}

/// The log goes to the user as whom the process will run, which could not open it again otherwise. And it gets room
/// ahead, since that user may not reach it by its path.
fn hand_over(user: uid_t) {
    if user != uid_t::MAX
        && user != 0
        && !raw::is_sealed()
        && raw::geteuid() == 0
        && let Some(writer) = log::writer()
    {
        reserve(writer);
        raw::chown(writer.state().path(), user);
    }
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

/// # Safety
/// As `chroot`, behind which the log has no path any more, and can grow only into what it has.
pub(crate) unsafe fn chroot(real: types::chroot, path: *const c_char) -> c_int {
    if !raw::is_sealed()
        && let Some(writer) = log::writer()
    {
        reserve(writer);
    }
    // SAFETY: the program's own call.
    unsafe { real(path) }
}

/// Restricts the system calls of the process by `call`, after which the log can grow only into what it has.
fn restrict(call: impl FnOnce() -> c_long) -> c_long {
    if !raw::is_sealed()
        && let Some(writer) = log::writer()
    {
        reserve(writer);
    }
    let result = call();
    if result >= 0 {
        raw::seal();
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
    if option == libc::PR_SET_SECCOMP {
        // SAFETY: the program's own call.
        restrict(|| unsafe { real(option, a, b, c, d) }.into()) as c_int
    } else {
        // SAFETY: the program's own call.
        unsafe { real(option, a, b, c, d) }
    }
}

/// `seccomp`, which libc has no function for. `call` makes the program's call.
pub(crate) fn seccomp(operation: c_long, call: impl FnOnce() -> c_long) -> c_long {
    // Strict mode, and a filter; other operations only ask.
    if matches!(operation, 0 | 1) { restrict(call) } else { call() }
}
