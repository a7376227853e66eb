//! Files: opened, allocated, mapped and closed again; directories and links on their paths.

use core::ffi::{CStr, c_int};
use core::ptr;

use super::call::{PAGE, system_call};
use super::memory::{USABLE, map_memory};

/// Opens `path`.
pub(crate) fn open(path: &CStr, flags: c_int, mode: u32) -> Result<OwnDescriptor, isize> {
    let arguments =
        [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, mode as usize, 0, 0];
    // SAFETY: the path ends with a zero byte, by its type.
    let result = unsafe { system_call(libc::SYS_openat, arguments) };
    if result < 0 { Err(result) } else { Ok(OwnDescriptor::owned(result as c_int)) }
}

/// Open descriptor of the library's own, closed when dropped unless `log/keep.rs` keeps it. The
/// library keeps hardly any, because daemons close descriptors that they do not know.
pub(crate) struct OwnDescriptor {
    number: c_int,
    is_kept: bool,
}

impl OwnDescriptor {
    /// Descriptor that is closed when dropped.
    pub(crate) fn owned(number: c_int) -> OwnDescriptor {
        OwnDescriptor { number, is_kept: false }
    }

    /// Descriptor that stays open.
    pub(crate) fn never_closed(number: c_int) -> OwnDescriptor {
        OwnDescriptor { number, is_kept: true }
    }

    /// The descriptor as a system call takes it.
    pub(super) fn word(&self) -> usize {
        self.number as usize
    }

    /// Opens the file `name` of this directory.
    pub(crate) fn open_file(
        &self,
        name: &CStr,
        flags: c_int,
        mode: u32,
    ) -> Result<OwnDescriptor, isize> {
        let arguments = [self.word(), name.as_ptr() as usize, flags as usize, mode as usize, 0, 0];
        // SAFETY: the name ends with a zero byte, by its type.
        let result = unsafe { system_call(libc::SYS_openat, arguments) };
        if result < 0 { Err(result) } else { Ok(OwnDescriptor::owned(result as c_int)) }
    }

    /// Makes the directory `name` in this one.
    pub(crate) fn make_directory(&self, name: &CStr, mode: u32) -> isize {
        let arguments = [self.word(), name.as_ptr() as usize, mode as usize, 0, 0, 0];
        // SAFETY: the name ends with a zero byte, by its type.
        unsafe { system_call(libc::SYS_mkdirat, arguments) }
    }

    /// Sets the mode of the file.
    pub(crate) fn set_mode(&self, mode: u32) {
        // SAFETY: takes only numbers.
        unsafe { system_call(libc::SYS_fchmod, [self.word(), mode as usize, 0, 0, 0, 0]) };
    }

    /// Changes the owner of the file. Returns false if the kernel refuses.
    pub(crate) fn give_to(&self, uid: u32) -> bool {
        let group = u32::MAX as usize; // Unchanged.
        // SAFETY: takes only numbers.
        unsafe { system_call(libc::SYS_fchown, [self.word(), uid as usize, group, 0, 0, 0]) == 0 }
    }

    /// Removes the file `name` of this directory.
    pub(crate) fn unlink_file(&self, name: &CStr) {
        // SAFETY: the name ends with a zero byte.
        unsafe {
            system_call(libc::SYS_unlinkat, [self.word(), name.as_ptr() as usize, 0, 0, 0, 0])
        };
    }

    /// Duplicates the descriptor to the first free number from `first` on, closed in executed
    /// programs.
    pub(crate) fn duplicate(&self, first: c_int) -> Result<c_int, isize> {
        let arguments = [self.word(), libc::F_DUPFD_CLOEXEC as usize, first as usize, 0, 0, 0];
        // SAFETY: takes only numbers.
        let result = unsafe { system_call(libc::SYS_fcntl, arguments) };
        if result < 0 { Err(result) } else { Ok(result as c_int) }
    }

