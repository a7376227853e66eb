//! Tuned figures of this crate: how long the recorder and the program wait for each other.

use std::time::Duration;

use rustix::event::Timespec;

/// Maximum time from the announcement of an exec to the exec, in which the old program runs; its
/// thread is released afterwards. Chosen: the kernel reads the new program in this time, possibly
/// from a slow disk.
pub(crate) const UNTIL_EXEC: Duration = Duration::from_secs(10);

/// Maximum time for which a new program is stopped. An injection takes 1 to 5 ms, and the work of
/// `Prepare` (disassembly) up to half a second for the largest programs.
pub(crate) const MAX_STOPPED_TIME: Duration = Duration::from_secs(10);

/// Maximum time until an interrupted program has stopped, so that it can be restored.
pub(crate) const UNTIL_INTERRUPTED: Duration = Duration::from_secs(1);

/// Maximum time until an announcement that has begun is complete. Chosen: an announcement is one
/// write.
pub(crate) const MAX_MESSAGE_TIME: Duration = Duration::from_secs(1);

/// Maximum time for which a program waits for the recorder's answer before it executes the other
/// program without an answer. Chosen: a recorder answers in 0.1 ms; a stopped recorder must not
/// delay a program for long.
pub const ANSWER: Duration = Duration::from_secs(2);

/// Maximum number of concurrent announcements, each in a thread. Further announcements are refused,
/// and their programs run without the library. Chosen: each takes some milliseconds.
pub(crate) const MAX_CONCURRENT: usize = 64;

/// Number of times that a wait yields the processor before it begins to sleep. Most stops arrive
/// within 10 us; 200 checks take 0.1 ms.
pub(crate) const YIELDS: u32 = 200;

/// Sleep between further checks, in nanoseconds.
pub(crate) const CHECK_PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000 };

/// Interval of checks whether a server is to stop.
pub(crate) const CLOSE_CHECK_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Maximum number of nested script interpreters that are followed (`#!`), as in the kernel.
pub(crate) const MAX_INTERPRETERS: usize = 5;

/// Maximum number of plans in memory. Chosen: each has some hundred sites.
pub(crate) const MAX_CACHED_PLANS: usize = 256;

/// Size of the beginning of a program's file that is read to identify it, in bytes. The headers and
/// the build id are in the first 4 KiB of all known programs.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// Maximum size of a file with a kept plan, in bytes. Chosen: plans of static programs take 2 to 8
/// KB.
pub(crate) const MAX_PLAN_FILE_BYTES: u64 = 1 << 20;

/// Maximum number of files with a kept plan; beyond it, the oldest are removed. Chosen: more
/// programs than a host runs, and 2 MB of plans.
pub(crate) const MAX_PLAN_FILES: usize = 256;

/// Distance in bytes that every jump must be able to span: 2 GB, minus some space for stubs beyond
/// the distance.
pub(crate) const JUMP_REACH: u64 = (2 << 30) - (16 << 20);

/// Distance in bytes for which a heap below an injection can grow: more than the memory of a
/// machine.
pub(crate) const HEAP_ROOM: u64 = 1 << 40;

/// Lowest mapped address: the usual value of `vm.mmap_min_addr`, which is lower on some machines.
pub(crate) const LOWEST_ADDRESS: u64 = 64 << 10;

/// Maximum time from the end of a connection to the exec that ended it: the kernel closes the
/// connection first, and then loads the program. Chosen.
pub(crate) const MAX_LOAD_TIME: Duration = Duration::from_secs(2);

/// Time for which a closing server waits for programs in progress.
pub(crate) const MAX_CLOSE_TIME: Duration = Duration::from_secs(1);

/// Maximum time until all threads of a running process stand still; stopped threads wait for the
/// others meanwhile. Threads stop within a millisecond each, unless one waits for a child of
/// `vfork` or a slow disk.
pub(crate) const ALL_STOPPED: Duration = Duration::from_secs(1);

/// Size of the stack for the first and the last function of a blob in a running process, in bytes.
/// The stack uses memory only where it is touched.
pub(crate) const BLOB_STACK_BYTES: u64 = 256 << 10;

