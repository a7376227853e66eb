//! Installation of a blob in a process, while all its threads stand still. One thread, the worker,
//! makes system calls and runs functions for us.
//!
//! The order keeps the process unharmed if its tracer is killed between two steps: the worker
//! continues by itself from any step, and before the first jump to the blob is written, its code is
//! in place and ready and each thread has the GS base that the code needs.

use std::sync::Arc;
use std::time::Instant;

use super::blob_mappings;
use super::files::{self, CodeFile};
use super::initial_stack::{InitialStack, MARK_BYTES};
use super::installed_blob::InstalledBlob;
use super::note;
use super::patch_clearance;
use super::recorder::RecorderProcess;
use crate::blob::{Blob, Injection, InjectionPatches, PlacedAddresses, TextPatch};
use crate::changes::{apply_patches, verify_patches};
use crate::code_cave::{self, CodeCave, interrupted};
use crate::facts;
use crate::maps::{self, MemoryRegion};
use crate::memory::ProcessMemory;
use crate::outcome::{Error, SkipReason};
use crate::ptrace;
use crate::remote::{RemoteWorker, SavedThreadState};
use crate::threads::{StoppedThread, StoppedThreads};
use crate::tuning::NOTE_BYTES;

/// Blob to be installed.
pub(super) struct InstallJob<'a> {
    pub process: u32,
    pub memory: &'a ProcessMemory,
    pub facts: &'a facts::AuxiliaryVector,
    pub blob: Arc<Blob>,
    pub initial_stack: InitialStack,
    /// Size in bytes of the argument of the blob's first function and its stack.
    pub argument_and_stack: u64,
}

/// A file of code and its patches.
pub(super) struct FileInjection {
    pub file: CodeFile,
    pub injection: Injection,
}

/// Placed code, and the patches that jump to it.
#[derive(Debug, Default)]
struct PlacedCode {
    /// Ranges to be mapped, the blob's first.
    mapped: Vec<(u64, u64)>,
    /// Stubs, and their ranges in whole pages.
    stubs: Vec<(Vec<u8>, (u64, u64))>,
    patches: Vec<TextPatch>,
}

/// Installs a blob in a process.
pub(super) fn install_blob(
    work: InstallJob<'_>,
    parts: Vec<FileInjection>,
    threads: &mut StoppedThreads,
    until: Instant,
) -> Result<InstalledBlob, Error> {
    let InstallJob { process, memory, .. } = work;
    for thread in &threads.all {
        if !SavedThreadState::of_interrupted(&thread.seized)?.is_64() {
            return Err(Error::skipped(process, SkipReason::NotX86_64));
        }
        if thread.registers.gs_base != 0 {
            return Err(Error::skipped(process, SkipReason::UsesGs));
        }
    }
    let regions = memory.regions()?;
    let code: Vec<_> = parts.iter().map(|part| part.file.clone()).collect();
    if !files::are_mapped(&code, &regions) {
        return Err(Error::skipped(process, SkipReason::OtherProgram));
    }
    if !files::are_own(&code, &regions) {
        return Err(Error::skipped(process, SkipReason::SharedCode));
    }
    let mut laid = place_code(&work, parts, regions.clone())?;
    patch_clearance::clear_patches(threads, &mut laid.patches, until)?;
    let caves = find_code_caves(memory, work.facts, &code, &regions, threads);
    let mut installed = describe_blob(&work, &laid);
    let mut worker = threads.all.swap_remove(0);
    let made = with_worker(&mut worker, memory, &caves, until, |remote| {
        let made = fill_memory(&work, &laid, &mut installed, remote, threads);
        if made.is_err() {
            // The GS base is not in use yet, and each thread stands as before. The first error is
            // the more helpful one.
            let _ = remote.set_gs_base(0);
            let others = threads.all.iter_mut();
            others.for_each(|thread| drop(thread.set_gs_base(0)));
            let own = blob_mappings::mapped_ranges(&installed, memory);
            for (address, bytes) in installed.mapped.iter().chain(&own) {
                let _ = unmap_range(remote, *address, *bytes);
            }
        }
        made
    });
    threads.all.push(worker);
    made.map(|()| installed)
}

/// Describes a blob that is to be placed.
fn describe_blob(work: &InstallJob<'_>, laid: &PlacedCode) -> InstalledBlob {
    let (blob, bytes) = laid.mapped.first().copied().unwrap_or_default();
    let stack_end = blob + bytes - work.argument_and_stack + work.initial_stack.byte_count() as u64;
    InstalledBlob {
        process: work.process,
        mapped: laid.mapped.clone(),
        stubs: laid.stubs.iter().map(|(_, range)| *range).collect(),
        code: (blob + work.blob.code.start, blob + work.blob.code.end),
        mark: (stack_end - MARK_BYTES as u64, work.initial_stack.mark()),
        slot: blob + work.blob.null_slot,
        patches: laid.patches.clone(),
        ending: work.blob.ending,
    }
}

