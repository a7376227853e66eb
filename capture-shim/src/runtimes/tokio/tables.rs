//! Function tables: replaces the poll function of each kind of task, and the wake functions in the
//! table that all wakers share.

use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

use super::entries::{self, POLLS, WAKES};
use super::layout::{self, WORD, constant_word, number_offset};
use super::names::TokioFunctions;
use crate::platform::raw::{self, PAGE};
use crate::platform::symbols::ConstantsRange;

/// Replaces poll and wake functions in tables of the known layout. Returns whether there is a table
/// of tasks.
pub(super) fn hook_tables(found: &TokioFunctions, constants: ConstantsRange) -> bool {
    layout::note_constants(constants);
    let has_changed = replace_each(found.polls.addresses(), constants, |table, number, poll| {
        POLLS.get(number).filter(|_| number_offset(table).is_some())?.store(poll, Relaxed);
        Some(entries::poll_entry(number))
    });
    if has_changed {
        replace_each(found.wakes.addresses(), constants, |_, number, wake| {
            WAKES.get(number)?.store(wake, Relaxed);
            Some(entries::wake_entry(number))
        });
    }
    has_changed
}

/// Replaces each word of the constants that is the address of one of the `functions` by the result
/// of `entry`, which is passed the word's address, the function's index, and its address. Returns
/// whether a word was replaced.
fn replace_each(
    functions: &[usize],
    constants: ConstantsRange,
    entry: impl Fn(usize, usize, usize) -> Option<usize>,
) -> bool {
    let (Some(first), Some(last)) = (functions.iter().min(), functions.iter().max()) else {
        return false;
    };
    let mut has_changed = false;
    let start = constants.start.next_multiple_of(WORD);
    for place in (start..constants.end).step_by(WORD) {
        let Some(function) = constant_word(place) else { return has_changed };
        if !(first..=last).contains(&&function) {
            continue;
        }
        let number = functions.iter().position(|known| *known == function);
        if let Some(entry) = number.and_then(|number| entry(place, number, function)) {
            has_changed |= write_constant(place, entry, constants.protected_end);
        }
    }
    has_changed
}

/// Writes a word of the range that the dynamic linker has written, and makes its page read-only
/// again if it was. Returns false if the page cannot be written.
fn write_constant(address: usize, word: usize, protected_end: usize) -> bool {
    let page = address & !(PAGE - 1);
    let is_protected = address < protected_end;
    // SAFETY: the program has one thread, which runs here, and the page is its own.
    unsafe {
        if is_protected && !raw::protect_pages(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) {
            return false;
        }
        ptr::with_exposed_provenance_mut::<usize>(address).write(word);
        if is_protected {
            raw::protect_pages(page, PAGE, libc::PROT_READ);
        }
    }
    true
}
