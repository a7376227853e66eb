//! Sentinels: numbers that stand for missing entries in numeric tables.

/// Missing value of an attribute of an event.
pub(crate) const NIL: i64 = i64::MIN;
