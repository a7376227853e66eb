//! State that all connections of a collector share.

use std::sync::Arc;

use message_trace::DataDir;
use rustls::ServerConfig;

use super::deadlines::Deadlines;
use super::event::Events;
use super::seats::Seats;
use super::store::Limits;
use crate::keys::Followed;
use crate::link::Stop;

/// State that all connections share.
pub(super) struct Shared<'a> {
    /// None for plain connections.
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// The keys that were revoked.
    pub(super) revoked: Option<Arc<Followed>>,
    /// Data directory of the logs.
    pub(super) data: DataDir,
    /// The name of this collection.
    pub(super) store: u128,
    pub(super) limits: Limits,
    pub(super) deadlines: Deadlines,
    pub(super) seats: Seats,
    pub(super) events: &'a dyn Events,
    pub(super) stop: Stop,
}
