//! Outcome for a program: an injection, a reason for none, or an error. The program runs in any
//! case.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::patching::IncompatibleProgram;

use crate::blob::{PlacedAddresses, PrepareError};

/// Outcome of an exec.
#[derive(Debug)]
pub enum InjectionOutcome {
    /// The program runs with the blob.
    Injected(InjectedProgram),
    /// The program runs unchanged, for this reason.
    Left(SkipReason),
}

/// An injection that was made.
#[derive(Clone, Debug)]
pub struct InjectedProgram {
    /// Process id.
    pub process: u32,
    /// Path of the program.
    pub path: PathBuf,
    /// Addresses of the parts.
    pub placed: PlacedAddresses,
    /// Number of patches of the program's text.
    pub patches: usize,
    /// Time for which the program was stopped.
    pub stopped: Duration,
}

/// Reason why a program has no blob although nothing failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// The file gives privileges that a traced program does not get.
    GainsRights {
        /// The file.
        path: PathBuf,
        /// Kind of privilege.
        right: FilePrivilege,
    },
    /// The kernel has given the program privileges that its user does not have.
    Secure,
    /// `Prepare` returned no injection.
    Unwanted,
    /// The program would behave differently with the blob.
    Unsuited(IncompatibleProgram),
    /// No program was executed: the exec failed, the thread ended, or it took too long.
    NoExec,
    /// The program has 32-bit code.
    NotX86_64,
    /// The kernel does not let programs read and set the GS base themselves (before Linux 5.9).
    NoFsgsbase,
    /// The process is stopped (SIGSTOP).
    Stopped,
    /// A thread of the process uses its GS base.
    UsesGs,
    /// The first thread of the process has ended, and others run.
    FirstThreadEnded,
    /// Another recorder records the process.
    Recorded {
        /// Process id of the other recorder.
        by: u32,
    },
    /// The process has loaded the library at this path, which records it.
    HasLibrary(PathBuf),
    /// A filter may forbid system calls that the code makes.
    Filtered,
    /// The process sees other files under the same paths.
    OtherFiles,
    /// The file of the process's code no longer exists.
    Replaced(PathBuf),
    /// The process has executed another program, or ended.
    OtherProgram,
    /// The process's code is mapped so that a patch would change the file for all processes.
    SharedCode,
}

/// Source of privileges that a file gives to its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePrivilege {
    /// The setuid bit.
    SetUser,
    /// The setgid bit.
    SetGroup,
    /// Capabilities of the file.
    Capabilities,
}

impl fmt::Display for FilePrivilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FilePrivilege::SetUser => "setuid",
            FilePrivilege::SetGroup => "setgid",
            FilePrivilege::Capabilities => "capabilities",
        })
    }
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SkipReason::GainsRights { path, right } => {
                write!(f, "{} has {right}, which it would lose if it were traced", path.display())
            }
            SkipReason::Secure => f.write_str(
                "the program has privileges that its user does not have (setuid, capabilities), \
                 and is not recorded",
            ),
            SkipReason::Unwanted => f.write_str("it makes none of the recorded system calls"),
            SkipReason::Unsuited(why) => write!(f, "{why}"),
            SkipReason::NoExec => f.write_str("no other program was executed"),
            SkipReason::NotX86_64 => f.write_str("the program has 32-bit code"),
            SkipReason::NoFsgsbase => f.write_str(
                "the kernel does not let programs set the GS base (FSGSBASE, since Linux 5.9)",
            ),
            SkipReason::Stopped => f.write_str("it is stopped (SIGSTOP); resume it first"),
            SkipReason::UsesGs => f.write_str(
                "it was started by 'sockcap record', or uses the GS register itself, which the \
                 library needs",
            ),
            SkipReason::FirstThreadEnded => f.write_str(
                "its first thread has ended while others run, and the kernel shows no memory of \
                 such a process; start it with 'sockcap record' instead",
            ),
            SkipReason::Recorded { by } => {
                write!(f, "process {by} records it already; end that one first")
            }
            SkipReason::HasLibrary(path) => {
                write!(f, "it has {} loaded, which records it already", path.display())
            }
            SkipReason::Filtered => f.write_str(
                "it has a filter for system calls (seccomp) that may end it for the library's \
                 calls; start it with 'sockcap record' instead",
            ),
            SkipReason::OtherFiles => f.write_str(
                "it is in a container, or sees other files under the same paths; run sockcap there",
            ),
            SkipReason::Replaced(path) => write!(
                f,
                "{} is no longer the file that it was started from; restart it",
                path.display()
            ),
            SkipReason::OtherProgram => f.write_str(
                "it has ended, or has executed another \
                                                     program",
            ),
            SkipReason::SharedCode => {
                f.write_str("its code is mapped so that a patch would change the file (MAP_SHARED)")
            }
        }
    }
}

