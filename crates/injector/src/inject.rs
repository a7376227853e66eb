//! One injection, step by step: from a process at its exec event to a process that stands at its
//! first instruction with the blob and patched text.
//!
//! The order keeps a process unharmed if its tracer is killed between two steps: code is in place
//! and ready before the first jump to it is written, and each patch of the text is one write.

use std::path::PathBuf;
use std::time::Instant;

use crate::blob::{
    EntryArgument, Injection, InjectionPatches, InjectionTarget, PlacedAddresses, Prepare,
};
use crate::changes::{apply_patches, check_blob, verify_patches};
use crate::code_cave::{self, CodeCave, ResumeState};
use crate::facts::{self, HEADER_BYTES, ProgramHeaders};
use crate::maps::{self, ImageExtent, MemoryRegion};
use crate::memory::ProcessMemory;
use crate::outcome::{Error, InjectedProgram, InjectionOutcome, SkipReason};
use crate::remote::{RemoteWorker, SavedThreadState};
use crate::traced_thread::TracedThread;
use crate::tuning::MAX_STOPPED_TIME;

/// Result of an injection, and the signal that stopped the process meanwhile (0: none).
pub(crate) type InjectionResult = (Result<InjectionOutcome, Error>, i32);

/// Injects a blob into a process at its exec event. With any result, the process can be released
/// afterwards.
pub(crate) fn inject_blob(seized: &mut TracedThread, prepare: &dyn Prepare) -> InjectionResult {
    let begin = Instant::now();
    let beginning = match SavedThreadState::after_exec(seized, begin + MAX_STOPPED_TIME) {
        Ok(beginning) => beginning,
        Err(error) => return (Err(error), 0),
    };
    let work = match prepare_injection(seized, &beginning, prepare) {
        Ok(Ok(work)) => work,
        Ok(Err(left)) => return (Ok(InjectionOutcome::Left(left)), 0),
        Err(error) => return (Err(error), 0),
    };
    let back = ResumeState {
        mask: beginning.mask,
        stack: beginning.registers.rsp,
        rdx: beginning.registers.rdx,
        entry: beginning.registers.rip,
    };
    let process = seized.process_id();
    let cave =
        CodeCave::take_cave(process, &work.memory, &work.caves, &code_cave::assemble_cave(back));
    let remote = cave
        .and_then(|cave| RemoteWorker::begin(seized, &beginning, cave, begin + MAX_STOPPED_TIME));
    let mut remote = match remote {
        Ok(remote) => remote,
        Err(error) => return (Err(error), 0),
    };
    let PreparedInjection { memory, target, code, region, sizes, injection, .. } = work;
    let made = map_and_fill(&mut remote, &memory, &code, region, sizes, target.bias, injection);
    let ended = remote.finish_exec(&memory);
    let stopped_by = *ended.as_ref().unwrap_or(&0);
    let outcome = made.and_then(|(placed, patches)| {
        ended?;
        let stopped = begin.elapsed();
        Ok(InjectionOutcome::Injected(InjectedProgram {
            process,
            path: target.path,
            placed,
            patches,
            stopped,
        }))
    });
    (outcome, stopped_by)
}

/// Prepared injection.
struct PreparedInjection {
    memory: ProcessMemory,
    target: InjectionTarget,
    /// Start and end addresses of the program's code.
    code: Vec<(u64, u64)>,
    /// Addresses at which a code cave may be placed.
    caves: Vec<u64>,
    /// Address of the free region for the injection.
    region: u64,
    sizes: RegionSizes,
    injection: Injection,
}

/// Sizes of the parts of an injection, in bytes, whole pages each.
#[derive(Clone, Copy, Debug)]
struct RegionSizes {
    blob: u64,
    stubs: u64,
    argument: u64,
}

