//! Captures of other tools, compared with the library's recording of the same run, and files
//! written by clients of tracers.

mod ctf;
mod packets;
mod segments;
mod strace;
mod three_captures;
mod tracers;
mod tshark;
