//! Files of code that a process has mapped and that make system calls: its program, and its libc.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::patching::{Unsuited, unsuited_by_library, unsuited_by_texts};

use crate::blob::Target;
use crate::facts::{self, HEADER_BYTES, Headers, Told};
use crate::maps::{self, Extent, PAGE, Region};
use crate::memory::Memory;
use crate::outcome::{Error, Left};
use crate::regular;
use crate::tuning::CODE_BYTES;

/// File of code as it lies in a process.
#[derive(Clone, Debug)]
pub(crate) struct CodeFile {
    /// What whoever prepares an injection is told.
    pub target: Target,
    /// Its program headers.
    pub headers: Headers,
    /// Its addresses.
    pub extent: Extent,
}

/// The program of a process and its libc, the program first.
pub(crate) fn find(process: u32, memory: &Memory, told: &Told) -> Result<Vec<CodeFile>, Error> {
    let regions = memory.regions()?;
    let heap = memory.heap()?;
    // The heap has grown already.
    let grown = regions.iter().find(|region| (region.start..region.end).contains(&heap));
    let heap = grown.map_or(heap, |region| region.end);
    let mut files = vec![program(process, memory, told, heap)?];
    let maps = memory.maps()?;
    for (base, path) in libcs(&maps) {
        // A file that is mapped to be read, as by a profiler, is none that runs.
        let found = library(process, memory, base, &path, heap);
        let Some(file) = found.ok().filter(|file| runs(file, &regions)) else { continue };
        if path.to_string_lossy().ends_with(" (deleted)") {
            return Err(Error::left(process, Left::Replaced(path)));
        }
        files.push(file);
    }
    Ok(files)
}

/// Why a program that loads libraries does not bear another one, if there is a reason: by what it
/// has loaded, or by its own file, the first of `files`. Of other programs, whoever prepares an
/// injection knows.
pub(crate) fn unsuited(files: &[CodeFile], memory: &Memory) -> Result<Option<Unsuited>, Error> {
    let Some(program) = files.first().filter(|file| file.target.interpreted) else {
        return Ok(None);
    };
    let maps = memory.maps()?;
    let mut loaded = maps::files(&maps).filter_map(|file| {
        file.path.file_name().and_then(|name| name.to_str()).and_then(unsuited_by_library)
    });
    if let Some(unsuited) = loaded.next() {
        return Ok(Some(unsuited));
    }
    // What cannot be read tells nothing.
    let mut bytes = Vec::new();
    let read = regular::open(&program.target.executable)
        .and_then(|file| file.take(CODE_BYTES).read_to_end(&mut bytes));
    Ok(read.ok().and_then(|_| unsuited_by_texts(&bytes)))
}

/// Whether all code of a file is executable where the file is said to lie.
fn runs(file: &CodeFile, regions: &[Region]) -> bool {
    let mut code = file.headers.code(file.target.bias);
    code.all(|range| covered(range, regions).is_some_and(|by| by.iter().all(|by| by.executable)))
}

/// Regions that cover a range of addresses together, however many they are.
fn covered((start, end): (u64, u64), regions: &[Region]) -> Option<Vec<&Region>> {
    let (mut at, mut by) = (start, Vec::new());
    while at < end {
        let region = regions.iter().find(|region| region.start <= at && at < region.end)?;
        by.push(region);
        at = region.end;
    }
    Some(by)
}

fn program(process: u32, memory: &Memory, told: &Told, heap: u64) -> Result<CodeFile, Error> {
    let Some(linked) = memory.linked_entry()? else {
        return Err(Error::left(process, Left::NotX86_64));
    };
    let bias = told.entry.wrapping_sub(linked);
    let bytes = memory.read(told.headers, told.header_count as usize * HEADER_BYTES)?;
    let executable = PathBuf::from(format!("/proc/{process}/exe"));
    let path = std::fs::read_link(&executable).unwrap_or_default();
    let unreadable = Error::Unreadable { process, file: "the program's headers" };
    let Some(headers) = facts::headers(&bytes) else { return Err(unreadable) };
    let Some(extent) = headers.extent(bias, heap) else { return Err(unreadable) };
    let interpreted = headers.interpreted;
    let target = Target { process, executable, path, bias, interpreted, is_left_again: true };
    Ok(CodeFile { target, headers, extent })
}

