//! Events of the process: children with a copy of its memory, and its end.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use libc::{pid_t, termios, winsize};
use socket_log::encode::ProcessEvent;
#[cfg(feature = "injected")]
use socket_log::layout::lost;
use socket_log::layout::state as progress;

use super::{past_libc, rights, threads, unseen};
use crate::c_library::{linker, types};
use crate::descriptors::table;
use crate::flows::closing;
use crate::log::process_events::{log_event, set_progress};
use crate::log::{self, children_without_log, keep, log_end};
use crate::state::{self, child_birth, thread};

/// Prepares for a child with a copy of this process's memory: completes this process's entry in the
/// lineage that the child inherits, and shares the memory in which the child counts itself if it
/// can make no log.
fn prepare_child() {
    child_birth::complete_birth();
    if let Some(writer) = log::existing_writer() {
        children_without_log::share_counter(writer.state());
    }
}

/// Writes the count of this process's children without a log so far into the log's header.
fn collect_counts() {
    if let Some(writer) = log::existing_writer()
        && let Some(header) = writer.header()
    {
        children_without_log::collect_counter(writer.state(), header);
    }
}

/// # Safety
/// As for `fork`.
pub(crate) unsafe fn fork(real: types::fork) -> pid_t {
    prepare_child();
    // SAFETY: the program's own call.
    let pid = unsafe { real() };
    match pid {
        0 => begin_child(),
        1.. => {
            log_event(ProcessEvent::Fork, pid);
            collect_counts();
        }
        _ => {}
    }
    pid
}

/// Makes and logs a fork in a process into which the library was injected. `call` returns in the
/// parent only.
#[cfg(feature = "injected")]
pub(crate) fn log_fork(call: impl FnOnce() -> pid_t) -> pid_t {
    // No hook runs in the child, which would find the notes, and write them once more.
    unseen::collect_notes();
    prepare_child();
    let pid = call();
    if pid > 0 {
        log_event(ProcessEvent::Fork, pid);
        collect_counts();
    }
    pid
}

/// Prepares for a `clone` with these flags. Its child may continue where no hook prepares it, so
/// that a copy of a note would be recorded a second time if the child executes a program.
pub(crate) fn prepare_clone(flags: i32) {
    child_birth::complete_birth();
    rights::keep_for_new_mounts(flags);
    if flags & libc::CLONE_VM == 0 {
        unseen::collect_notes();
    }
}

/// Flags of a `clone3` with the arguments at `address`; 0 if they cannot be read.
///
/// # Safety
/// The kernel will read the arguments, or refuse the call.
pub(crate) unsafe fn clone3_flags(address: i64) -> i32 {
    let flags: *const u64 = core::ptr::with_exposed_provenance(address as usize);
    if !crate::platform::raw::is_readable(flags) {
        return 0;
    }
    // SAFETY: just found readable.
    unsafe { flags.read() as i32 }
}

/// Prepares a forked child, which begins without a log and gets one when it uses a socket.
fn begin_child() {
    let Some(state) = state::current_state() else { return };
    // None of the threads that were about to begin exists in the child, and this thread is now the
    // first of its process.
    threads::forget_starting();
    thread::current_thread().creator.store(0, Relaxed);
    if !state::is_wiped_on_fork() {
        table::forget_all(state.descriptors.load(Relaxed));
        // SAFETY: the child has one thread, and zeros are a valid state.
        unsafe { core::ptr::from_ref(state).cast_mut().write_bytes(0, 1) };
    }
    thread::current_thread().tid.store(0, Relaxed);
    keep::begin_child();
    unseen::begin_child();
    child_birth::note_birth();
}

/// Makes a child or a thread, and logs a child.
///
/// # Safety
/// As for `clone`. The child begins with its own function on its own stack, so only the parent uses
/// this frame; the last three arguments are any value if the program passed none.
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
    let (shares_memory, has_own_local) =
        (flags & libc::CLONE_VM != 0, flags & libc::CLONE_SETTLS != 0);
    if shares_memory && !has_own_local {
        // As with `vfork`, the child has this thread's storage, and must not write to its chunk of
        // the log.
        log::begin_vfork();
    }
    prepare_clone(flags);
    // SAFETY: the program's own call.
    let pid = unsafe { real(entry, stack, flags, argument, parent, local, child) };
    if pid > 0 && !shares_memory {
        log_event(ProcessEvent::Fork, pid);
    } else if pid > 0 && flags & libc::CLONE_VFORK != 0 {
        log_event(ProcessEvent::Spawn, pid);
    }
    pid
}

