//! Other programs, which are executed in place of this one or in a child of its own. Each is given
//! an environment in which it is recorded, too.

use core::ffi::{c_char, c_int, c_void};

use libc::pid_t;
use socket_log::encode::ProcessEvent;
use socket_log::layout::state as progress;

use super::announce;
use super::unseen::{self, ProgramName};
use crate::c_library::{real, types};
use crate::flows::closing;
use crate::log::process_events::{log_event, set_progress};
use crate::platform;
use crate::state::inherit::CompleteEnvironment;
use crate::state::settings;

/// Runs another program in place of this one by `call`. The new program will load this library
/// unless `refused`, the error for which it cannot open the library, is not 0. Returns only if the
/// call fails.
pub(crate) fn replace(
    program: &ProgramName,
    refused: c_int,
    call: impl FnOnce() -> c_int,
) -> c_int {
    let note = unseen::log_exec(program, refused);
    log_event(ProcessEvent::Exec, 0);
    set_progress(progress::REPLACED);
    let result = call();
    set_progress(progress::RUNNING);
    note.take_back();
    result
}

/// Array of strings that ends with a null pointer.
type Strings = *const *const c_char;

/// Environment for a new program: the variables `given` by the call and those of the recording,
/// put together in `complete`. `refused` is the error for which the program cannot open the
/// library, or 0.
///
/// # Safety
/// As for [`CompleteEnvironment::completed`].
unsafe fn environment(
    complete: &mut CompleteEnvironment,
    given: Strings,
    refused: c_int,
) -> Strings {
    // SAFETY: as the caller guarantees.
    unsafe { complete.completed(given, refused, announce::is_injected_in_other_root(refused)) }
}

/// Defines hooks of the functions that name a program by their first argument.
macro_rules! with_environment {
    ($($name:ident($program:ident: $of:ty) $named:expr;)*) => {$(
        /// Executes a program in place of this one, with an environment in which it is recorded.
        ///
        /// # Safety
        /// As for the function of the same name.
        pub(crate) unsafe fn $name(
            real: types::$name,
            $program: $of,
            arguments: Strings,
            variables: Strings,
        ) -> c_int {
            let mut complete = CompleteEnvironment::new();
            let refused = settings::library_open_error();
            // SAFETY: the program's own call and environment.
            replace(&$named, refused, || unsafe {
                real($program, arguments, environment(&mut complete, variables, refused))
            })
        }
    )*};
}

with_environment! {
    execve(path: *const c_char) ProgramName::Path(path);
    execvpe(file: *const c_char) ProgramName::Name(file);
    fexecve(fd: c_int) ProgramName::Opened(fd);
}

/// # Safety
/// As for `execv`.
pub(crate) unsafe fn execv(_: types::execv, path: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the program's own call, with an explicit environment.
    unsafe { execve(real!(execve), path, arguments, platform::environment::present_environment()) }
}

/// # Safety
/// As for `execvp`.
pub(crate) unsafe fn execvp(_: types::execvp, file: *const c_char, arguments: Strings) -> c_int {
    // SAFETY: the program's own call, with an explicit environment.
    unsafe {
        execvpe(real!(execvpe), file, arguments, platform::environment::present_environment())
    }
}

/// # Safety
/// As for `execveat`.
pub(crate) unsafe fn execveat(
    real: types::execveat,
    directory: c_int,
    path: *const c_char,
    arguments: Strings,
    variables: Strings,
    flags: c_int,
) -> c_int {
    let (mut complete, refused) = (CompleteEnvironment::new(), settings::library_open_error());
    let program = ProgramName::Below(directory, path);
    // SAFETY: the program's own call and environment.
    replace(&program, refused, || unsafe {
        real(directory, path, arguments, environment(&mut complete, variables, refused), flags)
    })
}

/// Starts a program in a child, announces it to a recorder if it cannot load the library, and logs
/// the child.
///
/// # Safety
/// As for `posix_spawn` or `posix_spawnp`.
pub(crate) unsafe fn spawn(
    real: types::posix_spawn,
    child: *mut pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    variables: Strings,
) -> c_int {
    let (mut complete, refused) = (CompleteEnvironment::new(), settings::library_open_error());
    let announced = unseen::announce_spawn(&ProgramName::Name(path), refused, !actions.is_null());
    let mut pid = 0;
    // SAFETY: the program's own call and environment; a null place for the pid is allowed.
    let result = unsafe {
        real(
            &mut pid,
            path,
            actions,
            attributes,
            arguments,
            environment(&mut complete, variables, refused),
        )
    };
    if result == 0 {
        if !child.is_null() {
            // SAFETY: the program's place for the pid.
            unsafe { *child = pid };
        }
        log_event(ProcessEvent::Spawn, pid);
        if announced.is_none() {
            unseen::log_spawned(&ProgramName::Name(path), refused, pid as u32);
        }
    } else if let Some(announced) = announced {
        announced.report_failure();
    }
    result
}

/// Starts a program as [`spawn`] does. The call returns a descriptor of the child, not its id.
///
/// # Safety
/// As for `pidfd_spawn` or `pidfd_spawnp`.
pub(crate) unsafe fn pidfd_spawn(
    real: types::pidfd_spawn,
    child: *mut c_int,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Strings,
    variables: Strings,
) -> c_int {
    let (mut complete, refused) = (CompleteEnvironment::new(), settings::library_open_error());
    let announced = unseen::announce_spawn(&ProgramName::Name(path), refused, !actions.is_null());
    // SAFETY: the program's own call and environment.
    let result = unsafe {
        real(
            child,
            path,
            actions,
            attributes,
            arguments,
            environment(&mut complete, variables, refused),
        )
    };
    if result != 0
        && let Some(announced) = announced
    {
        announced.report_failure();
    }
    match result {
        0 => {
            // SAFETY: libc has just written the child's descriptor.
            closing::clear_reused(unsafe { *child });
            // The child's id is not known: only the descriptor identifies it.
            log_event(ProcessEvent::Spawn, 0);
            0
        }
        // A libc without the function answers like a kernel that lacks the required call.
        -1 => libc::ENOSYS,
        error => error,
    }
}
