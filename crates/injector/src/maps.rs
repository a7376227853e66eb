//! Memory map of a process: the lines of `/proc/PID/maps`, and free addresses for code that a
//! program's text jumps to.
//!
//! Line boundaries do not show which code mapped what: the kernel joins neighbours with equal
//! permissions, and divides a mapping where permissions change. Everything here is found by the
//! addresses that lines cover, not by their boundaries.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::tuning::{HEAP_ROOM, JUMP_REACH, LOWEST_ADDRESS};

/// Size of a page, in bytes.
pub(crate) const PAGE: u64 = 4096;

/// Range of mapped addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemoryRegion {
    /// First address.
    pub start: u64,
    /// Address after the last.
    pub end: u64,
    /// Whether the region may be executed.
    pub executable: bool,
    /// Whether writes affect others: a file, or memory that other processes have mapped.
    pub shared: bool,
}

/// Range of addresses at which a file is mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRegion {
    /// The range of addresses and its permissions.
    pub region: MemoryRegion,
    /// Offset in the file of the first address.
    pub offset: u64,
    /// Identity of the file: its device and inode, as the kernel writes them.
    pub file_id: (Vec<u8>, u64),
    /// Path of the file.
    pub path: PathBuf,
}

/// Parses the regions of a text such as `/proc/PID/maps`, in its order. `None` if a line is not a
/// region.
pub(crate) fn parse_maps(text: &[u8]) -> Option<Vec<MemoryRegion>> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(parse_region).collect()
}

/// Parses the region of one line: `start-end rights offset device inode path`.
fn parse_region(line: &[u8]) -> Option<MemoryRegion> {
    let mut words = line.split(|byte| *byte == b' ');
    let range = std::str::from_utf8(words.next()?).ok()?;
    let (start, end) = range.split_once('-')?;
    let number = |digits: &str| {
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| u64::from_str_radix(digits, 16).ok())?
    };
    let (start, end) = (number(start)?, number(end)?);
    let rights = words.next().filter(|rights| rights.len() == 4)?;
    let (executable, shared) = (rights[2] == b'x', rights[3] == b's');
    (start < end).then_some(MemoryRegion { start, end, executable, shared })
}

/// Regions of a text such as `/proc/PID/maps` that are not of a file and can only be read. The
/// kernel joins adjoining memory with the same permissions to one region, which may have the name
/// of that memory.
pub(crate) fn read_only_regions(text: &[u8]) -> impl Iterator<Item = MemoryRegion> {
    let lines = text.split(|byte| *byte == b'\n');
    let is_one = |line: &&[u8]| {
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).skip(1);
        let is_anonymous = [words.next(), words.next(), words.next(), words.next()]
            == [b"r--p" as &[u8], b"00000000", b"00:00", b"0"].map(Some);
        is_anonymous && words.next().is_none_or(|name| name.starts_with(b"[anon"))
    };
    lines.filter(is_one).filter_map(parse_region)
}

/// Regions of a text such as `/proc/PID/maps` that are mapped files. A name that a program has
/// given its memory is not a path.
pub(crate) fn file_regions(text: &[u8]) -> impl Iterator<Item = FileRegion> {
    text.split(|byte| *byte == b'\n').filter_map(|line| {
        let region = parse_region(line)?;
        let mut words = line.splitn(6, |byte| *byte == b' ').skip(2);
        let hexadecimal = |word: &[u8]| u64::from_str_radix(str::from_utf8(word).ok()?, 16).ok();
        let offset = hexadecimal(words.next()?)?;
        let device = words.next()?.to_vec();
        let number = str::from_utf8(words.next()?).ok()?.parse().ok().filter(|it| *it != 0)?;
        let path = words.next()?.trim_ascii_start();
        let path = path.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(path)))?;
        Some(FileRegion { region, offset, file_id: (device, number), path })
    })
}

/// Whether any part of a range of addresses is mapped.
pub(crate) fn is_mapped(regions: &[MemoryRegion], (start, bytes): (u64, u64)) -> bool {
    let end = start.saturating_add(bytes);
    bytes > 0 && regions.iter().any(|region| region.start < end && start < region.end)
}