/// Addresses at which the worker can execute: in unused bytes of code pages, and in the vDSO.
pub(super) fn find_code_caves(
    memory: &ProcessMemory,
    facts: &facts::AuxiliaryVector,
    code: &[CodeFile],
    regions: &[MemoryRegion],
    threads: &StoppedThreads,
) -> Vec<u64> {
    let bytes = interrupted::cave_bytes();
    let mut places = code_cave::unused_vdso(facts, regions, memory, bytes);
    for file in code {
        places.extend(code_cave::unused_code(&file.headers, file.target.bias, regions, bytes));
    }
    places.retain(|place| is_free_of_threads(memory, *place, threads));
    places
}

/// Whether no thread is in the code cave at `place` or returns to it. If a recorder was killed
/// while its worker was there, the worker blocks all signals until it is back.
fn is_free_of_threads(memory: &ProcessMemory, place: u64, threads: &StoppedThreads) -> bool {
    /// All signals but SIGKILL and SIGSTOP, which cannot be blocked. A program does not block its
    /// libc's own.
    const ALL: u64 = !(1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1));
    let bytes = interrupted::cave_bytes();
    let is_left = memory.read(place, bytes).is_ok_and(|found| interrupted::is_cave(&found));
    let comes_back = |thread: &StoppedThread| {
        (place..place + bytes as u64).contains(&thread.registers.rip)
            || ptrace::blocked_signals(thread.seized.thread_id()).is_ok_and(|mask| mask == ALL)
    };
    !is_left || !threads.all.iter().any(comes_back)
}

/// Assigns addresses to everything, and assembles stubs and patches for them.
fn place_code(
    work: &InstallJob<'_>,
    parts: Vec<FileInjection>,
    mut regions: Vec<MemoryRegion>,
) -> Result<PlacedCode, Error> {
    let InstallJob { process, memory, .. } = *work;
    let too_large = || Error::Blob("it is too large");
    let mut laid = PlacedCode::default();
    let mut blob = 0;
    for FileInjection { file, injection } in parts {
        let stubs_room = maps::round_to_pages(injection.stubs_room).ok_or_else(too_large)?;
        // The blob, its stack and its argument share the region of the first file's stubs.
        let with_blob = if laid.mapped.is_empty() { work.blob.memory } else { 0 };
        let with_blob = maps::round_to_pages(with_blob).ok_or_else(too_large)?;
        let after = if laid.mapped.is_empty() { work.argument_and_stack } else { 0 };
        let bytes = with_blob.checked_add(stubs_room).and_then(|sum| sum.checked_add(after));
        let bytes = bytes.ok_or_else(too_large)?;
        let address = maps::find_free_below(&regions, file.extent, bytes);
        let address = address.ok_or(Error::NoRoom { process, bytes, is_running: true })?;
        regions.push(MemoryRegion {
            start: address,
            end: address + bytes,
            executable: true,
            shared: false,
        });
        regions.sort_by_key(|region| region.start);
        if laid.mapped.is_empty() {
            blob = address;
        }
        let stubs_at = address + with_blob;
        let placed = PlacedAddresses { blob, stubs: stubs_at, bias: file.target.bias };
        let made = (injection.assemble)(&placed).map_err(Error::Prepare)?;
        let InjectionPatches { stubs, patches } = made;
        if stubs.len() as u64 > stubs_room {
            return Err(Error::Blob("its stubs are larger than announced"));
        }
        let code: Vec<_> = file.headers.code_ranges(file.target.bias).collect();
        verify_patches(process, memory, &code, &patches)?;
        laid.mapped.push((address, bytes));
        laid.stubs.push((stubs, (stubs_at, stubs_at + stubs_room)));
        laid.patches.extend(patches);
    }
    Ok(laid)
}