    /// Status of the file; `None` if the kernel refuses.
    pub(crate) fn status(&self) -> Option<libc::stat> {
        // SAFETY: a struct of numbers may be all zeros.
        let mut status: libc::stat = unsafe { core::mem::zeroed() };
        self.ask_status(&mut status).then_some(status)
    }

    /// Returns the status by `newfstatat`, which the dynamic linker calls, too, so that a filter
    /// older than the program lets it pass; otherwise by `fstat`.
    pub(crate) fn status_of_new(&self) -> Option<libc::stat> {
        // SAFETY: a struct of numbers may be all zeros.
        let mut status: libc::stat = unsafe { core::mem::zeroed() };
        let place = ptr::from_mut(&mut status) as usize;
        let flags = libc::AT_EMPTY_PATH as usize;
        let arguments = [self.word(), c"".as_ptr() as usize, place, flags, 0, 0];
        // SAFETY: the path ends with a zero byte, and the kernel fills the struct.
        let result = unsafe { system_call(libc::SYS_newfstatat, arguments) };
        // Both calls write into the same struct: the program may have left little stack.
        (result == 0 || self.ask_status(&mut status)).then_some(status)
    }

    /// Returns the status of a descriptor that may be closed, by `newfstatat` alone: no `fstat`
    /// follows if it fails.
    pub(crate) fn status_of_any(fd: c_int) -> Option<libc::stat> {
        // SAFETY: a struct of numbers may be all zeros.
        let mut status: libc::stat = unsafe { core::mem::zeroed() };
        let place = ptr::from_mut(&mut status) as usize;
        let flags = libc::AT_EMPTY_PATH as usize;
        let arguments = [fd as usize, c"".as_ptr() as usize, place, flags, 0, 0];
        // SAFETY: the path ends with a zero byte, and the kernel fills the struct.
        let result = unsafe { system_call(libc::SYS_newfstatat, arguments) };
        (result == 0).then_some(status)
    }

    /// Queries the status by `fstat`. Returns false if the kernel refuses.
    fn ask_status(&self, status: &mut libc::stat) -> bool {
        let arguments = [self.word(), ptr::from_mut(status) as usize, 0, 0, 0, 0];
        // SAFETY: the kernel fills the struct.
        unsafe { system_call(libc::SYS_fstat, arguments) == 0 }
    }

