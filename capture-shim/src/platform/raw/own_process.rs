//! Facts from the kernel about the calling process and its host: ids, limits, time and names.

use core::ffi::c_long;
use core::ptr;

use super::call::system_call;

/// Id of the process (`SYS_getpid`), its parent, the thread, or the user: the result of the system
/// call `number`. `None` if the program has given up the right to make it.
pub(crate) fn kernel_id(number: c_long) -> Option<u32> {
    // SAFETY: takes no arguments.
    u32::try_from(unsafe { system_call(number, [0; 6]) }).ok()
}

/// Effective user id of the process.
pub(crate) fn geteuid() -> u32 {
    kernel_id(libc::SYS_geteuid).unwrap_or(u32::MAX)
}

/// Lets another thread run.
pub(crate) fn sched_yield() {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { system_call(libc::SYS_sched_yield, [0; 6]) };
}

/// Path that the kernel was given for the program; for a script the script's path.
pub(crate) fn started_as() -> &'static [u8] {
    // SAFETY: reads a word that the kernel has left, and makes no system call.
    let path = unsafe { libc::getauxval(libc::AT_EXECFN) } as *const core::ffi::c_char;
    // SAFETY: null, or a text that lives as long as the program.
    if path.is_null() { &[] } else { unsafe { core::ffi::CStr::from_ptr(path) }.to_bytes() }
}

/// Time of a clock by the system call `clock_gettime`; zeros if the process may not make it.
#[cold]
pub(crate) fn system_time(clock: libc::clockid_t) -> libc::timespec {
    clock_time(clock).unwrap_or(libc::timespec { tv_sec: 0, tv_nsec: 0 })
}

/// CPU time that the calling thread has used, in nanoseconds; `None` if the process may not ask.
pub(crate) fn thread_cpu_time() -> Option<u64> {
    let time = clock_time(libc::CLOCK_THREAD_CPUTIME_ID)?;
    Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Time of a clock by the system call `clock_gettime`; `None` if the process may not make it.
fn clock_time(clock: libc::clockid_t) -> Option<libc::timespec> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let arguments = [clock as usize, ptr::from_mut(&mut time) as usize, 0, 0, 0, 0];
    // SAFETY: the kernel fills the struct.
    let result = unsafe { system_call(libc::SYS_clock_gettime, arguments) };
    (result == 0).then_some(time)
}

/// Random bytes of the kernel; `None` if it has none yet, or the program has given up the right to
/// ask for them.
pub(crate) fn random_bytes<const COUNT: usize>() -> Option<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    let arguments = [bytes.as_mut_ptr() as usize, COUNT, libc::GRND_NONBLOCK as usize, 0, 0, 0];
    // SAFETY: the kernel fills the array.
    let count = unsafe { system_call(libc::SYS_getrandom, arguments) };
    (usize::try_from(count) == Ok(COUNT)).then_some(bytes)
}

/// Writes the host's name into `buffer` and returns its length.
pub(crate) fn node_name(buffer: &mut [u8]) -> usize {
    // SAFETY: a struct of byte arrays may be all zeros.
    let mut names: libc::utsname = unsafe { core::mem::zeroed() };
    // SAFETY: the kernel fills the struct.
    if unsafe { system_call(libc::SYS_uname, [ptr::from_mut(&mut names) as usize, 0, 0, 0, 0, 0]) }
        < 0
    {
        return 0;
    }
    let mut length = 0;
    for (to, from) in buffer.iter_mut().zip(names.nodename) {
        if from == 0 {
            break;
        }
        // The kernel's characters have a sign on some processors.
        [*to] = from.to_ne_bytes();
        length += 1;
    }
    length
}

/// Limit of the process for `resource`; 0 if it cannot be queried.
fn resource_limit(resource: u32) -> u64 {
    let mut limit = [0; 2];
    let arguments = [0, resource as usize, 0, limit.as_mut_ptr() as usize, 0, 0];
    // SAFETY: the kernel writes two 64-bit numbers.
    unsafe { system_call(libc::SYS_prlimit64, arguments) };
    limit[0]
}

/// Largest size to which the process may let a file grow, in bytes.
pub(crate) fn file_size_limit() -> u64 {
    resource_limit(libc::RLIMIT_FSIZE)
}

/// Maximum number of descriptors of the process.
pub(crate) fn descriptor_limit() -> u64 {
    resource_limit(libc::RLIMIT_NOFILE)
}

/// Whether the process may use an unlimited address space.
pub(crate) fn has_boundless_space() -> bool {
    resource_limit(libc::RLIMIT_AS) == u64::MAX
}

/// Alternate signal stack of the calling thread, if it has set one.
#[cfg(feature = "injected")]
pub(crate) fn alternate_stack() -> Option<libc::stack_t> {
    // SAFETY: a struct of numbers may be all zeros.
    let mut stack: libc::stack_t = unsafe { core::mem::zeroed() };
    // SAFETY: the kernel fills the struct; a null pointer sets nothing.
    let result = unsafe {
        system_call(
            libc::SYS_sigaltstack,
            [0, core::ptr::from_mut(&mut stack) as usize, 0, 0, 0, 0],
        )
    };
    (result == 0 && stack.ss_flags & libc::SS_DISABLE == 0).then_some(stack)
}
