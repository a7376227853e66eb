//! The way of a blob out of a process.
//!
//! All threads are stopped. Where a hook would begin, the text becomes what it was. Threads are led
//! out of the blob; if one is not out yet, all go on for a moment, and are stopped again. Then the
//! blob's last function is called, all of the text becomes what it was, and the memory is given
//! back. A process whose tracer is killed between two of these goes on.

use std::fs;
use std::thread;
use std::time::Instant;

use super::allowed::shares_memory;
use super::held::Held;
use super::settle::Place;
use super::{files, mapped, note, put};
use crate::memory::Memory;
use crate::outcome::{Error, Left};
use crate::threads::{Threads, in_a_thread};
use crate::tuning::{ALL_STOPPED, BREATH, COPIES, ENDING, FAILURES, STOPPED, TRIES};

/// Takes the blob out of a process and of all its copies.
pub(super) fn detach_all(held: &Held) -> Result<usize, Error> {
    if held.ending.is_none() {
        return Err(Error::Blob("it has no end"));
    }
    let (mut done, mut first_error, mut tried) = (0, None, Vec::new());
    // A copy may make others while it is worked on.
    for _ in 0..COPIES {
        let mut with_it = copies(held);
        with_it.retain(|process| !tried.contains(process));
        if with_it.is_empty() {
            break;
        }
        for process in with_it {
            match detach(&Held { process, ..held.clone() }) {
                Ok(()) | Err(Error::Gone { .. } | Error::NoProcess { .. }) => done += 1,
                Err(error) => first_error = first_error.or(Some(error)),
            }
            tried.push(process);
        }
    }
    first_error.map_or(Ok(done), Err)
}

/// Processes that have the blob: the one that it was put into, and its children with a copy of its
/// memory.
fn copies(held: &Held) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
        let process = entry.ok()?.file_name().to_str()?.parse().ok()?;
        // A child in its parent's memory is freed with its parent.
        (has_blob(held, process) && !shares_memory(process)).then_some(process)
    });
    processes.collect()
}

/// Whether a process has this very blob.
fn has_blob(held: &Held, process: u32) -> bool {
    let (at, mark) = held.mark;
    let is_mapped = || {
        // Most processes have nothing there.
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
        let begins = format!("{:x}-", held.blob());
        maps.lines().any(|line| line.trim_start_matches('0').starts_with(&begins)).then_some(())
    };
    let has = |memory: Memory| Ok(memory.read(at, mark.len())? == mark);
    is_mapped().is_some() && Memory::open(process).and_then(has).unwrap_or(false)
}

/// Takes a blob out of a process that another recorder has left there, and that was killed. Returns
/// whether there is one.
///
/// # Errors
/// The other recorder is there still, or the blob does not come out.
pub(super) fn take_over(process: u32, memory: &Memory) -> Result<bool, Error> {
    let Some((recorder, held)) = note::find(process, memory)? else { return Ok(false) };
    if !has_blob(&held, process) {
        return Ok(false);
    }
    if recorder.is_there() {
        return Err(Error::left(process, Left::Recorded { by: recorder.process }));
    }
    detach(&held).map(|()| true)
}

/// Takes the blob out of one process. What fails is tried again: its threads may have waited for
/// something, or another tracer had it.
fn detach(held: &Held) -> Result<(), Error> {
    let process = held.process;
    let mut failed = 0;
    for left in (0..TRIES).rev() {
        // Whatever happens, its threads go on.
        match in_a_thread(|| try_once(held, left == 0)) {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(gone @ (Error::Gone { .. } | Error::NoProcess { .. })) => return Err(gone),
            Err(stays @ Error::StaysWithin { .. }) => return Err(stays),
            Err(source) => {
                failed += 1;
                if failed == FAILURES || left == 0 {
                    return Err(Error::Stays { process, source: Box::new(source) });
                }
            }
        }
        thread::sleep(BREATH);
    }
    Err(Error::StaysWithin { process })
}

/// Takes the blob out of one process if no thread is within it. `false` where one is. The `last`
/// time, the blob is ended in any case.
fn try_once(held: &Held, last: bool) -> Result<bool, Error> {
    let process = held.process;
    let memory = Memory::open(process)?;
    let mut threads = Threads::stop(process, Instant::now() + ALL_STOPPED)?;
    if !has_blob(held, process) {
        threads.release();
        return Ok(true);
    }
    // From now on no hook begins, so threads come out of the blob however busy they are. Those that
    // wait are gone on with behind their calls.
    for patch in held.patches.iter().filter(|patch| !patch.is_behind()) {
        memory.write(patch.address, &patch.old)?;
    }
    let waiting = held.ending.map(|ending| ending.waiting).unwrap_or_default();
    let place = Place { held, memory: &memory, waiting };
    let is_out = place.settle(&mut threads, Instant::now() + ALL_STOPPED)?;
    let done = match is_out || last {
        true => take_out(held, &memory, &mut threads, is_out),
        false => Ok(()),
    };
    threads.release();
    done.map(|()| is_out)
}

/// Ends the blob, and takes it out where no thread is within it.
fn take_out(
    held: &Held,
    memory: &Memory,
    threads: &mut Threads,
    is_out: bool,
) -> Result<(), Error> {
    let process = held.process;
    let until = Instant::now() + STOPPED;
    let (facts, regions) = (memory.told()?, memory.regions()?);
    // A file that was replaced on the disk meanwhile is no hindrance.
    let code = files::find(process, memory, &facts).unwrap_or_default();
    let footholds = put::footholds(memory, &facts, &code, &regions, threads);
    let (blob, length) = held.mapped.first().copied().unwrap_or_default();
    let mut worker = threads.all.swap_remove(0);
    let done = put::with(&mut worker, memory, &footholds, until, |remote| {
        let stack = blob + length;
        if remote.gs_base() == 0 {
            // Its recorder was killed before all threads had it.
            remote.set_gs_base(held.slot)?;
        }
        // One whose recorder was killed before it had begun has nothing to end.
        let end = held.ending.map(|ending| held.blob() + ending.function);
        remote.has_until(Instant::now() + ENDING);
        let ended = end.map_or(Ok(0), |function| {
            remote.function(memory, function, 0, stack, "ending the injected code")
        });
        remote.has_until(until);
        if ended.is_err() {
            remote.halt()?;
        }
        if !is_out {
            return Err(ended.err().unwrap_or(Error::StaysWithin { process }));
        }
        for patch in &held.patches {
            memory.write(patch.address, &patch.old)?;
        }
        remote.set_gs_base(0)?;
        threads.all.iter_mut().try_for_each(|thread| thread.set_gs_base(0))?;
        // The blob is the first: without it nobody would call its end once more.
        let own = mapped::ranges(held, memory);
        for (address, bytes) in held.mapped.iter().chain(&own) {
            put::unmap(remote, *address, *bytes)?;
        }
        ended.map(drop)
    });
    threads.all.push(worker);
    done
}
