//! A temporary file without a name, mapped into memory: what is in it is there like in any memory,
//! and takes none of the process's own once its pages are given back.
//!
//! Its room is reserved on the disk before it is used, so that a full disk is an error here and not
//! a signal later.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};

/// As much is written at once where room cannot be reserved.
const ZEROS: usize = 64 << 10;

/// Where in memory a mapped file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    address: usize,
    bytes: usize,
}

impl Region {
    /// Gives its pages back; they come again when they are looked at. It must be mapped.
    pub(crate) fn give_back(&self) {
        let address = ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: it is a shared mapping of a file, whose pages keep in the file what was written
        // to them, so nothing that anybody sees there changes. That fails only where memory is
        // locked, and then it is not to be given back.
        let _ = unsafe { rustix::mm::madvise(address, self.bytes, Advice::LinuxDontNeed) };
    }
}

/// A mapped file. It has to be unmapped by hand.
#[derive(Debug)]
pub(crate) struct Mapping {
    file: File,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is memory that nobody else has, like that of a `Box`.
unsafe impl Send for Mapping {}
// SAFETY: as above; it is changed only by who has it alone.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` bytes of `file`, which was just made and has no name. They are
    /// reserved and zero where nobody has written yet.
    pub(crate) fn new(file: File, bytes: usize) -> io::Result<Mapping> {
        reserve(&file, 0, bytes as u64)?;
        let start = map(&file, bytes)?;
        Ok(Mapping { file, start, bytes })
    }

    /// The same file, with more bytes. What is in it stays; this one is still to be unmapped.
    pub(crate) fn grown(&self, bytes: usize) -> io::Result<Mapping> {
        reserve(&self.file, self.bytes as u64, bytes as u64)?;
        let file = self.file.try_clone()?;
        let start = map(&file, bytes)?;
        Ok(Mapping { file, start, bytes })
    }

    /// Where it begins. It is there until it is unmapped.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn region(&self) -> Region {
        Region { address: self.start.as_ptr().expose_provenance(), bytes: self.bytes }
    }

    /// Ends it. It has no bytes any more.
    pub(crate) fn unmap(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let start = std::mem::replace(&mut self.start, NonNull::dangling());
        if bytes > 0 {
            // SAFETY: it was mapped with that length, and who has borrowed from it has borrowed
            // `self`. Of a mapping that is one this does not fail.
            let _ = unsafe { rustix::mm::munmap(start.as_ptr().cast(), bytes) };
        }
    }
}

/// Reserves the bytes of `file` from `from` up to `to`.
fn reserve(file: &File, from: u64, to: u64) -> io::Result<()> {
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), from, to.saturating_sub(from)) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            // The file system knows no such thing: what was written has room as well.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let zeros = vec![0; ZEROS];
    let mut at = from;
    while at < to {
        let bytes = zeros.get(..(to - at) as usize).unwrap_or(&zeros);
        file.write_all_at(bytes, at)?;
        at += bytes.len() as u64;
    }
    // Over a network it may only be known then whether there is room.
    file.sync_data()
}

fn map(file: &File, bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses a place where nothing is. The file has so many bytes and no name,
    // and is not made shorter, so that they are there as long as they are mapped.
    let start =
        unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, 0)? };
    NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))
}
