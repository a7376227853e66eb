#![doc = include_str!("../README.md")]

mod amqp;
#[cfg(test)]
mod blanked;
#[cfg(test)]
mod cases;
mod conversation;
mod cursor;
mod dns;
mod fastcgi;
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
mod piece;
mod postgresql;
mod protocol;
mod redis;
mod remembered;
mod smtp;
mod streams;
#[cfg(test)]
mod talk;
mod trace_context;
mod tuning;
mod unread;
mod websocket;

pub use conversation::Conversation;
pub use fuzz::{fuzz, fuzz_names};
pub use kinds::{PROTOCOLS, protocol_name};
pub use names::{Dialect, Summary, label, path, statement};
pub use operation::{Operation, Role, Said};
pub use piece::{Class, Piece, Place, Speaker};
pub use protocol::Protocol;
pub use trace_context::TraceContext;
