//! Mapped files of code that make system calls: a process's program and its libc.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::patching::{IncompatibleProgram, incompatible_by_library, incompatible_by_texts};

use crate::blob::InjectionTarget;
use crate::facts::{self, AuxiliaryVector, HEADER_BYTES, ProgramHeaders};
use crate::maps::{self, ImageExtent, MemoryRegion, PAGE};
use crate::memory::ProcessMemory;
use crate::outcome::{Error, SkipReason};
use crate::regular;
use crate::tuning::MAX_CODE_FILE_BYTES;

/// File of code as mapped in a process.
#[derive(Clone, Debug)]
pub(crate) struct CodeFile {
    /// Description of the file for `Prepare`.
    pub target: InjectionTarget,
    /// Program headers.
    pub headers: ProgramHeaders,
    /// Addresses of the image.
    pub extent: ImageExtent,
}

/// Program of a process and its libc, the program first.
pub(crate) fn find_code_files(
    process: u32,
    memory: &ProcessMemory,
    auxiliary: &AuxiliaryVector,
) -> Result<Vec<CodeFile>, Error> {
    let regions = memory.regions()?;
    let heap = memory.heap_start()?;
    // The heap has grown already.
    let grown = regions.iter().find(|region| (region.start..region.end).contains(&heap));
    let heap = grown.map_or(heap, |region| region.end);
    let mut files = vec![program_file(process, memory, auxiliary, heap)?];
    let maps = memory.maps_text()?;
    for (base, path) in find_libcs(&maps) {
        // A file that is mapped for reading, as by a profiler, is not executed.
        let found = library_file(process, memory, base, &path, heap);
        let Some(file) = found.ok().filter(|file| is_executable(file, &regions)) else { continue };
        if path.to_string_lossy().ends_with(" (deleted)") {
            return Err(Error::skipped(process, SkipReason::Replaced(path)));
        }
        files.push(file);
    }
    Ok(files)
}

/// Reason why a program that loads libraries is incompatible with another one, if there is any: a
/// library that it has loaded, or its own file, the first of `files`. For other programs, `Prepare`
/// decides.
pub(crate) fn find_incompatibility(
    files: &[CodeFile],
    memory: &ProcessMemory,
) -> Result<Option<IncompatibleProgram>, Error> {
    let Some(program) = files.first().filter(|file| file.target.interpreted) else {
        return Ok(None);
    };
    let maps = memory.maps_text()?;
    let mut loaded = maps::file_regions(&maps).filter_map(|file| {
        file.path.file_name().and_then(|name| name.to_str()).and_then(incompatible_by_library)
    });
    if let Some(unsuited) = loaded.next() {
        return Ok(Some(unsuited));
    }
    // A file that cannot be read yields no reason.
    let mut bytes = Vec::new();
    let read = regular::open_regular(&program.target.executable)
        .and_then(|file| file.take(MAX_CODE_FILE_BYTES).read_to_end(&mut bytes));
    Ok(read.ok().and_then(|_| incompatible_by_texts(&bytes)))
}

/// Whether all code of a file is executable at its presumed place.
fn is_executable(file: &CodeFile, regions: &[MemoryRegion]) -> bool {
    let mut code = file.headers.code_ranges(file.target.bias);
    code.all(|range| {
        covering_regions(range, regions).is_some_and(|by| by.iter().all(|by| by.executable))
    })
}

/// Regions that together cover a range of addresses, however many they are.
fn covering_regions(
    (start, end): (u64, u64),
    regions: &[MemoryRegion],
) -> Option<Vec<&MemoryRegion>> {
    let (mut at, mut by) = (start, Vec::new());
    while at < end {
        let region = regions.iter().find(|region| region.start <= at && at < region.end)?;
        by.push(region);
        at = region.end;
    }
    Some(by)
}

/// The program's file. `heap` is the address up to which the heap has grown.
fn program_file(
    process: u32,
    memory: &ProcessMemory,
    auxiliary: &AuxiliaryVector,
    heap: u64,
) -> Result<CodeFile, Error> {
    let Some(linked) = memory.linked_entry()? else {
        return Err(Error::skipped(process, SkipReason::NotX86_64));
    };
    let bias = auxiliary.entry.wrapping_sub(linked);
    let bytes = memory.read(auxiliary.headers, auxiliary.header_count as usize * HEADER_BYTES)?;
    let executable = PathBuf::from(format!("/proc/{process}/exe"));
    let path = std::fs::read_link(&executable).unwrap_or_default();
    let unreadable = Error::Unreadable { process, file: "the program's headers" };
    let Some(headers) = facts::parse_program_headers(&bytes) else { return Err(unreadable) };
    let Some(extent) = headers.image_extent(bias, heap) else { return Err(unreadable) };
    let interpreted = headers.interpreted;
    let target =
        InjectionTarget { process, executable, path, bias, interpreted, is_left_again: true };
    Ok(CodeFile { target, headers, extent })
}

