//! Peers of a chunk's datagrams, for records that do not name them. The common record refers to the
//! peer's name in the latest one of the long form, of the same flow and direction in the same
//! chunk. Each chunk can be read by itself, so nothing is kept from one to the next.

use super::record::LogRecord;
use super::socket_name::SocketName;
use crate::encode::Direction;
use crate::layout::kind;

/// Latest peer of each flow and direction, as far as a chunk has been read.
#[derive(Debug, Default)]
pub(crate) struct LatestPeers(Vec<(u32, Direction, Option<SocketName>)>);

impl LatestPeers {
    /// Notes a datagram's peer, or adds the known peer to a record of kind `tag` without one.
    pub(crate) fn resolve_peer(&mut self, tag: u8, record: &mut LogRecord) {
        let LogRecord::Datagram { direction, flow, peer, .. } = record else { return };
        let known = self.0.iter_mut().find(|known| (known.0, known.1) == (*flow, *direction));
        match (tag, known) {
            (kind::SEND_DATAGRAM | kind::RECEIVE_DATAGRAM, Some(known)) => known.2.clone_from(peer),
            (kind::SEND_DATAGRAM | kind::RECEIVE_DATAGRAM, None) => {
                self.0.push((*flow, *direction, peer.clone()));
            }
            (_, Some(known)) => peer.clone_from(&known.2),
            (_, None) => {}
        }
    }

    /// Forgets all peers: another thread continues in the chunk, and does not know the earlier
    /// records.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
