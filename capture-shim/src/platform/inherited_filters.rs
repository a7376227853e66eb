//! Seccomp filters that outlive the program which installed them: they are passed to the program
//! that it executes, in an environment variable, since what they forbid is not visible otherwise.
//!
//! The variable has sixteen hexadecimal digits for each instruction, and a dot before each filter.
//! If the filters are not known, the value is a star, and the library makes no system calls in the
//! executed program.

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use libc::sock_filter;

use super::filter;
use super::permitted_syscalls::{ALL_FORBIDDEN, COUNT, FILTERS, is_active};
use super::seccomp::permit_nothing;
use crate::tuning::MAX_HANDED_INSTRUCTIONS;

/// Name of the variable, with the sign before its value.
pub(crate) const FILTERS_VARIABLE: &[u8] = b"SOCKCAP_FILTERS=";

/// Text of unknown filters.
const UNKNOWN: &[u8] = b"*";
/// Sign before each filter.
const FILTER_MARK: u8 = b'.';
/// Number of digits of an instruction.
const DIGITS: usize = 16;

/// Instructions of the filters that this program was started with.
struct FilterInstructions(UnsafeCell<[sock_filter; MAX_HANDED_INSTRUCTIONS]>);

// SAFETY: only the constructor writes it, before the program has a second thread.
unsafe impl Sync for FilterInstructions {}

static INSTRUCTIONS: FilterInstructions = FilterInstructions(UnsafeCell::new(
    [sock_filter { code: 0, jt: 0, jf: 0, k: 0 }; MAX_HANDED_INSTRUCTIONS],
));

/// Active filters, each with its instructions; `None` if they are not known, or are too long to be
/// passed on.
fn active_filters() -> Option<impl Iterator<Item = &'static [sock_filter]>> {
    let count = COUNT.load(Acquire);
    let kept = FILTERS.get(..count as usize)?.iter().map(|kept| {
        let (first, length) = (kept.first.load(Acquire), kept.length.load(Relaxed));
        // SAFETY: a copy of that many instructions, which is never removed.
        unsafe { core::slice::from_raw_parts(first.cast_const(), length) }
    });
    let sum: usize = kept.clone().map(<[_]>::len).sum();
    (count != ALL_FORBIDDEN && sum <= MAX_HANDED_INSTRUCTIONS).then_some(kept)
}

/// Length of the variable with its terminating zero byte; 0 if there are no filters.
pub(crate) fn variable_length() -> usize {
    if !is_active() {
        return 0;
    }
    let text = active_filters()
        .map_or(UNKNOWN.len(), |all| all.map(|filter| 1 + DIGITS * filter.len()).sum());
    FILTERS_VARIABLE.len() + text + 1
}

/// Writes the variable into `room`, which has the [`variable_length`] of the variable. If another
/// thread has installed a filter meanwhile that does not fit, the variable permits nothing.
pub(crate) fn write_variable(room: &mut [u8]) {
    room.fill(0);
    let (length, mut needed) = (room.len(), 0);
    let mut places = room.iter_mut();
    let mut put = |bytes: &[u8]| {
        needed += bytes.len();
        bytes.iter().zip(&mut places).for_each(|(byte, place)| *place = *byte);
    };
    put(FILTERS_VARIABLE);
    let Some(all) = active_filters() else { return put(UNKNOWN) };
    for filter in all {
        put(&[FILTER_MARK]);
        for instruction in filter {
            let sock_filter { code, jt, jf, k } = *instruction;
            let word = u64::from(code) << 48 | u64::from(jt) << 40 | u64::from(jf) << 32;
            let word = word | u64::from(k);
            let digits: [u8; DIGITS] = core::array::from_fn(|place| {
                let digit = (word >> (60 - 4 * place)) as u8 & 15;
                if digit < 10 { b'0' + digit } else { b'a' - 10 + digit }
            });
            put(&digits);
        }
    }
    if needed >= length {
        room.fill(0);
        let text = FILTERS_VARIABLE.iter().chain(UNKNOWN);
        text.zip(room).for_each(|(byte, place)| *place = *byte);
    }
}

/// Takes over the filters in the environment variable, before the first system call. Invalid text
/// permits nothing.
///
/// # Safety
/// Only the constructor calls this, once, before the program has a second thread.
pub(crate) unsafe fn take_filters(text: &[u8]) {
    // SAFETY: the constructor runs before the program has a second thread.
    let mut room = unsafe { &mut *INSTRUCTIONS.0.get() }.as_mut_slice();
    let mut filters = text.split(|byte| *byte == FILTER_MARK);
    if filters.next() != Some(b"") {
        return permit_nothing();
    }
    for text in filters {
        let count = text.len() / DIGITS;
        let index = COUNT.load(Relaxed);
        let Some(kept) = FILTERS.get(index as usize) else { return permit_nothing() };
        let is_filter =
            text.len().is_multiple_of(DIGITS) && (1..=filter::MAX_INSTRUCTIONS).contains(&count);
        let Some((own, rest)) = room.split_at_mut_checked(count).filter(|_| is_filter) else {
            return permit_nothing();
        };
        for (digits, place) in text.chunks_exact(DIGITS).zip(own.iter_mut()) {
            let Some(word) = parse_number(digits) else { return permit_nothing() };
            let (jt, jf) = ((word >> 40) as u8, (word >> 32) as u8);
            *place = sock_filter { code: (word >> 48) as u16, jt, jf, k: word as u32 };
        }
        kept.length.store(count, Relaxed);
        kept.first.store(own.as_mut_ptr(), Release);
        COUNT.store(index + 1, Release);
        room = rest;
    }
}

/// Parses a number in hexadecimal digits.
fn parse_number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(value))
    })
}
