//! System calls made without libc, since libc's own `write` and `close` lead back to the hooks.
//!
//! Each returns what the kernel returned, an error as its negative number, and leaves `errno` alone. That is
//! why no hook has to save `errno` around its own work.

use core::ffi::{CStr, c_int, c_long};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicUsize};

/// The smallest page that Linux has.
const PAGE: usize = 4096;

/// Set once the process has given up system calls of its choice (`seccomp`). A call that the program does not
/// make by itself may then be its death, so the shim makes none any more. A child inherits the filter and, since
/// this lies in plain memory, the mark.
static SEALED: AtomicBool = AtomicBool::new(false);

/// Whether the shim must make no system call of its own.
pub(crate) fn is_sealed() -> bool {
    SEALED.load(Relaxed)
}

/// No system calls from now on.
pub(crate) fn seal() {
    SEALED.store(true, Relaxed);
}

/// Makes system call `number`.
///
/// # Safety
/// As the system call demands.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) unsafe fn call(number: c_long, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the x86-64 convention of the Linux kernel; the caller answers for the call itself.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0],
            in("rsi") arguments[1],
            in("rdx") arguments[2],
            in("r10") arguments[3],
            in("r8") arguments[4],
            in("r9") arguments[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Makes system call `number`.
///
/// # Safety
/// As the system call demands.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) unsafe fn call(number: c_long, arguments: [usize; 6]) -> isize {
    let result: isize;
    // SAFETY: the AArch64 convention of the Linux kernel; the caller answers for the call itself.
    unsafe {
        core::arch::asm!(
            "svc #0",
            in("x8") number,
            inlateout("x0") arguments[0] as isize => result,
            in("x1") arguments[1],
            in("x2") arguments[2],
            in("x3") arguments[3],
            in("x4") arguments[4],
            in("x5") arguments[5],
            options(nostack),
        );
    }
    result
}

/// The calling process.
pub(crate) fn getpid() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { call(libc::SYS_getpid, [0; 6]) as u32 }
}

/// The parent of the calling process.
pub(crate) fn getppid() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { call(libc::SYS_getppid, [0; 6]) as u32 }
}

/// The calling thread.
pub(crate) fn gettid() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { call(libc::SYS_gettid, [0; 6]) as u32 }
}

/// The user whose rights the process has.
pub(crate) fn geteuid() -> u32 {
    // SAFETY: takes nothing and cannot fail.
    unsafe { call(libc::SYS_geteuid, [0; 6]) as u32 }
}

/// Lets another thread run.
pub(crate) fn sched_yield() {
    // SAFETY: takes nothing and cannot fail.
    unsafe { call(libc::SYS_sched_yield, [0; 6]) };
}

/// Opens `path`.
pub(crate) fn open(path: &CStr, flags: c_int, mode: u32) -> Result<Descriptor, isize> {
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, mode as usize, 0, 0];
    // SAFETY: the path ends with a zero byte, as its type says.
    let result = unsafe { call(libc::SYS_openat, arguments) };
    if result < 0 { Err(result) } else { Ok(Descriptor(result as c_int)) }
}

/// An open descriptor of the shim's own, closed when dropped: the shim keeps none for long, because daemons
/// close descriptors that they do not know.
pub(crate) struct Descriptor(c_int);

impl Descriptor {
    /// Reads once into `buffer` and returns how much came; nothing on an error.
    pub(crate) fn read(&self, buffer: &mut [u8]) -> usize {
        let arguments = [self.0 as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0];
        // SAFETY: the buffer is as long as told.
        unsafe { call(libc::SYS_read, arguments).max(0) as usize }
    }

    /// Gives the file room on the disk, so that storing through a mapping cannot fail later.
    pub(crate) fn allocate(&self, offset: usize, length: usize) -> isize {
        // SAFETY: takes numbers only.
        unsafe { call(libc::SYS_fallocate, [self.0 as usize, 0, offset, length, 0, 0]) }
    }

