//! From messages to paths, on real programs and on traces with known ground truth.

mod accuracy;
mod connecting;
mod deciding_evidence;
mod demo;
mod diff;
mod lookups;
mod sockets_of_programs;
mod spent;
mod synth;
mod thread_pool;
mod woken;