/// Time for which threads continue if they stand where they cannot stay, while the others stand
/// still: once this time at first, twice the second time, and so on. Chosen: a hook takes less than
/// 1 us, and a thread gets a processor within some 100 us.
pub(crate) const MOMENT: Duration = Duration::from_micros(200);

/// Number of times for which threads continue for a [`MOMENT`] or more, before all threads
/// continue, or attaching is given up. They take 15 ms.
pub(crate) const MOMENTS: u32 = 12;

/// Maximum number of hooks of one thread that are dropped together, from handlers that have
/// interrupted each other. Further hooks are dropped the next time.
pub(crate) const MAX_DROPPED_HOOKS: usize = 64;

/// Number of attempts to stop the threads of a process with none of them inside a blob. Chosen:
/// only a signal handler that has interrupted a hook stays for long.
pub(crate) const DETACH_TRIES: usize = 50;

/// Number of attempts to stop the threads that may fail because threads do not stop in time, or
/// another process traces them. Chosen: an attempt takes a second at most, and the user waits for
/// the end of the recording.
pub(crate) const MAX_FAILED_TRIES: usize = 3;

/// Time for which threads continue between two attempts to stop them.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// Maximum time for the last function of a blob, for which a process stands still. Chosen: the
/// function takes some milliseconds.
pub(crate) const MAX_ENDING_TIME: Duration = Duration::from_secs(2);

/// Maximum number of searches for copies of a process, which may make others meanwhile. Chosen:
/// from the second search on, copies are disabled as soon as they are found, and so are the copies
/// that they make then.
pub(crate) const COPY_SEARCHES: usize = 50;

/// Time between two checks whether a program that was just started has loaded its libc.
pub(crate) const LIBC_CHECK_PAUSE: Duration = Duration::from_millis(5);

/// Number of checks for a libc. Chosen: a program loads its libraries within some milliseconds, on
/// a busy machine within a second. A program without libc runs on meanwhile.
pub(crate) const LIBC_CHECKS: usize = 200;

/// Maximum number of memory ranges that a blob may have mapped itself; further ranges stay mapped.
/// Chosen: one for each thread that a process can have with hooks, and some more.
pub(crate) const MAX_MAPPED_RANGES: usize = 1 << 17;

/// Maximum length of the note of a blob in a process, in bytes. Chosen: a patch takes 40 bytes, and
/// a libc has some hundred.
pub(crate) const NOTE_BYTES: usize = 1 << 20;

/// Maximum length of a program's arguments that its library receives, in bytes. Chosen: the length
/// that `xargs` gives a command; a program can claim gigabytes.
pub(crate) const COMMAND_LINE_BYTES: u64 = 128 << 10;

/// Number of pages about which the kernel is asked in one request, whether they are in use: 32 KiB
/// of answers.
pub(crate) const PAGES_AT_ONCE: usize = 4096;

/// Maximum size of memory that is searched for a note, in bytes. Chosen: programs have some
/// megabytes of read-only memory in use; searching this size takes two seconds on a busy machine.
pub(crate) const SEARCHED_BYTES: u64 = 1 << 30;

/// Maximum size of a file of code that is read, in bytes. Chosen: the largest known programs have
/// 600 MB with their debug information; a file can claim terabytes.
pub(crate) const MAX_CODE_FILE_BYTES: u64 = 1 << 30;

/// Maximum time for which another tracer of a process is waited for at the end. Chosen: another
/// recorder, `strace -p` that is refused, or `pidof` finishes within milliseconds, and the user
/// waits for the end of the recording.
pub(crate) const OTHER_TRACER_TIME: Duration = Duration::from_secs(1);

/// Maximum number of notes in a process that are read. Chosen: a process has one note, and some
/// notes of recorders that were killed as they ended; it may make up any number.
pub(crate) const MAX_NOTES: usize = 16;

/// Number of attempts to attach to a process in which another recorder installs a blob at the same
/// moment: in the next attempt the other blob has a note that identifies it.
pub(crate) const ATTACH_ATTEMPTS: usize = 3;
