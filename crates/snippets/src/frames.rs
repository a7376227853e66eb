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

pub(crate) use amqp::blank_amqp;
pub(crate) use dns::{blank_dns, question_end};
pub(crate) use fastcgi::blank_fastcgi;
pub(crate) use kafka::blank_kafka;
pub(crate) use memcached::blank_memcached_binary;
pub(crate) use mongodb::blank_mongodb;
pub(crate) use mysql::{blank_mysql, is_mysql_header, is_mysql_response, is_mysql_statement};
pub(crate) use postgresql::{blank_postgresql, blank_postgresql_startup};
pub(crate) use websocket::blank_websocket;

use crate::bytes::TurnBytes;

/// Whether a turn is the head of a message that came alone, as receivers read it who ask for the
/// rest then: its length, which is less than 2^24, and a type and a channel before it.
pub(crate) fn is_header_only(turn: &TurnBytes<'_>) -> bool {
    matches!(turn.rest_from(0), [0, _, _, _] | [0 | 1, _] | [1..=3, 0..=7, _, 0, _, _, _])
}
