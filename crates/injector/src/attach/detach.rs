//! Detaching: removal of a blob from a process.
//!
//! All threads are stopped. Patches that lead to the beginning of a hook are undone. Threads are
//! led out of the blob; if one is still inside, all continue for a moment and are stopped again.
//! Then the blob's last function is called, all other patches are undone, and the memory is
//! unmapped. Before the threads continue, the result is verified. If the tracer is killed between
//! two of these steps, the process continues to run.
//!
//! A blob is found by known bytes at known addresses. The kernel's list of mappings does not help,
//! as the kernel joins and divides mappings. A blob that cannot be removed is switched off, which
//! only takes a write to its memory.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Instant;

use super::evacuate::StoppedBlob;
use super::initial_stack::MARK_BYTES;
use super::installed_blob::InstalledBlob;
use super::kill_switch::switch_off;
use super::permission::{self, shares_memory};
use super::{blob_mappings, files, install, note};
use crate::changes::{self, PatchState};
use crate::facts;
use crate::maps;
use crate::memory::ProcessMemory;
use crate::outcome::{Error, SkipReason};
use crate::remote::RemoteWorker;
use crate::threads::{StoppedThreads, run_in_thread};
use crate::tuning::{
    ALL_STOPPED, COPY_SEARCHES, DETACH_TRIES, MAX_ENDING_TIME, MAX_FAILED_TRIES, MAX_STOPPED_TIME,
    OTHER_TRACER_TIME, RETRY_PAUSE,
};

/// Process that received the blob, as it was when it was attached.
#[derive(Clone, Copy, Debug)]
pub(super) struct AttachOrigin {
    /// Process id.
    pub process: u32,
    /// Start time of the process, in ticks of the kernel.
    since: Option<u64>,
    /// User of the process; only processes of that user can be copies. Copies of a root process may
    /// belong to any user.
    user: Option<u32>,
}

impl AttachOrigin {
    /// Describes the process that has the id `process` now.
    pub(super) fn of_process(process: u32) -> AttachOrigin {
        AttachOrigin { process, since: start_ticks(process), user: user_of(process) }
    }

    /// Whether the process has not ended, even if it has executed another program.
    fn is_there(&self) -> bool {
        self.since.is_some() && start_ticks(self.process) == self.since
    }

    /// Whether the process `copy` may be a copy of this one. Another user's process may contain
    /// bytes that look like a blob by chance or intent, and must not be changed because of them.
    fn may_be_copy(&self, copy: u32) -> bool {
        copy == self.process || self.user == Some(0) || self.user == user_of(copy)
    }
}

/// Start time of a process, in ticks of the kernel.
fn start_ticks(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    facts::start_time(&stat)
}

/// User id of a process.
fn user_of(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    permission::status_field(&status, "Uid")?.split_whitespace().next()?.parse().ok()
}

/// Takes the blob out of a process and all of its copies. Returns the number of processes that are
/// rid of it, and the errors of the others.
pub(super) fn detach_copies(
    installed: &InstalledBlob,
    origin: &AttachOrigin,
) -> (usize, Vec<Error>) {
    let (mut done, mut errors, mut tried) = (0, Vec::new(), BTreeSet::new());
    if installed.ending.is_none() {
        return (done, vec![Error::Blob("it has no last function")]);
    }
    if let Err(source) = ProcessMemory::open(installed.process)
        && origin.is_there()
    {
        match explain_refusal(installed.process, source) {
            // The process has ended and was not waited for yet.
            Error::NoProcess { .. } => {}
            // The process now belongs to another user, or hides its memory.
            source => {
                let (process, source) = (installed.process, Box::new(source));
                errors.push(Error::Stays { process, is_off: false, source });
                tried.insert(process);
            }
        }
    }
    // A copy may fork again in the meantime.
    for round in 0..=COPY_SEARCHES {
        let with_it: Vec<InstalledBlob> = find_copies(installed, origin)
            .into_iter()
            .filter(|copy| tried.insert(copy.process))
            .collect();
        if with_it.is_empty() {
            break;
        }
        if round > 0 {
            // Copies that these processes make from now on are switched off, too.
            for copy in &with_it {
                switch_off(copy);
            }
        }
        for copy in with_it {
            let detached = match round {
                COPY_SEARCHES => {
                    Err(leave_switched_off(&copy, Error::Copies { process: copy.process }))
                }
                _ => detach_blob(&copy),
            };
            match detached {
                Ok(()) | Err(Error::Gone { .. } | Error::NoProcess { .. }) => done += 1,
                Err(error) => errors.push(error),
            }
        }
    }
    (done, errors)
}

/// Processes that have the blob: the original one, and its children with a copy of its memory.
fn find_copies(installed: &InstalledBlob, origin: &AttachOrigin) -> Vec<InstalledBlob> {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
        let process = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let copy = InstalledBlob { process, ..installed.clone() };
        // A child that shares its parent's memory is freed together with the parent.
        let is_one = origin.may_be_copy(process)
            && ProcessMemory::open(process).is_ok_and(|memory| has_mark(&copy, &memory))
            && !shares_memory(process);
        is_one.then_some(copy)
    });
    processes.collect()
}

