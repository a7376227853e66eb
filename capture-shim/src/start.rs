//! The beginning of a log: when the process uses its first socket.
//!
//! Most processes never do, and leave nothing. When the process began is noted before, as that is
//! what its log is to say.
//!
//! Whatever goes wrong here, the program runs on as if the library were not there.

use core::ffi::{c_char, c_int};
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use socket_log::layout::{
    Anchor, CHUNK_BYTES, FileHeader, HEADER_BYTES, KEEPS_NEWEST, MAGIC, VERSION, lost,
    state as progress,
};

use crate::log::{self, Standing};
use crate::options::options;
use crate::raw::{self, Descriptor};
use crate::state::{self, State};
use crate::text::{PATH, Scratch, Text, fill};
use crate::{
    arguments, checksum, clock, ended, environment, family, fds, hooks, identity, inherit, keep,
    lineage, options, positions, process, recycle, rights, seccomp, segment, shifted, spares,
    watch,
};

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn(c_int, *const *const c_char) = constructor;

extern "C" fn constructor(count: c_int, arguments: *const *const c_char) {
    // SAFETY: this is the constructor, and glibc hands it the program's arguments.
    unsafe { arguments::keep(count, arguments) };
    hooks::resolve_all();
    let usable = environment::read();
    options::read();
    clock::choose();
    shifted::read();
    let birth = clock::anchor();
    lineage::read();
    lineage::enter(birth.realtime);
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
    process::at_exit();
    ended::watch();
    if let Some(state) = state::current() {
        // SAFETY: the process has one thread.
        unsafe { *state.birth.get() = birth };
    }
}

/// A child has begun, which has one thread. It has no log until it uses a socket.
pub(crate) fn born(state: &State) {
    let birth = clock::anchor();
    // SAFETY: the process has one thread.
    unsafe { *state.birth.get() = birth };
    if seccomp::is_active() {
        // So that it knows its parent, and its children know it.
        identity::process();
    }
    lineage::enter(birth.realtime);
}

/// When the process began; now, where that was not seen.
fn birth(state: &State) -> Anchor {
    // SAFETY: nobody writes it once the process has a second thread.
    let birth = unsafe { *state.birth.get() };
    if birth == Anchor::default() { clock::anchor() } else { birth }
}

/// Whether the process's log was made ahead, for a time when none can be made, and nothing is in
/// it.
pub(crate) fn is_unused(state: &State) -> bool {
    state.unused.load(Relaxed) != 0
}

/// Starts the process's log. Returns when it is started, by whichever thread, or cannot be.
pub(crate) fn begin(state: &State) {
    const LONGEST_WAIT: u32 = 100_000;
    let own = identity::tid();
    if let Err(starter) = state.starting.compare_exchange(0, own, AcqRel, Acquire) {
        // Another thread is at it, which takes as long as making a file. It may be this very
        // thread, interrupted by a signal: so not for ever.
        for _ in 0..LONGEST_WAIT {
            let is_over = state.generation.load(Acquire) != 0 || state.starting.load(Acquire) == 0;
            if is_over || starter == own {
                return;
            }
            raw::sched_yield();
        }
        return;
    }
    // Not at load: most processes have no use for it, and a virtual processor takes long to say
    // what it has.
    checksum::choose();
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
        Err(_) => {
            family::count();
            fds::disable();
        }
    }
    state.generation.store(generation, Release);
}

/// A message on `fd` is not logged; it is counted where that is because the log could not be begun
/// yet.
pub(crate) fn miss(fd: c_int) {
    if let Standing::Silent(state) = log::standing()
        && state.generation.load(Relaxed) == 0
        && raw::socket_option::<c_int>(fd, libc::SO_TYPE).is_ok()
    {
        state.missed.fetch_add(1, Relaxed);
    }
}

