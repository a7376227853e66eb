//! One injection, step by step: from a process at the event of its exec to one that stands at its
//! first instruction with the blob, its text changed.
//!
//! The order keeps a process whole whose tracer is killed between two steps: code lies and is ready
//! before the first jump to it is written, and each change of the text is one write.

use std::path::PathBuf;
use std::time::Instant;

use crate::blob::{Argument, Injection, Patches, Placed, Prepare, Target};
use crate::changes::{change, check, verify};
use crate::facts::{self, HEADER_BYTES, Headers};
use crate::foothold::{self, Foothold, Return};
use crate::maps::{self, Extent, Region};
use crate::memory::Memory;
use crate::outcome::{Error, Injected, Left, Outcome};
use crate::remote::{Beginning, Remote};
use crate::seized::Seized;
use crate::tuning::STOPPED;

/// Result of an injection, and the signal that stopped the process meanwhile (0: none).
pub(crate) type Done = (Result<Outcome, Error>, i32);

/// Injects into a process that stands at the event of its exec. Whatever comes out, the process
/// stands where it can be let go.
pub(crate) fn inject(seized: &mut Seized, prepare: &dyn Prepare) -> Done {
    let begin = Instant::now();
    let beginning = match Beginning::of(seized, begin + STOPPED) {
        Ok(beginning) => beginning,
        Err(error) => return (Err(error), 0),
    };
    let work = match look(seized, &beginning, prepare) {
        Ok(Ok(work)) => work,
        Ok(Err(left)) => return (Ok(Outcome::Left(left)), 0),
        Err(error) => return (Err(error), 0),
    };
    let back = Return {
        mask: beginning.mask,
        stack: beginning.registers.rsp,
        rdx: beginning.registers.rdx,
        entry: beginning.registers.rip,
    };
    let process = seized.process();
    let foothold = Foothold::take(process, &work.memory, &work.footholds, &foothold::code(back));
    let remote =
        foothold.and_then(|foothold| Remote::begin(seized, &beginning, foothold, begin + STOPPED));
    let mut remote = match remote {
        Ok(remote) => remote,
        Err(error) => return (Err(error), 0),
    };
    let Work { memory, target, code, region, sizes, injection, .. } = work;
    let made = put(&mut remote, &memory, &code, region, sizes, target.bias, injection);
    let ended = remote.end(&memory);
    let stopped_by = *ended.as_ref().unwrap_or(&0);
    let outcome = made.and_then(|(placed, patches)| {
        ended?;
        let stopped = begin.elapsed();
        Ok(Outcome::Injected(Injected { process, path: target.path, placed, patches, stopped }))
    });
    (outcome, stopped_by)
}

/// What an injection works with.
struct Work {
    memory: Memory,
    target: Target,
    code: Vec<(u64, u64)>,
    footholds: Vec<u64>,
    region: u64,
    sizes: Sizes,
    injection: Injection,
}

/// Bytes of the parts of an injection, whole pages each.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    blob: u64,
    stubs: u64,
    argument: u64,
}

impl Sizes {
    /// Sizes for an injection; `None` where they are more than a number can say.
    fn of(injection: &Injection) -> Option<Sizes> {
        Some(Sizes {
            blob: maps::pages(injection.blob.memory)?,
            stubs: maps::pages(injection.stubs_room)?,
            argument: match &injection.argument {
                Argument::Stack => 0,
                Argument::Bytes(bytes) => maps::pages(bytes.len() as u64)?,
            },
        })
    }

    fn sum(self) -> Option<u64> {
        self.blob.checked_add(self.stubs)?.checked_add(self.argument)
    }
}

/// Looks at a process without changing it, and asks what to put into it.
fn look(
    seized: &Seized,
    beginning: &Beginning,
    prepare: &dyn Prepare,
) -> Result<Result<Work, Left>, Error> {
    let process = seized.process();
    if !beginning.is_64() {
        return Ok(Err(Left::NotX86_64));
    }
    let memory = Memory::open(process)?;
    let told = memory.told()?;
    if told.secure {
        return Ok(Err(Left::Secure));
    }
    if !told.fsgsbase {
        return Ok(Err(Left::NoFsgsbase));
    }
    let Some(linked) = memory.linked_entry()? else { return Ok(Err(Left::NotX86_64)) };
    let bias = told.entry.wrapping_sub(linked);
    let bytes = memory.read(told.headers, told.header_count as usize * HEADER_BYTES)?;
    let unreadable = Error::Unreadable { process, file: "the program's headers" };
    let Some(headers) = facts::headers(&bytes) else { return Err(unreadable) };
    let target = target(process, bias, &headers);
    let injection = match prepare.prepare(&target) {
        Ok(Some(injection)) => injection,
        Ok(None) => return Ok(Err(Left::Unwanted)),
        Err(reason) => return Error::of_preparation(reason).map(Err),
    };
    check(&injection.blob)?;
    let regions = memory.regions()?;
    let Some(image) = headers.extent(bias, memory.heap()?) else { return Err(unreadable) };
    let (region, sizes) = place(process, &regions, image, &injection)?;
    let mut footholds = foothold::behind_code(&headers, bias, &regions, foothold::BYTES);
    footholds.extend(foothold::in_vdso(&told, &regions, &memory, foothold::BYTES));
    let code = headers.code(bias).collect();
    Ok(Ok(Work { memory, target, code, footholds, region, sizes, injection }))
}