/// Whether a process's memory contains this very blob. A blob of another recorder in another
/// process of the same program may have the same address and the same jumps.
fn has_mark(installed: &InstalledBlob, memory: &ProcessMemory) -> bool {
    let (at, mark) = &installed.mark;
    memory.has_bytes(*at, mark)
}

/// Result of taking over a blob of another recorder.
#[derive(Debug, Default)]
pub(super) struct TakeoverResult {
    /// Whether a blob was found and taken out.
    pub found: bool,
    /// Reasons why copies of the process still have the blob.
    pub remains: Vec<String>,
}

/// Takes out a blob that an ended recorder has left in a process, and in copies that the process
/// has made since.
///
/// # Errors
/// If the other recorder still runs, or the blob cannot be taken out.
pub(super) fn take_over(process: u32, memory: &ProcessMemory) -> Result<TakeoverResult, Error> {
    let mut taken = TakeoverResult::default();
    let origin = AttachOrigin::of_process(process);
    for (recorder, installed) in note::find_notes(process, memory)? {
        if !has_mark(&installed, memory) {
            continue;
        }
        if let Some(by) = recorder.living_id() {
            return Err(Error::skipped(process, SkipReason::Recorded { by }));
        }
        detach_blob(&installed)?;
        taken.found = true;
        for copy in find_copies(&installed, &origin) {
            // The note of one process leads to no work in another one: each has its own note, and
            // no other is believed.
            let noted = ProcessMemory::open(copy.process)
                .and_then(|own| note::find_notes(copy.process, &own));
            let noted = noted.unwrap_or_default();
            if !noted.contains(&(recorder, copy.clone())) {
                continue;
            }
            match detach_blob(&copy) {
                Ok(()) | Err(Error::Gone { .. } | Error::NoProcess { .. }) => {}
                Err(error) => taken.remains.push(error.to_string()),
            }
        }
    }
    Ok(taken)
}

/// Takes the blob out of one process, with retries: its threads may have been waiting, or another
/// tracer had it. If it has to stay, it is switched off.
fn detach_blob(installed: &InstalledBlob) -> Result<(), Error> {
    let process = installed.process;
    let (mut failed, mut traced_since) = (0, None);
    for left in (0..DETACH_TRIES).rev() {
        // The process's threads continue in any case.
        match run_in_thread(|| try_detach(installed, left == 0)) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(gone @ (Error::Gone { .. } | Error::NoProcess { .. })) => return Err(gone),
            Err(
                done @ (Error::StaysWithin { .. } | Error::Remains { .. } | Error::NotEnded { .. }),
            ) => return Err(done),
            // The kernel refuses immediately, so another tracer, or a thread of ours that has not
            // quite ended, is waited for by the clock.
            Err(source @ Error::Seize { .. }) => {
                if left == 0
                    || traced_since.get_or_insert_with(Instant::now).elapsed() > OTHER_TRACER_TIME
                {
                    return Err(leave_switched_off(installed, source));
                }
            }
            Err(source) => {
                (failed, traced_since) = (failed + 1, None);
                if failed == MAX_FAILED_TRIES || left == 0 {
                    return Err(leave_switched_off(installed, source));
                }
            }
        }
        thread::sleep(RETRY_PAUSE);
    }
    Err(Error::StaysWithin { process })
}

/// Switches off a blob that cannot be taken out.
fn leave_switched_off(installed: &InstalledBlob, source: Error) -> Error {
    Error::Stays {
        process: installed.process,
        is_off: switch_off(installed),
        source: Box::new(source),
    }
}

/// Adds the reason to a refusal of the kernel; other errors stay unchanged.
fn explain_refusal(process: u32, error: Error) -> Error {
    match error {
        Error::Kernel { source, .. } => permission::explain_refusal(process, source),
        error => error,
    }
}

/// Takes the blob out of one process if no thread is inside; returns `false` if a thread is. In the
/// `last` attempt, the blob is ended in any case.
fn try_detach(installed: &InstalledBlob, last: bool) -> Result<bool, Error> {
    let process = installed.process;
    let mut threads = StoppedThreads::stop_even_stopped(process, Instant::now() + ALL_STOPPED)?;
    // A program that it has executed meanwhile has other memory.
    let memory = ProcessMemory::open(process)?;
    if !has_mark(installed, &memory) {
        threads.release_all();
        return Ok(true);
    }
    // From now on no hook begins, so threads leave the blob however busy they are. Hooks that wait
    // continue after their calls.
    for patch in installed.patches.iter().filter(|patch| !patch.is_after_call()) {
        changes::undo_patch(process, &memory, patch)?;
    }
    let waiting = installed.ending.map(|ending| ending.waiting).unwrap_or_default();
    let place = StoppedBlob { installed, memory: &memory, waiting };
    let is_out = place.evacuate_threads(&mut threads, Instant::now() + ALL_STOPPED)?;
    let done = match is_out || last {
        true => take_out(installed, &memory, &mut threads, is_out),
        false => Ok(()),
    };
    let seen = match (is_out, &done) {
        (true, Ok(()) | Err(Error::NotEnded { .. })) => {
            verify_removed(installed, &memory, &threads)
        }
        _ => Ok(()),
    };
    threads.release_all();
    seen.and(done).map(|()| is_out)
}

