//! Deliberately wrong clock (`SOCKCAP_TEST_CLOCK`), for tests: several "hosts" on one machine, each
//! with a clock of its own.
//!
//! The value is `OFFSET,SKEW[,AT:STEP]...`. `OFFSET` is how far the clock is ahead when
//! `CLOCK_MONOTONIC` is 0, in nanoseconds. `SKEW` is by how many parts per million it runs faster.
//! At `AT` nanoseconds of `CLOCK_MONOTONIC` the clock is set forward by `STEP` nanoseconds. All
//! processes with the same value have the same clock. Only anchors are shifted, since all times
//! derive from them. If the variable is not set, the test clock costs one check at each anchor.

use socket_log::layout::Anchor;

use super::InitOnce;
use crate::tuning::MAX_CLOCK_STEPS;

/// Unit of the skew: parts per million.
const MILLION: i64 = 1_000_000;

/// Shift of the clock.
#[derive(Clone, Copy)]
struct ClockShift {
    /// How far the clock is ahead when `CLOCK_MONOTONIC` is 0, in nanoseconds.
    offset: i64,
    /// How much faster the clock runs, in parts per million.
    skew: i64,
    /// Time and size of each step, in nanoseconds; both are 0 for a step that was not given.
    steps: [(i64, i64); MAX_CLOCK_STEPS],
}

/// Shift of this process's clock, if it is shifted.
static SHIFT: InitOnce<Option<ClockShift>> = InitOnce::new(None);

/// Reads the value of the variable. An invalid value counts as absent.
pub(crate) fn read_shift(choice: Option<&[u8]>) {
    let shift = choice.and_then(parse_shift);
    // SAFETY: the constructor runs before the program has a second thread.
    unsafe { SHIFT.set(shift) };
}

/// Shift of this process's clock, if it is shifted.
fn clock_shift() -> Option<&'static ClockShift> {
    SHIFT.get().as_ref()
}

/// Whether the clock is shifted. Its rate must then be determined between anchors, also if a tick
/// is a true nanosecond.
pub(crate) fn is_on() -> bool {
    clock_shift().is_some()
}

/// Anchor on the shifted clock.
#[inline]
pub(crate) fn shift_anchor(anchor: Anchor) -> Anchor {
    match clock_shift() {
        None => anchor,
        Some(shift) => shift.apply(anchor),
    }
}

impl ClockShift {
    /// Anchor with this clock's times in place of the kernel's.
    #[cold]
    fn apply(&self, anchor: Anchor) -> Anchor {
        let monotonic = anchor.monotonic;
        // The product is computed in two parts, as it may be too large.
        let gained = (monotonic / MILLION)
            .wrapping_mul(self.skew)
            .wrapping_add((monotonic % MILLION).wrapping_mul(self.skew) / MILLION);
        let steps = self.steps.iter().filter(|(at, _)| *at <= monotonic);
        let ahead =
            steps.fold(self.offset.wrapping_add(gained), |sum, (_, by)| sum.wrapping_add(*by));
        Anchor {
            ticks: anchor.ticks,
            monotonic: monotonic.wrapping_add(gained),
            realtime: anchor.realtime.wrapping_add(ahead),
        }
    }
}

/// Shift given by a value of the variable; `None` if it is invalid.
fn parse_shift(text: &[u8]) -> Option<ClockShift> {
    let mut parts = text.split(|byte| *byte == b',');
    let (offset, skew) = (parse_number(parts.next()?)?, parse_number(parts.next()?)?);
    let mut steps = [(0, 0); MAX_CLOCK_STEPS];
    let mut places = steps.iter_mut();
    for part in parts {
        let mut numbers = part.split(|byte| *byte == b':');
        *places.next()? = (parse_number(numbers.next()?)?, parse_number(numbers.next()?)?);
    }
    // A clock that stands still or goes back is invalid.
    (skew.abs() < MILLION).then_some(ClockShift { offset, skew, steps })
}

/// Parses an integer, possibly negative.
fn parse_number(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text.split_first()? {
        (b'-', digits) => (-1, digits),
        _ => (1, text),
    };
    let mut number = 0i64;
    for digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(value.into())?;
    }
    (!digits.is_empty()).then_some(sign * number)
}