/// Failure. The program runs unchanged, unless the text states otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The crate does not support this machine or system.
    #[error("programs can only be injected into on Linux on x86-64")]
    Machine,
    /// There is no such process.
    #[error("there is no process {process}")]
    NoProcess {
        /// Process id.
        process: u32,
    },
    /// The recorder does not attach to a running process, for a reason.
    #[error("process {process}: {why}")]
    NotAttached {
        /// Process id.
        process: u32,
        /// Reason.
        why: SkipReason,
    },
    /// The kernel does not permit tracing a running process.
    #[error("process {process} may not be traced: {why}")]
    NotAllowed {
        /// Process id.
        process: u32,
        /// Reason and remedy.
        why: String,
    },
    /// Threads of a process stayed inside the code that is to be removed.
    #[error(
        "process {process} does not leave the library, which stays there and does nothing more; to \
         remove it later, start 'sockcap record -p {process}' and end it"
    )]
    StaysWithin {
        /// Process id.
        process: u32,
    },
    /// The code cannot be removed from a process.
    #[error(
        "{source}; the library stays in process {process}, and {}; to remove it, start 'sockcap \
         record -p {process}' and end it",
        remaining_effect(*.is_off)
    )]
    Stays {
        /// Process id.
        process: u32,
        /// Whether the library is switched off, so that it does nothing more.
        is_off: bool,
        /// Reason.
        source: Box<Error>,
    },
    /// No code of the blob runs in a process any more, but not all of it could be removed.
    #[error("process {process} is no longer recorded, but {what} could not be restored")]
    Remains {
        /// Process id.
        process: u32,
        /// Part that remains.
        what: String,
    },
    /// The blob's last function reported a failure.
    #[error("the log of process {process} does not say that its recording has ended")]
    NotEnded {
        /// Process id.
        process: u32,
    },
    /// A debugger has set a breakpoint on a patch.
    #[error("process {process} has a breakpoint at {address:#x}, on a jump to the library")]
    Breakpoint {
        /// Process id.
        process: u32,
        /// Address of the patch.
        address: u64,
    },
    /// A process makes copies of itself faster than the code is removed from them.
    #[error("process {process} is copied faster than its copies can be handled")]
    Copies {
        /// Process id.
        process: u32,
    },
    /// The kernel does not permit tracing a process.
    #[error("process {process} may not be traced: {source}{}", tracer_hint(*.tracer))]
    Seize {
        /// Process id.
        process: u32,
        /// Id of the process that traces `process` already; 0 if there is none.
        tracer: u32,
        /// Error of the kernel.
        source: io::Error,
    },
    /// The process ended during a step.
    #[error("process {process} ended ({step})")]
    Gone {
        /// Process id.
        process: u32,
        /// Step in progress.
        step: &'static str,
    },
    /// The process did not stop in time.
    #[error("process {process} did not stop in time ({step})")]
    Timeout {
        /// Process id.
        process: u32,
        /// Step in progress.
        step: &'static str,
    },
    /// The process stopped for an unexpected reason.
    #[error("process {process} stopped unexpectedly, by {stop} ({step})")]
    Unexpected {
        /// Process id.
        process: u32,
        /// Description of the stop.
        stop: String,
        /// Step in progress.
        step: &'static str,
    },
    /// A request to the kernel failed.
    #[error("process {process}: {step}: {source}")]
    Kernel {
        /// Process id.
        process: u32,
        /// Step in progress.
        step: &'static str,
        /// Error of the kernel.
        source: io::Error,
    },
    /// A file of a process in `/proc` is malformed.
    #[error("process {process}: {file} is malformed")]
    Unreadable {
        /// Process id.
        process: u32,
        /// Name of the file.
        file: &'static str,
    },
    /// No free addresses near the program.
    #[error(
        "process {process} has no {} KB of free addresses within 2 GB below its code, where the \
         library must lie; {}",
        bytes.div_ceil(1024),
        room_hint(*.is_running)
    )]
    NoRoom {
        /// Process id.
        process: u32,
        /// Bytes that are needed.
        bytes: u64,
        /// Whether the process was running already: its program may have taken the addresses.
        is_running: bool,
    },
    /// No unused bytes in pages of code.
    #[error("process {process} has no unused bytes of code for the injection")]
    NoFoothold {
        /// Process id.
        process: u32,
    },
    /// The blob's description contradicts itself.
    #[error("the description of the code to inject is wrong: {0}")]
    Blob(&'static str),
    /// The implementation of `Prepare` failed.
    #[error("the injection could not be prepared: {0}")]
    Prepare(#[source] PrepareError),
    /// A patch lies outside the program's code, or differs in length from the bytes that it
    /// replaces.
    #[error("process {process}: the patch at {address:#x} is not in the program's code")]
    BadPatch {
        /// Process id.
        process: u32,
        /// Address of the patch.
        address: u64,
    },
    /// The program has other bytes than the ones to be replaced.
    #[error("process {process} has other bytes at {address:#x} than expected: {found:02x?}")]
    OtherBytes {
        /// Process id.
        process: u32,
        /// Address of the patch.
        address: u64,
        /// Bytes that were found.
        found: Vec<u8>,
    },
    /// The blob's first function refused.
    #[error("process {process}: the injected code refused to begin (status {status})")]
    Initialise {
        /// Process id.
        process: u32,
        /// Result of the function.
        status: i32,
    },
    /// The announcement of an exec could not be used.
    #[error("an announcement was not used: {0}")]
    Announcement(String),
    /// The socket for announcements cannot be created or used.
    #[error("{}: {source}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// Error of the kernel.
        source: io::Error,
    },
    /// No thread could be started for the work.
    #[error("no thread can be started: {0}")]
    Thread(#[source] io::Error),
    /// A program cannot be started.
    #[error("{}: {source}", path.display())]
    Spawn {
        /// The program.
        path: PathBuf,
        /// Error of the kernel.
        source: io::Error,
    },
}

impl Error {
    /// Outcome of a failed preparation: the program is left unchanged if it is incompatible with
    /// the blob.
    pub(crate) fn from_preparation(reason: PrepareError) -> Result<SkipReason, Error> {
        match reason.downcast_ref() {
            Some(crate::patching::PatchError::Unsuited(unsuited)) => {
                Ok(SkipReason::Unsuited(*unsuited))
            }
            _ => Err(Error::Prepare(reason)),
        }
    }

    /// Error for a running process to which the recorder does not attach.
    pub(crate) fn skipped(process: u32, why: SkipReason) -> Error {
        Error::NotAttached { process, why }
    }
}

/// Text on the effect of a library that stays.
fn remaining_effect(is_off: bool) -> &'static str {
    if is_off { "records nothing more" } else { "continues to record" }
}

/// Advice for a process without room for the library.
fn room_hint(is_running: bool) -> &'static str {
    if is_running {
        "start it with 'sockcap record' instead, with --inject if it loads no library"
    } else {
        "strace sees what it does, see 'sockcap import strace --help'"
    }
}

/// Text on the process that already traces another one.
fn tracer_hint(tracer: u32) -> String {
    match tracer {
        0 => String::new(),
        tracer => format!(" (process {tracer} traces it already)"),
    }
}
