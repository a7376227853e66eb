//! Goroutines as Go's runtime represents them: the structures `g` and `m`, with field offsets that
//! differ between versions.
//!
//! The patcher that puts the library into a program writes the offsets into the library, if the
//! version is known. Values at these offsets count from the first call of the main goroutine on,
//! which has the number 1, and only as long as no other goroutine has this number.

use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU64, AtomicUsize};

use crate::log;
use crate::platform::clock;
use crate::state::goroutine::Goroutine;
use crate::state::{options, slot};

/// Offsets of the fields, in bytes, in the order of the patcher (crate `injector`).
#[repr(C)]
struct FieldOffsets {
    /// In a goroutine, its number (`goid`); 0 if no field is known.
    number: AtomicU64,
    /// In a goroutine, the number of the goroutine that started it (`parentGoid`).
    creator: AtomicU64,
    /// In a goroutine, the address of the thread that runs it (`m`).
    thread: AtomicU64,
    /// In a thread, the address of the goroutine that it runs (`curg`).
    current: AtomicU64,
}

impl FieldOffsets {
    const fn none() -> FieldOffsets {
        FieldOffsets {
            number: AtomicU64::new(0),
            creator: AtomicU64::new(0),
            thread: AtomicU64::new(0),
            current: AtomicU64::new(0),
        }
    }
}

/// Offsets of the program. The patcher writes them before the library begins.
#[unsafe(no_mangle)]
static sockcap_goroutines: FieldOffsets = FieldOffsets::none();

/// Copy of the offsets for the hooks: next to other data that they read, and without the lookup of
/// an exported symbol.
#[unsafe(link_section = ".data.often_read")]
static FIELDS: FieldOffsets = FieldOffsets::none();

/// Address of the main goroutine; [`UNKNOWN`] before its first call, [`WRONG`] if there is none.
#[unsafe(link_section = ".data.often_read")]
pub(super) static MAIN: AtomicUsize = AtomicUsize::new(UNKNOWN);

/// The main goroutine has made no call so far.
const UNKNOWN: usize = 0;
/// The values read were not numbers of goroutines.
pub(super) const WRONG: usize = 1;

/// No goroutine, or none that is known.
const NONE: Goroutine = Goroutine { number: 0, creator: 0 };

/// Bytes from the address of the thread that runs a goroutine (`m`) to the instruction at which the
/// goroutine resumes (`sched.pc`).
const THREAD_TO_NEXT: usize = 16;
/// Bytes from the number of the goroutine's creator to the function that it was started with
/// (`startpc`).
const CREATOR_TO_FUNCTION: usize = 24;

/// Word of a structure of the runtime, `beyond` bytes after the field with this offset.
///
/// # Safety
/// The structure exists, and the word lies within it.
#[inline(always)]
unsafe fn read_word_after(structure: usize, offset: &AtomicU64, beyond: usize) -> u64 {
    let address = structure.wrapping_add(offset.load(Relaxed) as usize).wrapping_add(beyond);
    // SAFETY: as the caller guarantees.
    unsafe { ptr::with_exposed_provenance::<u64>(address).read_volatile() }
}

/// Word of a structure of the runtime, at the field with this offset.
///
/// # Safety
/// As for [`read_word_after`].
#[inline(always)]
unsafe fn read_word(structure: usize, offset: &AtomicU64) -> u64 {
    // SAFETY: as the caller guarantees.
    unsafe { read_word_after(structure, offset, 0) }
}

/// Copies the offsets that the patcher has written. If it has written none, or the user has left
/// out Go, no goroutine is recorded.
pub(super) fn find_fields() {
    if !options::follows_runtime(b"go") {
        MAIN.store(WRONG, Relaxed);
        return;
    }
    let written = &sockcap_goroutines;
    for (field, written) in [
        (&FIELDS.number, &written.number),
        (&FIELDS.creator, &written.creator),
        (&FIELDS.thread, &written.thread),
        (&FIELDS.current, &written.current),
    ] {
        field.store(written.load(Relaxed), Relaxed);
    }
    if FIELDS.number.load(Relaxed) == 0 {
        MAIN.store(WRONG, Relaxed);
    }
}

