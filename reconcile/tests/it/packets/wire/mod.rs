//! Handmade packets and sniffers: the bytes of links, IP, TCP and UDP, and the files of tcpdump and
//! similar tools in both formats. Each has a file of its own here; tests use them all by this name.

mod connection;
mod format;
mod link;
mod packet;
mod sniffer;

pub use connection::Connection;
pub use format::{FORMATS, Format, Frame, PLAIN};
pub use link::Link;
pub use packet::{ACK, FIN, PUSH, Packet, SYN, end, tcp, udp};
pub use sniffer::{Sniffer, write};

/// Time when the captures begin, in nanoseconds since the Unix epoch.
pub const EPOCH: i64 = 1_700_000_000_000_000_000;
pub const MS: i64 = 1_000_000;
