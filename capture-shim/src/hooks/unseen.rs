//! Programs that do not load the library: a process that starts one records this with the cause (a
//! constant of [`socket_log::layout::unseen`]), since nothing else will.
//!
//! A `vfork` child cannot write a record, since it runs on its parent's memory. It leaves a note in
//! this memory, which the parent records when it makes its next child, executes another program, or
//! ends.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use socket_log::encode;
use socket_log::layout::unseen;

use super::announce::{self, AcceptedAnnouncement, AnnouncedExecutor, announce_exec};
use crate::log::{self, LogStanding, directory, keep};
use crate::platform::text::{BoundedText, PATH, PathScratch, fill_field};
use crate::platform::{clock, environment, identity, permitted_syscalls, raw};
use crate::tuning::{MAX_NOTES, PROGRAM_HEAD_BYTES};

/// Directory of the reading process's own descriptors.
const OWN_DESCRIPTORS: &[u8] = b"/proc/self/fd/";

/// Maximum number of interpreters of interpreters (`#!`), as in the kernel.
const MAX_INTERPRETERS: usize = 5;

/// Note of a `vfork` child about the program that it starts.
struct VforkNote {
    /// `FREE`, `BUSY` (being written or read), or `READY` to be recorded.
    state: AtomicU32,
    what: UnsafeCell<UnseenProgram>,
}

const FREE: u32 = 0;
const BUSY: u32 = 1;
const READY: u32 = 2;

/// Contents of a note: the cause for which the program is not recorded, the process, and the
/// program's path, with zeros after it.
#[derive(Clone, Copy)]
struct UnseenProgram {
    cause: u16,
    pid: u32,
    program: [u8; 256],
}

/// Notes of `vfork` children.
struct VforkNotes([VforkNote; MAX_NOTES]);

// SAFETY: the thread that has set a note's state to `BUSY` has exclusive access to its contents.
unsafe impl Sync for VforkNotes {}

/// Notes of this process's `vfork` children.
static NOTES: VforkNotes = VforkNotes(
    [const {
        VforkNote {
            state: AtomicU32::new(FREE),
            what: UnsafeCell::new(UnseenProgram { cause: 0, pid: 0, program: [0; 256] }),
        }
    }; MAX_NOTES],
);

/// Name of a program, as a call gives it.
pub(crate) enum ProgramName {
    /// The program's path.
    Path(*const c_char),
    /// A name that is searched for as by a shell.
    Name(*const c_char),
    /// A descriptor of the program's file.
    Opened(c_int),
    /// A descriptor of a directory, and the program's path below it; the descriptor of the
    /// program's file if the path is empty.
    Below(c_int, *const c_char),
}

/// File of a program.
struct ProgramFile<'a> {
    /// Path by which the process, and a recorder that knows the process, can open the file.
    path: &'a [u8],
    /// Path to display.
    name: &'a [u8],
}

/// Record or note that was made before a call, and is withdrawn if the call fails.
pub(crate) struct PendingNote {
    note: Option<usize>,
    announced: Option<AcceptedAnnouncement>,
}

impl PendingNote {
    /// Withdraws the note: the program was not started.
    pub(crate) fn take_back(self) {
        if let Some(note) = self.note.and_then(|index| NOTES.0.get(index)) {
            note.state.store(FREE, Release);
        }
        if let Some(announced) = self.announced {
            announced.report_failure();
        }
    }
}

/// Records that the calling process is about to execute `program`, if the program will not load the
/// library. `refused` is the error for which the program cannot open the library, or 0.
pub(crate) fn log_exec(program: &ProgramName, refused: c_int) -> PendingNote {
    let is_excluded = matches!(log::log_standing(), LogStanding::Excluded);
    // The notes of earlier children are in the memory that the call replaces.
    collect_notes();
    let (mut note, mut announced) = (None, None);
    inspect_program(program, refused, |cause, file| {
        if matches!(cause, unseen::STATIC | unseen::GO) {
            announced = announce_exec(AnnouncedExecutor::Itself, file.path);
        }
        if announced.is_some() {
            // A recorder injects the library into the program.
        } else if is_excluded {
            note = leave_note(without_recorder(cause), file.name);
        } else {
            write_record(without_recorder(cause), identity::process_id(), file.name);
        }
    });
    PendingNote { note, announced }
}

/// Records that the calling process has started `program` as the process `pid`, if the program will
/// not load the library. `refused` is as for [`log_exec`].
pub(crate) fn log_spawned(program: &ProgramName, refused: c_int, pid: u32) {
    inspect_program(program, refused, |cause, file| {
        write_record(without_recorder(cause), pid, file.name)
    });
}

