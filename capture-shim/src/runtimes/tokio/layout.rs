//! Memory layout of a Tokio task and of its function table, as far as it is used here.

use core::ptr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use crate::platform::raw;
use crate::platform::symbols::ConstantsRange;

/// First address of the range that the dynamic linker has written, which contains all tables.
static START: AtomicUsize = AtomicUsize::new(0);
/// End of the range that begins at [`START`].
static END: AtomicUsize = AtomicUsize::new(0);

/// Index of the table word with the offset of the scheduler within a task, in bytes. The next word
/// has the offset of the task's number, and the previous one the trailer's offset.
const SCHEDULER: usize = 8;
/// Index of the word of a task that points to its table.
const TABLE: usize = 2;
/// Number of words at the beginning of a task that are the same in all tasks.
const HEADER: usize = 4;
/// Maximum offset of a task's number within it, in bytes.
const MAX_NUMBER_OFFSET: usize = 256;
/// Bits of the first word of a task, its state: it is complete, or was already woken.
const COMPLETE: usize = 1 << 1;
const NOTIFIED: usize = 1 << 2;
/// Length of a word, in bytes.
pub(super) const WORD: usize = size_of::<usize>();

/// Records the range of constants, which contains the tables.
pub(super) fn note_constants(constants: ConstantsRange) {
    START.store(constants.start, Relaxed);
    END.store(constants.end, Relaxed);
}

/// Offset of a task's number within it, in bytes, as stated by its table. The scheduler before the
/// number must be one word. The scheduler of a blocking task is not, so its number is not found; a
/// thread runs a blocking task alone, and the loop that runs other tasks is a blocking task, too.
pub(super) fn number_offset(table: usize) -> Option<usize> {
    let [trailer, scheduler, number] = [SCHEDULER - 1, SCHEDULER, SCHEDULER + 1]
        .map(|place| constant_word(table.wrapping_add(place * WORD)));
    let (trailer, scheduler, number) = (trailer?, scheduler?, number?);
    let is_known = number == scheduler.wrapping_add(WORD) && number < trailer && trailer < 1 << 32;
    (is_known && number < MAX_NUMBER_OFFSET && number.is_multiple_of(WORD)).then_some(number)
}

/// Word at `address`, if it is in the range that the dynamic linker has written.
pub(super) fn constant_word(address: usize) -> Option<usize> {
    let is_within = address >= START.load(Relaxed)
        && address.checked_add(WORD)? <= END.load(Relaxed)
        && address.is_multiple_of(WORD);
    // SAFETY: within a segment that is mapped for as long as the program runs.
    is_within.then(|| unsafe { ptr::with_exposed_provenance::<usize>(address).read() })
}

/// Whether a task of Tokio is at this address, which may be any address.
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
/// A task of Tokio is at the address.
pub(super) unsafe fn task_number(task: usize) -> u64 {
    // SAFETY: a task begins with four words, and its table states where its number is.
    unsafe {
        let words = ptr::with_exposed_provenance::<usize>(task);
        let Some(offset) = number_offset(words.add(TABLE).read()) else { return 0 };
        words.byte_add(offset).cast::<u64>().read()
    }
}

/// Whether a task is neither complete nor was woken since it was last polled.
///
/// # Safety
/// A task of Tokio is at the address.
pub(super) unsafe fn is_waiting(task: usize) -> bool {
    // SAFETY: the first word of a task is its state, which is an atomic number of that size.
    let state = unsafe { &*ptr::with_exposed_provenance::<AtomicUsize>(task) };
    state.load(Relaxed) & (COMPLETE | NOTIFIED) == 0
}
