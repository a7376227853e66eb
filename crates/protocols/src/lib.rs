#![doc = include_str!("../README.md")]

mod amqp;
#[cfg(test)]
mod blanked;
mod bounded_map;
#[cfg(test)]
mod cases;
mod conversation;
mod cursor;
mod dns;
mod fastcgi;
mod flow_snippet;
mod fuzz;
mod grpc;
mod http;
mod http2;
mod imap;
mod kafka;
mod kinds;
#[cfg(test)]
mod literals;
mod memcached;
mod mongodb;
mod mysql;
mod names;
mod opening;
mod operation;
pub mod operations;
mod parser;
mod postgresql;
mod protocol;
mod redis;
mod silent_turn;
mod smtp;
mod streams;
#[cfg(test)]
mod test_conversation;
mod trace_context;
mod tuning;
mod websocket;

pub use conversation::Conversation;
pub use flow_snippet::{FlowSnippet, FlowSpeaker, LogPosition, SnippetRule};
pub use fuzz::{fuzz, fuzz_names};
pub use http2::GRPC_STATUSES;
pub use kinds::{PROTOCOLS, protocol_name};
pub use names::{
    StatementDialect, StatementSummary, reduce_label, summarise_statement, target_route,
};
pub use operation::{MessageRole, ProtocolOperation, SpokenOperation};
pub use protocol::{ProtocolEntry, ProtocolSpec};
pub use trace_context::TraceContext;
