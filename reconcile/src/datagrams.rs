//! Datagrams: which receive got which send, and the flows that they are of.
//!
//! `partition` drives the matching of one partition. There `matching` goes through the passes
//! (`pass`), over `sides` that are sorted, by a `comparison` of names and clocks and `in_order`;
//! `copies` are what arrived twice, and `joined` what one side saw in one piece and the other in
//! several. `flows` makes flows of what was matched. `peer_names` says under which name a socket is
//! seen.

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
