//! Datagrams: which receive got which send, and the flows that they are of.
//!
//! `partition` drives the matching of one partition (`matching`, `in_order`, `translations`),
//! `flows` makes flows of what was matched. `peer_names` says under which name a socket is seen.

pub(crate) mod end;
pub(crate) mod flows;
pub(crate) mod in_order;
pub(crate) mod matches;
pub(crate) mod matching;
pub(crate) mod partition;
pub(crate) mod peer_names;
pub(crate) mod receivers;
pub(crate) mod translations;
