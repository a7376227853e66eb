//! Ids of the calling thread and its process, also if the program has given up the right to ask the
//! kernel.
//!
//! Libc knows the id of each thread: the kernel wrote it there when the thread or the process was
//! made. No function of libc returns it without a system call, but a mutex that one thread can lock
//! twice has to store the id of its owner.

use core::mem::MaybeUninit;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use super::{permitted_syscalls, raw};
use crate::c_library::linker;

/// Index of the word of a recursive mutex that contains its owner's id, plus one; 0 if it was not
/// found.
static OWNER_WORD: AtomicU32 = AtomicU32::new(0);

/// Ids of the process, its parent and its user, each 0 until it was queried. A child that may not
/// ask the kernel finds its parent's id in these.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static PARENT: AtomicU32 = AtomicU32::new(0);
static USER: AtomicU32 = AtomicU32::new(0);

/// Number of 32-bit words of a mutex.
const WORDS: usize = size_of::<libc::pthread_mutex_t>() / 4;

/// Words of a recursive mutex that the calling thread has locked; `None` if libc's functions are
/// missing or fail.
fn locked_mutex_words() -> Option<[u32; WORDS]> {
    let mut attributes = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
    let mut mutex = MaybeUninit::<libc::pthread_mutex_t>::zeroed();
    // SAFETY: in the order and on memory of the types that libc requires. Nothing else uses the
    // mutex, so nothing waits and no system call is made.
    unsafe {
        if linker::pthread_mutexattr_init()?(attributes.as_mut_ptr()) != 0
            || linker::pthread_mutexattr_settype()?(
                attributes.as_mut_ptr(),
                libc::PTHREAD_MUTEX_RECURSIVE,
            ) != 0
            || linker::pthread_mutex_init()?(mutex.as_mut_ptr(), attributes.as_ptr()) != 0
            || linker::pthread_mutex_lock()?(mutex.as_mut_ptr()) != 0
        {
            return None;
        }
        let words = mutex.as_ptr().cast::<[u32; WORDS]>().read();
        linker::pthread_mutex_unlock()?(mutex.as_mut_ptr());
        Some(words)
    }
}

/// Finds the place where libc keeps the thread's id, while the kernel can still be asked for it.
/// Once a filter is active only the user is queried again, since system calls are slow in a process
/// with filters.
pub(crate) fn find_thread_id() {
    if permitted_syscalls::is_active()
        && OWNER_WORD.load(Relaxed) != 0
        && PROCESS.load(Relaxed) != 0
    {
        if let Some(user) = raw::kernel_id(libc::SYS_geteuid) {
            USER.store(user, Relaxed);
        }
        return;
    }
    process_ids();
    if let (Some(words), Some(tid)) = (locked_mutex_words(), raw::kernel_id(libc::SYS_gettid))
        && let Some(index) = words.iter().position(|word| *word == tid)
    {
        OWNER_WORD.store(index as u32 + 1, Relaxed);
    }
}

/// Id of the calling thread, as libc has it; 0 if it is unknown.
fn thread_id_by_libc() -> u32 {
    let index = (OWNER_WORD.load(Relaxed) as usize).wrapping_sub(1);
    if index == usize::MAX {
        return 0;
    }
    locked_mutex_words().and_then(|words| words.get(index).copied()).unwrap_or(0)
}

/// Id of the calling thread.
pub(crate) fn thread_id() -> u32 {
    raw::kernel_id(libc::SYS_gettid).unwrap_or_else(thread_id_by_libc)
}

/// Ids of a process that begins a log, its parent, and its effective user.
pub(crate) struct ProcessIds {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) user: u32,
}

/// Id of the calling process.
pub(crate) fn process_id() -> u32 {
    raw::kernel_id(libc::SYS_getpid).unwrap_or_else(thread_id_by_libc)
}

/// Ids of the process, which begins a log. A child that may not ask the kernel has one thread,
/// which has the process's id.
pub(crate) fn process_ids() -> ProcessIds {
    let pid = process_id();
    if PROCESS.load(Relaxed) != pid {
        PARENT.store(PROCESS.swap(pid, Relaxed), Relaxed);
    }
    let parent = raw::kernel_id(libc::SYS_getppid).unwrap_or_else(|| PARENT.load(Relaxed));
    let user = raw::kernel_id(libc::SYS_geteuid).unwrap_or_else(|| USER.load(Relaxed));
    USER.store(user, Relaxed);
    ProcessIds { pid, parent, user }
}
