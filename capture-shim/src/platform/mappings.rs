//! Mappings of the process, as the kernel lists them (`/proc/self/maps`).

use super::raw;
use super::text::{PATH, PathScratch};

/// Mapping of a file.
pub(crate) struct FileMapping<'a> {
    /// First address, and the address after the last.
    pub(crate) range: [usize; 2],
    /// Whether the mapping is executable.
    pub(crate) is_code: bool,
    /// Whether the mapping is private to the process, as for programs and libraries.
    pub(crate) is_private: bool,
    /// Offset in the file.
    pub(crate) offset: usize,
    /// Path of the file.
    pub(crate) path: &'a [u8],
}

/// Calls `with` for each mapping of a file, in address order.
pub(crate) fn for_each_mapping(mut with: impl FnMut(&FileMapping)) {
    let Ok(list) = raw::open(c"/proc/self/maps", libc::O_RDONLY | libc::O_CLOEXEC, 0) else {
        return;
    };
    let Some(mut memory) = PathScratch::new() else { return };
    let buffer = memory.zeroed_words::<u8>(PATH);
    let mut kept = 0;
    loop {
        let came = list.read(buffer.get_mut(kept..).unwrap_or(&mut []));
        let filled = kept + came;
        let text = buffer.get(..filled).unwrap_or(&[]);
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = text.get(..whole).unwrap_or(&[]).split(|byte| *byte == b'\n');
        lines.filter_map(parse_mapping).for_each(|mapping| with(&mapping));
        if came == 0 {
            return;
        }
        buffer.copy_within(whole..filled, 0);
        // A line that fills the whole buffer is not the path of a file that could be opened.
        kept = if whole == 0 && filled == PATH { 0 } else { filled - whole };
    }
}

/// Mapping that a line of the kernel's list describes; `None` if it is not a mapping of a file.
fn parse_mapping(line: &[u8]) -> Option<FileMapping<'_>> {
    let path = line.get(line.iter().position(|byte| *byte == b'/')?..)?;
    let mut words = line.split(|byte| *byte == b' ');
    let mut range = words.next()?.split(|byte| *byte == b'-').map(parse_hexadecimal);
    let range = [range.next()??, range.next()??];
    let rights = words.next()?;
    let (is_code, is_private) = (rights.get(2) == Some(&b'x'), rights.get(3) == Some(&b'p'));
    Some(FileMapping {
        range,
        is_code,
        is_private,
        offset: parse_hexadecimal(words.next()?)?,
        path,
    })
}

fn parse_hexadecimal(digits: &[u8]) -> Option<usize> {
    digits.iter().try_fold(0usize, |number, digit| {
        Some(number << 4 | (*digit as char).to_digit(16)? as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mappings_of_files_are_parsed() {
        let line = b"7f10a000-7f10b000 r-xp 00022000 08:01 1234   /lib/a b.so (deleted)";
        let mapping = parse_mapping(line).unwrap();
        assert_eq!(mapping.range, [0x7f10_a000, 0x7f10_b000]);
        assert_eq!(mapping.offset, 0x22000);
        assert!(mapping.is_code);
        assert_eq!(mapping.path, b"/lib/a b.so (deleted)");
        let data = parse_mapping(b"1000-2000 rw-p 00000000 00:00 1 /lib/a.so").unwrap();
        assert!(!data.is_code);
        assert!(parse_mapping(b"7ffc1000-7ffc2000 r-xp 00000000 00:00 0  [vdso]").is_none());
        assert!(parse_mapping(b"7ffc1000-7ffc2000 rw-p 00000000 00:00 0").is_none());
        assert!(parse_mapping(b"zz-1 r-xp 0 00:00 0 /x").is_none());
    }

    #[test]
    fn the_program_itself_is_listed() {
        let here = the_program_itself_is_listed as *const () as usize;
        let mut found = 0;
        for_each_mapping(|mapping| {
            let [start, end] = mapping.range;
            found += usize::from((start..end).contains(&here) && mapping.is_code);
        });
        assert_eq!(found, 1);
    }
}