/// The library's file, which is mapped from the address `base` on. `heap` is the address up to
/// which the heap has grown.
fn library_file(
    process: u32,
    memory: &ProcessMemory,
    base: u64,
    path: &Path,
    heap: u64,
) -> Result<CodeFile, Error> {
    /// Positions in the ELF header: offset of the program headers, and their number.
    const HEADERS: usize = 32;
    const COUNT: usize = 56;
    let unreadable = || Error::Unreadable { process, file: "the headers of its libc" };
    let header = memory.read(base, 64)?;
    let (Some(at), Some(count)) = (
        header.get(HEADERS..).and_then(|bytes| bytes.first_chunk()),
        header.get(COUNT..).and_then(|bytes| bytes.first_chunk()),
    ) else {
        return Err(unreadable());
    };
    let (at, count) = (u64::from_le_bytes(*at), u16::from_le_bytes(*count));
    let bytes = memory.read(base.wrapping_add(at), usize::from(count) * HEADER_BYTES)?;
    let headers = facts::parse_program_headers(&bytes).ok_or_else(unreadable)?;
    let first = headers.segments.iter().map(|segment| segment.start).min();
    let bias = base.wrapping_sub(first.ok_or_else(unreadable)? / PAGE * PAGE);
    let extent = headers.image_extent(bias, heap).ok_or_else(unreadable)?;
    let (executable, path) = (path.to_owned(), path.to_owned());
    // Not interpreted: libc makes its system calls itself.
    let target = InjectionTarget {
        process,
        executable,
        path,
        bias,
        interpreted: false,
        is_left_again: true,
    };
    Ok(CodeFile { target, headers, extent })
}

/// Whether a file of this name is a libc, which makes the system calls of C programs.
fn is_libc(name: &str) -> bool {
    let is_version = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
    ["libc.so", "libpthread.so", "ld-musl-"].iter().any(|begin| name.starts_with(begin))
        || ["libc-", "libpthread-"]
            .iter()
            .any(|begin| name.strip_prefix(begin).is_some_and(is_version))
}

/// Start addresses and paths of mapped files that are libc, from the text of `/proc/PID/maps`.
fn find_libcs(maps: &[u8]) -> Vec<(u64, PathBuf)> {
    let is_one = |path: &Path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_libc);
    let begins = maps::file_regions(maps).filter(|file| file.offset == 0 && is_one(&file.path));
    begins.map(|file| (file.region.start, file.path)).collect()
}

/// Whether all files are still mapped where they were found.
pub(crate) fn are_mapped(files: &[CodeFile], regions: &[MemoryRegion]) -> bool {
    let mut code = files.iter().flat_map(|file| file.headers.code_ranges(file.target.bias));
    code.all(|range| covering_regions(range, regions).is_some())
}

/// Whether a change of the mapped code affects the process alone, and not the file.
pub(crate) fn are_own(files: &[CodeFile], regions: &[MemoryRegion]) -> bool {
    let mut code = files.iter().flat_map(|file| file.headers.code_ranges(file.target.bias));
    code.all(|range| {
        covering_regions(range, regions).is_some_and(|by| by.iter().all(|by| !by.shared))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libc_is_known_by_its_name() {
        for name in ["libc.so.6", "libc-2.31.so", "libpthread-2.31.so", "ld-musl-x86_64.so.1"] {
            assert!(is_libc(name), "{name}");
        }
        for name in ["libcap.so.2", "libc-client.so", "libcrypto.so.3", "ld-linux-x86-64.so.2"] {
            assert!(!is_libc(name), "{name}");
        }
    }

    #[test]
    fn libc_is_found_at_its_first_mapping() {
        let maps = b"400000-401000 r-xp 00000000 fe:00 1    /usr/bin/a\n\
            7f0000-7f1000 r--p 00000000 fe:00 2    /usr/lib/libc.so.6\n\
            7f1000-7f2000 r-xp 00001000 fe:00 2    /usr/lib/libc.so.6\n\
            7f8000-7f9000 rw-p 00000000 00:00 0 \n";
        assert_eq!(find_libcs(maps), [(0x7f_0000, PathBuf::from("/usr/lib/libc.so.6"))]);
        assert_eq!(find_libcs(b"x\n1 2 /libc.so.6\n"), []);
        // A program may give its memory any name.
        assert_eq!(
            find_libcs(b"7000-8000 r--p 00000000 00:00 0    [anon:/usr/lib/libc.so.6]\n"),
            []
        );
    }

    #[test]
    fn code_is_covered_however_its_mapping_is_divided() {
        let region = |start, end, shared| MemoryRegion { start, end, executable: true, shared };
        let regions = [region(1, 3, false), region(3, 5, false), region(6, 9, true)];
        let covers = |range| covering_regions(range, &regions).map(|by| by.len());
        assert_eq!((covers((1, 5)), covers((2, 3))), (Some(2), Some(1)));
        assert_eq!((covers((4, 7)), covers((0, 2)), covers((8, 10))), (None, None, None));
    }

    /// A write to shared code would be a write to the file.
    #[test]
    fn shared_code_is_not_private_to_the_process() {
        let headers = ProgramHeaders {
            segments: vec![facts::ProgramSegment {
                start: 0x1000,
                file_bytes: 0x2000,
                bytes: 0x2000,
                executable: true,
            }],
            interpreted: false,
        };
        let target = InjectionTarget {
            process: 1,
            executable: PathBuf::new(),
            path: PathBuf::new(),
            bias: 0,
            interpreted: false,
            is_left_again: true,
        };
        let extent = headers.image_extent(0, 0).unwrap();
        let file = [CodeFile { target, headers, extent }];
        let region =
            |start, shared| MemoryRegion { start, end: start + 0x1000, executable: true, shared };
        let own = [region(0x1000, false), region(0x2000, false)];
        let shared = [region(0x1000, false), region(0x2000, true)];
        assert!(are_mapped(&file, &own) && are_own(&file, &own));
        assert!(are_mapped(&file, &shared) && !are_own(&file, &shared));
        assert!(!are_mapped(&file, &own[..1]));
        // A file that is mapped for reading is not executed.
        let read =
            [region(0x1000, false), MemoryRegion { executable: false, ..region(0x2000, false) }];
        assert!(is_executable(&file[0], &own) && !is_executable(&file[0], &read));
    }
}
