//! The way of a blob out of a process.
//!
//! All threads are stopped, and led out of the blob. If one is not out yet, all go on for a moment.
//! Then the blob's last function is called, the text becomes what it was, and the memory is given
//! back.

use std::fs;
use std::thread;
use std::time::Instant;

use super::allowed::shares_memory;
use super::held::Held;
use super::settle::Place;
use super::{files, put};
use crate::foothold::{self, whole};
use crate::memory::Memory;
use crate::outcome::Error;
use crate::threads::Threads;
use crate::tuning::{ALL_STOPPED, BREATH, COPIES, STOPPED, TRIES};

/// Takes the blob out of a process and of all its copies.
pub(super) fn detach_all(held: &Held) -> Result<usize, Error> {
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

/// Whether a process has this very blob, and jumps that lead there.
fn has_blob(held: &Held, process: u32) -> bool {
    let Some(patch) = held.patches.first() else { return false };
    let (at, mark) = held.mark;
    let is_mapped = || {
        // Most processes have nothing there.
        let maps = fs::read_to_string(format!("/proc/{process}/maps")).ok()?;
        let begins = format!("{:x}-", held.blob());
        maps.lines().any(|line| line.trim_start_matches('0').starts_with(&begins)).then_some(())
    };
    let has = |memory: Memory| {
        Ok(memory.read(at, mark.len())? == mark
            && memory.read(patch.address, patch.new.len())? == patch.new)
    };
    is_mapped().is_some() && Memory::open(process).and_then(has).unwrap_or(false)
}

/// Takes the blob out of one process.
fn detach(held: &Held) -> Result<(), Error> {
    let process = held.process;
    let Some(ending) = held.ending else {
        return Err(Error::Blob("it has no end"));
    };
    let memory = Memory::open(process)?;
    for left in (0..TRIES).rev() {
        let until = Instant::now() + STOPPED;
        let mut threads = Threads::stop(process, Instant::now() + ALL_STOPPED)?;
        if !has_blob(held, process) {
            threads.release();
            return Ok(());
        }
        let place = Place { held, memory: &memory, waiting: ending.waiting };
        let mut is_out = true;
        for thread in &mut threads.all {
            is_out &= place.settle(thread, until)?;
        }
        if is_out || left == 0 {
            let taken = take_out(held, &memory, ending.function, &mut threads, is_out, until);
            threads.release();
            return taken;
        }
        threads.release();
        thread::sleep(BREATH);
    }
    Err(Error::StaysWithin { process })
}

/// Ends the blob, and takes it out where no thread is within it.
fn take_out(
    held: &Held,
    memory: &Memory,
    function: u64,
    threads: &mut Threads,
    is_out: bool,
    until: Instant,
) -> Result<(), Error> {
    let process = held.process;
    let (facts, regions) = (memory.told()?, memory.regions()?);
    let bytes = whole::bytes();
    let mut footholds = foothold::in_vdso(&facts, &regions, memory, bytes);
    for file in files::find(process, memory, &facts)? {
        let bias = file.target.bias;
        footholds.extend(foothold::behind_code(&file.headers, bias, &regions, bytes));
    }
    let (blob, length) = held.mapped.first().copied().unwrap_or_default();
    let mut worker = threads.all.swap_remove(0);
    let done = put::with(&mut worker, memory, &footholds, until, |remote| {
        let stack = blob + length;
        let function = held.blob() + function;
        let ended = remote.function(memory, function, 0, stack, "ending the injected code");
        if !is_out {
            return Err(ended.err().unwrap_or(Error::StaysWithin { process }));
        }
        for patch in &held.patches {
            memory.write(patch.address, &patch.old)?;
        }
        remote.set_gs_base(0)?;
        threads.all.iter_mut().try_for_each(|thread| thread.set_gs_base(0))?;
        for (address, bytes) in &held.mapped {
            put::unmap(remote, *address, *bytes)?;
        }
        ended.map(drop)
    });
    threads.all.push(worker);
    done
}
