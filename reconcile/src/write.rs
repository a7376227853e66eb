//! The output: messages in the order of time, with their nodes.
//!
//! `output` numbers flows, endpoints and nodes, `imported` and `lookup_rows` add messages that no
//! call made, `timeline` sorts and writes.

pub(crate) mod call_ids;
pub(crate) mod entity_tables;
pub(crate) mod imported;
pub(crate) mod lookup_rows;
pub(crate) mod timeline;
