//! What a task of Tokio and the table of its functions look like, as far as both are looked at.

use core::ptr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use crate::platform::raw;
use crate::platform::symbols::ConstantsRange;

/// First address of what the dynamic linker has written, where all tables are.
static START: AtomicUsize = AtomicUsize::new(0);
/// End of it.
static END: AtomicUsize = AtomicUsize::new(0);

/// Number of the word of a table that says how far behind a task's beginning its scheduler is, in
/// bytes. Behind it is the same of the task's number, and before it that of the trailer.
const SCHEDULER: usize = 8;
/// Number of the word of a task that leads to its table.
const TABLE: usize = 2;
/// Number of words at the beginning of a task that are alike in all of them.
const HEADER: usize = 4;
/// The furthest that a task's number is behind its beginning, in bytes.
const FURTHEST: usize = 256;
/// Bits of the first word of a task, its state: it is done, or was let go on already.
const COMPLETE: usize = 1 << 1;
const NOTIFIED: usize = 1 << 2;
/// Length of a word, in bytes.
pub(super) const WORD: usize = size_of::<usize>();

/// Notes where the tables are.
pub(super) fn note_constants(constants: ConstantsRange) {
    START.store(constants.start, Relaxed);
    END.store(constants.end, Relaxed);
}

/// How far the number of a task is behind its beginning, in bytes, as its table says it. The
/// scheduler before it is one word. That of blocking tasks is not; a thread runs such a task alone,
/// and the loop that runs others is one, too.
pub(super) fn number_offset(table: usize) -> Option<usize> {
    let [trailer, scheduler, number] = [SCHEDULER - 1, SCHEDULER, SCHEDULER + 1]
        .map(|place| constant_word(table.wrapping_add(place * WORD)));
    let (trailer, scheduler, number) = (trailer?, scheduler?, number?);
    let is_known = number == scheduler.wrapping_add(WORD) && number < trailer && trailer < 1 << 32;
    (is_known && number < FURTHEST && number.is_multiple_of(WORD)).then_some(number)
}

/// Word of the range that the dynamic linker has written.
pub(super) fn constant_word(address: usize) -> Option<usize> {
    let is_within = address >= START.load(Relaxed)
        && address.checked_add(WORD)? <= END.load(Relaxed)
        && address.is_multiple_of(WORD);
    // SAFETY: within a segment that is mapped for as long as the program runs.
    is_within.then(|| unsafe { ptr::with_exposed_provenance::<usize>(address).read() })
}

/// Whether a task of Tokio is at this address, which may be any.
pub(super) fn is_task(address: usize) -> bool {
    let header = ptr::with_exposed_provenance::<[usize; HEADER]>(address);
    if !address.is_multiple_of(WORD) || !raw::is_readable(header) {
        return false;
    }
    // SAFETY: it is readable, and any bytes are a number.
    let table = unsafe { header.cast::<usize>().add(TABLE).read_volatile() };
    number_offset(table).is_some()
}

/// Number of a task; 0 if it is not known.
///
/// # Safety
/// A task of Tokio is there.
pub(super) unsafe fn task_number(task: usize) -> u64 {
    // SAFETY: a task begins with four words, and its table says where its number is.
    unsafe {
        let words = ptr::with_exposed_provenance::<usize>(task);
        let Some(offset) = number_offset(words.add(TABLE).read()) else { return 0 };
        words.byte_add(offset).cast::<u64>().read()
    }
}

/// Whether a task is neither done nor was let go on since it was last polled.
///
/// # Safety
/// A task of Tokio is there.
pub(super) unsafe fn is_waiting(task: usize) -> bool {
    // SAFETY: the first word of a task is its state, which is an atomic number of that size.
    let state = unsafe { &*ptr::with_exposed_provenance::<AtomicUsize>(task) };
    state.load(Relaxed) & (COMPLETE | NOTIFIED) == 0
}
