//! Events that a shipper tells whoever runs it.

use std::io;
use std::time::Duration;

use crate::wire::{StorageShortage, TimeExchange};

/// Listener for events.
pub trait ShipListener: Sync {
    /// Something happened.
    fn on_event(&self, event: &ShipEvent<'_>);
}

/// Something happened.
#[derive(Debug)]
pub enum ShipEvent<'a> {
    /// The collector has let this host in.
    Connected,
    /// Progress, in bytes of files.
    Progress {
        /// Sent since the program began.
        sent: u64,
        /// Estimate of the bytes that are known and not sent.
        left: u64,
    },
    /// The connection ended, or could not be made.
    Lost {
        /// Why.
        why: &'a str,
        /// Time until the next attempt.
        again: Duration,
    },
    /// The collector cannot store what was sent. It is sent again later.
    NotStored {
        /// The shortage.
        shortage: StorageShortage,
        /// Time until the next attempt.
        again: Duration,
    },
    /// A file is a copy of another, and is not sent.
    Twin {
        /// The copy.
        name: &'a str,
        /// The other.
        first: &'a str,
    },
    /// A file cannot be read, and is passed over.
    Unreadable {
        /// The file.
        name: &'a str,
        /// Why.
        error: io::Error,
    },
    /// There are logs of other hosts, which are not sent.
    Others {
        /// Their names.
        hosts: &'a [String],
    },
    /// Times were exchanged.
    Hint(TimeExchange),
    /// A file was removed, as the collector has it.
    Removed {
        /// The file.
        name: &'a str,
    },
    /// It could not be removed.
    NotRemoved {
        /// The file.
        name: &'a str,
        /// Why.
        error: io::Error,
    },
}
