//! Files of code that a process has mapped and that make system calls: its program, and its libc.

use std::path::{Path, PathBuf};

use crate::blob::Target;
use crate::facts::{self, HEADER_BYTES, Headers, Told};
use crate::maps::{Extent, PAGE, Region};
use crate::memory::Memory;
use crate::outcome::{Error, Left};

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
        if path.to_string_lossy().ends_with(" (deleted)") {
            return Err(Error::left(process, Left::Replaced(path)));
        }
        files.push(library(process, memory, base, &path, heap)?);
    }
    Ok(files)
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
    let maps = String::from_utf8_lossy(maps);
    let found = maps.lines().filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (_rights, rest) = rest.split_once(' ')?;
        let offset = rest.split(' ').next()?;
        let path = line.get(line.find('/')?..)?;
        let name = Path::new(path).file_name()?.to_str()?;
        let begins = offset.bytes().all(|digit| digit == b'0') && is_libc(name);
        let start = u64::from_str_radix(range.split('-').next()?, 16).ok()?;
        begins.then(|| (start, PathBuf::from(path)))
    });
    found.collect()
}

/// Whether all files still lie where they were found.
pub(crate) fn are_there(files: &[CodeFile], regions: &[Region]) -> bool {
    let covered = |at: u64| regions.iter().any(|region| region.start <= at && at < region.end);
    files.iter().all(|file| file.headers.code(file.target.bias).all(|(start, _)| covered(start)))
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
    }
}