/// Cause to record for a program into which no recorder has injected the library: `NOT_PUT` if a
/// recorder should have done it, otherwise `cause`.
fn without_recorder(cause: u16) -> u16 {
    match cause {
        unseen::STATIC | unseen::GO if announce::recorder_socket().is_some() => unseen::NOT_PUT,
        other => other,
    }
}

/// Announces that libc is about to execute `program` in a child, if a recorder injects the library.
/// The program's path counts only if it means the same in the child as here: `moves` is whether the
/// child may have another working or root directory.
pub(crate) fn announce_spawn(
    program: &ProgramName,
    refused: c_int,
    moves: bool,
) -> Option<AcceptedAnnouncement> {
    announce::recorder_socket()?;
    let mut announced = None;
    inspect_program(program, refused, |cause, file| {
        let is_same = !moves || file.path.starts_with(b"/");
        if matches!(cause, unseen::STATIC | unseen::GO) && is_same {
            announced = announce_exec(AnnouncedExecutor::Child, file.path);
        }
    });
    announced
}

/// Records the notes of `vfork` children in the log. A `vfork` child leaves them to its parent.
pub(crate) fn collect_notes() {
    if matches!(log::log_standing(), LogStanding::Excluded) {
        return;
    }
    for note in &NOTES.0 {
        // A page that is not written is not copied in a child.
        if note.state.load(Relaxed) == READY
            && note.state.compare_exchange(READY, BUSY, AcqRel, Relaxed).is_ok()
        {
            // SAFETY: now owned by this thread; and the copy is small.
            let UnseenProgram { cause, pid, program } = unsafe { *note.what.get() };
            note.state.store(FREE, Release);
            let length = program.iter().position(|byte| *byte == 0).unwrap_or(program.len());
            write_record(cause, pid, program.get(..length).unwrap_or(&[]));
        }
    }
}

/// Frees the notes in a child that has begun, since its parent records them.
pub(crate) fn begin_child() {
    // A page that is not written is not copied.
    let taken = NOTES.0.iter().filter(|note| note.state.load(Relaxed) != FREE);
    taken.for_each(|note| note.state.store(FREE, Relaxed));
}

/// Writes the record of a program that loads no library.
#[inline(never)]
fn write_record(cause: u16, pid: u32, program: &[u8]) {
    if let Some(writer) = log::current_writer() {
        let now = clock::current_ticks();
        writer.record(&encode::unseen_record(now, cause, pid, program), now);
    }
}

/// Leaves a note, and returns its index; `None` if all notes are taken.
fn leave_note(cause: u16, program: &[u8]) -> Option<usize> {
    let index = NOTES.0.iter().position(|note| {
        note.state.load(Acquire) == FREE
            && note.state.compare_exchange(FREE, BUSY, AcqRel, Relaxed).is_ok()
    })?;
    let note = NOTES.0.get(index)?;
    // SAFETY: this child has claimed the note, so no other thread or process uses it.
    let what = unsafe { &mut *note.what.get() };
    (what.cause, what.pid) = (cause, identity::process_id());
    what.program.fill(0);
    let room = what.program.len();
    fill_field(
        &mut what.program,
        program.get(program.len().saturating_sub(room)..).unwrap_or(program),
    );
    note.state.store(READY, Release);
    Some(index)
}

/// Calls `report` with the cause and the program's file if nothing of the program will be recorded.
/// `refused` is the error for which the program cannot open the library, or 0.
#[inline(never)]
fn inspect_program(program: &ProgramName, refused: c_int, report: impl FnOnce(u16, &ProgramFile)) {
    let given = match *program {
        ProgramName::Opened(_) => c"",
        ProgramName::Path(text) | ProgramName::Name(text) | ProgramName::Below(_, text) => {
            if text.is_null() || !raw::is_readable(text) {
                return;
            }
            // SAFETY: just found readable; the kernel would have to read it as well.
            unsafe { CStr::from_ptr(text) }
        }
    };
    let given = given.to_bytes();
    let Some(mut memory) = PathScratch::new() else { return };
    let path: &mut BoundedText<PATH> = memory.as_text();
    match *program {
        ProgramName::Name(_) if !given.contains(&b'/') => search_path(given, path),
        ProgramName::Opened(fd) => _ = path.push(OWN_DESCRIPTORS).push_number(fd as u64),
        ProgramName::Below(directory, _)
            if directory != libc::AT_FDCWD && !given.starts_with(b"/") =>
        {
            path.push(OWN_DESCRIPTORS).push_number(directory as u64);
            if !given.is_empty() {
                path.push(b"/").push(given);
            }
        }
        _ => _ = path.push(given),
    }
    let Some(mut room) = PathScratch::new() else { return };
    let of_file = unseen_cause(path.as_c_str(), room.as_text());
    let of_file = match of_file {
        Some(unseen::STATIC | unseen::GO)
            if permitted_syscalls::is_active() && !can_be_injected() =>
        {
            Some(unseen::FILTER)
        }
        other => other,
    };
    let library =
        || (refused != 0 && raw::status_of(path.as_c_str()).is_some()).then_some(unseen::LIBRARY);
    let filter = || (permitted_syscalls::is_active() && !can_make_log()).then_some(unseen::FILTER);
    if let Some(cause) = of_file.or_else(library).or_else(filter) {
        let path_of = path.as_bytes();
        let link: &mut BoundedText<PATH> = room.as_text();
        *link = BoundedText::new();
        if path_of.starts_with(OWN_DESCRIPTORS) {
            write_target(path_of, given, link);
        }
        let name = if link.as_bytes().is_empty() { path_of } else { link.as_bytes() };
        report(cause, &ProgramFile { path: path_of, name });
    }
}

