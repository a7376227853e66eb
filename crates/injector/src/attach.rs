//! Attaching to a process that runs: a blob comes into it while all of its threads stand still, and
//! is taken out again later. Between both, nobody traces it.

mod allowed;
mod clear;
mod detach;
mod files;
mod held;
mod mapped;
mod note;
mod put;
mod recorder;
mod settle;
mod switch;
mod told;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::blob::Prepare;
use crate::facts::Told;
use crate::maps;
use crate::memory::Memory;
use crate::outcome::{Error, Left};
use crate::threads::{Threads, in_a_thread};
use crate::tuning::{ALL_STOPPED, ATTEMPTS, LOADS, LOOKS_FOR_LIBC, STACK, STOPPED};
use detach::{Origin, TakenOver};
use files::CodeFile;
use held::Held;
use put::{Part, Work};

/// Blob in a process that ran before.
#[derive(Clone, Debug)]
pub struct Attached {
    held: Held,
    origin: Origin,
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
pub fn attach(
    process: u32,
    prepare: &dyn Prepare,
    variables: &[(OsString, OsString)],
) -> Result<Attached, Error> {
    in_a_thread(|| attach_here(process, prepare, variables))
}

impl Attached {
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
    pub fn stopped(&self) -> Duration {
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
        detach::detach_all(&self.held, &self.origin)
    }
}

fn attach_here(
    process: u32,
    prepare: &dyn Prepare,
    variables: &[(OsString, OsString)],
) -> Result<Attached, Error> {
    let mut before = TakenOver::default();
    for again in (0..ATTEMPTS).rev() {
        allowed::look(process)?;
        let memory = Memory::open(process).map_err(|error| allowed(process, error))?;
        let taken = detach::take_over(process, &memory)?;
        let found_more = taken.is_one;
        before.is_one |= taken.is_one;
        before.remains.extend(taken.remains);
        match attach_now(process, memory, prepare, variables) {
            // Another recorder has come in between, and is looked at anew.
            Err(Error::NotAttached { why: Left::UsesGs, .. })
                if again > 0 && !found_more && has_note(process) => {}
            Err(error) => return Err(error),
            Ok(mut attached) => {
                attached.took_over = before.is_one;
                attached.remains = before.remains;
                return Ok(attached);
            }
        }
    }
    Err(Error::left(process, Left::UsesGs))
}

fn attach_now(
    process: u32,
    memory: Memory,
    prepare: &dyn Prepare,
    variables: &[(OsString, OsString)],
) -> Result<Attached, Error> {
    let facts = memory.told()?;
    if facts.secure {
        return Err(Error::left(process, Left::Secure));
    }
    if !facts.fsgsbase {
        return Err(Error::left(process, Left::NoFsgsbase));
    }
    // All that takes long is done while the process still runs.
    let mut parts = Vec::new();
    let files = loaded(process, &memory, &facts)?;
    if let Some(unsuited) = files::unsuited(&files, &memory)? {
        return Err(Error::left(process, Left::Unsuited(unsuited)));
    }
    for file in files {
        let prepared = prepare
            .prepare(&file.target)
            .or_else(|reason| Err(Error::left(process, Error::of_preparation(reason)?)));
        if let Some(injection) = prepared? {
            crate::changes::check(&injection.blob)?;
            parts.push(Part { file, injection });
        }
    }
    let Some(first) = parts.first() else { return Err(Error::left(process, Left::Unwanted)) };
    let told = told::Told::of(&memory, variables)?;
    let path = parts.first().map(|part| part.file.target.path.clone()).unwrap_or_default();
    let blob = Arc::clone(&first.injection.blob);
    let argument = maps::pages(told.bytes() as u64).unwrap_or(u64::MAX);
    let Some(argument_and_stack) = argument.checked_add(STACK) else {
        return Err(Error::Blob("what it is told is too long"));
    };
    let begin = Instant::now();
    let mut threads =
        Threads::stop(process, begin + ALL_STOPPED).map_err(|error| allowed(process, error))?;
    let origin = Origin::of(process);
    // It may have executed another program meanwhile, which has other memory.
    let memory = Memory::open(process)?;
    let made = match memory.told()? == facts {
        true => {
            let memory = &memory;
            let facts = &facts;
            let work = Work { process, memory, facts, blob, told, argument_and_stack };
            put::put(work, parts, &mut threads, begin + STOPPED)
        }
        false => Err(Error::left(process, Left::OtherProgram)),
    };
    threads.release();
    let held = made?;
    let stopped = begin.elapsed();
    Ok(Attached { held, origin, path, stopped, took_over: false, remains: Vec::new() })
}

/// Whether a process has a note on a blob.
fn has_note(process: u32) -> bool {
    Memory::open(process)
        .and_then(|memory| note::find(process, &memory))
        .is_ok_and(|notes| !notes.is_empty())
}

/// Files of code of a process. One that was just started has not loaded its libc yet; it is waited
/// for.
fn loaded(process: u32, memory: &Memory, facts: &Told) -> Result<Vec<CodeFile>, Error> {
    let mut found = files::find(process, memory, facts)?;
    for _ in 0..LOOKS_FOR_LIBC {
        // The first is the program.
        if found.len() > 1 || !found.iter().any(|file| file.target.interpreted) {
            break;
        }
        thread::sleep(LOADS);
        found = files::find(process, memory, facts)?;
    }
    Ok(found)
}

/// A refusal of the kernel with its reason; other errors as they are.
fn allowed(process: u32, error: Error) -> Error {
    match error {
        Error::Seize { source, tracer: 0, .. } | Error::Kernel { source, .. } => {
            allowed::why(process, source)
        }
        error => error,
    }
}
