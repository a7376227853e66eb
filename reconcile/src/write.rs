//! The output: messages sorted by time, with their nodes.
//!
//! `entity_tables` numbers flows, endpoints and nodes, `imported` and `lookup_rows` add messages
//! without recorded calls, `timeline` sorts and writes.

pub(crate) mod call_ids;
pub(crate) mod entity_tables;
pub(crate) mod imported;
pub(crate) mod lookup_rows;
pub(crate) mod timeline;