/// Makes the log, or takes a spare one where none can be made; or tells the cause ([`lost`]) for
/// which there is none.
fn create(state: &State) -> Result<*mut FileHeader, usize> {
    // A file that is made and cannot be mapped is of no use, so what is there already comes first
    // where calls are given up.
    let spare = if seccomp::is_active() { spares::take(state) } else { None };
    let made = spare.map_or_else(|| create_file(state), Ok);
    let header = made.or_else(|cause| spares::take(state).ok_or(cause))?;
    // SAFETY: a page of a new log, which is this process's alone and stays mapped; zeros are valid.
    fill_in(state, unsafe { &mut *header });
    Ok(header)
}

/// Makes the log ahead, for a time when none can be made any more. Tools pass over it until there
/// is something in it.
pub(crate) fn begin_ahead(state: &State, room: usize) {
    if state.starting.compare_exchange(0, identity::tid(), AcqRel, Acquire).is_err() {
        return;
    }
    checksum::choose();
    let generation = clock::now() | 1;
    // SAFETY: only the thread that starts the log writes the path, and nobody reads it before the
    // generation.
    let path = unsafe { &mut *state.path.get() };
    let made = set_path(path, state, b".spare").and_then(|()| spares::make_one(path, room));
    let Some(made) = made else {
        state.starting.store(0, Release);
        return;
    };
    spares::become_own(state, &made);
    // Nothing is stored before it is needed: what takes time is the first store into a page of a
    // file.
    state.unused.store(1, Relaxed);
    state.header.store(made.memory.cast(), Relaxed);
    state.generation.store(generation, Release);
}

/// A log that was made ahead is about to have something in it.
#[cold]
#[inline(never)]
pub(crate) fn announce(state: &State) {
    let header = state.header.load(Relaxed);
    // Whoever is first, a signal handler maybe.
    if !header.is_null() && state.unused.compare_exchange(1, 0, AcqRel, Relaxed).is_ok() {
        // SAFETY: the mapping has room for it, and zeros are valid; nobody else fills it in.
        fill_in(state, unsafe { &mut *header });
    }
}

/// Fills in the header of a new log, and lets readers have it.
fn fill_in(state: &State, fields: &mut FileHeader) {
    describe(fields);
    let who = identity::process();
    (fields.pid, fields.parent_pid, fields.uid) = (who.pid, who.parent, who.user);
    fields.start = birth(state);
    lineage::fill(&mut fields.ancestors);
    fields.state.store(progress::RUNNING, Relaxed);
    fields.magic.store(MAGIC, Release);
}

/// Makes the file, maps its first part and fills in what it says of the program.
fn create_file(state: &State) -> Result<*mut FileHeader, usize> {
    // In its final place, since the program may have left little room on the stack. SAFETY: only
    // the thread that starts the log writes the path, and nobody reads it before the generation.
    let path = unsafe { &mut *state.path.get() };
    set_path(path, state, b".sclog").ok_or(lost::REFUSED)?;
    let file = create_at(path)?;
    let memory = segment::map_file(&file, 0, segment::FIRST)
        .inspect_err(|_| keep::unlink(path.as_c_str()))?;
    drop(file);
    let first = state.segments.first().ok_or(lost::REFUSED)?;
    first.store(memory, Relaxed);
    Ok(memory.cast())
}

/// Makes the file `path`, and the directories on the way where they are missing.
pub(crate) fn create_at(path: &Text<PATH>) -> Result<Descriptor, usize> {
    let flags = libc::O_RDWR
        | libc::O_APPEND
        | libc::O_CREAT
        | libc::O_EXCL
        | libc::O_CLOEXEC
        | libc::O_NOFOLLOW;
    let make = || keep::open(path.as_c_str(), flags, 0o644);
    let is_missing = |error: &isize| *error == -libc::ENOENT as isize && !rights::is_uprooted();
    let made = make().or_else(|error| {
        if is_missing(&error) {
            make_directories();
            return make();
        }
        Err(error)
    });
    made.map_err(segment::cause)
}

/// What is known of the program from before it gave up the ways to find that out; null before.
/// Children have it too.
static KNOWN: AtomicPtr<FileHeader> = AtomicPtr::new(ptr::null_mut());

