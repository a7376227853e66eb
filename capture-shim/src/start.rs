//! The beginning of a log: at load in a new program, at the first call in a child.
//!
//! Whatever goes wrong here, the program runs on as if the library were not there.

use core::ffi::c_int;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use socket_log::layout::{
    CHUNK_BYTES, FileHeader, HEADER_BYTES, KEEPS_NEWEST, MAGIC, VERSION, lost, state as progress,
};

use crate::options::options;
use crate::raw::{self, Descriptor};
use crate::state::{self, State};
use crate::text::{PATH, Text, fill};
use crate::{
    checksum, clock, ended, environment, fds, hooks, identity, inherit, options, positions, process, recycle,
    rights, seccomp, segment, shifted, spares, watch,
};

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

extern "C" fn constructor() {
    hooks::resolve_all();
    let usable = environment::read();
    options::read();
    inherit::complete_own();
    if !usable
        || !options::selects_this_command()
        || !state::create()
        || !fds::create()
        || !watch::create()
        || !recycle::create()
        || !positions::create()
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
    match segment::patiently(state, || create(state)) {
        Ok(header) => {
            // SAFETY: a page of a log, which stays mapped.
            if let Some(count) = unsafe { (*header).lost.get(lost::SHORTAGE) } {
                count.fetch_add(state.missed.load(Relaxed), Relaxed);
            }
            state.header.store(header, Relaxed);
        }
        Err(cause) if segment::passes(cause) => {
            // Tried again at one of the next messages.
            state.starting.store(0, Release);
            return;
        }
        Err(_) => fds::disable(),
    }
    state.generation.store(generation, Release);
}

/// A message on `fd` is not logged; it is counted where that is because the log could not be begun yet.
pub(crate) fn miss(fd: c_int) {
    if let Some(state) = state::current()
        && state.generation.load(Relaxed) == 0
        && raw::socket_option::<c_int>(fd, libc::SO_TYPE).is_ok()
    {
        state.missed.fetch_add(1, Relaxed);
    }
}

/// Makes the log by its path, or of a spare one where there is no such way; or tells the cause ([`lost`]) for which
/// there is none.
fn create(state: &State) -> Result<*mut FileHeader, usize> {
    let by_path = || if rights::is_uprooted() { Err(lost::REFUSED) } else { create_by_path(state) };
    // A file that is made and cannot be mapped is of no use, so what is there already comes first where calls are given up.
    let spare = if seccomp::is_active() || rights::is_uprooted() || is_astray(state) {
        spares::take(state)
    } else {
        None
    };
    let made = spare.map_or_else(by_path, Ok);
    let header = made.or_else(|cause| spares::take(state).ok_or(cause))?;
    // SAFETY: a page of a new log, which is this process's alone and stays mapped.
    let fields = unsafe { &mut *header };
    let who = identity::process();
    (fields.pid, fields.parent_pid, fields.uid) = (who.pid, who.parent, who.user);
    fields.start = clock::anchor();
    fields.state.store(progress::RUNNING, Relaxed);
    fields.magic.store(MAGIC, Release);
    Ok(header)
}

/// Makes the file, maps its first part and fills in what it says of the program.
fn create_by_path(state: &State) -> Result<*mut FileHeader, usize> {
    let anchor = clock::anchor();
    // In its final place, since the program may have left little room on the stack.
    // SAFETY: only the thread that starts the log writes the path, and nobody reads it before the generation.
    let path = unsafe { &mut *state.path.get() };
    *path = Text::new();
    make_directories(path).ok_or(lost::REFUSED)?;
    path.push(b"/").push_number(identity::process().pid.into()).push(b"-");
    path.push_number(anchor.realtime as u64).push(b".sclog");
    if !path.is_whole() {
        return Err(lost::REFUSED);
    }
    let flags =
        libc::O_RDWR | libc::O_APPEND | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let file = raw::open(path.as_c_str(), flags, 0o644).map_err(segment::cause)?;
    let memory = segment::map_file(&file, 0, segment::FIRST).inspect_err(|_| raw::unlink(path.as_c_str()))?;
    drop(file);
    let first = state.segments.first().ok_or(lost::REFUSED)?;
    first.store(memory, Relaxed);
    let header: *mut FileHeader = memory.cast();
    // SAFETY: the mapping is new, zeroed, aligned to a page and longer than the header; zeros are valid.
    let fields = unsafe { &mut *header };
    fields.version = VERSION;
    fields.header_bytes = HEADER_BYTES as u32;
    fields.chunk_bytes = CHUNK_BYTES as u32;
    (fields.tick_clock, fields.tick_shift) = clock::description();
    fields.boot_id = boot_id();
    fill(&mut fields.host, environment::host());
    raw::readlink(c"/proc/self/exe", &mut fields.executable);
    if let Ok(file) = raw::open(c"/proc/self/cmdline", libc::O_RDONLY | libc::O_CLOEXEC, 0) {
        file.read(&mut fields.arguments);
    }
    fields.limit = options().limit();
    fields.keeps_newest = if options().keeps_newest { KEEPS_NEWEST } else { 0 };
    fields.namespace = raw::inode(c"/proc/self/ns/net").unwrap_or(0);
    if let Ok(file) = raw::open(c"/proc/self/cgroup", libc::O_RDONLY | libc::O_CLOEXEC, 0) {
        file.read(&mut fields.cgroup);
    }
    // Of a child that takes a spare log, nobody knows it.
    fields.pid_namespace = raw::inode(c"/proc/self/ns/pid").unwrap_or(0);
    Ok(header)
}

/// The device and the inode of the host's directory, where this process or one that it comes from has made a log.
static HOME: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Whether the path of the host's directory leads elsewhere than it did before: to where it may not be found again.
fn is_astray(state: &State) -> bool {
    let home = HOME.each_ref().map(|word| word.load(Relaxed));
    // SAFETY: only the thread that starts the log writes the path, and nobody reads it before the generation.
    let path = unsafe { &mut *state.path.get() };
    *path = Text::new();
    path.push(environment::directory()).push(b"/hosts/");
    push_host(path);
    home != [0; 2] && raw::status(path.as_c_str()).is_none_or(|status| [status.st_dev, status.st_ino] != home)
}

/// Appends the name of the host, as its directory has it.
fn push_host(path: &mut Text<PATH>) {
    for byte in environment::host() {
        path.push(if *byte == b'/' { b"_" } else { core::slice::from_ref(byte) });
    }
}

/// Makes the host's directory and those above it, and appends its path to the empty `path`.
fn make_directories(path: &mut Text<PATH>) -> Option<()> {
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
    push_host(path);
    // Processes of other users, such as a server that gives up its rights, put their logs there too.
    make(path, 0o1777);
    if let Some(status) = raw::status(path.as_c_str()) {
        for (word, value) in HOME.iter().zip([status.st_dev, status.st_ino]) {
            word.store(value, Relaxed);
        }
    }
    path.is_whole().then_some(())
}

/// Makes one directory with this very mode, whatever the process's mask.
fn make(path: &Text<PATH>, mode: u32) {
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
