//! Attaching to a running process: a blob is installed while all of its threads stand still, and is
//! taken out again later. In between, the process is not traced.

mod blob_mappings;
mod detach;
mod evacuate;
mod files;
mod initial_stack;
mod install;
mod installed_blob;
mod kill_switch;
mod note;
mod patch_clearance;
mod permission;
mod recorder;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::blob::Prepare;
use crate::facts::AuxiliaryVector;
use crate::maps;
use crate::memory::ProcessMemory;
use crate::outcome::{Error, SkipReason};
use crate::threads::{StoppedThreads, run_in_thread};
use crate::tuning::{
    ALL_STOPPED, ATTACH_ATTEMPTS, BLOB_STACK_BYTES, LIBC_CHECK_PAUSE, LIBC_CHECKS, MAX_STOPPED_TIME,
};
use detach::{AttachOrigin, TakeoverResult};
use files::CodeFile;
use install::{FileInjection, InstallJob};
use installed_blob::InstalledBlob;

/// A blob that was installed in a running process.
#[derive(Clone, Debug)]
pub struct AttachedProcess {
    installed: InstalledBlob,
    origin: AttachOrigin,
    path: PathBuf,
    stopped: Duration,
    took_over: bool,
    /// Reasons why copies of the process still have the blob of a killed recorder.
    remains: Vec<String>,
}

/// Installs a blob in a running process. `prepare` is called for the program and for its libc; the
/// blob is that of the first injection that it returns. The argument of the blob's first function
/// is what the kernel passed to the program, but with `variables` in place of the environment.
///
/// # Errors
/// If the process may not be traced, cannot use the blob, or a step fails. The process then
/// continues unchanged.
pub fn attach_process(
    process: u32,
    prepare: &dyn Prepare,
    variables: &[(OsString, OsString)],
) -> Result<AttachedProcess, Error> {
    run_in_thread(|| attach_here(process, prepare, variables))
}

impl AttachedProcess {
    /// Process id.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.installed.process
    }

    /// Path of the program.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Number of patches of the program's text.
    #[must_use]
    pub fn patches(&self) -> usize {
        self.installed.patches.len()
    }

    /// Time for which the process stood still.
    #[must_use]
    pub fn stopped_time(&self) -> Duration {
        self.stopped
    }

    /// Whether the process had the blob of a killed recorder before, which was taken out.
    #[must_use]
    pub fn took_over(&self) -> bool {
        self.took_over
    }

    /// Reasons why copies of the process still have the blob of a killed recorder; they are not
    /// recorded.
    #[must_use]
    pub fn not_taken_over(&self) -> &[String] {
        &self.remains
    }

    /// Takes the blob out of the process, which is then as it was before, and out of its copies.
    /// Returns the number of processes that had it; processes that have executed another program or
    /// have ended need nothing.
    ///
    /// # Errors
    /// If a step fails, or threads do not leave the blob; then the blob stays there and does
    /// nothing more, unless the error states otherwise. Of several errors the first is returned.
    pub fn detach(&self) -> Result<usize, Error> {
        let (count, errors) = self.detach_all();
        errors.into_iter().next().map_or(Ok(count), Err)
    }

    /// Takes the blob out as [`detach`](Self::detach) does. Returns the number of processes that
    /// are rid of it, and the errors of all others.
    pub fn detach_all(&self) -> (usize, Vec<Error>) {
        detach::detach_copies(&self.installed, &self.origin)
    }
}

/// Attaches from the calling thread, after the blob of a killed recorder has been taken out.
fn attach_here(
    process: u32,
    prepare: &dyn Prepare,
    variables: &[(OsString, OsString)],
) -> Result<AttachedProcess, Error> {
    let mut before = TakeoverResult::default();
    for again in (0..ATTACH_ATTEMPTS).rev() {
        permission::check_attachable(process)?;
        let memory =
            ProcessMemory::open(process).map_err(|error| explain_refusal(process, error))?;
        let taken = detach::take_over(process, &memory)?;
        let found_more = taken.found;
        before.found |= taken.found;
        before.remains.extend(taken.remains);
        match attach_now(process, memory, prepare, variables) {
            // Another recorder has attached in the meantime; its note is read in the next attempt.
            Err(Error::NotAttached { why: SkipReason::UsesGs, .. })
                if again > 0 && !found_more && has_own_note(process) => {}
            Err(error) => return Err(error),
            Ok(mut attached) => {
                attached.took_over = before.found;
                attached.remains = before.remains;
                return Ok(attached);
            }
        }
    }
    Err(Error::skipped(process, SkipReason::UsesGs))
}