/// Rounds a number of bytes up to whole pages; `None` on overflow.
pub(crate) fn round_to_pages(bytes: u64) -> Option<u64> {
    bytes.checked_next_multiple_of(PAGE)
}

/// Addresses of a program's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageExtent {
    /// First address of the image.
    pub start: u64,
    /// Address after the last byte of its code.
    pub code_end: u64,
    /// Address at which the program's heap begins to grow upwards.
    pub heap: u64,
}

/// Address of a free range of `bytes` (whole pages) as close below the image as possible, with a
/// free page at each of its ends. All of it is within reach of jumps from the image's code, and the
/// heap does not grow into it. `None` if there is no such range.
pub(crate) fn find_free_below(
    regions: &[MemoryRegion],
    image: ImageExtent,
    bytes: u64,
) -> Option<u64> {
    let mut lower: Vec<&MemoryRegion> = regions.iter().filter(|r| r.start < image.start).collect();
    lower.sort_by_key(|region| std::cmp::Reverse(region.end));
    let mut top = image.start;
    for bottom in lower.iter().map(|region| (region.end, region.start)).chain([(LOWEST_ADDRESS, 0)])
    {
        let (bottom, next_top) = bottom;
        let address = top.checked_sub(PAGE)?.checked_sub(bytes)?;
        if image.code_end.saturating_sub(address) > JUMP_REACH {
            return None;
        }
        let grows_into = (bottom..address.saturating_add(bytes)).contains(&image.heap)
            && address.saturating_sub(image.heap) < HEAP_ROOM;
        if address >= bottom.saturating_add(PAGE) && !grows_into {
            return Some(address);
        }
        top = top.min(next_top);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mapped(ranges: &[(u64, u64)]) -> Vec<MemoryRegion> {
        ranges
            .iter()
            .map(|&(start, end)| MemoryRegion { start, end, executable: false, shared: false })
            .collect()
    }

    #[test]
    fn lines_of_the_kernel_are_read() {
        let text = b"00400000-00401000 r--p 00000000 fe:00 123   /usr/bin/a b\n\
                     00401000-00480000 r-xp 00001000 fe:00 123   /usr/bin/a b\n\
                     7ffe0000-7fff0000 rw-p 00000000 00:00 0     [stack]\n\
                     ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";
        let regions = parse_maps(text).unwrap();
        assert_eq!(regions.len(), 4);
        let code =
            MemoryRegion { start: 0x40_1000, end: 0x48_0000, executable: true, shared: false };
        assert_eq!(regions[1], code);
        assert!(!regions[0].executable && !regions[2].executable && regions[3].executable);
    }

    #[test]
    fn read_only_regions_are_found() {
        let text = b"1000-2000 r--p 00000000 00:00 0 \n\
                     2000-3000 rw-p 00000000 00:00 0 \n\
                     3000-4000 r--p 00000000 00:00 0     [vvar]\n\
                     4000-5000 r--p 00000000 fe:00 1     /a\n\
                     6000-7000 r--p 00000000 00:00 0     [anon: its name]\n";
        let found: Vec<u64> = read_only_regions(text).map(|region| region.start).collect();
        assert_eq!(found, [0x1000, 0x6000]);
    }

    #[test]
    fn regions_of_files_are_distinguished_from_named_memory() {
        let text = b"1000-2000 r-xp 00003000 fe:00 7    /usr/lib/a b.so (deleted)\n\
                     2000-3000 r--p 00000000 00:00 0    [anon:/usr/lib/libc.so.6]\n\
                     3000-4000 rw-s 00000000 00:01 9    /dev/zero\n\
                     4000-5000 rw-p 00000000 00:00 0 \n";
        let found: Vec<FileRegion> = file_regions(text).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].path, PathBuf::from("/usr/lib/a b.so (deleted)"));
        assert_eq!((found[0].offset, &found[0].file_id), (0x3000, &(b"fe:00".to_vec(), 7)));
        assert!(found[0].region.executable && !found[0].region.shared && found[1].region.shared);
    }

    #[test]
    fn mapped_ranges_are_found_however_they_are_divided() {
        let regions = mapped(&[(0x1000, 0x3000), (0x3000, 0x4000)]);
        for (range, expected) in [
            ((0x2000, 0x1000), true),
            ((0, 0x1000), false),
            ((0, 0x1001), true),
            ((0x4000, u64::MAX), false),
            ((0x3fff, u64::MAX), true),
            ((0x2000, 0), false),
        ] {
            assert_eq!(is_mapped(&regions, range), expected, "{range:x?}");
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for text in ["x", "1-2", "2-1 r-xp", "1-2 r-x", "+1-2 r-xp", "1-2-3 r-xp", "1 2 r-xp"] {
            assert_eq!(parse_maps(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_maps(b""), Some(Vec::new()));
    }

    #[test]
    fn a_free_range_is_just_below_the_image() {
        let image = ImageExtent { start: 0x40_0000, code_end: 0x48_0000, heap: 0x50_0000 };
        let regions = mapped(&[(0x40_0000, 0x48_0000), (0x7000_0000, 0x7000_1000)]);
        assert_eq!(find_free_below(&regions, image, 0x3000), Some(0x3f_c000));
        // All but a page at each end, and one page more.
        let most = 0x40_0000 - LOWEST_ADDRESS - 2 * PAGE;
        assert_eq!(find_free_below(&regions, image, most), Some(LOWEST_ADDRESS + PAGE));
        assert_eq!(find_free_below(&regions, image, most + PAGE), None);
    }

    #[test]
    fn a_gap_that_is_too_small_is_skipped() {
        let image = ImageExtent { start: 0x40_0000, code_end: 0x48_0000, heap: 0x50_0000 };
        let regions = mapped(&[(0x3f_b000, 0x3f_d000), (0x40_0000, 0x48_0000)]);
        assert_eq!(find_free_below(&regions, image, 0x1000), Some(0x3f_e000));
        assert_eq!(find_free_below(&regions, image, 0x2000), Some(0x3f_8000));
    }

    #[test]
    fn free_ranges_are_near_the_code_and_clear_of_the_heap() {
        let start = 0x5555_5555_0000;
        let far = ImageExtent { start, code_end: start + JUMP_REACH, heap: start + (4 << 30) };
        assert_eq!(find_free_below(&[], far, PAGE), None);
        let near = ImageExtent { code_end: start + 0x1000, ..far };
        assert_eq!(find_free_below(&[], near, PAGE), Some(start - 2 * PAGE));
        for room in [1 << 20, HEAP_ROOM] {
            let heap_below = ImageExtent { heap: start - room, ..near };
            assert_eq!(find_free_below(&[], heap_below, PAGE), None, "{room:#x}");
        }
        // A position-independent static program has its heap far below itself.
        let heap_far_below = ImageExtent { heap: start - HEAP_ROOM - 2 * PAGE, ..near };
        assert_eq!(find_free_below(&[], heap_far_below, PAGE), Some(start - 2 * PAGE));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_maps(&text);
            let _ = (read_only_regions(&text).count(), file_regions(&text).count());
        }

        #[test]
        fn free_ranges_overlap_nothing(
            ranges in proptest::collection::vec((16u64..3000, 1u64..50), 0..20),
            bytes in 1u64..600,
        ) {
            let mut regions = Vec::new();
            for (start, length) in ranges {
                let region = (start * PAGE, (start + length) * PAGE);
                regions.extend(mapped(&[region]));
            }
            let image = ImageExtent { start: 2000 * PAGE, code_end: 2100 * PAGE, heap: 5000 * PAGE };
            if let Some(address) = find_free_below(&regions, image, bytes * PAGE) {
                let end = address + bytes * PAGE;
                prop_assert!(address > LOWEST_ADDRESS && end < image.start);
                for region in regions.iter().filter(|region| region.start < image.start) {
                    prop_assert!(end < region.start || address > region.end, "{region:?}");
                }
            }
        }
    }
}
