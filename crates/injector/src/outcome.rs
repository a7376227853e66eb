//! What came of a program: an injection, a reason why there is none, or an error. Whatever it is,
//! the program runs.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::patching::IncompatibleProgram;

use crate::blob::{PlacedAddresses, PrepareError};

/// What came of an exec.
#[derive(Debug)]
pub enum InjectionOutcome {
    /// The program runs with the blob.
    Injected(InjectedProgram),
    /// The program runs as it is, as it has to.
    Left(SkipReason),
}

/// An injection that was made.
#[derive(Clone, Debug)]
pub struct InjectedProgram {
    /// Number of the process.
    pub process: u32,
    /// Path of the program.
    pub path: PathBuf,
    /// Where the parts lie.
    pub placed: PlacedAddresses,
    /// Number of changes of the program's text.
    pub patches: usize,
    /// Time for which the program was kept from running.
    pub stopped: Duration,
}

/// Reason why a program has no blob, where nothing failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// The file has rights that a traced program does not get.
    GainsRights {
        /// The file.
        path: PathBuf,
        /// What it has.
        right: FilePrivilege,
    },
    /// The kernel has given the program rights that its user does not have.
    Secure,
    /// `Prepare` wants nothing in it.
    Unwanted,
    /// The program would not go on as without it.
    Unsuited(IncompatibleProgram),
    /// The program executed no other one: it failed to, ended, or did not come to it in time.
    NoExec,
    /// The program has 32-bit code.
    NotX86_64,
    /// The kernel does not let programs read and set the GS base themselves (before Linux 5.9).
    NoFsgsbase,
    /// The process is stopped (SIGSTOP).
    Stopped,
    /// A thread of the process has something at its GS base.
    UsesGs,
    /// The first thread of the process has ended, and others run.
    FirstThreadEnded,
    /// Another process records it.
    Recorded {
        /// Number of that process.
        by: u32,
    },
    /// The process has a library loaded that records it.
    HasLibrary(PathBuf),
    /// A filter may forbid the process what the code does.
    Filtered,
    /// The process sees other files under the same paths.
    OtherFiles,
    /// The file of the process's code is not there any more.
    Replaced(PathBuf),
    /// The process has become another program, or ended.
    OtherProgram,
    /// The process's code is mapped so that a change would be one of the file, for all.
    SharedCode,
}

/// What gives a file's program rights that its user does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePrivilege {
    /// The bit of setuid.
    SetUser,
    /// The bit of setgid.
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
                "the program has rights that its user does not have (setuid, capabilities), and is \
                 not recorded",
            ),
            SkipReason::Unwanted => {
                f.write_str("it has no place that makes system calls of those that are recorded")
            }
            SkipReason::Unsuited(why) => write!(f, "{why}"),
            SkipReason::NoExec => f.write_str("no other program was executed"),
            SkipReason::NotX86_64 => f.write_str("the program has 32-bit code"),
            SkipReason::NoFsgsbase => f.write_str(
                "the kernel does not let programs set the GS base (FSGSBASE, since Linux 5.9)",
            ),
            SkipReason::Stopped => f.write_str("it is stopped (SIGSTOP); let it go on first"),
            SkipReason::UsesGs => f.write_str(
                "it was started by 'sockcap record', or uses the GS register itself, which the \
                 library needs",
            ),
            SkipReason::FirstThreadEnded => f.write_str(
                "its first thread has ended while others run, and the kernel shows no memory of \
                 such a process; start it by 'sockcap record' instead",
            ),
            SkipReason::Recorded { by } => {
                write!(f, "process {by} records it already; end that one first")
            }
            SkipReason::HasLibrary(path) => {
                write!(f, "it has {} loaded, which records it already", path.display())
            }
            SkipReason::Filtered => f.write_str(
                "it has a filter for system calls (seccomp) that may end it for what the library \
                 does; start it by 'sockcap record' instead",
            ),
            SkipReason::OtherFiles => f.write_str(
                "it is in a container, or sees other files under the same paths; run sockcap there",
            ),
            SkipReason::Replaced(path) => write!(
                f,
                "{} is not the file any more that it was started with; start it anew",
                path.display()
            ),
            SkipReason::OtherProgram => f.write_str("it has ended, or become another program"),
            SkipReason::SharedCode => f.write_str(
                "its code is mapped so that a change would be one of the file (MAP_SHARED)",
            ),
        }
    }
}

