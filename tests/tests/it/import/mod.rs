//! Captures of other tools, held against what the library recorded of the same run.

mod packets;
mod strace;
mod three_captures;
