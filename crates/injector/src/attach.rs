//! Attaching to a process that runs: a blob comes into it while all of its threads stand still, and
//! is taken out again later. Between both, nobody traces it.

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
use crate::tuning::{ALL_STOPPED, ATTEMPTS, LOADS, LOOKS_FOR_LIBC, STACK, STOPPED};
use detach::{AttachOrigin, TakenOver};
use files::CodeFile;
use install::{FileInjection, InstallJob};
use installed_blob::InstalledBlob;

/// Blob in a process that ran before.
#[derive(Clone, Debug)]
pub struct AttachedProcess {
    held: InstalledBlob,
    origin: AttachOrigin,
    path: PathBuf,
    stopped: Duration,
    took_over: bool,
    remains: Vec<String>,
}

/// Puts a blob into a process that runs. `prepare` is asked for the program and for its libc; the
/// blob is that of its first answer. The blob's first function is told what the kernel told the
/// program, but for the environment: that is `variables`.
///
/// # Errors
/// The process may not be traced, or has no use for the blob, or something failed. It runs on as
/// it was.
pub fn attach_process(
    process: u32,
    prepare: &dyn Prepare,
    variables: &[(OsString, OsString)],
) -> Result<AttachedProcess, Error> {
    run_in_thread(|| attach_here(process, prepare, variables))
}

impl AttachedProcess {
    /// Number of the process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.held.process
    }

    /// Path of its program.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Number of changes of its text.
    #[must_use]
    pub fn patches(&self) -> usize {
        self.held.patches.len()
    }

    /// Time for which it stood still.
    #[must_use]
    pub fn stopped_time(&self) -> Duration {
        self.stopped
    }

    /// Whether the process had a blob already, of a recorder that was killed. It was taken out.
    #[must_use]
    pub fn took_over(&self) -> bool {
        self.took_over
    }

    /// Why the blob of a recorder that was killed is still in copies of the process, which are
    /// recorded by nobody.
    #[must_use]
    pub fn not_taken_over(&self) -> &[String] {
        &self.remains
    }

    /// Takes the blob out of the process, which then is as it was before, and of those that are
    /// copies of it. Returns how many there were; those that have become another program, or have
    /// ended, need nothing.
    ///
    /// # Errors
    /// Something failed, or threads do not come out of the blob; then it stays there and does
    /// nothing more, or the error says otherwise. Of several errors it is the first.
    pub fn detach(&self) -> Result<usize, Error> {
        let (count, errors) = self.detach_all();
        errors.into_iter().next().map_or(Ok(count), Err)
    }

    /// The same, with the errors of all copies.
    pub fn detach_all(&self) -> (usize, Vec<Error>) {
        detach::detach_copies(&self.held, &self.origin)
    }
}

fn attach_here(
    process: u32,
    prepare: &dyn Prepare,
    variables: &[(OsString, OsString)],
) -> Result<AttachedProcess, Error> {
    let mut before = TakenOver::default();
    for again in (0..ATTEMPTS).rev() {
        permission::check_attachable(process)?;
        let memory =
            ProcessMemory::open(process).map_err(|error| explain_refusal(process, error))?;
        let taken = detach::take_over(process, &memory)?;
        let found_more = taken.is_one;
        before.is_one |= taken.is_one;
        before.remains.extend(taken.remains);
        match attach_now(process, memory, prepare, variables) {
            // Another recorder has come in between, and is looked at anew.
            Err(Error::NotAttached { why: SkipReason::UsesGs, .. })
                if again > 0 && !found_more && has_own_note(process) => {}
            Err(error) => return Err(error),
            Ok(mut attached) => {
                attached.took_over = before.is_one;
                attached.remains = before.remains;
                return Ok(attached);
            }
        }
    }
    Err(Error::skipped(process, SkipReason::UsesGs))
}

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
    // All that takes long is done while the process still runs.
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
    let told = initial_stack::InitialStack::for_process(&memory, variables)?;
    let path = parts.first().map(|part| part.file.target.path.clone()).unwrap_or_default();
    let blob = Arc::clone(&first.injection.blob);
    let argument = maps::round_to_pages(told.byte_count() as u64).unwrap_or(u64::MAX);
    let Some(argument_and_stack) = argument.checked_add(STACK) else {
        return Err(Error::Blob("what it is told is too long"));
    };
    let begin = Instant::now();
    let mut threads = StoppedThreads::stop_all(process, begin + ALL_STOPPED)
        .map_err(|error| explain_refusal(process, error))?;
    let origin = AttachOrigin::of_process(process);
    // It may have executed another program meanwhile, which has other memory.
    let memory = ProcessMemory::open(process)?;
    let made = match memory.auxiliary_vector()? == facts {
        true => {
            let memory = &memory;
            let facts = &facts;
            let work = InstallJob { process, memory, facts, blob, told, argument_and_stack };
            install::install_blob(work, parts, &mut threads, begin + STOPPED)
        }
        false => Err(Error::skipped(process, SkipReason::OtherProgram)),
    };
    threads.release_all();
    let held = made?;
    let stopped = begin.elapsed();
    Ok(AttachedProcess { held, origin, path, stopped, took_over: false, remains: Vec::new() })
}

/// Whether a process has a note on a blob.
fn has_own_note(process: u32) -> bool {
    ProcessMemory::open(process)
        .and_then(|memory| note::find_notes(process, &memory))
        .is_ok_and(|notes| !notes.is_empty())
}

/// Files of code of a process. One that was just started has not loaded its libc yet; it is waited
/// for.
fn wait_for_libc(
    process: u32,
    memory: &ProcessMemory,
    facts: &AuxiliaryVector,
) -> Result<Vec<CodeFile>, Error> {
    let mut found = files::find_code_files(process, memory, facts)?;
    for _ in 0..LOOKS_FOR_LIBC {
        // The first is the program.
        if found.len() > 1 || !found.iter().any(|file| file.target.interpreted) {
            break;
        }
        thread::sleep(LOADS);
        found = files::find_code_files(process, memory, facts)?;
    }
    Ok(found)
}

/// A refusal of the kernel with its reason; other errors as they are.
fn explain_refusal(process: u32, error: Error) -> Error {
    match error {
        Error::Seize { source, tracer: 0, .. } | Error::Kernel { source, .. } => {
            permission::explain_refusal(process, source)
        }
        error => error,
    }
}