/// What failed. The program runs as it is, unless the text says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This machine or system is another one than this crate is for.
    #[error("programs can be injected into on Linux on x86-64 only")]
    Machine,
    /// There is no such process.
    #[error("there is no process {process}")]
    NoProcess {
        /// Number that was given.
        process: u32,
    },
    /// A process that runs is left as it is.
    #[error("process {process}: {why}")]
    NotAttached {
        /// Number of the process.
        process: u32,
        /// Why.
        why: SkipReason,
    },
    /// The kernel does not let us trace a process that runs.
    #[error("process {process} may not be traced: {why}")]
    NotAllowed {
        /// Number of the process.
        process: u32,
        /// Why, and what can be done.
        why: String,
    },
    /// Threads of a process stayed within the code that is to be taken out.
    #[error(
        "process {process} does not come out of the library, which stays there and does nothing \
         more; to take it out later, begin 'sockcap record -p {process}', and end it"
    )]
    StaysWithin {
        /// Number of the process.
        process: u32,
    },
    /// The code cannot be taken out of a process.
    #[error(
        "{source}; the library stays in process {process}, and {}; to take it out, begin 'sockcap \
         record -p {process}', and end it",
        remaining_effect(*.is_off)
    )]
    Stays {
        /// Number of the process.
        process: u32,
        /// Whether it is switched off, so that it does nothing more.
        is_off: bool,
        /// Why.
        source: Box<Error>,
    },
    /// Nothing of the code runs in a process any more, but not all of it could be taken out.
    #[error("process {process} is recorded no more, but {what} could not be taken back")]
    Remains {
        /// Number of the process.
        process: u32,
        /// What.
        what: String,
    },
    /// The code's end says that it has failed.
    #[error("the log of process {process} does not say that its recording has ended")]
    NotEnded {
        /// Number of the process.
        process: u32,
    },
    /// A debugger has set a breakpoint where the program's code was changed.
    #[error("process {process} has a breakpoint at {address:#x}, on a jump to the library")]
    Breakpoint {
        /// Number of the process.
        process: u32,
        /// Address of the change.
        address: u64,
    },
    /// A process makes copies of itself faster than the code is taken out of them.
    #[error("process {process} is one of copies that were made without pause")]
    Copies {
        /// Number of the process.
        process: u32,
    },
    /// The kernel does not let us trace a process.
    #[error("process {process} may not be traced: {source}{}", tracer_hint(*.tracer))]
    Seize {
        /// Number of the process.
        process: u32,
        /// Number of the process that traces it already; 0 where there is none.
        tracer: u32,
        /// What the kernel said.
        source: io::Error,
    },
    /// The process ended while it was worked on.
    #[error("process {process} ended ({step})")]
    Gone {
        /// Number of the process.
        process: u32,
        /// What was being done.
        step: &'static str,
    },
    /// The process did not stop in time.
    #[error("process {process} did not stop in time ({step})")]
    Timeout {
        /// Number of the process.
        process: u32,
        /// What was being done.
        step: &'static str,
    },
    /// The process stopped for another reason than it was to.
    #[error("process {process} stopped otherwise than it should, by {stop} ({step})")]
    Unexpected {
        /// Number of the process.
        process: u32,
        /// How it stopped.
        stop: String,
        /// What was being done.
        step: &'static str,
    },
    /// A request to the kernel failed.
    #[error("process {process}: {step}: {source}")]
    Kernel {
        /// Number of the process.
        process: u32,
        /// What was being done.
        step: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// What `/proc` tells of a process is not as it should be.
    #[error("process {process}: {file} cannot be understood")]
    Unreadable {
        /// Number of the process.
        process: u32,
        /// Which file.
        file: &'static str,
    },
    /// There are no addresses free near the program.
    #[error(
        "process {process} has no {} KB of free addresses within 2 GB below its code, where jumps \
         from there can reach the library: other memory lies there. It goes on without the library",
        bytes.div_ceil(1024)
    )]
    NoRoom {
        /// Number of the process.
        process: u32,
        /// Bytes that are needed.
        bytes: u64,
    },
    /// There are no unused bytes in pages of code.
    #[error("process {process} has no unused bytes of code to work from")]
    NoFoothold {
        /// Number of the process.
        process: u32,
    },
    /// The blob's description contradicts itself.
    #[error("the code to be injected is described wrongly: {0}")]
    Blob(&'static str),
    /// Whoever prepares an injection failed.
    #[error("nothing to inject was made: {0}")]
    Prepare(#[source] PrepareError),
    /// A change lies outside the program's code, or is not as long as what it replaces.
    #[error("process {process}: the change at {address:#x} is not one of the program's code")]
    BadPatch {
        /// Number of the process.
        process: u32,
        /// Address of the change.
        address: u64,
    },
    /// The program has other bytes than were to be replaced.
    #[error("process {process} has other bytes at {address:#x} than expected: {found:02x?}")]
    OtherBytes {
        /// Number of the process.
        process: u32,
        /// Address of the change.
        address: u64,
        /// Bytes that are there.
        found: Vec<u8>,
    },
    /// The blob's function said no.
    #[error("process {process}: the injected code does not begin (it says {status})")]
    Initialise {
        /// Number of the process.
        process: u32,
        /// What it returned.
        status: i32,
    },
    /// The announcement of an exec could not be used.
    #[error("an announcement was not used: {0}")]
    Announcement(String),
    /// The socket for announcements cannot be made or used.
    #[error("{}: {source}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// There is no thread for the work.
    #[error("no thread can be begun: {0}")]
    Thread(#[source] io::Error),
    /// A program cannot be started.
    #[error("{}: {source}", path.display())]
    Spawn {
        /// The program.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

impl Error {
    /// What came of a preparation that failed: the program is left as it is if it does not bear
    /// what was to be put into it.
    pub(crate) fn from_preparation(reason: PrepareError) -> Result<SkipReason, Error> {
        match reason.downcast_ref() {
            Some(crate::patching::PatchError::Unsuited(unsuited)) => {
                Ok(SkipReason::Unsuited(*unsuited))
            }
            _ => Err(Error::Prepare(reason)),
        }
    }

    /// A process that runs is left as it is.
    pub(crate) fn skipped(process: u32, why: SkipReason) -> Error {
        Error::NotAttached { process, why }
    }
}

/// Words on what a library does that stays.
fn remaining_effect(is_off: bool) -> &'static str {
    if is_off { "records nothing more" } else { "goes on recording" }
}

/// Words on who traces a process already.
fn tracer_hint(tracer: u32) -> String {
    match tracer {
        0 => String::new(),
        tracer => format!(" (process {tracer} traces it already)"),
    }
}