fn library(
    process: u32,
    memory: &Memory,
    base: u64,
    path: &Path,
    heap: u64,
) -> Result<CodeFile, Error> {
    /// Places in the file's header: where the program headers are, and how many.
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
    let headers = facts::headers(&bytes).ok_or_else(unreadable)?;
    let first = headers.segments.iter().map(|segment| segment.start).min();
    let bias = base.wrapping_sub(first.ok_or_else(unreadable)? / PAGE * PAGE);
    let extent = headers.extent(bias, heap).ok_or_else(unreadable)?;
    let (executable, path) = (path.to_owned(), path.to_owned());
    // It makes its system calls itself.
    let target =
        Target { process, executable, path, bias, interpreted: false, is_left_again: true };
    Ok(CodeFile { target, headers, extent })
}

/// Whether a file of this name makes the system calls of programs in C.
fn is_libc(name: &str) -> bool {
    let is_version = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
    ["libc.so", "libpthread.so", "ld-musl-"].iter().any(|begin| name.starts_with(begin))
        || ["libc-", "libpthread-"]
            .iter()
            .any(|begin| name.strip_prefix(begin).is_some_and(is_version))
}

/// Beginnings and paths of mapped files that are libc, from the text of `/proc/PID/maps`.
fn libcs(maps: &[u8]) -> Vec<(u64, PathBuf)> {
    let is_one = |path: &Path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_libc);
    let begins = maps::files(maps).filter(|file| file.offset == 0 && is_one(&file.path));
    begins.map(|file| (file.region.start, file.path)).collect()
}

/// Whether all files still lie where they were found.
pub(crate) fn are_there(files: &[CodeFile], regions: &[Region]) -> bool {
    let mut code = files.iter().flat_map(|file| file.headers.code(file.target.bias));
    code.all(|range| covered(range, regions).is_some())
}

/// Whether a change of a file's code as it lies there is one of the process alone, and not of the
/// file.
pub(crate) fn are_own(files: &[CodeFile], regions: &[Region]) -> bool {
    let mut code = files.iter().flat_map(|file| file.headers.code(file.target.bias));
    code.all(|range| covered(range, regions).is_some_and(|by| by.iter().all(|by| !by.shared)))
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
    fn it_is_found_where_it_begins() {
        let maps = b"400000-401000 r-xp 00000000 fe:00 1    /usr/bin/a\n\
            7f0000-7f1000 r--p 00000000 fe:00 2    /usr/lib/libc.so.6\n\
            7f1000-7f2000 r-xp 00001000 fe:00 2    /usr/lib/libc.so.6\n\
            7f8000-7f9000 rw-p 00000000 00:00 0 \n";
        assert_eq!(libcs(maps), [(0x7f_0000, PathBuf::from("/usr/lib/libc.so.6"))]);
        assert_eq!(libcs(b"x\n1 2 /libc.so.6\n"), []);
        // A program may give its memory any name.
        assert_eq!(libcs(b"7000-8000 r--p 00000000 00:00 0    [anon:/usr/lib/libc.so.6]\n"), []);
    }

    #[test]
    fn code_is_covered_however_its_mapping_is_divided() {
        let region = |start, end, shared| Region { start, end, executable: true, shared };
        let regions = [region(1, 3, false), region(3, 5, false), region(6, 9, true)];
        let covers = |range| covered(range, &regions).map(|by| by.len());
        assert_eq!((covers((1, 5)), covers((2, 3))), (Some(2), Some(1)));
        assert_eq!((covers((4, 7)), covers((0, 2)), covers((8, 10))), (None, None, None));
    }

    /// What is written there would be written into the file.
    #[test]
    fn code_that_is_mapped_for_others_too_is_not_the_processs_own() {
        let headers = Headers {
            segments: vec![facts::Segment {
                start: 0x1000,
                file_bytes: 0x2000,
                bytes: 0x2000,
                executable: true,
            }],
            interpreted: false,
        };
        let target = Target {
            process: 1,
            executable: PathBuf::new(),
            path: PathBuf::new(),
            bias: 0,
            interpreted: false,
            is_left_again: true,
        };
        let extent = headers.extent(0, 0).unwrap();
        let file = [CodeFile { target, headers, extent }];
        let region =
            |start, shared| Region { start, end: start + 0x1000, executable: true, shared };
        let own = [region(0x1000, false), region(0x2000, false)];
        let shared = [region(0x1000, false), region(0x2000, true)];
        assert!(are_there(&file, &own) && are_own(&file, &own));
        assert!(are_there(&file, &shared) && !are_own(&file, &shared));
        assert!(!are_there(&file, &own[..1]));
        // One that is mapped to be read does not run.
        let read = [region(0x1000, false), Region { executable: false, ..region(0x2000, false) }];
        assert!(runs(&file[0], &own) && !runs(&file[0], &read));
    }
}
