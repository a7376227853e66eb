//! Protocols of frames that tell their lengths, a file each. Each function says whether the turn is
//! of its protocol for sure, and has blanked it then but for what names its messages.

mod amqp;
mod dns;
mod fastcgi;
mod kafka;
mod memcached;
mod mongodb;
mod mysql;
mod postgresql;
mod websocket;

pub(crate) use amqp::amqp;
pub(crate) use dns::{dns, question};
pub(crate) use fastcgi::fastcgi;
pub(crate) use kafka::kafka;
pub(crate) use memcached::memcached;
pub(crate) use mongodb::mongodb;
pub(crate) use mysql::{is_answer_of_mysql, is_head_of_mysql, is_statement_of_mysql, mysql};
pub(crate) use postgresql::{postgresql, postgresql_startup};
pub(crate) use websocket::websocket;

use crate::bytes::Bytes;

/// Whether a turn is the head of a message that came alone, as receivers read it who ask for the
/// rest then: its length, which is less than 2^24, and a type and a channel before it.
pub(crate) fn is_head_alone(turn: &Bytes<'_>) -> bool {
    matches!(turn.rest(0), [0, _, _, _] | [0 | 1, _] | [1..=3, 0..=7, _, 0, _, _, _])
}
