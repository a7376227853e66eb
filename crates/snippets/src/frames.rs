//! Binary protocols with a length in each frame, one file each. Each `blank_` function returns
//! whether the turn is certainly of its protocol, and if so has blanked the turn except for what
//! names its messages.

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

/// Whether a turn is only the header of a message, which some receivers read before the body: a
/// type and a channel, and a length below 2^24 after them.
pub(crate) fn is_header_only(turn: &TurnBytes<'_>) -> bool {
    matches!(turn.rest_from(0), [0, _, _, _] | [0 | 1, _] | [1..=3, 0..=7, _, 0, _, _, _])
}
