//! Events that a collector tells whoever runs it: lines for people, figures for Prometheus.
//! Sessions say what happened and know of neither.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::keys;
use crate::wire::{StorageShortage, TimeExchange};

/// Listener for events. Called from many threads.
pub trait CollectListener: Sync {
    /// An event happened.
    fn on_event(&self, event: &CollectEvent<'_>);
}

/// Event of a collector.
#[derive(Debug)]
pub enum CollectEvent<'a> {
    /// A shipper was let in.
    Connected {
        /// Its host.
        host: &'a str,
        /// Its address.
        peer: SocketAddr,
    },
    /// A flush was answered, or a host has just connected.
    Stored {
        /// The host.
        host: &'a str,
        /// Since the last such event.
        gained: ReceivedBytes,
        /// Data of the host at the collector now.
        has: StoredFiles,
        /// Bytes that it says it has yet to send; not known when it has just connected.
        left: Option<u64>,
    },
    /// Something could not be stored.
    NotStored {
        /// The host.
        host: &'a str,
        /// The shortage.
        shortage: StorageShortage,
        /// Error of the disk.
        error: Option<io::Error>,
    },
    /// A log says that it is another host's than the one that sends it. It is kept as that one's.
    Misnamed {
        /// The host that sends it.
        host: &'a str,
        /// The file.
        name: &'a str,
        /// The host that it names.
        says: &'a str,
    },
    /// The list of revoked keys has changed; where the new one cannot be used, the former one
    /// stays.
    Revocations {
        /// Its file.
        path: &'a Path,
        /// Error of the list; `None` where the new list is used.
        error: Option<&'a keys::KeyError>,
    },
    /// An exchange of times.
    Hint {
        /// The host.
        host: &'a str,
        /// The times.
        exchange: TimeExchange,
    },
    /// A connection that had been let in ended.
    Disconnected {
        /// Its host.
        host: &'a str,
        /// Reason; `None` for a regular end.
        why: Option<&'a str>,
        /// Duration of the connection.
        after: Duration,
    },
    /// A connection could not be accepted, as there are too few descriptors or there is too little
    /// memory.
    NotAccepted {
        /// Error of the kernel.
        error: &'a io::Error,
    },
    /// A connection was refused, or ended for what the other side did.
    Refused {
        /// Its address.
        peer: SocketAddr,
        /// Its host, where that was known.
        host: Option<&'a str>,
        /// Cause, for counting.
        cause: RefusalCause,
        /// Reason in full.
        why: &'a str,
    },
}

/// Data that came from a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedBytes {
    /// Bytes of files.
    pub stored: u64,
    /// Bytes on the wire.
    pub wire: u64,
}

/// Data that a host has at the collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredFiles {
    /// Files.
    pub files: u64,
    /// Bytes on the disk.
    pub bytes: u64,
}

/// Cause of a refused connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalCause {
    /// The TLS handshake failed: no certificate, an expired or a foreign one, or no TLS at all.
    Tls,
    /// Its key was revoked.
    Revoked,
    /// It was too slow, or silent for too long.
    Slow,
    /// Bytes that are not this protocol.
    Protocol,
    /// It speaks another version.
    Version,
    /// It wants to write under a name that is not its own, or that no host can have.
    Name,
    /// It did something that no shipper does, such as naming a file outside its directory.
    Violation,
    /// There are too many connections.
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

    /// Word for the cause.
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
