//! Captures of other tools, held against what the library recorded of the same run, and what
//! clients of tracers write.

mod ctf;
mod packets;
mod segments;
mod strace;
mod three_captures;
mod tracers;
mod tshark;
