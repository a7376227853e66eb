//! Options of a shipper, its summary at the end, and its errors.

use std::sync::Arc;
use std::time::Duration;

use message_trace::{DataDir, PathError};
use rustls::ClientConfig;

use crate::wire::StorageShortage;

/// Options of a shipper.
#[derive(Clone, Debug)]
pub struct ShipOptions {
    /// Data directory of the logs.
    pub data: DataDir,
    /// Host that owns the sent logs.
    pub host: String,
    /// Address of the collector, as `HOST:PORT`.
    pub to: String,
    /// TLS with certificates on both sides; `None` for plain connections.
    pub tls: Option<Arc<ClientConfig>>,
    /// Whether to continue after everything is sent.
    pub follow: bool,
    /// Time between two scans of the files.
    pub interval: Duration,
    /// Whether to remove logs that the collector has and that no process writes to any more.
    pub remove: bool,
    /// Maximum number of bytes a second on the wire.
    pub limit: Option<u64>,
    /// Time without progress after which a shipper that does not follow gives up.
    pub patience: Duration,
}

/// Summary of what a shipper did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShipSummary {
    /// Number of bytes of files that were sent.
    pub sent: u64,
    /// Number of bytes on the wire.
    pub wire: u64,
    /// Number of files that could not be read.
    pub unreadable: u64,
}

/// Error that ends a shipper.
#[derive(Debug, thiserror::Error)]
pub enum ShipError {
    /// A file of the data directory could not be read.
    #[error(transparent)]
    File(#[from] PathError),
    /// Nothing could be sent for too long.
    #[error("{to}: {why}; nothing is lost, and the next run continues where this one ended")]
    GaveUp {
        /// Address of the collector.
        to: String,
        /// The last error.
        why: String,
    },
    /// The collector had no space for too long.
    #[error(
        "{to}: {shortage}; unstored data stays here, and the next run continues where this one ended"
    )]
    NoRoom {
        /// Address of the collector.
        to: String,
        /// The shortage.
        shortage: StorageShortage,
    },
    /// The collector refuses this host.
    #[error("{to}: {why}")]
    Refused {
        /// Address of the collector.
        to: String,
        /// Reason.
        why: String,
    },
}
