//! Numbers that stand for nothing, in tables whose entries are numbers.

/// No flow, no socket, no process: in tables whose entries are numbers.
pub(crate) const NONE: u32 = u32::MAX;

/// No time.
pub(crate) const NIL: i64 = i64::MIN;