/// What `prepare` is told of a process.
fn target(process: u32, bias: u64, headers: &Headers) -> Target {
    let executable = PathBuf::from(format!("/proc/{process}/exe"));
    let path = std::fs::read_link(&executable).unwrap_or_default();
    let interpreted = headers.interpreted;
    Target { process, executable, path, bias, interpreted, is_left_again: false }
}

/// Where an injection lies, and the sizes of its parts.
fn place(
    process: u32,
    regions: &[Region],
    image: Extent,
    injection: &Injection,
) -> Result<(u64, Sizes), Error> {
    let sizes = Sizes::of(injection).and_then(|sizes| Some((sizes, sizes.sum()?)));
    let Some((sizes, bytes)) = sizes.filter(|(_, bytes)| *bytes > 0) else {
        return Err(Error::Blob("it has no size"));
    };
    let region = maps::below(regions, image, bytes).ok_or(Error::NoRoom { process, bytes })?;
    Ok((region, sizes))
}

/// Maps the parts, and changes the text. Without success, nothing of it is left.
fn put(
    remote: &mut Remote,
    memory: &Memory,
    code: &[(u64, u64)],
    region: u64,
    sizes: Sizes,
    bias: u64,
    injection: Injection,
) -> Result<(Placed, usize), Error> {
    const WRITABLE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
    const FLAGS: i32 =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let bytes = sizes.sum().unwrap_or(0);
    let arguments = [region, bytes, WRITABLE, FLAGS as u64, u64::MAX, 0];
    let mapped = remote.call(libc::SYS_mmap, arguments, "mapping memory in it")?;
    let gs_base = remote.gs_base();
    let handed = injection.handed.clone();
    let made = if mapped == region {
        fill(remote, memory, code, region, sizes, bias, injection)
    } else {
        // A kernel that does not know the last flag takes the address as a hint.
        Err(Error::NoRoom { process: remote.process(), bytes })
    };
    if made.is_err() {
        // It leads nowhere, and the process stands ready whatever comes of the rest.
        let _ = remote.set_gs_base(gs_base);
        if let Some(handed) = handed.filter(|_| mapped == region) {
            handed.take_back(remote, memory, region);
        }
        // The first error says more. A process that cannot do this keeps memory that nothing uses.
        let arguments = [mapped, bytes, 0, 0, 0, 0];
        let _ = remote.call(libc::SYS_munmap, arguments, "unmapping memory in it");
    }
    made
}

/// Fills the memory that was mapped, begins the blob and changes the text.
fn fill(
    remote: &mut Remote,
    memory: &Memory,
    code: &[(u64, u64)],
    region: u64,
    sizes: Sizes,
    bias: u64,
    injection: Injection,
) -> Result<(Placed, usize), Error> {
    let Injection { blob, argument, stubs_room, handed, assemble } = injection;
    let process = remote.process();
    let placed = Placed { blob: region, stubs: region + sizes.blob, bias };
    let argument_at = match argument {
        Argument::Stack => remote.stack(),
        Argument::Bytes(_) => placed.stubs + sizes.stubs,
    };
    let Patches { stubs, patches } = assemble(&placed).map_err(Error::Prepare)?;
    if stubs.len() as u64 > stubs_room {
        return Err(Error::Blob("its stubs are longer than was said"));
    }
    verify(process, memory, code, &patches)?;
    memory.write(placed.blob, &blob.image)?;
    memory.write(placed.stubs, &stubs)?;
    if let Argument::Bytes(bytes) = &argument {
        memory.write(argument_at, bytes)?;
    }
    let code_bytes = blob.code.end - blob.code.start;
    for (address, bytes) in
        [(placed.blob + blob.code.start, code_bytes), (placed.stubs, sizes.stubs)]
    {
        const EXECUTABLE: u64 = (libc::PROT_READ | libc::PROT_EXEC) as u64;
        if bytes > 0 {
            let arguments = [address, bytes, EXECUTABLE, 0, 0, 0];
            remote.call(libc::SYS_mprotect, arguments, "making its memory executable")?;
        }
    }
    if let Some(handed) = handed {
        handed.give(remote, memory, placed.blob)?;
    }
    if let Some(function) = blob.initialise {
        let function = placed.blob + function;
        let stack = remote.free_stack();
        match remote.function(
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
    change(memory, &patches)?;
    Ok((placed, patches.len()))
}