impl RegionSizes {
    /// Sizes for an injection; `None` on overflow.
    fn of_injection(injection: &Injection) -> Option<RegionSizes> {
        Some(RegionSizes {
            blob: maps::round_to_pages(injection.blob.memory)?,
            stubs: maps::round_to_pages(injection.stubs_room)?,
            argument: match &injection.argument {
                EntryArgument::Stack => 0,
                EntryArgument::Bytes(bytes) => maps::round_to_pages(bytes.len() as u64)?,
            },
        })
    }

    fn sum(self) -> Option<u64> {
        self.blob.checked_add(self.stubs)?.checked_add(self.argument)
    }
}

/// Inspects a process without changing it, and asks `prepare` for the injection. The inner error is
/// the reason why the program is left unchanged.
fn prepare_injection(
    seized: &TracedThread,
    beginning: &SavedThreadState,
    prepare: &dyn Prepare,
) -> Result<Result<PreparedInjection, SkipReason>, Error> {
    let process = seized.process_id();
    if !beginning.is_64() {
        return Ok(Err(SkipReason::NotX86_64));
    }
    let memory = ProcessMemory::open(process)?;
    let auxiliary = memory.auxiliary_vector()?;
    if auxiliary.secure {
        return Ok(Err(SkipReason::Secure));
    }
    if !auxiliary.fsgsbase {
        return Ok(Err(SkipReason::NoFsgsbase));
    }
    let Some(linked) = memory.linked_entry()? else { return Ok(Err(SkipReason::NotX86_64)) };
    let bias = auxiliary.entry.wrapping_sub(linked);
    let bytes = memory.read(auxiliary.headers, auxiliary.header_count as usize * HEADER_BYTES)?;
    let unreadable = Error::Unreadable { process, file: "the program's headers" };
    let Some(headers) = facts::parse_program_headers(&bytes) else { return Err(unreadable) };
    let target = describe_target(process, bias, &headers);
    let injection = match prepare.prepare(&target) {
        Ok(Some(injection)) => injection,
        Ok(None) => return Ok(Err(SkipReason::Unwanted)),
        Err(reason) => return Error::from_preparation(reason).map(Err),
    };
    check_blob(&injection.blob)?;
    let regions = memory.regions()?;
    let Some(image) = headers.image_extent(bias, memory.heap_start()?) else {
        return Err(unreadable);
    };
    let (region, sizes) = find_region(process, &regions, image, &injection)?;
    let mut caves = code_cave::unused_code(&headers, bias, &regions, code_cave::CAVE_BYTES);
    caves.extend(code_cave::unused_vdso(&auxiliary, &regions, &memory, code_cave::CAVE_BYTES));
    let code = headers.code_ranges(bias).collect();
    Ok(Ok(PreparedInjection { memory, target, code, caves, region, sizes, injection }))
}

/// Description of a process for `prepare`.
fn describe_target(process: u32, bias: u64, headers: &ProgramHeaders) -> InjectionTarget {
    let executable = PathBuf::from(format!("/proc/{process}/exe"));
    let path = std::fs::read_link(&executable).unwrap_or_default();
    let interpreted = headers.interpreted;
    InjectionTarget { process, executable, path, bias, interpreted, is_left_again: false }
}

/// Free region for an injection, and the sizes of its parts.
fn find_region(
    process: u32,
    regions: &[MemoryRegion],
    image: ImageExtent,
    injection: &Injection,
) -> Result<(u64, RegionSizes), Error> {
    let sizes = RegionSizes::of_injection(injection).and_then(|sizes| Some((sizes, sizes.sum()?)));
    let Some((sizes, bytes)) = sizes.filter(|(_, bytes)| *bytes > 0) else {
        return Err(Error::Blob("it has no size"));
    };
    let region = maps::find_free_below(regions, image, bytes);
    let region = region.ok_or(Error::NoRoom { process, bytes, is_running: false })?;
    Ok((region, sizes))
}