/// Writes the target of `path`, which leads by a descriptor in `/proc/self/fd`: the path of the
/// descriptor's file, followed by the name `below` it, if there is one.
fn write_target(path: &[u8], below: &[u8], to: &mut BoundedText<PATH>) {
    let Some(mut room) = PathScratch::new() else { return };
    let descriptor: &mut BoundedText<PATH> = room.as_text();
    // With the slash, the kernel would search for a file below the descriptor's.
    let length = path.len().saturating_sub(below.len() + usize::from(!below.is_empty()));
    descriptor.push(path.get(..length).unwrap_or(path));
    to.push_with(|buffer| raw::readlink(descriptor.as_c_str(), buffer));
    if !below.is_empty() && !to.as_bytes().is_empty() {
        to.push(b"/").push(below);
    }
}

/// Whether the active filters let a program make its log.
pub(crate) fn can_make_log() -> bool {
    const CALLS: [core::ffi::c_long; 5] = [
        libc::SYS_fallocate,
        libc::SYS_close,
        libc::SYS_newfstatat,
        libc::SYS_getpid,
        libc::SYS_gettid,
    ];
    let [create, map] = raw::new_log_arguments();
    permitted_syscalls::passes_call(libc::SYS_openat, &create)
        && permitted_syscalls::passes_call(libc::SYS_mmap, &map)
        && CALLS.iter().all(|number| permitted_syscalls::passes_call(*number, &[0; 6]))
}

/// Whether the active filters let a recorder inject the library into a program.
fn can_be_injected() -> bool {
    let all = |numbers: &[core::ffi::c_long]| {
        numbers.iter().all(|number| permitted_syscalls::passes_call(*number, &[0; 6]))
    };
    all(&[libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect])
        // Descriptors replace the files to which no path leads from the other root directory.
        && (keep::kept_recorder().is_none()
            || all(&[libc::SYS_socketpair, libc::SYS_recvmsg, libc::SYS_close]))
}

/// Sets `path` to the path of the program `name`; to an empty one if it is not found.
fn search_path(name: &[u8], path: &mut BoundedText<PATH>) {
    let places = environment::find_variable(environment::present_environment(), b"PATH=")
        .unwrap_or(b"/bin:/usr/bin");
    for place in places.split(|byte| *byte == b':') {
        *path = BoundedText::new();
        if !place.is_empty() {
            path.push(place).push(b"/");
        }
        path.push(name);
        let is_program = |status: libc::stat| status.st_mode & libc::S_IFMT == libc::S_IFREG;
        if raw::status_of(path.as_c_str()).is_some_and(is_program) {
            return;
        }
    }
    *path = BoundedText::new();
}

/// Cause for which nothing of the program at `path` will be recorded, if there is one. `room` is
/// the buffer for the file's beginning.
fn unseen_cause(path: &CStr, room: &mut BoundedText<PATH>) -> Option<u16> {
    let status = raw::status_of(path)?;
    if status.st_mode & libc::S_IFMT != libc::S_IFREG || status.st_mode & 0o111 == 0 {
        return None; // It cannot be started.
    }
    let user = raw::geteuid();
    let gains = status.st_mode & libc::S_ISUID != 0 && status.st_uid != user
        || status.st_mode & libc::S_ISGID != 0
            && Some(status.st_gid) != raw::kernel_id(libc::SYS_getegid)
        || user != 0 && raw::has_capabilities(path);
    if gains {
        return Some(unseen::RIGHTS);
    }
    let of_image = image_cause(path, room, MAX_INTERPRETERS);
    let is_given = || directory::is_uprooted() || keep::kept_recorder().is_some();
    if of_image.is_some_and(|cause| cause != unseen::GO) || user == 0 || is_given() {
        return of_image;
    }
    *room = BoundedText::new();
    directory::push_home(room);
    raw::is_denied(room.as_c_str()).then_some(unseen::DIRECTORY).or(of_image)
}

