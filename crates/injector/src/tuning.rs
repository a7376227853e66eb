//! Tuned figures of this crate: how long the recorder and the program wait for each other.

use std::time::Duration;

use rustix::event::Timespec;

/// Maximum time from the announcement of an exec to the exec. The program runs in this time, and is
/// let go of behind it. Chosen: the kernel reads the new program in it, from a slow disk too.
pub(crate) const UNTIL_EXEC: Duration = Duration::from_secs(10);

/// Maximum time for which a new program is kept from running. An injection takes 1 to 5 ms, and
/// what `Prepare` does (disassembly) up to half a second for the largest programs.
pub(crate) const STOPPED: Duration = Duration::from_secs(10);

/// Maximum time until a program that was interrupted has stopped, so that it can be put in order.
pub(crate) const UNTIL_INTERRUPTED: Duration = Duration::from_secs(1);

/// Maximum time in which an announcement that began has come. Chosen: it is one write.
pub(crate) const MESSAGE: Duration = Duration::from_secs(1);

/// Maximum time for which a program waits for the recorder's answer before it executes the other
/// one without it. Chosen: a recorder answers in 0.1 ms; one that was stopped must not hold a
/// program up for long.
pub const ANSWER: Duration = Duration::from_secs(2);

/// Number of announcements that are worked on at once, each in a thread. More are refused, and
/// their programs run without the library. Chosen: each is at work for some milliseconds.
pub(crate) const AT_ONCE: usize = 64;

/// Number of times that a processor is given away before a wait begins to sleep. Most stops come
/// within 10 us; 200 looks take 0.1 ms.
pub(crate) const LOOKS: u32 = 200;

/// Sleep between looks behind these, in nanoseconds.
pub(crate) const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 300_000 };

/// Interval of looking whether a server is to stop.
pub(crate) const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Maximum number of interpreters of scripts that are looked through (`#!`), as in the kernel.
pub(crate) const INTERPRETERS: usize = 5;

/// Number of programs that are known at once. Chosen: of each, some hundred places are kept.
pub(crate) const SURVEYS: usize = 256;

/// Bytes at the beginning of a program's file that are looked at to know it again. Its headers and
/// its build id are in the first 4 KiB of all programs that are known.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

/// Maximum size of a file in which a survey is kept, in bytes. Chosen: those of static programs
/// take 2 to 8 KB.
pub(crate) const KEPT_BYTES: u64 = 1 << 20;

/// Maximum number of such files; beyond it, the oldest are removed. Chosen: more programs than a
/// host runs, and 2 MB of them.
pub(crate) const KEPT_FILES: usize = 256;

/// Distance in bytes that a jump must span at most: 2 GB, less some that stubs may lie behind.
pub(crate) const REACH: u64 = (2 << 30) - (16 << 20);

/// Distance in bytes for which a heap below an injection can grow: more than a machine has memory.
pub(crate) const HEAP_ROOM: u64 = 1 << 40;

/// Lowest address that is mapped, in bytes: what `vm.mmap_min_addr` is everywhere but where it is
/// less.
pub(crate) const LOWEST: u64 = 64 << 10;

/// Maximum time from the end of a connection to the exec that ended it: the kernel closes it first,
/// and loads the program then. Chosen.
pub(crate) const LOADING: Duration = Duration::from_secs(2);

/// Time for which a server that is closed waits for programs that are being worked on.
pub(crate) const CLOSING: Duration = Duration::from_secs(1);

/// Maximum time until all threads of a process that runs stand still; those that do wait for the
/// others meanwhile. They stop within a millisecond each, unless one waits for a child of `vfork`
/// or a slow disk.
pub(crate) const ALL_STOPPED: Duration = Duration::from_secs(1);

/// Bytes of the stack for the first and the last function of a blob in a process that runs. It
/// takes room only where it is touched.
pub(crate) const STACK: u64 = 256 << 10;

/// Time for which threads go on that stand where they cannot stay, while the others stand still:
/// that of the first time, and as much more each further time. Chosen: a hook takes less than 1 us,
/// and a thread is on a processor within some 100 us.
pub(crate) const MOMENT: Duration = Duration::from_micros(200);

/// Number of these times before all threads go on, or attaching is given up. They take 15 ms.
pub(crate) const MOMENTS: u32 = 12;

/// Maximum number of hooks of one thread that are dropped at once: those of handlers that have
/// interrupted each other. More wait for the next time.
pub(crate) const DROPPED: usize = 64;

/// Number of times that the threads of a process are stopped until none is within a blob. Chosen: a
/// handler of a signal that has interrupted a hook is the only one that stays for long.
pub(crate) const TRIES: usize = 50;

/// Number of these times that may fail: its threads do not stop in time, or another process traces
/// them. Chosen: a time takes a second at most, and whoever ends a recording waits.
pub(crate) const FAILURES: usize = 3;

/// Time for which threads go on between two of these.
pub(crate) const BREATH: Duration = Duration::from_millis(20);

/// Maximum time for the last function of a blob, for which a process stands still. Chosen: it takes
/// some milliseconds.
pub(crate) const ENDING: Duration = Duration::from_secs(2);

/// Maximum number of times that copies of a process are looked for, which may make others
/// meanwhile. Chosen: from the second time on, copies record nothing more as soon as they are
/// found, and neither do those that they make then.
pub(crate) const COPIES: usize = 50;

/// Time between two looks whether a program that was just started has loaded its libc.
pub(crate) const LOADS: Duration = Duration::from_millis(5);

/// Number of these looks. Chosen: a program loads its libraries within some milliseconds, on a busy
/// machine within a second. One that has no libc runs on meanwhile.
pub(crate) const LOOKS_FOR_LIBC: usize = 200;

/// Maximum number of ranges of memory that a blob may have mapped by itself. More stay mapped.
/// Chosen: one for each of as many threads as a process can have with hooks, and some more.
pub(crate) const MAPPED: usize = 1 << 17;

/// Maximum length of the note on a blob in a process, in bytes. Chosen: a change takes 40 bytes,
/// and a libc has some hundred.
pub(crate) const NOTE_BYTES: usize = 1 << 20;

/// Maximum length of a program's arguments that its library is told, in bytes. Chosen: as many as
/// `xargs` gives a command; a program can say of itself that it has gigabytes.
pub(crate) const COMMAND_LINE_BYTES: u64 = 128 << 10;

/// Number of pages for which the kernel is asked at once whether they hold something: 32 KiB of
/// answers.
pub(crate) const PAGES_AT_ONCE: usize = 4096;

/// Maximum size of memory that is looked through for a note, in bytes. Chosen: programs have some
/// megabytes that can be read alone and are in use; this much takes two seconds on a busy machine.
pub(crate) const SEARCHED_BYTES: u64 = 1 << 30;

/// Maximum size of a file of code that is looked at, in bytes. Chosen: the largest programs that
/// are known have 600 MB with their debug information; a file can say that it has terabytes.
pub(crate) const CODE_BYTES: u64 = 1 << 30;

/// Maximum time for which another tracer of a process is waited for at the end. Chosen: another
/// recorder, `strace -p` that is refused, or `pidof` lets go within milliseconds, and whoever ends
/// a recording waits.
pub(crate) const TRACED: Duration = Duration::from_secs(1);

/// Maximum number of notes in a process that are read. Chosen: a process has one, and some of
/// recorders that were killed as they ended; it may make up any number.
pub(crate) const NOTES: usize = 16;

/// Number of times that a process is attached to which is given a blob by another recorder in that
/// moment: the one that is there then has a note by which it is told.
pub(crate) const ATTEMPTS: usize = 3;