    /// Maps a part of the file, shared.
    pub(crate) fn map(&self, offset: usize, length: usize) -> Result<*mut u8, isize> {
        map(length, libc::MAP_SHARED, self.0, offset)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours and is not used again.
        unsafe { call(libc::SYS_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

fn map(length: usize, flags: c_int, fd: c_int, offset: usize) -> Result<*mut u8, isize> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
    let result = unsafe {
        call(libc::SYS_mmap, [0, length, protection, flags as usize, fd as isize as usize, offset])
    };
    // Errors are the last page of the address space.
    if (-4095..0).contains(&result) { Err(result) } else { Ok(result as *mut u8) }
}

/// Maps private memory that begins as zeros and takes room only where it is touched.
pub(crate) fn map_anonymous(length: usize) -> Option<*mut u8> {
    map(length, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0).ok()
}

/// Gives advice about a mapping; true when the kernel took it.
///
/// # Safety
/// The mapping is the caller's own, and the advice loses nothing that is still needed.
pub(crate) unsafe fn advise(address: *mut u8, length: usize, advice: c_int) -> bool {
    // SAFETY: the caller answers for the mapping.
    unsafe { call(libc::SYS_madvise, [address as usize, length, advice as usize, 0, 0, 0]) == 0 }
}

/// Removes a mapping.
///
/// # Safety
/// Nothing uses the mapping any more.
pub(crate) unsafe fn unmap(address: *mut u8, length: usize) {
    // SAFETY: the caller answers for the mapping.
    unsafe { call(libc::SYS_munmap, [address as usize, length, 0, 0, 0, 0]) };
}

/// Makes one directory.
pub(crate) fn mkdir(path: &CStr, mode: u32) -> isize {
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, mode as usize, 0, 0, 0];
    // SAFETY: the path ends with a zero byte.
    unsafe { call(libc::SYS_mkdirat, arguments) }
}

/// Sets the mode of a directory, but not of what a link in its place leads to.
pub(crate) fn chmod(path: &CStr, mode: u32) {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    if let Ok(directory) = open(path, flags, 0) {
        // SAFETY: takes numbers only.
        unsafe { call(libc::SYS_fchmod, [directory.0 as usize, mode as usize, 0, 0, 0, 0]) };
    }
}

/// Gives a file to another user, but not what a link in its place leads to.
pub(crate) fn chown(path: &CStr, uid: u32) {
    let group = u32::MAX as usize; // As it is.
    let flags = libc::AT_SYMLINK_NOFOLLOW as usize;
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, uid as usize, group, flags, 0];
    // SAFETY: the path ends with a zero byte.
    unsafe { call(libc::SYS_fchownat, arguments) };
}

/// Removes a file's name.
pub(crate) fn unlink(path: &CStr) {
    let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the path ends with a zero byte.
    unsafe { call(libc::SYS_unlinkat, arguments) };
}

/// Reads a symbolic link into `buffer` and returns its length; nothing on an error.
pub(crate) fn readlink(path: &CStr, buffer: &mut [u8]) -> usize {
    let arguments =
        [libc::AT_FDCWD as usize, path.as_ptr() as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0];
    // SAFETY: the path ends with a zero byte, the buffer is as long as told.
    unsafe { call(libc::SYS_readlinkat, arguments).max(0) as usize }
}

/// The inode of what `path` leads to.
pub(crate) fn inode(path: &CStr) -> Option<u64> {
    // SAFETY: a struct of numbers may be all zeros.
    let mut status: libc::stat = unsafe { core::mem::zeroed() };
    let arguments =
        [libc::AT_FDCWD as usize, path.as_ptr() as usize, ptr::from_mut(&mut status) as usize, 0, 0, 0];
    // SAFETY: the path ends with a zero byte, and the kernel fills the struct.
    let result = unsafe { call(libc::SYS_newfstatat, arguments) };
    (result == 0).then_some(status.st_ino)
}

/// The working directory, with the zero byte that ends it; nothing on an error.
pub(crate) fn getcwd(buffer: &mut [u8]) -> usize {
    // SAFETY: the buffer is as long as told.
    unsafe {
        call(libc::SYS_getcwd, [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0]).max(0) as usize
    }
}

/// Whether the program's memory at `address` can be read: what it hands to the kernel may be wrong, which is an error
/// for the kernel to report and no reason to die for.
pub(crate) fn is_readable<T>(address: *const T) -> bool {
    /// The page that was found readable last. It is taken to be so still, or each datagram would cost a system call:
    /// a program that has unmapped it since and hands it to the kernel is not told apart.
    static LATEST: AtomicUsize = AtomicUsize::new(usize::MAX);
    const WORD: usize = 8;
    let own_frame = 0u8;
    let (first, last) = (address.addr(), address.addr().wrapping_add(size_of::<T>().max(1) - 1));
    let is_in = |page: usize| first / PAGE == page && last / PAGE == page;
    if first < PAGE {
        return false; // Where null pointers lead, which the kernel may take for none given.
    }
    if is_in(ptr::from_ref(&own_frame).addr() / PAGE) || is_in(LATEST.load(Relaxed)) || is_sealed() {
        return true;
    }
    let can_read = |address: usize| {
        // Wholly inside the page, so that its neighbour does not matter.
        let within = address.min((address | (PAGE - 1)) - (WORD - 1));
        // The kernel reads the set of signals before it finds that what to do with it makes no sense.
        // SAFETY: changes nothing, since there is no such thing to do.
        let result = unsafe { call(libc::SYS_rt_sigprocmask, [usize::MAX, within, 0, WORD, 0, 0]) };
        result != -libc::EFAULT as isize
    };
    let readable = can_read(first) && (first / PAGE == last / PAGE || can_read(last));
    if readable {
        LATEST.store(last / PAGE, Relaxed);
    }
    readable
}

/// The largest size to which the process may let a file grow.
pub(crate) fn file_size_limit() -> u64 {
    let mut limit = [u64::MAX; 2];
    let arguments = [0, libc::RLIMIT_FSIZE as usize, 0, limit.as_mut_ptr() as usize, 0, 0];
    // SAFETY: the kernel writes two 64-bit numbers.
    unsafe { call(libc::SYS_prlimit64, arguments) };
    limit[0]
}

/// The CPU time that the calling thread has used, in nanoseconds.
pub(crate) fn thread_cpu_time() -> Option<u64> {
    if is_sealed() {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let arguments = [libc::CLOCK_THREAD_CPUTIME_ID as usize, ptr::from_mut(&mut time) as usize, 0, 0, 0, 0];
    // SAFETY: the kernel fills the struct.
    let result = unsafe { call(libc::SYS_clock_gettime, arguments) };
    (result == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Whether nothing was sent yet, and nothing received by a program, on a stream: only TCP can tell.
pub(crate) fn is_fresh_stream(fd: c_int) -> (bool, bool) {
    /// Of the kernel's `tcp_info`, as far as the last of these two fields.
    #[repr(C)]
    #[derive(Default)]
    struct TcpInfo {
        other: [u64; 15],
        bytes_acknowledged: u64,
        bytes_received: u64,
    }
    let (mut info, mut unread, mut unsent) = (TcpInfo::default(), 0u32, 0u32);
    let mut length = size_of::<TcpInfo>() as u32;
    let arguments = [
        fd as usize,
        libc::IPPROTO_TCP as usize,
        libc::TCP_INFO as usize,
        ptr::from_mut(&mut info) as usize,
        ptr::from_mut(&mut length) as usize,
        0,
    ];
    // SAFETY: the kernel writes at most the length told.
    let asked = !is_sealed() && unsafe { call(libc::SYS_getsockopt, arguments) } == 0;
    // The third argument of `ioctl` is where the number goes.
    let count = |request: u64, to: *mut u32| {
        // SAFETY: the kernel writes one number.
        unsafe { call(libc::SYS_ioctl, [fd as usize, request as usize, to as usize, 0, 0, 0]) == 0 }
    };
    if !asked
        || length < size_of::<TcpInfo>() as u32
        || !count(libc::FIONREAD, &mut unread)
        || !count(libc::TIOCOUTQ, &mut unsent)
    {
        return (false, false);
    }
    // The kernel counts the connecting side's first packet as a byte.
    (info.bytes_acknowledged <= 1 && unsent == 0, info.bytes_received == u64::from(unread))
}

/// The host's name into `buffer`, and its length.
pub(crate) fn nodename(buffer: &mut [u8]) -> usize {
    // SAFETY: a struct of byte arrays may be all zeros.
    let mut names: libc::utsname = unsafe { core::mem::zeroed() };
    // SAFETY: the kernel fills the struct.
    if unsafe { call(libc::SYS_uname, [ptr::from_mut(&mut names) as usize, 0, 0, 0, 0, 0]) } < 0 {
        return 0;
    }
    let mut length = 0;
    for (to, from) in buffer.iter_mut().zip(names.nodename) {
        if from == 0 {
            break;
        }
        *to = from as u8;
        length += 1;
    }
    length
}

/// A socket option that is a number.
pub(crate) fn socket_option<T: Copy + Default>(fd: c_int, option: c_int) -> Result<T, isize> {
    if is_sealed() {
        return Err(-libc::EPERM as isize);
    }
    let mut value = T::default();
    let mut length = size_of::<T>() as u32;
    let arguments = [
        fd as usize,
        libc::SOL_SOCKET as usize,
        option as usize,
        ptr::from_mut(&mut value) as usize,
        ptr::from_mut(&mut length) as usize,
        0,
    ];
    // SAFETY: the kernel writes at most the length told.
    let result = unsafe { call(libc::SYS_getsockopt, arguments) };
    if result < 0 { Err(result) } else { Ok(value) }
}

/// `getsockname` or `getpeername`, by the system call's number; returns the name's full length.
pub(crate) fn socket_name(number: c_long, fd: c_int, buffer: &mut [u8]) -> Option<usize> {
    if is_sealed() {
        return None;
    }
    let mut length = buffer.len() as u32;
    let arguments = [fd as usize, buffer.as_mut_ptr() as usize, ptr::from_mut(&mut length) as usize, 0, 0, 0];
    // SAFETY: the kernel writes at most the length told.
    let result = unsafe { call(number, arguments) };
    (result == 0).then_some(length as usize)
}

socket_log::without_std! {
    /// Ends the process at once: what is left when the shim itself is wrong.
    pub(crate) fn abort() -> ! {
        loop {
            // SAFETY: signals the process itself.
            unsafe {
                call(libc::SYS_kill, [getpid() as usize, libc::SIGABRT as usize, 0, 0, 0, 0]);
                call(libc::SYS_exit_group, [127, 0, 0, 0, 0, 0]);
            }
        }
    }
}

/// The calling thread's `errno`, as libc's own functions left it.
pub(crate) fn errno() -> c_int {
    // SAFETY: libc gives the address of the calling thread's variable.
    unsafe { *libc::__errno_location() }
}

/// Sets the calling thread's `errno`.
pub(crate) fn set_errno(value: c_int) {
    // SAFETY: libc gives the address of the calling thread's variable.
    unsafe { *libc::__errno_location() = value }
}
