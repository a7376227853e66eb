//! A temporary file without a name, mapped into memory. Its pages do not count as the process's own
//! memory once they are given back.
//!
//! Disk space is reserved before it is used, so that a full disk is an error here and not a signal
//! later.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::ptr::{self, NonNull};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};

use crate::tuning::ZERO_WRITE_BYTES;

/// The memory range of a mapped file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MappedRegion {
    address: usize,
    bytes: usize,
}

impl MappedRegion {
    /// Returns the pages of the region to the kernel; each is loaded again when it is used. The
    /// region must be mapped.
    pub(crate) fn give_back(&self) {
        let address = ptr::with_exposed_provenance_mut(self.address);
        // SAFETY: the region is a shared mapping of a file. What was written to its pages stays in
        // the file, so no visible content changes. The call fails only if memory is locked, which
        // then has to stay.
        let _ = unsafe { rustix::mm::madvise(address, self.bytes, Advice::LinuxDontNeed) };
    }
}

/// A mapped file. Its owner must unmap it.
#[derive(Debug)]
pub(crate) struct MappedFile {
    file: File,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a `MappedFile` owns its memory exclusively, as a `Box` does.
unsafe impl Send for MappedFile {}
// SAFETY: a `MappedFile` owns its memory exclusively, and the memory changes only through an
// exclusive borrow.
unsafe impl Sync for MappedFile {}

impl MappedFile {
    /// Maps the first `bytes` bytes of `file`, which was just made and has no name. The bytes are
    /// reserved, and zero until they are written.
    pub(crate) fn new(file: File, bytes: usize) -> io::Result<MappedFile> {
        reserve_range(&file, 0, bytes as u64)?;
        let start = map_file(&file, bytes)?;
        Ok(MappedFile { file, start, bytes })
    }

    /// A second, longer mapping of the same file, with the same content. `self` must still be
    /// unmapped.
    pub(crate) fn remap_longer(&self, bytes: usize) -> io::Result<MappedFile> {
        reserve_range(&self.file, self.bytes as u64, bytes as u64)?;
        let file = self.file.try_clone()?;
        let start = map_file(&file, bytes)?;
        Ok(MappedFile { file, start, bytes })
    }

    /// The first byte, valid until the file is unmapped.
    pub(crate) fn first_byte(&self) -> NonNull<u8> {
        self.start
    }

    /// Length in bytes.
    pub(crate) fn byte_len(&self) -> usize {
        self.bytes
    }

    /// Memory range of the file.
    pub(crate) fn region(&self) -> MappedRegion {
        MappedRegion { address: self.start.as_ptr().expose_provenance(), bytes: self.bytes }
    }

    /// Unmaps the file, and sets its length to 0.
    pub(crate) fn unmap(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let start = std::mem::replace(&mut self.start, NonNull::dangling());
        if bytes > 0 {
            // SAFETY: the memory at `start` was mapped with the length `bytes`, and every borrow of
            // its memory borrows `self`. Unmapping a mapped range does not fail.
            let _ = unsafe { rustix::mm::munmap(start.as_ptr().cast(), bytes) };
        }
    }
}

/// Reserves the bytes of `file` from `from` up to `to`.
fn reserve_range(file: &File, from: u64, to: u64) -> io::Result<()> {
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), from, to.saturating_sub(from)) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            // The file system cannot reserve space: writing zeros allocates it as well.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => break,
            Err(error) => return Err(error.into()),
        }
    }
    let zeros = vec![0; ZERO_WRITE_BYTES];
    let mut at = from;
    while at < to {
        let bytes = zeros.get(..(to - at) as usize).unwrap_or(&zeros);
        file.write_all_at(bytes, at)?;
        at += bytes.len() as u64;
    }
    // A network file system reports a full disk only here.
    file.sync_data()
}

/// Maps the first `bytes` bytes of a file, and returns the address of the first.
fn map_file(file: &File, bytes: usize) -> io::Result<NonNull<u8>> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses an unused address. The file has at least `bytes` bytes and no
    // name, and is never made shorter, so the bytes exist as long as they are mapped.
    let start =
        unsafe { rustix::mm::mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, 0)? };
    NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))
}
