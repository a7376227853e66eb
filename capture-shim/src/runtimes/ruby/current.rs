//! Execution context of the fiber that the thread runs: a thread-local word of the interpreter.
//!
//! Builds of Ruby 3.3 do not export the word. It is searched for in the interpreter's thread-local
//! data, whose place in the memory of each thread is the same, because the interpreter was loaded
//! with the program.

use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::c_library::objects::{self, LoadedObject};
use crate::tuning::{MAX_FIBER_BYTES, MAX_THREAD_LOCAL_BYTES, MAX_THREAD_LOCAL_DISTANCE};

/// Distance of the interpreter's thread-local data from the thread pointer, which may be negative,
/// and its size in bytes.
static BLOCK: AtomicUsize = AtomicUsize::new(0);
static BLOCK_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Distance of the word from the thread pointer; 0 until it is found.
static WORD: AtomicUsize = AtomicUsize::new(0);
/// Distance of an execution context from the beginning of its fiber, in bytes.
static CONTEXT: AtomicUsize = AtomicUsize::new(0);

/// Finds the interpreter's thread-local data. Returns false if it has none. The process has one
/// thread.
pub(super) fn find_block(ruby: &LoadedObject) -> bool {
    type Visit = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;
    let iterate = objects::last_definition(c"dl_iterate_phdr").addr();
    if iterate == 0 {
        return false;
    }
    let mut base = ruby.load_bias();
    // SAFETY: the function of this name, with a function that it calls for each object.
    unsafe {
        let iterate: unsafe extern "C" fn(Visit, *mut c_void) -> c_int = transmute(iterate);
        iterate(visit_object, (&raw mut base).cast()) != 0
    }
}

/// Takes the place of the thread-local data, if this is the object whose load bias is at `base`.
///
/// # Safety
/// Called by `dl_iterate_phdr`, for [`find_block`].
unsafe extern "C" fn visit_object(
    object: *mut libc::dl_phdr_info,
    size: usize,
    base: *mut c_void,
) -> c_int {
    // SAFETY: as the caller guarantees; fields that the libc does not have are not read.
    unsafe {
        if size < size_of::<libc::dl_phdr_info>()
            || (*object).dlpi_addr as usize != *base.cast::<usize>()
            || (*object).dlpi_tls_data.is_null()
        {
            return 0;
        }
        let headers =
            core::slice::from_raw_parts((*object).dlpi_phdr, usize::from((*object).dlpi_phnum));
        let Some(data) = headers.iter().find(|header| header.p_type == libc::PT_TLS) else {
            return 0;
        };
        let start = (*object).dlpi_tls_data.addr();
        // Older versions of musl give the initial contents, which are in the object's own memory,
        // instead of the calling thread's data.
        let offset = start.wrapping_sub(*base.cast::<usize>());
        let is_image = headers.iter().any(|header| {
            header.p_type == libc::PT_LOAD
                && offset.wrapping_sub(header.p_vaddr as usize) < header.p_memsz as usize
        });
        let distance = start.wrapping_sub(thread_pointer()).cast_signed().unsigned_abs();
        if is_image || distance > MAX_THREAD_LOCAL_DISTANCE {
            return 0;
        }
        BLOCK.store(start.wrapping_sub(thread_pointer()), Relaxed);
        BLOCK_BYTES.store(data.p_memsz as usize, Relaxed);
        c_int::from(start.is_multiple_of(size_of::<usize>()))
    }
}

/// Execution context of the fiber at `fiber`, which the thread runs. The first call finds the word.
/// `None` if no word leads into the fiber, several do, or the word does not lead to the same place
/// of it as in the first fiber.
pub(super) fn context_of_running(fiber: usize) -> Option<usize> {
    if WORD.load(Acquire) == 0 {
        find_word(fiber)?;
    }
    let context = running_context();
    (context == context_of(fiber)).then_some(context)
}

/// Finds the word that leads into the fiber at `fiber`, which the thread runs.
fn find_word(fiber: usize) -> Option<()> {
    let bytes = BLOCK_BYTES.load(Relaxed).min(MAX_THREAD_LOCAL_BYTES);
    let first = BLOCK.load(Relaxed);
    let distances = (0..bytes / size_of::<usize>()).map(|index| index * size_of::<usize>());
    let mut found = distances.map(|distance| first.wrapping_add(distance)).filter(|distance| {
        // SAFETY: a word of the thread-local data.
        let word = unsafe { read_word(*distance) };
        (1..MAX_FIBER_BYTES).contains(&word.wrapping_sub(fiber))
    });
    let word = found.next()?;
    if found.next().is_some() {
        return None;
    }
    // SAFETY: as before.
    CONTEXT.store(unsafe { read_word(word) }.wrapping_sub(fiber), Relaxed);
    WORD.store(word, Release);
    Some(())
}

/// Execution context of the fiber at `fiber`; 0 if the word was not found so far.
pub(super) fn context_of(fiber: usize) -> usize {
    let distance = CONTEXT.load(Relaxed);
    if distance == 0 { 0 } else { fiber.wrapping_add(distance) }
}

/// Execution context of the fiber that the calling thread runs; 0 for none, and if the word was not
/// found so far.
#[inline]
pub(super) fn running_context() -> usize {
    match WORD.load(Relaxed) {
        0 => 0,
        // SAFETY: a word of the thread-local data, which each thread has.
        word => unsafe { read_word(word) },
    }
}

/// The thread-local word at this distance from the thread pointer.
///
/// # Safety
/// It is in the interpreter's thread-local data.
#[inline]
unsafe fn read_word(distance: usize) -> usize {
    let address = thread_pointer().wrapping_add(distance);
    // SAFETY: as the caller guarantees. The thread itself writes the word.
    unsafe { ptr::with_exposed_provenance::<usize>(address).read_volatile() }
}

/// The calling thread's pointer to its thread-local data.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: the first word at the thread pointer is the pointer itself.
    unsafe {
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            out(reg) pointer,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    pointer
}

/// The calling thread's pointer to its thread-local data.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn thread_pointer() -> usize {
    let pointer: usize;
    // SAFETY: only reads a register.
    unsafe {
        core::arch::asm!(
            "mrs {0}, tpidr_el0",
            out(reg) pointer,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    pointer
}
