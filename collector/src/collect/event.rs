//! Events of a collector, from which its caller makes log lines and Prometheus figures. Sessions
//! report what happened and know neither.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::keys;
use crate::wire::{StorageShortage, TimeExchange};

/// Listener for events, called from many threads.
pub trait CollectListener: Sync {
    /// Handles an event.
    fn on_event(&self, event: &CollectEvent<'_>);
}

/// Event of a collector.
#[derive(Debug)]
pub enum CollectEvent<'a> {
    /// A shipper was admitted.
    Connected {
        /// Host of the shipper.
        host: &'a str,
        /// Address of the other side.
        peer: SocketAddr,
    },
    /// A flush was acknowledged, or a host has just connected.
    Stored {
        /// Name of the host.
        host: &'a str,
        /// Data received since the host's previous event of this kind.
        gained: ReceivedBytes,
        /// Data of the host that the collector has now.
        has: StoredFiles,
        /// Bytes that the host has yet to send, by its own count; `None` when it has just
        /// connected.
        left: Option<u64>,
    },
    /// Something could not be stored.
    NotStored {
        /// Name of the host.
        host: &'a str,
        /// The shortage.
        shortage: StorageShortage,
        /// Error of the disk, if there was one.
        error: Option<io::Error>,
    },
    /// The header of a log names another host than its sender. The log is stored as the sender's.
    Misnamed {
        /// The host that sent the log.
        host: &'a str,
        /// Name of the log's file.
        name: &'a str,
        /// The host that the log names.
        says: &'a str,
    },
    /// The list of revoked keys has changed; if the new list cannot be used, the previous one stays
    /// in force.
    Revocations {
        /// File of the list.
        path: &'a Path,
        /// Error of the list; `None` if the new list is used.
        error: Option<&'a keys::KeyError>,
    },
    /// An exchange of times.
    Hint {
        /// Name of the host.
        host: &'a str,
        /// The times of the exchange.
        exchange: TimeExchange,
    },
    /// An admitted connection ended.
    Disconnected {
        /// Host of the shipper.
        host: &'a str,
        /// Reason; `None` for a regular end.
        why: Option<&'a str>,
        /// Duration of the connection.
        after: Duration,
    },
    /// A connection could not be accepted for want of descriptors or memory.
    NotAccepted {
        /// Error of the kernel.
        error: &'a io::Error,
    },
    /// A connection was refused, or ended because of what the other side did.
    Refused {
        /// Address of the other side.
        peer: SocketAddr,
        /// Host of the shipper, if known.
        host: Option<&'a str>,
        /// Cause, for counting.
        cause: RefusalCause,
        /// Reason in full.
        why: &'a str,
    },
}

/// Data received from a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedBytes {
    /// Number of bytes of files.
    pub stored: u64,
    /// Number of bytes on the wire.
    pub wire: u64,
}

/// Data of a host that the collector has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredFiles {
    /// Number of files.
    pub files: u64,
    /// Number of bytes on the disk.
    pub bytes: u64,
}

/// Cause of a refused connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalCause {
    /// The TLS handshake failed: no certificate, an expired or a foreign one, or no TLS at all.
    Tls,
    /// The key of the peer was revoked.
    Revoked,
    /// The peer was too slow, or silent for too long.
    Slow,
    /// The bytes are not of this protocol.
    Protocol,
    /// The peer uses another protocol version.
    Version,
    /// The peer wants to write under a name that is not its own, or that no host can have.
    Name,
    /// The peer did something that no shipper does, such as naming a file outside its directory.
    Violation,
    /// Too many connections are open.
    Many,
    /// The collector itself failed.
    Internal,
}

impl RefusalCause {
    /// All causes.
    pub const ALL: [RefusalCause; 9] = [
        RefusalCause::Tls,
        RefusalCause::Revoked,
        RefusalCause::Slow,
        RefusalCause::Protocol,
        RefusalCause::Version,
        RefusalCause::Name,
        RefusalCause::Violation,
        RefusalCause::Many,
        RefusalCause::Internal,
    ];

    /// Label of the cause.
    pub fn label(self) -> &'static str {
        match self {
            RefusalCause::Tls => "tls",
            RefusalCause::Revoked => "revoked",
            RefusalCause::Slow => "slow",
            RefusalCause::Protocol => "protocol",
            RefusalCause::Version => "version",
            RefusalCause::Name => "name",
            RefusalCause::Violation => "violation",
            RefusalCause::Many => "many",
            RefusalCause::Internal => "internal",
        }
    }
}
