//! Sentinels: numbers that stand for missing entries in numeric tables.

/// No time (of times in nanoseconds).
pub(crate) const NIL: i64 = i64::MIN;