/// Goroutine at an address, as records name it. It is [`NONE`] if nothing is known, and on the
/// runtime's own stack of a thread.
///
/// # Safety
/// A goroutine is at the address.
#[inline(always)]
pub(super) unsafe fn goroutine_at(address: usize) -> Goroutine {
    if is_known(MAIN.load(Relaxed)) {
        // SAFETY: the program's own, by offsets of its version.
        let found = unsafe { read_goroutine(address) };
        if found.number > 1 {
            return found;
        }
    }
    // SAFETY: as the caller guarantees.
    unsafe { goroutine_at_slow(address) }
}

/// Whether `main`, the value of [`MAIN`], is an address.
#[inline(always)]
fn is_known(main: usize) -> bool {
    const { assert!(UNKNOWN == 0 && WRONG == 1) };
    main > WRONG
}

/// Goroutine at an address, as the runtime's fields give it.
///
/// # Safety
/// A goroutine is at the address, and the fields are known.
#[inline(always)]
unsafe fn read_goroutine(address: usize) -> Goroutine {
    // SAFETY: as the caller guarantees.
    let [number, creator] =
        unsafe { [&FIELDS.number, &FIELDS.creator].map(|field| read_word(address, field)) };
    Goroutine { number, creator }
}

/// Goroutine at an address, in the rare cases: the main goroutine itself, a goroutine that comes
/// before the main goroutine is known, and no goroutine.
///
/// # Safety
/// A goroutine is at the address.
#[cold]
#[inline(never)]
unsafe fn goroutine_at_slow(address: usize) -> Goroutine {
    let main = MAIN.load(Relaxed);
    if main == WRONG {
        return NONE;
    }
    // SAFETY: the program's own, by offsets of its version.
    let found = unsafe { read_goroutine(address) };
    match found.number {
        0 => NONE,
        1 => main_goroutine(address, found.creator),
        _ if main == UNKNOWN => NONE,
        _ => found,
    }
}

/// Main goroutine, at this address. If it was at another address before, neither the main goroutine
/// nor any other counts from then on.
fn main_goroutine(address: usize, creator: u64) -> Goroutine {
    let before = MAIN.compare_exchange(UNKNOWN, address, Relaxed, Relaxed);
    if before.is_err_and(|main| main != address) {
        MAIN.store(WRONG, Relaxed);
        return NONE;
    }
    Goroutine { number: 1, creator }
}

/// Records that the goroutine at the address `woken` was woken or started by the goroutine that the
/// thread of `caller` runs.
#[unsafe(link_section = ".text.often_run")]
pub(super) extern "C" fn ready(caller: usize, woken: usize) {
    let main = MAIN.load(Relaxed);
    let slot = slot::current_slot();
    if !is_known(main) || !slot.may_record_ready() {
        return;
    }
    // SAFETY: the runtime's own, by offsets of the program's version. The caller is run by a
    // thread, and a goroutine that is not yet run does not go away.
    let (current, woken, is_new) = unsafe {
        let thread = read_word(caller, &FIELDS.thread) as usize;
        let current = read_word(thread, &FIELDS.current) as usize;
        // A timer or another event from outside, or a goroutine that only yields to others: no
        // goroutine woke the other.
        if current == 0 {
            return;
        }
        // A goroutine that never ran begins with its function.
        let next = read_word_after(woken, &FIELDS.thread, THREAD_TO_NEXT);
        let function = read_word_after(woken, &FIELDS.creator, CREATOR_TO_FUNCTION);
        (goroutine_at(current), goroutine_at(woken), next == function)
    };
    if current == NONE || woken == NONE {
        return;
    }
    slot.count_ready();
    slot.set_goroutine(current);
    log::record_ready(clock::current_ticks(), woken.number, is_new);
}
