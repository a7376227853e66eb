//! Events of a shipper, for its caller.

use std::io;
use std::time::Duration;

use crate::wire::{StorageShortage, TimeExchange};

/// Listener for events.
pub trait ShipListener: Sync {
    /// Handles an event.
    fn on_event(&self, event: &ShipEvent<'_>);
}

/// Event of a shipper.
#[derive(Debug)]
pub enum ShipEvent<'a> {
    /// The collector has admitted this host.
    Connected,
    /// Progress, in bytes of files.
    Progress {
        /// Bytes sent since the program began.
        sent: u64,
        /// Estimate of the bytes that are known and not sent.
        left: u64,
    },
    /// The connection ended, or could not be made.
    Lost {
        /// Reason.
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
        /// Name of the copy.
        name: &'a str,
        /// Name of the file that it is a copy of.
        first: &'a str,
    },
    /// A file cannot be read, and is skipped.
    Unreadable {
        /// Name of the file.
        name: &'a str,
        /// Reason.
        error: io::Error,
    },
    /// The directory has logs of other hosts, which are not sent.
    Others {
        /// Names of the other hosts.
        hosts: &'a [String],
    },
    /// Times were exchanged.
    Hint(TimeExchange),
    /// A file was removed because the collector has it.
    Removed {
        /// Name of the file.
        name: &'a str,
    },
    /// A file could not be removed.
    NotRemoved {
        /// Name of the file.
        name: &'a str,
        /// Reason.
        error: io::Error,
    },
}
