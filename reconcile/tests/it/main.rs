//! Logs and captures, made by hand and by the thousand, against the messages that they must give.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod at_once;
mod blind_spots;
mod clock_hints;
mod clocks;
mod common;
mod connecting;
mod datagrams;
mod greetings;
mod imports;
mod joined;
mod logs;
mod machines;
mod multiplexed;
mod operations;
mod packets;
mod pauses;
mod pipelines;
mod resources;
mod senders;
mod sources;
mod strace;
mod streams;
mod table_order;
mod translated;
mod translated_datagrams;
mod translation;
mod unix_sockets;
mod vsock_and_sctp;
