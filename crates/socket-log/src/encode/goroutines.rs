//! Records of goroutines: which one goes on in a chunk, and which one another let go on or started.
//!
//! A goroutine's number is kept in 48 bits. A program that begins a million goroutines a second
//! needs them after nine years.

use super::words::RecordWords;
use crate::layout::kind;

/// Record behind which the chunk is of the goroutine `number`, or of the thread itself where that
/// is 0. Of `creator`, the number of the goroutine that started it (0: none), it has the low 32
/// bits.
#[inline]
pub fn goroutine_record(number: u64, creator: u64) -> RecordWords {
    // Nobody needs its time: it is in order with the records around it.
    RecordWords::new(kind::GOROUTINE, (number >> 32) as u16, number, creator as u32).finish()
}

/// Record of the goroutine `number`, which was let go on at `ticks` by what the chunk is of: it had
/// waited, or was `started` then.
#[inline]
pub fn ready_record(ticks: u64, number: u64, started: bool) -> RecordWords {
    let kind = if started { kind::STARTED } else { kind::READY };
    RecordWords::new(kind, (number >> 32) as u16, ticks, number as u32).finish()
}