/// Maps the parts and patches the text. Returns the addresses of the parts and the number of
/// patches. On failure, the mappings and patches are removed again.
fn map_and_fill(
    remote: &mut RemoteWorker,
    memory: &ProcessMemory,
    code: &[(u64, u64)],
    region: u64,
    sizes: RegionSizes,
    bias: u64,
    injection: Injection,
) -> Result<(PlacedAddresses, usize), Error> {
    const WRITABLE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    const FLAGS: i32 =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let bytes = sizes.sum().unwrap_or(0);
    let arguments = [region, bytes, WRITABLE, FLAGS as u64, u64::MAX, 0];
    let mapped = remote.system_call(libc::SYS_mmap, arguments, "mapping memory in it")?;
    let gs_base = remote.gs_base();
    let handed = injection.handed.clone();
    let made = if mapped == region {
        fill_memory(remote, memory, code, region, sizes, bias, injection)
    } else {
        // A kernel that does not support the last flag treats the address as a hint.
        Err(Error::NoRoom { process: remote.process_id(), bytes, is_running: false })
    };
    if made.is_err() {
        // The GS base is not in use yet, and the process is ready to continue with any result
        // below.
        let _ = remote.set_gs_base(gs_base);
        if let Some(handed) = handed.filter(|_| mapped == region) {
            handed.take_back(remote, memory, region);
        }
        // The first error is the more helpful one. If unmapping fails, the process keeps unused
        // memory.
        let arguments = [mapped, bytes, 0, 0, 0, 0];
        let _ = remote.system_call(libc::SYS_munmap, arguments, "unmapping memory in it");
    }
    made
}

/// Fills the mapped memory, begins the blob and patches the text.
fn fill_memory(
    remote: &mut RemoteWorker,
    memory: &ProcessMemory,
    code: &[(u64, u64)],
    region: u64,
    sizes: RegionSizes,
    bias: u64,
    injection: Injection,
) -> Result<(PlacedAddresses, usize), Error> {
    let Injection { blob, argument, stubs_room, handed, assemble } = injection;
    let process = remote.process_id();
    let placed = PlacedAddresses { blob: region, stubs: region + sizes.blob, bias };
    let argument_at = match argument {
        EntryArgument::Stack => remote.program_stack(),
        EntryArgument::Bytes(_) => placed.stubs + sizes.stubs,
    };
    let InjectionPatches { stubs, patches } = assemble(&placed).map_err(Error::Prepare)?;
    if stubs.len() as u64 > stubs_room {
        return Err(Error::Blob("its stubs are larger than announced"));
    }
    verify_patches(process, memory, code, &patches)?;
    memory.write(placed.blob, &blob.image)?;
    memory.write(placed.stubs, &stubs)?;
    if let EntryArgument::Bytes(bytes) = &argument {
        memory.write(argument_at, bytes)?;
    }
    let code_bytes = blob.code.end - blob.code.start;
    for (address, bytes) in
        [(placed.blob + blob.code.start, code_bytes), (placed.stubs, sizes.stubs)]
    {
        const EXECUTABLE: u64 = (libc::PROT_READ | libc::PROT_EXEC) as u64;
        if bytes > 0 {
            let arguments = [address, bytes, EXECUTABLE, 0, 0, 0];
            remote.system_call(libc::SYS_mprotect, arguments, "making its memory executable")?;
        }
    }
    if let Some(handed) = handed {
        handed.give(remote, memory, placed.blob)?;
    }
    if let Some(function) = blob.initialise {
        let function = placed.blob + function;
        let stack = remote.free_stack();
        match remote.call_function(
            memory,
            function,
            argument_at,
            stack,
            "beginning the injected code",
        )? {
            0 => {}
            status => return Err(Error::Initialise { process, status }),
        }
    }
    remote.set_gs_base(placed.blob + blob.null_slot)?;
    apply_patches(memory, &patches)?;
    Ok((placed, patches.len()))
}
