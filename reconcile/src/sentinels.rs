//! Sentinels: numbers that stand for missing entries in numeric tables.

/// No flow, no socket, no process.
pub(crate) const NONE: u32 = u32::MAX;

/// No time (of times in nanoseconds).
pub(crate) const NIL: i64 = i64::MIN;
