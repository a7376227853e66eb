//! Objects that make system calls past libc: searches their code.

use core::ffi::CStr;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use socket_log::encode;
use socket_log::layout::uncaptured::IS_GO;

use crate::c_library::{functions, objects};
use crate::hooks::unseen;
use crate::log;
use crate::platform::clock;
use crate::platform::machine_code::{REACH, own_calls};
use crate::platform::mappings::{self, FileMapping};
use crate::platform::raw::{self, OwnDescriptor, PAGE};
use crate::platform::text::{BoundedText, PATH, PathScratch};
use crate::tuning::{
    CODE_PIECE_BYTES, MAX_CODE_BYTES, MAX_SMALL_PROGRAM_BYTES, MIN_LIFE_NANOSECONDS,
    NANOSECONDS_OF_LIFE_FOR_BYTE, PROGRAM_HEAD_BYTES,
};

/// File with the process's memory.
const MEMORY: &CStr = c"/proc/self/mem";
/// File with a word of 64 bits about each page of the process's memory.
const PAGES: &CStr = c"/proc/self/pagemap";

/// Flag of a present page, in the last byte of the kernel's word about it.
const PRESENT: u8 = 1 << 7;

/// Memory for the search.
#[repr(C)]
struct SearchMemory {
    /// Path of the object with the mappings that are being read.
    path: BoundedText<PATH>,
    /// The code that is searched, with some bytes before it.
    piece: [u8; REACH + CODE_PIECE_BYTES],
}

/// Search through the code of the process.
struct CodeSearch<'a> {
    /// The process's memory. It is read as a file, since another thread may unmap a library
    /// meanwhile.
    memory: &'a OwnDescriptor,
    /// The kernel's words about the process's pages (`/proc/self/pagemap`); `None` if it refuses
    /// them.
    pages: Option<&'a OwnDescriptor>,
    room: &'a mut SearchMemory,
    /// Number of bytes that may still be searched.
    left: usize,
    /// Kinds of calls past libc found in that object, as bits of the log's record.
    calls: u32,
    /// Address at which the object's header is mapped; 0 if it is not, or was already examined.
    head: usize,
    /// Whether the object is the program.
    is_program: bool,
    /// Whether the object is expected to call the kernel, or is reported elsewhere.
    is_passed_over: bool,
}

/// Whether the program was small, and was therefore checked when it began.
static WAS_CHECKED_AT_START: AtomicBool = AtomicBool::new(false);

/// Logs the objects that make socket calls, or set up `io_uring`, by themselves, in a process that
/// has lived for `lived` nanoseconds. The search takes a small part of that time.
#[cold]
#[inline(never)]
pub(super) fn log_objects(lived: u64) {
    if let Ok(lived) = usize::try_from(lived)
        && lived >= MIN_LIFE_NANOSECONDS
    {
        search_mappings(MAX_CODE_BYTES.min(lived / NANOSECONDS_OF_LIFE_FOR_BYTE));
    }
}

/// Logs, when a small program begins, that it makes socket calls or sets up `io_uring` by itself.
pub(super) fn log_objects_of_small_program() {
    let Some([start, end]) = objects::program_code() else { return };
    if end - start > MAX_SMALL_PROGRAM_BYTES {
        return;
    }
    WAS_CHECKED_AT_START.store(true, Relaxed);
    // SAFETY: the program's own code, which can be read; nothing that could unmap it has run yet.
    let code = unsafe {
        core::slice::from_raw_parts(core::ptr::with_exposed_provenance(start), end - start)
    };
    let calls = own_calls(code);
    if calls != 0
        && let Some(mut memory) = PathScratch::new()
        && let Some(writer) = log::current_writer()
    {
        let path = memory.as_text();
        path.push_with(|buffer| raw::readlink(c"/proc/self/exe", buffer));
        let now = clock::current_ticks();
        writer.record(&encode::uncaptured_object_record(now, calls, path.as_bytes()), now);
    }
}

/// Logs the objects that make socket calls, or set up `io_uring`, by themselves. At most `left`
/// bytes of code are searched; larger objects are skipped.
fn search_mappings(left: usize) {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    let Ok(memory) = raw::open(MEMORY, flags, 0) else { return };
    // The file of pages has a word for each of the kernel's pages, which are larger than `PAGE` on
    // some machines.
    // SAFETY: takes only a number.
    let has_usual_pages = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize == PAGE;
    let pages = has_usual_pages.then(|| raw::open(PAGES, flags, 0)).and_then(Result::ok);
    let Some(place) = raw::map_anonymous(size_of::<SearchMemory>()) else { return };
    // SAFETY: the mapping is large enough and used by nothing else; zeros are valid.
    let room = unsafe { &mut *place.cast::<SearchMemory>() };
    let mut search = CodeSearch {
        memory: &memory,
        pages: pages.as_ref(),
        room,
        left,
        calls: 0,
        head: 0,
        is_program: false,
        is_passed_over: false,
    };
    mappings::for_each_mapping(|mapping| search.look_at(mapping));
    search.end_object();
    // SAFETY: nothing uses the mapping any more.
    unsafe { raw::unmap_memory(place, size_of::<SearchMemory>()) };
}

