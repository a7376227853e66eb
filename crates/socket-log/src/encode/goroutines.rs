//! Records of goroutines: which one runs in a chunk, and which one was woken or started by another.
//!
//! A goroutine's number is kept in 48 bits. A program that starts a million goroutines a second
//! exceeds them after nine years.

use super::words::RecordWords;
use crate::layout::kind;

/// Record after which the chunk's records are of the goroutine `number`, or of the thread itself if
/// `number` is 0. The record has the low 32 bits of `creator`, the number of the goroutine that
/// started `number` (0: none).
#[inline]
pub fn goroutine_record(number: u64, creator: u64) -> RecordWords {
    // The record needs no time: it is in order with the records around it.
    RecordWords::new(kind::GOROUTINE, (number >> 32) as u16, number, creator as u32).finish()
}

/// Record of the context `number`, which was started at `ticks` by the thread or context with the
/// thread id `starter`. It may be written later, and by another thread.
#[inline]
pub fn started_by_record(ticks: u64, number: u64, starter: u32) -> RecordWords {
    let aux = (number >> 32) as u16;
    let mut words = RecordWords::new(kind::STARTED_BY, aux, ticks, number as u32);
    words.push((ticks >> 32) as u32);
    words.push(starter);
    words.finish()
}

/// Record of the goroutine `number`, which was woken at `ticks` by the goroutine of the chunk: it
/// had waited, or was `started` then.
#[inline]
pub fn ready_record(ticks: u64, number: u64, started: bool) -> RecordWords {
    let kind = if started { kind::STARTED } else { kind::READY };
    RecordWords::new(kind, (number >> 32) as u16, ticks, number as u32).finish()
}