    /// Reads once into `buffer` and returns the number of bytes read; 0 on an error.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> usize {
        let arguments = [self.word(), buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0];
        // SAFETY: the buffer has the given length.
        unsafe { system_call(libc::SYS_read, arguments).max(0) as usize }
    }

    /// Reads once into `buffer` from `offset` on, and returns the number of bytes read; 0 on an
    /// error.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: usize) -> usize {
        let arguments = [self.word(), buffer.as_mut_ptr() as usize, buffer.len(), offset, 0, 0];
        // SAFETY: the buffer has the given length.
        unsafe { system_call(libc::SYS_pread64, arguments).max(0) as usize }
    }

    /// Allocates the file on the disk, so that storing through a mapping cannot fail later.
    pub(crate) fn allocate(&self, offset: usize, length: usize) -> isize {
        // SAFETY: takes only numbers.
        unsafe { system_call(libc::SYS_fallocate, [self.word(), 0, offset, length, 0, 0]) }
    }

    /// Makes a file system that copies on write (Btrfs) write the blocks of a new file in place.
    /// Otherwise there may be no space for the copy when a store through a mapping is flushed. File
    /// systems that are known to write in place are not asked, and others refuse the request.
    pub(crate) fn keep_in_place(&self) {
        const COMPRESSED: u64 = 0x4;
        const NEVER_COMPRESSED: u64 = 0x400;
        const IN_PLACE: u64 = 0x0080_0000;
        if matches!(
            self.file_system(),
            libc::EXT4_SUPER_MAGIC | libc::XFS_SUPER_MAGIC | libc::TMPFS_MAGIC
        ) {
            return;
        }
        let mut flags = 0u64;
        let call = |request: u64, flags: &mut u64| {
            let flags = ptr::from_mut(flags) as usize;
            // SAFETY: the kernel reads or writes one word.
            unsafe {
                system_call(libc::SYS_ioctl, [self.word(), request as usize, flags, 0, 0, 0]) == 0
            }
        };
        if call(libc::FS_IOC_GETFLAGS, &mut flags) {
            let compression = COMPRESSED | NEVER_COMPRESSED;
            if flags & compression != 0 {
                // The file inherits compression from the directory. It excludes writing in place.
                flags &= !compression;
                call(libc::FS_IOC_SETFLAGS, &mut flags);
            }
            flags |= IN_PLACE;
            call(libc::FS_IOC_SETFLAGS, &mut flags);
        }
    }

    /// Type of the file system, by its magic number; 0 if the kernel does not report it.
    #[inline(never)]
    fn file_system(&self) -> i64 {
        // SAFETY: a struct of numbers may be all zeros.
        let mut about: libc::statfs = unsafe { core::mem::zeroed() };
        let place = ptr::from_mut(&mut about) as usize;
        // SAFETY: the kernel fills the struct.
        let result = unsafe { system_call(libc::SYS_fstatfs, [self.word(), place, 0, 0, 0, 0]) };
        if result == 0 { about.f_type as i64 } else { 0 }
    }

    /// Maps `length` bytes of the file from `offset` on, shared.
    pub(crate) fn map(&self, offset: usize, length: usize) -> Result<*mut u8, isize> {
        map_memory(length, USABLE, libc::MAP_SHARED, self.number, offset)
    }

    /// Maps the beginning of the file privately and read-only.
    #[cfg(all(not(feature = "injected"), target_arch = "x86_64"))]
    pub(crate) fn map_to_read(&self, length: usize) -> Option<*mut u8> {
        map_memory(length, libc::PROT_READ, libc::MAP_PRIVATE, self.number, 0).ok()
    }

    /// Maps the beginning of the file, shared, including holes. Holes are not allocated by this,
    /// even if the program has all its memory locked.
    pub(crate) fn map_sparse(&self, length: usize) -> Result<*mut u8, isize> {
        let memory = map_memory(length, libc::PROT_NONE, libc::MAP_SHARED, self.number, 0)?;
        // SAFETY: the mapping is new.
        unsafe {
            // No read-ahead.
            super::memory::advise_mapping(memory, length, libc::MADV_RANDOM);
            system_call(libc::SYS_munlock, [memory as usize, length, 0, 0, 0, 0]);
            let result = system_call(
                libc::SYS_mprotect,
                [memory as usize, length, USABLE as usize, 0, 0, 0],
            );
            if result < 0 {
                super::memory::unmap_memory(memory, length);
                return Err(result);
            }
        }
        Ok(memory)
    }

    /// Makes a file that was opened for appending at least `size` bytes large, by writing zeros
    /// after its end: for file systems that do not support allocation. Several threads that do this
    /// concurrently make it larger, and overwrite nothing.
    pub(crate) fn extend(&self, size: usize) -> isize {
        static ZEROS: [u8; PAGE] = [0; PAGE];
        while self.size() < size {
            // SAFETY: of the given length.
            let result = unsafe {
                system_call(
                    libc::SYS_write,
                    [self.word(), ZEROS.as_ptr() as usize, ZEROS.len(), 0, 0, 0],
                )
            };
            if result <= 0 {
                return if result == 0 { -libc::ENOSPC as isize } else { result };
            }
        }
        0
    }

    /// Size of the file, in bytes.
    pub(crate) fn size(&self) -> usize {
        // SAFETY: takes only numbers.
        unsafe {
            system_call(libc::SYS_lseek, [self.word(), 0, libc::SEEK_END as usize, 0, 0, 0]).max(0)
                as usize
        }
    }

    /// Sets the size of the file, in bytes.
    pub(crate) fn resize(&self, size: usize) -> isize {
        // SAFETY: takes only numbers.
        unsafe { system_call(libc::SYS_ftruncate, [self.word(), size, 0, 0, 0, 0]) }
    }
}

