//! The beginning of a log: at load in a new program, at the first call in a child.
//!
//! Whatever goes wrong here, the program runs on as if the library were not there.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use socket_log::layout::{CHUNK_BYTES, FileHeader, HEADER_BYTES, MAGIC, VERSION, state as progress};

use crate::options::options;
use crate::raw::{self, Descriptor};
use crate::state::{self, State};
use crate::text::{Text, fill};
use crate::{
    checksum, clock, ended, environment, fds, hooks, options, process, recycle, segment, shifted, watch,
};

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

extern "C" fn constructor() {
    hooks::resolve_all();
    let usable = environment::read();
    options::read();
    environment::complete_own();
    if !usable
        || !options::selects_this_command()
        || !state::create()
        || !fds::create()
        || !watch::create()
        || !recycle::create()
    {
        fds::disable();
        return;
    }
    clock::choose();
    shifted::read();
    checksum::choose();
    process::at_exit();
    ended::watch();
    if let Some(state) = state::current() {
        begin(state);
    }
}

/// Starts the process's log. Returns when it is started, by whichever thread, or cannot be.
pub(crate) fn begin(state: &State) {
    if state.starting.compare_exchange(0, 1, AcqRel, Acquire).is_err() {
        // Another thread is at it. It may be this very thread, interrupted by a signal: so not for ever.
        for _ in 0..1000 {
            if state.generation.load(Acquire) != 0 {
                return;
            }
            raw::sched_yield();
        }
        return;
    }
    let generation = clock::now() | 1;
    if !raw::is_sealed()
        && let Some(header) = create(state)
    {
        state.header.store(header, Relaxed);
    } else {
        fds::disable();
    }
    state.generation.store(generation, Release);
}

/// Makes the file, maps its first part and fills in the header.
fn create(state: &State) -> Option<*mut FileHeader> {
    let anchor = clock::anchor();
    let pid = raw::getpid();
    // In its final place, since the program may have left little room on the stack.
    // SAFETY: only the thread that starts the log writes the path, and nobody reads it before the generation.
    let path = unsafe { &mut *state.path.get() };
    make_directories(path)?;
    path.push(b"/").push_number(u64::from(pid)).push(b"-");
    path.push_number(anchor.realtime as u64).push(b".sclog");
    if !path.is_whole() {
        return None;
    }
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let file = raw::open(path.as_c_str(), flags, 0o644).ok()?;
    let Ok(memory) = segment::map_file(&file, 0, segment::FIRST) else {
        raw::unlink(path.as_c_str());
        return None;
    };
    drop(file);
    let first = state.segments.first()?;
    first.store(memory, Relaxed);
    let header: *mut FileHeader = memory.cast();
    // SAFETY: the mapping is new, zeroed, aligned to a page and longer than the header; zeros are valid.
    let fields = unsafe { &mut *header };
    fields.version = VERSION;
    fields.header_bytes = HEADER_BYTES as u32;
    fields.chunk_bytes = CHUNK_BYTES as u32;
    (fields.tick_clock, fields.tick_shift) = clock::description();
    fields.pid = pid;
    fields.parent_pid = raw::getppid();
    fields.uid = raw::geteuid();
    fields.start = anchor;
    fields.boot_id = boot_id();
    fill(&mut fields.host, environment::host());
    raw::readlink(c"/proc/self/exe", &mut fields.executable);
    if let Ok(file) = raw::open(c"/proc/self/cmdline", libc::O_RDONLY | libc::O_CLOEXEC, 0) {
        file.read(&mut fields.arguments);
    }
    fields.limit = options().limit();
    fields.keeps_newest = u32::from(options().keeps_newest);
    fields.namespace = raw::inode(c"/proc/self/ns/net").unwrap_or(0);
    fields.state.store(progress::RUNNING, Relaxed);
    fields.magic.store(MAGIC, Release);
    Some(header)
}

/// Makes the host's directory and those above it, and appends its path to the empty `path`.
fn make_directories(path: &mut Text<4352>) -> Option<()> {
    // Every directory on the way, but nothing is said where one is there already.
    for (index, byte) in environment::directory().iter().enumerate() {
        if *byte == b'/' && index > 0 {
            raw::mkdir(path.as_c_str(), 0o777);
        }
        path.push(&[*byte]);
    }
    make(path, 0o755);
    path.push(b"/hosts");
    make(path, 0o755);
    path.push(b"/");
    for byte in environment::host() {
        path.push(if *byte == b'/' { b"_" } else { core::slice::from_ref(byte) });
    }
    // Processes of other users, such as a server that gives up its rights, put their logs there too.
    make(path, 0o1777);
    path.is_whole().then_some(())
}

/// Makes one directory with this very mode, whatever the process's mask.
fn make(path: &Text<4352>, mode: u32) {
    if raw::mkdir(path.as_c_str(), mode) == 0 {
        raw::chmod(path.as_c_str(), mode);
    }
}

fn boot_id() -> [u8; 16] {
    let mut text = [0; 40];
    let mut id = [0; 16];
    let Ok(file) = raw::open(c"/proc/sys/kernel/random/boot_id", libc::O_RDONLY | libc::O_CLOEXEC, 0) else {
        return id;
    };
    let length = Descriptor::read(&file, &mut text);
    let digits = text.iter().take(length).filter_map(|byte| (*byte as char).to_digit(16));
    for (index, digit) in digits.take(32).enumerate() {
        if let Some(place) = id.get_mut(index / 2) {
            *place = *place << 4 | digit as u8;
        }
    }
    id
}