/// Attaches to a process without a blob.
fn attach_now(
    process: u32,
    memory: ProcessMemory,
    prepare: &dyn Prepare,
    variables: &[(OsString, OsString)],
) -> Result<AttachedProcess, Error> {
    let facts = memory.auxiliary_vector()?;
    if facts.secure {
        return Err(Error::skipped(process, SkipReason::Secure));
    }
    if !facts.fsgsbase {
        return Err(Error::skipped(process, SkipReason::NoFsgsbase));
    }
    // Everything that takes long is done while the process still runs.
    let mut parts = Vec::new();
    let files = wait_for_libc(process, &memory, &facts)?;
    if let Some(unsuited) = files::find_incompatibility(&files, &memory)? {
        return Err(Error::skipped(process, SkipReason::Unsuited(unsuited)));
    }
    for file in files {
        let prepared = prepare
            .prepare(&file.target)
            .or_else(|reason| Err(Error::skipped(process, Error::from_preparation(reason)?)));
        if let Some(injection) = prepared? {
            crate::changes::check_blob(&injection.blob)?;
            parts.push(FileInjection { file, injection });
        }
    }
    let Some(first) = parts.first() else {
        return Err(Error::skipped(process, SkipReason::Unwanted));
    };
    let stack = initial_stack::InitialStack::for_process(&memory, variables)?;
    let path = parts.first().map(|part| part.file.target.path.clone()).unwrap_or_default();
    let blob = Arc::clone(&first.injection.blob);
    let argument = maps::round_to_pages(stack.byte_count() as u64).unwrap_or(u64::MAX);
    let Some(argument_and_stack) = argument.checked_add(BLOB_STACK_BYTES) else {
        return Err(Error::Blob("its argument is too long"));
    };
    let begin = Instant::now();
    let mut threads = StoppedThreads::stop_all(process, begin + ALL_STOPPED)
        .map_err(|error| explain_refusal(process, error))?;
    let origin = AttachOrigin::of_process(process);
    // The process may have executed another program meanwhile, which has other memory.
    let memory = ProcessMemory::open(process)?;
    let made = match memory.auxiliary_vector()? == facts {
        true => {
            let memory = &memory;
            let facts = &facts;
            let work = InstallJob {
                process,
                memory,
                facts,
                blob,
                initial_stack: stack,
                argument_and_stack,
            };
            install::install_blob(work, parts, &mut threads, begin + MAX_STOPPED_TIME)
        }
        false => Err(Error::skipped(process, SkipReason::OtherProgram)),
    };
    threads.release_all();
    let installed = made?;
    let stopped = begin.elapsed();
    Ok(AttachedProcess { installed, origin, path, stopped, took_over: false, remains: Vec::new() })
}

/// Whether a process has the note of a blob.
fn has_own_note(process: u32) -> bool {
    ProcessMemory::open(process)
        .and_then(|memory| note::find_notes(process, &memory))
        .is_ok_and(|notes| !notes.is_empty())
}

/// Files of code of a process. A process that was just started may not have loaded its libc yet;
/// this function waits until it has.
fn wait_for_libc(
    process: u32,
    memory: &ProcessMemory,
    facts: &AuxiliaryVector,
) -> Result<Vec<CodeFile>, Error> {
    let mut found = files::find_code_files(process, memory, facts)?;
    for _ in 0..LIBC_CHECKS {
        // The first file is the program.
        if found.len() > 1 || !found.iter().any(|file| file.target.interpreted) {
            break;
        }
        thread::sleep(LIBC_CHECK_PAUSE);
        found = files::find_code_files(process, memory, facts)?;
    }
    Ok(found)
}

/// Adds the reason to a refusal of the kernel; other errors stay unchanged.
fn explain_refusal(process: u32, error: Error) -> Error {
    match error {
        Error::Seize { source, tracer: 0, .. } | Error::Kernel { source, .. } => {
            permission::explain_refusal(process, source)
        }
        error => error,
    }
}