impl Drop for OwnDescriptor {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // SAFETY: the descriptor is ours and is not used again.
        unsafe { system_call(libc::SYS_close, [self.word(), 0, 0, 0, 0, 0]) };
    }
}

/// Closes a descriptor of the program, without its hook.
pub(crate) fn close_descriptor(fd: c_int) {
    drop(OwnDescriptor::owned(fd));
}

/// Closes all descriptors of the program from `first` to `last`, if the kernel supports it.
pub(crate) fn close_range(first: u32, last: u32) -> isize {
    // SAFETY: takes only numbers.
    unsafe { system_call(libc::SYS_close_range, [first as usize, last as usize, 0, 0, 0, 0]) }
}

/// Makes one directory.
pub(crate) fn mkdir(path: &CStr, mode: u32) -> isize {
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, mode as usize, 0, 0, 0];
    // SAFETY: the path ends with a zero byte.
    unsafe { system_call(libc::SYS_mkdirat, arguments) }
}

/// Sets the mode of a directory. A link in its place is not followed.
pub(crate) fn chmod(path: &CStr, mode: u32) {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    if let Ok(directory) = open(path, flags, 0) {
        directory.set_mode(mode);
    }
}

/// Removes the name of a file.
pub(crate) fn unlink(path: &CStr) {
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the path ends with a zero byte.
    unsafe { system_call(libc::SYS_unlinkat, arguments) };
}

/// Reads a symbolic link into `buffer` and returns its length; 0 on an error.
pub(crate) fn readlink(path: &CStr, buffer: &mut [u8]) -> usize {
    let arguments = [
        libc::AT_FDCWD as usize,
        path.as_ptr() as usize,
        buffer.as_mut_ptr() as usize,
        buffer.len(),
        0,
        0,
    ];
    // SAFETY: the path ends with a zero byte, the buffer has the given length.
    unsafe { system_call(libc::SYS_readlinkat, arguments).max(0) as usize }
}

/// Inode of the file that `path` leads to; `None` if there is no such file.
pub(crate) fn inode_of(path: &CStr) -> Option<u64> {
    status_of(path).map(|status| status.st_ino)
}

/// Whether the file that `path` leads to has capabilities.
pub(crate) fn has_capabilities(path: &CStr) -> bool {
    let name = c"security.capability";
    // SAFETY: both end with a zero byte; without room the kernel only returns how much it would
    // need.
    unsafe {
        system_call(
            libc::SYS_getxattr,
            [path.as_ptr() as usize, name.as_ptr() as usize, 0, 0, 0, 0],
        ) > 0
    }
}

/// Whether the process may not make files in the directory `path`, with the rights of its effective
/// user.
pub(crate) fn is_denied(path: &CStr) -> bool {
    let wanted = (libc::W_OK | libc::X_OK) as usize;
    let arguments =
        [libc::AT_FDCWD as usize, path.as_ptr() as usize, wanted, libc::AT_EACCESS as usize, 0, 0];
    // SAFETY: the path ends with a zero byte.
    unsafe { system_call(libc::SYS_faccessat2, arguments) == -libc::EACCES as isize }
}

/// Status of the file that `path` leads to; `None` if there is no such file.
pub(crate) fn status_of(path: &CStr) -> Option<libc::stat> {
    // SAFETY: a struct of numbers may be all zeros.
    let mut status: libc::stat = unsafe { core::mem::zeroed() };
    let arguments = [
        libc::AT_FDCWD as usize,
        path.as_ptr() as usize,
        ptr::from_mut(&mut status) as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the path ends with a zero byte, and the kernel fills the struct.
    let result = unsafe { system_call(libc::SYS_newfstatat, arguments) };
    (result == 0).then_some(status)
}

/// Writes the path of the working directory, with a terminating zero byte, into `buffer`. Returns
/// its length with the zero; 0 on an error.
pub(crate) fn getcwd(buffer: &mut [u8]) -> usize {
    // SAFETY: the buffer has the given length.
    unsafe {
        system_call(libc::SYS_getcwd, [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0])
            .max(0) as usize
    }
}