/// Ends the blob and removes it if no thread is inside.
fn take_out(
    installed: &InstalledBlob,
    memory: &ProcessMemory,
    threads: &mut StoppedThreads,
    is_out: bool,
) -> Result<(), Error> {
    let process = installed.process;
    let until = Instant::now() + MAX_STOPPED_TIME;
    let (facts, regions) = (memory.auxiliary_vector()?, memory.regions()?);
    // A file that was replaced on the disk meanwhile is no obstacle.
    let code = files::find_code_files(process, memory, &facts).unwrap_or_default();
    let caves = install::find_code_caves(memory, &facts, &code, &regions, threads);
    let (blob, length) = installed.mapped.first().copied().unwrap_or_default();
    let mut worker = threads.all.swap_remove(0);
    let done = install::with_worker(&mut worker, memory, &caves, until, |remote| {
        let stack = blob.wrapping_add(length);
        if remote.gs_base() == 0 {
            // The recorder was killed before all threads had a GS base.
            remote.set_gs_base(installed.slot)?;
        }
        // If the recorder was killed before the blob had begun, there is nothing to end.
        let end = installed.ending.map(|ending| blob.wrapping_add(ending.function));
        remote.set_deadline(Instant::now() + MAX_ENDING_TIME);
        let ended = end.map_or(Ok(0), |function| {
            remote.call_function(memory, function, 0, stack, "ending the injected code")
        });
        remote.set_deadline(until);
        if ended.is_err() {
            remote.halt_worker()?;
        }
        if !is_out {
            return Err(ended.err().unwrap_or(Error::StaysWithin { process }));
        }
        installed
            .patches
            .iter()
            .try_for_each(|patch| changes::undo_patch(process, memory, patch))?;
        remote.set_gs_base(0)?;
        threads.all.iter_mut().try_for_each(|thread| thread.set_gs_base(0))?;
        let own = blob_mappings::mapped_ranges(installed, memory);
        // Clears the mark, so that the blob is not found and ended again if unmapping fails below.
        memory.write(installed.mark.0, &[0; MARK_BYTES])?;
        unmap_all(process, remote, installed.mapped.iter().chain(&own))?;
        match ended {
            Ok(0) => Ok(()),
            Ok(_) => Err(Error::NotEnded { process }),
            Err(error) => Err(error),
        }
    });
    threads.all.push(worker);
    done
}

/// Unmaps ranges and reports the ones that could not be unmapped. The kernel refuses to divide a
/// mapping of a process that has the maximum number of mappings.
fn unmap_all<'a>(
    process: u32,
    remote: &mut RemoteWorker<'_>,
    ranges: impl Iterator<Item = &'a (u64, u64)>,
) -> Result<(), Error> {
    let mut refused = None;
    for (address, bytes) in ranges {
        match install::unmap_range(remote, *address, *bytes) {
            Ok(()) => {}
            Err(error @ Error::Kernel { .. }) => {
                let what = || format!("its memory at {address:#x} ({bytes} bytes): {error}");
                refused = refused.or_else(|| Some(what()));
            }
            Err(error) => return Err(error),
        }
    }
    refused.map_or(Ok(()), |what| Err(Error::Remains { process, what }))
}

/// Verifies that nothing of a blob is left in a process, while its threads stand still.
fn verify_removed(
    installed: &InstalledBlob,
    memory: &ProcessMemory,
    threads: &StoppedThreads,
) -> Result<(), Error> {
    let process = installed.process;
    let remains = |what| Err(Error::Remains { process, what });
    for patch in &installed.patches {
        if matches!(changes::patch_state(memory, patch), PatchState::New | PatchState::Breakpoint) {
            return remains(format!("its patch at {:#x}", patch.address));
        }
    }
    let regions = memory.regions()?;
    if let Some((address, _)) =
        installed.mapped.iter().find(|range| maps::is_mapped(&regions, **range))
    {
        return remains(format!("its memory at {address:#x}"));
    }
    let in_place = |gs_base: u64| {
        installed.mapped.iter().any(|(start, bytes)| (*start..start + bytes).contains(&gs_base))
    };
    for thread in &threads.all {
        let registers = thread.seized.registers("verifying its removal")?;
        if in_place(registers.gs_base) {
            return remains(format!("the GS base of its thread {}", thread.seized.thread_id()));
        }
    }
    Ok(())
}
