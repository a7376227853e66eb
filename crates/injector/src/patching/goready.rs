//! Go's runtime function that puts a goroutine into the run queue (`runtime.runqput`): one that
//! another goroutine unblocks or starts.
//!
//! It is found by its name in the function table, which the runtime itself needs, so that every
//! program has it (`pclntab`, in the format since Go 1.20). The table's addresses count from the
//! beginning of Go's code. Not all versions record that beginning: it is derived from a function
//! with an address that is known otherwise.

use memchr::memmem;

use crate::patching::image::{ElfImage, ImageSegment};
use crate::patching::tuning::JUMP_BYTES;
use crate::patching::windows::PatchWindow;

/// First bytes of the table: its version, two zeros, alignment of code, and size of a pointer.
const MAGIC: &[u8] = b"\xf1\xff\xff\xff\x00\x00\x01\x08";
/// Alignment of the table.
const TABLE_ALIGNMENT: usize = 8;

/// Name of the function.
const READY: &[u8] = b"runtime.runqput\0";
/// Names of the function that makes system calls, which changed with its package.
const SYSCALL6: [&[u8]; 3] = [
    b"internal/runtime/syscall/linux.Syscall6\0",
    b"internal/runtime/syscall.Syscall6\0",
    b"runtime/internal/syscall.Syscall6\0",
];

/// First instructions of the function: `cmp rsp,[r14+16]; jbe ?`, four bytes of distance, then
/// `push rbp; mov rbp,rsp`.
const CHECK: &[u8] = b"\x49\x3b\x66\x10\x0f\x86";
const FRAME: &[u8] = b"\x55\x48\x89\xe5";
/// Number of bytes before the function makes its frame.
const CHECK_BYTES: usize = 10;
/// `sub rsp` with one byte, and with four.
const SUB: [(&[u8], usize); 2] = [(b"\x48\x83\xec", 4), (b"\x48\x81\xec", 7)];

/// Window in which the function makes its frame, after its stack check, where its arguments are
/// still in their registers. `syscall6` is the address of the function that makes system calls.
/// `None` if the window is not certain.
pub(crate) fn find_ready_window(image: &ElfImage<'_>, syscall6: u64) -> Option<PatchWindow> {
    let segments = || image.segments.iter();
    let tables = segments().flat_map(|segment| {
        let places = memmem::find_iter(segment.bytes, MAGIC).filter(|at| at % TABLE_ALIGNMENT == 0);
        places.filter_map(|at| segment.bytes.get(at..))
    });
    let ready = tables
        .filter_map(GoFunctionTable::parse)
        .find_map(|table| table.ready_address(syscall6))?;
    image.code_segments().find_map(|segment| frame_window(segment, ready))
}

/// Window of the function that begins at an address.
fn frame_window(segment: ImageSegment<'_>, address: u64) -> Option<PatchWindow> {
    let at = usize::try_from(address.checked_sub(segment.address)?).ok()?;
    let code = segment.bytes.get(at..)?;
    let frame = code.get(CHECK_BYTES..)?;
    if !code.starts_with(CHECK) || !frame.starts_with(FRAME) {
        return None;
    }
    let sub = frame.get(FRAME.len()..)?;
    let (_, length) = SUB.iter().find(|(bytes, _)| sub.starts_with(bytes))?;
    let displaced = frame.get(..FRAME.len() + length)?.to_vec();
    let old = displaced.get(..JUMP_BYTES)?.try_into().ok()?;
    Some(PatchWindow { address: address + CHECK_BYTES as u64, displaced, old })
}

/// Function table.
struct GoFunctionTable<'a> {
    bytes: &'a [u8],
    count: usize,
    /// Offsets of the names and of the functions.
    names: usize,
    functions: usize,
}

impl<'a> GoFunctionTable<'a> {
    fn parse(bytes: &'a [u8]) -> Option<GoFunctionTable<'a>> {
        let word = |at: usize| {
            let word = bytes.get(8 + 8 * at..)?.first_chunk()?;
            usize::try_from(u64::from_le_bytes(*word)).ok()
        };
        // Counts of functions and files, the code, then offsets: names, units, files, counters,
        // functions.
        Some(GoFunctionTable { bytes, count: word(0)?, names: word(3)?, functions: word(7)? })
    }

    /// Address of the function `runtime.runqput`, given that of the function which makes system
    /// calls. `None` if the table lacks one of the two functions.
    fn ready_address(&self, syscall6: u64) -> Option<u64> {
        let (mut ready, mut known) = (None, None);
        for at in 0..self.count {
            let place = self.functions.checked_add(at.checked_mul(8)?)?;
            let (offset, function) = (self.read_u32(place)?, self.read_u32(place.checked_add(4)?)?);
            let function = self.functions.checked_add(function as usize)?;
            let name = self.read_u32(function.checked_add(4)?)?;
            let name = self.bytes.get(self.names.checked_add(name as usize)?..)?;
            if name.starts_with(READY) {
                ready = Some(u64::from(offset));
            } else if SYSCALL6.iter().any(|known| name.starts_with(known)) {
                known = Some(u64::from(offset));
            }
            if let (Some(ready), Some(known)) = (ready, known) {
                return syscall6.checked_sub(known)?.checked_add(ready);
            }
        }
        None
    }

    fn read_u32(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(*self.bytes.get(at..)?.first_chunk()?))
    }
}
