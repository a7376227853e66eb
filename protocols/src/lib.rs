#![doc = include_str!("../README.md")]
#![allow(dead_code, unused_imports, reason = "protocols that are still to come use the rest")]

mod conversation;
mod fuzz;
mod grpc;
mod http;
mod http2;
mod kinds;
mod names;
mod opening;
mod operation;
mod parser;
mod piece;
mod protocol;
mod streams;
#[cfg(test)]
mod talk;
mod trace_context;
mod tuning;
mod websocket;

pub use conversation::Conversation;
pub use fuzz::fuzz;
pub use kinds::{PROTOCOLS, protocol_name};
pub use names::{Dialect, Summary, label, path, statement};
pub use operation::{Operation, Role};
pub use piece::{Class, Piece, Place, Speaker};
pub use protocol::Protocol;
pub use trace_context::TraceContext;