/// Whether a mapping is of libc or of the dynamic linker, which are expected to call the kernel:
/// calls of their functions are visible.
fn is_expected(mapping: &FileMapping) -> bool {
    let [start, end] = mapping.range;
    [
        functions::syscall.known_address().addr(),
        // Before glibc 2.34 this function is in a separate library.
        functions::connect.known_address().addr(),
        // SAFETY: takes only a number.
        unsafe { libc::getauxval(libc::AT_BASE) as usize },
    ]
    .iter()
    .any(|address| (start..end).contains(address))
}

impl CodeSearch<'_> {
    /// Examines the next mapping. The mappings of one object are adjacent. Devices are not read,
    /// and of files only mappings of the kind used for programs and libraries.
    fn look_at(&mut self, mapping: &FileMapping) {
        const DEVICES: [&[u8]; 2] = [b"/dev/", b"/sys/"];
        if !mapping.is_private || DEVICES.iter().any(|of| mapping.path.starts_with(of)) {
            return;
        }
        if mapping.path != self.room.path.as_bytes() {
            self.end_object();
            self.room.path.clear();
            self.room.path.push(mapping.path);
            self.is_passed_over = mapping.range[0] == objects::own_range()[0];
        }
        if mapping.offset == 0 {
            let [start, end] = mapping.range;
            // SAFETY: takes only a number.
            let table = unsafe { libc::getauxval(libc::AT_PHDR) } as usize;
            (self.head, self.is_program) = (start, (start..end).contains(&table));
            self.is_passed_over |= self.is_program && WAS_CHECKED_AT_START.load(Relaxed);
        }
        if !mapping.is_code || self.is_passed_over {
            return;
        }
        let head = core::mem::take(&mut self.head);
        if head != 0 && self.begins_go_library(head) {
            self.calls |= IS_GO;
            // A Go program is reported when it begins.
            self.is_passed_over |= self.is_program;
        }
        self.is_passed_over |= is_expected(mapping);
        if !self.is_passed_over {
            self.calls |= self.calls_of(mapping);
        }
    }

    /// Logs the object after its mappings have been read, if it makes calls past libc.
    fn end_object(&mut self) {
        if self.calls != 0
            && !self.is_passed_over
            && let Some(writer) = log::current_writer()
        {
            let now = clock::current_ticks();
            let path = self.room.path.as_bytes();
            writer.record(&encode::uncaptured_object_record(now, self.calls, path), now);
        }
        (self.calls, self.is_passed_over) = (0, false);
        (self.head, self.is_program) = (0, false);
    }

    /// Whether the header of a Go object is at `start`.
    fn begins_go_library(&mut self, start: usize) -> bool {
        let Some(head) = self.room.piece.get_mut(..PROGRAM_HEAD_BYTES) else { return false };
        let length = self.memory.read_at(head, start);
        unseen::is_go(head.get(..length).unwrap_or(&[]))
    }

    /// Kinds of calls past libc in the code of a mapping. Only present pages are searched, since
    /// code in the others was never used; a mapping larger than the rest of the limit is skipped.
    fn calls_of(&mut self, mapping: &FileMapping) -> u32 {
        let [start, end] = mapping.range;
        if end - start > self.left {
            return 0;
        }
        let mut calls = 0;
        for first in (start..end).step_by(CODE_PIECE_BYTES) {
            let last = end.min(first + CODE_PIECE_BYTES);
            let present = self.present_pages(first, (last - first) / PAGE);
            let is_present = |page: usize| present >> page & 1 != 0;
            let mut page = 0;
            while page < (last - first) / PAGE {
                let gap = (page..).find(|page| !is_present(*page)).unwrap_or(page);
                if gap > page {
                    calls |= self.calls_between(first + page * PAGE, first + gap * PAGE);
                }
                page = gap + 1;
            }
        }
        calls
    }

    /// Which of the `count` pages from `address` on are present, a bit for each. If the kernel does
    /// not report them, all count as present.
    fn present_pages(&self, address: usize, count: usize) -> u64 {
        const { assert!(CODE_PIECE_BYTES / PAGE < u64::BITS as usize) };
        let all = (1 << count) - 1;
        let Some(pages) = self.pages else { return all };
        let mut words = [0; 8 * (CODE_PIECE_BYTES / PAGE)];
        let Some(wanted) = words.get_mut(..8 * count) else { return 0 };
        if pages.read_at(wanted, address / PAGE * 8) != wanted.len() {
            return all;
        }
        let is_present = |word: &[u8]| word.last().is_some_and(|byte| byte & PRESENT != 0);
        wanted
            .chunks_exact(8)
            .enumerate()
            .fold(0, |bits, (page, word)| bits | u64::from(is_present(word)) << page)
    }

    /// Kinds of calls past libc in the code from `start` to `end`. The code is read with `REACH`
    /// bytes before it, in which the number of its first system call may be set.
    fn calls_between(&mut self, start: usize, end: usize) -> u32 {
        let length = end - start;
        self.left = self.left.saturating_sub(length);
        let Some(room) = self.room.piece.get_mut(..REACH + length) else { return 0 };
        let came = self.memory.read_at(room, start - REACH);
        if came > 0 {
            return own_calls(room.get(..came).unwrap_or(&[]));
        }
        // The read failed, as nothing is mapped before the code.
        let came = self.memory.read_at(room.get_mut(..length).unwrap_or(&mut []), start);
        own_calls(room.get(..came).unwrap_or(&[]))
    }
}