/// Runs `work` in a thread of the process, which is restored afterwards.
pub(super) fn with_worker<T>(
    worker: &mut StoppedThread,
    memory: &ProcessMemory,
    caves: &[u64],
    until: Instant,
    work: impl FnOnce(&mut RemoteWorker<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let (process, tid) = (worker.seized.process_id(), worker.seized.thread_id());
    let beginning = SavedThreadState::of_interrupted(&worker.seized)?;
    let vectors =
        ptrace::get_vectors(tid).map_err(worker.seized.step_error("reading a thread's state"))?;
    let code = interrupted::assemble_cave(&beginning.registers, &vectors, beginning.mask);
    let cave = CodeCave::take_cave(process, memory, caves, &code)?;
    let mut remote = RemoteWorker::begin(&mut worker.seized, &beginning, cave, until)?;
    let done = work(&mut remote);
    let signal = or_resumed(&done, remote.finish_interrupted(memory))?;
    if signal != 0 {
        worker.signal = signal;
    }
    done
}

/// Signal for a worker that has finished. A worker that cannot be restored continues by itself with
/// its saved state, so work that was done stays done, and the caller must know of it.
fn or_resumed<T>(done: &Result<T, Error>, ended: Result<i32, Error>) -> Result<i32, Error> {
    match (done, ended) {
        (_, Err(gone @ Error::Gone { .. })) => Err(gone),
        (_, ended) => Ok(ended.unwrap_or(0)),
    }
}

/// Maps everything, begins the blob and patches the text.
fn fill_memory(
    work: &InstallJob<'_>,
    laid: &PlacedCode,
    installed: &mut InstalledBlob,
    remote: &mut RemoteWorker<'_>,
    others: &mut StoppedThreads,
) -> Result<(), Error> {
    const WRITABLE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    const EXECUTABLE: u64 = (libc::PROT_READ | libc::PROT_EXEC) as u64;
    const FLAGS: i32 =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let InstallJob { process, memory, .. } = *work;
    for (address, bytes) in &laid.mapped {
        let arguments = [*address, *bytes, WRITABLE, FLAGS as u64, u64::MAX, 0];
        let mapped = remote.system_call(libc::SYS_mmap, arguments, "mapping memory in it")?;
        if mapped != *address {
            unmap_range(remote, mapped, *bytes)?;
            return Err(Error::NoRoom { process, bytes: *bytes, is_running: true });
        }
    }
    let (blob, bytes) = laid.mapped.first().copied().unwrap_or_default();
    memory.write(blob, &work.blob.image)?;
    let mut code = vec![(blob + work.blob.code.start, blob + work.blob.code.end)];
    for (stubs, range) in &laid.stubs {
        memory.write(range.0, stubs)?;
        code.push(*range);
    }
    for (start, end) in code.into_iter().filter(|(start, end)| start < end) {
        let arguments = [start, end - start, EXECUTABLE, 0, 0, 0];
        remote.system_call(libc::SYS_mprotect, arguments, "making its memory executable")?;
    }
    let stack = blob + bytes;
    let argument = stack - work.argument_and_stack;
    memory.write(argument, &work.initial_stack.to_bytes_at(argument))?;
    let note = write_note(memory, installed, remote)?;
    if let Some(function) = work.blob.initialise {
        let function = blob + function;
        match remote.call_function(
            memory,
            function,
            argument,
            stack,
            "beginning the injected code",
        )? {
            0 => {}
            status => return Err(Error::Initialise { process, status }),
        }
    }
    if installed.ending.is_some() {
        note::mark_begun(memory, note)?;
    }
    remote.set_gs_base(installed.slot)?;
    others.all.iter_mut().try_for_each(|thread| thread.set_gs_base(installed.slot))?;
    apply_patches(memory, &laid.patches)
}

/// Leaves a note of a blob that is about to begin, and returns its address. The first words of the
/// note are written last, as it does not count without them.
fn write_note(
    memory: &ProcessMemory,
    installed: &mut InstalledBlob,
    remote: &mut RemoteWorker<'_>,
) -> Result<u64, Error> {
    const STEP: &str = "mapping memory for a note in it";
    const FLAGS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    installed.mapped.push((0, 0));
    let length = note::encode_note(RecorderProcess::current(), installed).len() as u64;
    let bytes = maps::round_to_pages(length).filter(|bytes| *bytes <= NOTE_BYTES as u64);
    installed.mapped.pop();
    let bytes = bytes.ok_or(Error::Blob("its note is too long"))?;
    let arguments = [0, bytes, libc::PROT_READ as u64, FLAGS as u64, u64::MAX, 0];
    let address = remote.system_call(libc::SYS_mmap, arguments, STEP)?;
    installed.mapped.push((address, bytes));
    let note = note::encode_note(RecorderProcess::current(), installed);
    let (begin, rest) = note.split_at_checked(8).unwrap_or_default();
    memory.write(address + 8, rest)?;
    memory.write(address, begin)?;
    Ok(address)
}

/// Unmaps memory in the process.
pub(super) fn unmap_range(
    remote: &mut RemoteWorker<'_>,
    address: u64,
    bytes: u64,
) -> Result<(), Error> {
    let arguments = [address, bytes, 0, 0, 0, 0];
    remote.system_call(libc::SYS_munmap, arguments, "unmapping memory in it").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise the process would keep a blob that cannot be removed.
    #[test]
    fn work_stays_done_if_the_thread_continues_by_itself() {
        let timeout = || Err(Error::Timeout { process: 1, step: "" });
        let gone = || Err(Error::Gone { process: 1, step: "" });
        assert!(matches!(or_resumed(&Ok(()), timeout()), Ok(0)));
        assert!(matches!(or_resumed(&Ok(()), Ok(19)), Ok(19)));
        assert!(matches!(or_resumed(&Ok(()), gone()), Err(Error::Gone { .. })));
    }
}