/// Runs a command, whose process inherits the lineage from the environment.
///
/// # Safety
/// As for `system`.
pub(crate) unsafe fn system(real: types::system, command: *const c_char) -> c_int {
    // Libc starts the shell with the process's environment, which must have its lineage by then.
    child_birth::complete_birth();
    // SAFETY: the program's own call.
    unsafe { real(command) }
}

/// # Safety
/// As for `wordexp`, which starts a shell for each command in the words.
pub(crate) unsafe fn wordexp(
    real: types::wordexp,
    words: *const c_char,
    expanded: *mut c_void,
    flags: c_int,
) -> c_int {
    child_birth::complete_birth();
    // SAFETY: the program's own call.
    unsafe { real(words, expanded, flags) }
}

/// # Safety
/// As for `daemon`.
pub(crate) unsafe fn daemon(real: types::daemon, stay: c_int, keep: c_int) -> c_int {
    // If the call succeeds, the process ends in it, and its child returns.
    child_birth::complete_birth();
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
/// As for `forkpty`.
pub(crate) unsafe fn forkpty(
    real: types::forkpty,
    main: *mut c_int,
    name: *mut c_char,
    terminal: *const termios,
    size: *const winsize,
) -> pid_t {
    child_birth::complete_birth();
    // SAFETY: the program's own call.
    let pid = unsafe { real(main, name, terminal, size) };
    match pid {
        0 => begin_child(),
        1.. => {
            // SAFETY: libc has just written the descriptor.
            closing::clear_reused(unsafe { *main });
            log_event(ProcessEvent::Fork, pid);
        }
        _ => {}
    }
    pid
}

/// Logs the end of the process, and ends it.
///
/// # Safety
/// As for `_exit`.
pub(crate) unsafe fn exit(real: types::_exit, status: c_int) -> c_int {
    log_process_end(status);
    // SAFETY: the program's own call.
    unsafe { real(status) }
}

/// Logs the end of the process.
pub(crate) fn log_process_end(status: c_int) {
    if child_birth::is_incomplete() {
        return; // The child has no log, and no child of its own has left a note.
    }
    past_libc::log_at_end();
    unseen::collect_notes();
    collect_counts();
    log_event(ProcessEvent::Exit, status);
    set_progress(progress::EXITED);
    log_end::end_log_of_process();
}

/// Ends the log of a process that continues without the library. `skipped` is the number of calls
/// that were made without a hook. Returns whether the log, if there is one, now records that the
/// library has left.
#[cfg(feature = "injected")]
pub(crate) fn leave_process(skipped: u64) -> bool {
    unseen::collect_notes();
    collect_counts();
    if let Some(writer) = log::existing_writer() {
        writer.count_lost_records(lost::BUSY, skipped);
    }
    set_progress(progress::LEFT);
    // SAFETY: null, or a mapping that the caller removes afterwards.
    let header =
        state::current_state().and_then(|state| unsafe { state.header.load(Relaxed).as_ref() });
    log_end::end_log_for_good();
    header.is_none_or(|header| header.state.load(Relaxed) == progress::LEFT)
}

/// Exit status of the process plus one, once libc has nothing left to do but to write out its
/// buffered files; 0 before.
static EXIT_STATUS: AtomicU64 = AtomicU64::new(0);

/// Logs the end of the process. Libc calls this function.
extern "C" fn on_exit(status: c_int, _: *mut c_void) {
    log_process_end(status);
    EXIT_STATUS.store(1 + u64::from(status as u32), Relaxed);
}

/// Exit status of the process, once libc has nothing left to do but to write out its buffered
/// files; `None` before.
pub(crate) fn exit_status() -> Option<c_int> {
    EXIT_STATUS.load(Relaxed).checked_sub(1).map(|status| status as u32 as c_int)
}

/// Registers a callback for an end by `exit` or by a return from `main`, which no hook sees.
pub(crate) fn register_exit_callback() {
    // Glibc has the function, musl does not.
    if let Some(register) = linker::on_exit() {
        // SAFETY: libc's function and the callback live as long as the process.
        unsafe { register(on_exit, core::ptr::null_mut()) };
    }
}