/// Remembers what a header is to say of the program, for a time when that cannot be found out.
pub(crate) fn remember() {
    if KNOWN.load(Acquire).is_null()
        && let Some(memory) = raw::map_anonymous(size_of::<FileHeader>())
    {
        let header: *mut FileHeader = memory.cast();
        // SAFETY: the mapping is new, zeroed, aligned to a page and as long as that; zeros are
        // valid.
        find_out(unsafe { &mut *header });
        KNOWN.store(header, Release);
    }
}

/// What a header says of the program, whichever of its processes has the log.
pub(crate) fn describe(fields: &mut FileHeader) {
    // SAFETY: null or a mapping that is never removed.
    let Some(known) = (unsafe { KNOWN.load(Acquire).as_ref() }) else { return find_out(fields) };
    macro_rules! copy {
        ($($field:ident)*) => { $(fields.$field = known.$field;)* };
    }
    copy! { version header_bytes chunk_bytes tick_clock tick_shift boot_id host executable arguments }
    copy! { limit keeps_newest source cgroup }
    // It may have gone to another since.
    fields.namespace = raw::inode(c"/proc/self/ns/net").unwrap_or(known.namespace);
    // That of a child may be another one.
    fields.pid_namespace = raw::inode(c"/proc/self/ns/pid").unwrap_or(0);
}

/// Asks the kernel for all that a header says of the program.
fn find_out(fields: &mut FileHeader) {
    fields.version = VERSION;
    fields.header_bytes = HEADER_BYTES as u32;
    fields.chunk_bytes = CHUNK_BYTES as u32;
    (fields.tick_clock, fields.tick_shift) = clock::description();
    fields.boot_id = boot_id();
    fill(&mut fields.host, environment::host());
    raw::readlink(c"/proc/self/exe", &mut fields.executable);
    arguments::write(&mut fields.arguments);
    fields.limit = options().limit();
    fields.keeps_newest = if options().keeps_newest { KEEPS_NEWEST } else { 0 };
    fields.namespace = raw::inode(c"/proc/self/ns/net").unwrap_or(0);
    if let Ok(file) = raw::open(c"/proc/self/cgroup", libc::O_RDONLY | libc::O_CLOEXEC, 0) {
        file.read(&mut fields.cgroup);
    }
    fields.pid_namespace = raw::inode(c"/proc/self/ns/pid").unwrap_or(0);
}

/// Makes `path` that of a log of this process, which ends with `extension`.
pub(crate) fn set_path(path: &mut Text<PATH>, state: &State, extension: &[u8]) -> Option<()> {
    let birth = birth(state);
    *path = Text::new();
    push_home(path);
    path.push(b"/").push_number(identity::pid().into()).push(b"-");
    path.push_number(birth.realtime as u64).push(extension);
    path.is_whole().then_some(())
}

/// Appends the path of the host's directory.
pub(crate) fn push_home(path: &mut Text<PATH>) {
    path.push(environment::directory()).push(b"/hosts/");
    for byte in environment::host() {
        path.push(if *byte == b'/' { b"_" } else { core::slice::from_ref(byte) });
    }
}

/// Makes the host's directory and those above it.
pub(crate) fn make_directories() {
    let Some(mut memory) = Scratch::new() else { return };
    let path: &mut Text<PATH> = memory.text();
    // Every directory on the way, but nothing is said where one is there already.
    for (index, byte) in environment::directory().iter().enumerate() {
        if *byte == b'/' && index > 0 {
            raw::mkdir(path.as_c_str(), 0o777);
        }
        path.push(&[*byte]);
    }
    make(path, 0o755);
    // Processes of other users, such as a server that gives up its rights, put their logs there
    // too, and those of other hosts' names make directories.
    path.push(b"/hosts");
    make(path, 0o1777);
    *path = Text::new();
    push_home(path);
    make(path, 0o1777);
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
    let Ok(file) =
        raw::open(c"/proc/sys/kernel/random/boot_id", libc::O_RDONLY | libc::O_CLOEXEC, 0)
    else {
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
