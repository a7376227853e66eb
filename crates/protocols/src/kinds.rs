//! Registry of protocols. To add one: write its file with its [`ProtocolSpec`] and its parser, and
//! add its `mod` line and one line here. Recognition, help and fuzzing follow.

use crate::protocol::ProtocolSpec;
use crate::{
    amqp, dns, fastcgi, grpc, http, http2, imap, kafka, memcached, mongodb, mysql, postgresql,
    redis, smtp, websocket,
};

/// All protocols, in the order in which they are tried on a flow.
pub static PROTOCOLS: &[&ProtocolSpec] = &[
    &http::HTTP,
    &http2::HTTP2,
    &grpc::GRPC,
    &websocket::WEBSOCKET,
    &fastcgi::FASTCGI,
    &postgresql::POSTGRESQL,
    &mysql::MYSQL,
    &redis::REDIS,
    &memcached::MEMCACHED,
    &mongodb::MONGODB,
    &kafka::KAFKA,
    &amqp::AMQP,
    &smtp::SMTP,
    &imap::IMAP,
    &dns::DNS,
];

/// Returns the name in the registry that equals `name`; `None` if no protocol has it.
pub fn protocol_name(name: &str) -> Option<&'static str> {
    registry::find_entry(PROTOCOLS, name).map(|protocol| protocol.about.name)
}

#[cfg(test)]
#[path = "kinds_tests.rs"]
mod tests;
