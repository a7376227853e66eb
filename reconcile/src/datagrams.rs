//! Datagrams: which receive belongs to which send, and the flows of the datagrams.
//!
//! `partition` drives the matching of one partition. There `matching` goes through the passes
//! (`pass`), over sorted `sides`, by a `comparison` of names and clocks and by `fifo_matching`;
//! `copies` are datagrams that arrived twice, and `joined` are those that one side saw in one piece
//! and the other in several. `flows` groups matched datagrams to flows. `peer_names` determines the
//! name under which a socket is seen.

mod comparison;
mod copies;
pub(crate) mod datagram_end;
pub(crate) mod datagram_matches;
pub(crate) mod fifo_matching;
pub(crate) mod flows;
mod joined;
pub(crate) mod matching;
pub(crate) mod partition;
mod pass;
pub(crate) mod peer_names;
pub(crate) mod receivers;
mod sides;
pub(crate) mod translations;
