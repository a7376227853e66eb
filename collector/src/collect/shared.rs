//! State that all connections of a collector share.

use std::sync::Arc;

use message_trace::DataDir;
use rustls::ServerConfig;

use super::deadlines::Deadlines;
use super::event::CollectListener;
use super::host_slots::HostSlots;
use super::store::HostLimits;
use crate::keys::RevocationWatcher;
use crate::link::StopFlag;

/// State that all connections share.
pub(super) struct SharedState<'a> {
    /// TLS configuration; `None` for plain connections.
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// The keys that were revoked.
    pub(super) revoked: Option<Arc<RevocationWatcher>>,
    /// Data directory of the logs.
    pub(super) data: DataDir,
    /// Random id of this collection.
    pub(super) store: u128,
    pub(super) limits: HostLimits,
    pub(super) deadlines: Deadlines,
    pub(super) slots: HostSlots,
    pub(super) events: &'a dyn CollectListener,
    pub(super) stop: StopFlag,
}