/// Cause in the program's file, or in the file of its interpreter, for which nothing will be
/// recorded; `None` if there is none. `room` is the buffer for the file's beginning, `depth` the
/// number of further interpreters that are followed.
fn image_cause(path: &CStr, room: &mut BoundedText<PATH>, depth: usize) -> Option<u16> {
    let file = raw::open(path, libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK, 0).ok()?;
    *room = BoundedText::new();
    room.push_with(|buffer| file.read(buffer.get_mut(..PROGRAM_HEAD_BYTES).unwrap_or(&mut [])));
    drop(file);
    if room.as_bytes().starts_with(b"#!") {
        let mut words = room.as_bytes().get(2..)?.split(|byte| b" \t\n".contains(byte));
        let mut interpreter: BoundedText<256> = BoundedText::new();
        interpreter.push(words.find(|word| !word.is_empty())?);
        return if interpreter.is_whole() {
            image_cause(interpreter.as_c_str(), room, depth.checked_sub(1)?)
        } else {
            None
        };
    }
    let is_linker = path
        .to_bytes()
        .rsplit(|byte| *byte == b'/')
        .next()
        .is_some_and(|name| name.starts_with(b"ld"));
    elf_cause(room.as_bytes()).filter(|cause| *cause != unseen::STATIC || !is_linker)
}

/// Cause in the beginning of an ELF file for which nothing will be recorded; `None` if the program
/// will load the library.
fn elf_cause(head: &[u8]) -> Option<u16> {
    const CLASS_64: u8 = 2;
    let half = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    let own: u16 = if cfg!(target_arch = "aarch64") { 183 } else { 62 };
    if head.get(4) != Some(&CLASS_64) || half(18)? != own {
        return Some(unseen::MACHINE);
    }
    match parse_properties(head)? {
        ElfProperties { is_interpreted: false, .. } => Some(unseen::STATIC),
        ElfProperties { is_go: true, .. } => Some(unseen::GO),
        _ => None,
    }
}

/// Properties from the program headers of an ELF file.
struct ElfProperties {
    /// Whether the program names an interpreter, which loads libraries for it.
    is_interpreted: bool,
    /// Whether the program is written in Go.
    is_go: bool,
}

/// Properties of the ELF file with this beginning; `None` if it does not contain the program
/// headers.
fn parse_properties(head: &[u8]) -> Option<ElfProperties> {
    const INTERPRETER: u16 = 3;
    const NOTE: u16 = 4;
    let half = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    // The table immediately follows the file's own header.
    let (table, size, count) = (half(32)? as usize, half(54)? as usize, half(56)? as usize);
    let mut found = ElfProperties { is_interpreted: false, is_go: false };
    for index in 0..count {
        let header = table + index * size;
        match half(header)? {
            INTERPRETER => found.is_interpreted = true,
            NOTE => {
                let place = head.get(header + 8..header + 12)?.first_chunk()?;
                found.is_go |= has_go_note(head, u32::from_le_bytes(*place) as usize);
            }
            _ => {}
        }
    }
    Some(found)
}

/// Whether an ELF file with this beginning is written in Go.
#[cfg(not(feature = "injected"))]
pub(super) fn is_go(head: &[u8]) -> bool {
    head.starts_with(b"\x7fELF") && parse_properties(head).is_some_and(|found| found.is_go)
}

/// Whether one of the notes from `at` on is Go's build note.
fn has_go_note(head: &[u8], mut at: usize) -> bool {
    const MAX_NOTES: usize = 8;
    for _ in 0..MAX_NOTES {
        let Some([a, b, c, d, e, f, g, h, kind @ .., n, o, p, q]) =
            head.get(at..at.saturating_add(16)).and_then(|note| note.first_chunk::<16>())
        else {
            return false;
        };
        let (name, content) =
            (u32::from_le_bytes([*a, *b, *c, *d]), u32::from_le_bytes([*e, *f, *g, *h]));
        if name == 4 && *kind == [4, 0, 0, 0] && [*n, *o, *p, *q] == *b"Go\0\0" {
            return true;
        }
        let aligned = |length: u32| (length as usize).next_multiple_of(4);
        at = at.saturating_add(12 + aligned(name) + aligned(content));
    }
    false
}
