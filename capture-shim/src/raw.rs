//! System calls made without libc, since libc's own `write` and `close` lead back to the hooks.
//!
//! Each returns what the kernel returned, an error as its negative number, and leaves `errno`
//! alone. That is why no hook has to save `errno` around its own work.

use core::ffi::{c_int, c_long};
use core::ptr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use crate::seccomp;

mod files;
mod sockets;

pub(crate) use files::*;
pub(crate) use sockets::*;

/// The smallest page that Linux has.
pub(crate) const PAGE: usize = 4096;

/// Makes system call `number`, unless it is one that the program has given up: that is refused like
/// any that the process has no right to.
///
/// # Safety
/// As the system call demands.
#[inline]
unsafe fn call(number: c_long, arguments: [usize; 6]) -> isize {
    if seccomp::is_active() && !seccomp::permits(number as usize, &arguments) {
        return -libc::EPERM as isize;
    }
    // SAFETY: as the caller says.
    unsafe { direct(number, arguments) }
}

/// Makes system call `number`.
///
/// # Safety
/// As the system call demands.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn direct(number: c_long, arguments: [usize; 6]) -> isize {
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
unsafe fn direct(number: c_long, arguments: [usize; 6]) -> isize {
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

/// An id: of the process (`SYS_getpid`), its parent, the thread, or the user. `None` where the
/// program has given up asking for it.
pub(crate) fn id(number: c_long) -> Option<u32> {
    // SAFETY: takes nothing.
    u32::try_from(unsafe { call(number, [0; 6]) }).ok()
}

/// The user whose rights the process has.
pub(crate) fn geteuid() -> u32 {
    id(libc::SYS_geteuid).unwrap_or(u32::MAX)
}

/// Lets another thread run.
pub(crate) fn sched_yield() {
    // SAFETY: takes nothing and cannot fail.
    unsafe { call(libc::SYS_sched_yield, [0; 6]) };
}

fn map(
    length: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: usize,
) -> Result<*mut u8, isize> {
    // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
    let result = unsafe {
        call(
            libc::SYS_mmap,
            [0, length, protection as usize, flags as usize, fd as isize as usize, offset],
        )
    };
    // Errors are the last page of the address space.
    if (-4095..0).contains(&result) { Err(result) } else { Ok(result as *mut u8) }
}

/// For reading and writing.
const USABLE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Maps private memory that begins as zeros and takes room only where it is touched.
pub(crate) fn map_anonymous(length: usize) -> Option<*mut u8> {
    map(length, USABLE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0).ok()
}

/// Maps memory that begins as zeros and that a process shares with its children.
pub(crate) fn map_shared(length: usize) -> Option<*mut u8> {
    map(length, USABLE, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0).ok()
}

const MADV_POPULATE_WRITE: usize = 23;

/// Gives the pages of a shared mapping of a file their room on the disk: what the kernel does at
/// the first store into each, but with an error where there is none, and not a signal.
///
/// # Safety
/// The mapping is the caller's own.
pub(crate) unsafe fn populate(address: *mut u8, length: usize) -> isize {
    // SAFETY: changes nothing that a store would not.
    unsafe { call(libc::SYS_madvise, [address as usize, length, MADV_POPULATE_WRITE, 0, 0, 0]) }
}

/// Whether the kernel knows [`populate`], of Linux 5.14 on.
pub(crate) fn can_populate() -> bool {
    // SAFETY: no page.
    unsafe { populate(ptr::without_provenance_mut(PAGE), 0) == 0 }
}

/// The arguments of [`populate`].
pub(crate) fn of_population() -> [usize; 6] {
    [PAGE, PAGE, MADV_POPULATE_WRITE, 0, 0, 0]
}

/// The arguments of the two calls that make a new log, to open and to map it.
pub(crate) fn of_new_log() -> [[usize; 6]; 2] {
    let flags = libc::O_RDWR
        | libc::O_APPEND
        | libc::O_CREAT
        | libc::O_EXCL
        | libc::O_CLOEXEC
        | libc::O_NOFOLLOW;
    let create = [libc::AT_FDCWD as usize, PAGE, flags as usize, 0o644, 0, 0];
    [create, [0, PAGE, USABLE as usize, libc::MAP_SHARED as usize, 3, 0]]
}

/// Gives advice about a mapping; true when the kernel took it.
///
/// # Safety
/// The mapping is the caller's own, and the advice loses nothing that is still needed.
pub(crate) unsafe fn advise(address: *mut u8, length: usize, advice: c_int) -> bool {
    // SAFETY: the caller answers for the mapping.
    unsafe { call(libc::SYS_madvise, [address as usize, length, advice as usize, 0, 0, 0]) == 0 }
}

/// Puts private memory into the place of a mapping: what is stored there from now on leads nowhere.
pub(crate) fn replace_by_nothing(address: *mut u8, length: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let arguments = [address as usize, length, USABLE as usize, flags as usize, usize::MAX, 0];
    // SAFETY: a mapping of the library's own, which stays one.
    unsafe { call(libc::SYS_mmap, arguments) == address as isize }
}

/// Removes a mapping.
///
/// # Safety
/// Nothing uses the mapping any more.
pub(crate) unsafe fn unmap(address: *mut u8, length: usize) {
    // SAFETY: the caller answers for the mapping.
    unsafe { call(libc::SYS_munmap, [address as usize, length, 0, 0, 0, 0]) };
}

/// Whether the program's memory at `address` can be read: what it hands to the kernel may be wrong,
/// which is an error for the kernel to report and no reason to die for.
pub(crate) fn is_readable<T>(address: *const T) -> bool {
    /// The page that was found readable last. It is taken to be so still, or each datagram would
    /// cost a system call: a program that has unmapped it since and hands it to the kernel is not
    /// told apart.
    static LATEST: AtomicUsize = AtomicUsize::new(usize::MAX);
    const WORD: usize = 8;
    let own_frame = 0u8;
    let (first, last) = (address.addr(), address.addr().wrapping_add(size_of::<T>().max(1) - 1));
    let is_in = |page: usize| first / PAGE == page && last / PAGE == page;
    if first < PAGE {
        return false; // Where null pointers lead, which the kernel may take for none given.
    }
    if is_in(ptr::from_ref(&own_frame).addr() / PAGE) || is_in(LATEST.load(Relaxed)) {
        return true;
    }
    let can_read = |address: usize| {
        // Wholly inside the page, so that its neighbour does not matter.
        let within = address.min((address | (PAGE - 1)) - (WORD - 1));
        // The kernel reads the set of signals before it finds that what to do with it makes no
        // sense. SAFETY: changes nothing, since there is no such thing to do.
        let result = unsafe { call(libc::SYS_rt_sigprocmask, [usize::MAX, within, 0, WORD, 0, 0]) };
        result != -libc::EFAULT as isize
    };
    let readable = can_read(first) && (first / PAGE == last / PAGE || can_read(last));
    if readable {
        LATEST.store(last / PAGE, Relaxed);
    }
    readable
}

/// The path that the kernel was given for the program: of a script the script's.
pub(crate) fn started_as() -> &'static [u8] {
    // SAFETY: asks for a word that the kernel has left, and makes no system call.
    let path = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const core::ffi::c_char;
    // SAFETY: null, or a text that lives as long as the program.
    if path.is_null() { &[] } else { unsafe { core::ffi::CStr::from_ptr(path) }.to_bytes() }
}

/// The CPU time that the calling thread has used, in nanoseconds.
pub(crate) fn thread_cpu_time() -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let arguments =
        [libc::CLOCK_THREAD_CPUTIME_ID as usize, ptr::from_mut(&mut time) as usize, 0, 0, 0, 0];
    // SAFETY: the kernel fills the struct.
    let result = unsafe { call(libc::SYS_clock_gettime, arguments) };
    (result == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
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

socket_log::without_std! {
    /// Ends the process at once: what is left when the shim itself is wrong.
    pub(crate) fn abort() -> ! {
        loop {
            // SAFETY: signals the process itself.
            unsafe {
                direct(libc::SYS_kill, [direct(libc::SYS_getpid, [0; 6]) as usize, libc::SIGABRT as usize, 0, 0, 0, 0]);
                direct(libc::SYS_exit_group, [127, 0, 0, 0, 0, 0]);
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
