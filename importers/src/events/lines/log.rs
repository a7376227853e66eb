//! Logs of servers as events: PostgreSQL's (`log_destination = 'jsonlog'` or `'csvlog'`) and
//! nginx's access log in JSON. What a message says, becomes the kind and attributes.

use ::events::Value;
use out_of_core::NameId;

use super::row::Column;
use crate::events::sink::EventSink;

/// Whose log it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Log {
    /// PostgreSQL's.
    Postgres,
    /// nginx's.
    Nginx,
}

/// Columns of PostgreSQL's csvlog, by its documentation; the names are those of its jsonlog.
pub(super) const POSTGRES_CSV: &[&str] = &[
    "timestamp",
    "user",
    "dbname",
    "pid",
    "connection_from",
    "session_id",
    "line_num",
    "ps",
    "session_start",
    "vxid",
    "txid",
    "error_severity",
    "state_code",
    "message",
    "detail",
    "hint",
    "internal_query",
    "internal_position",
    "context",
    "statement",
    "cursor_position",
    "func_name",
    "application_name",
    "backend_type",
    "leader_pid",
    "query_id",
];

impl Log {
    /// What a column tells, where it is not what its name would say in any other file.
    pub(super) fn column(self, name: &str) -> Option<Column> {
        match (self, name) {
            (Log::Postgres, "remote_host") | (Log::Nginx, "host") => Some(Column::Attribute),
            _ => None,
        }
    }

    /// The kind of a line that says `message`, and the attributes that are in it.
    pub(super) fn kind(self, message: &str, sink: &mut EventSink) -> NameId {
        let name = match self {
            Log::Nginx => "nginx/request",
            Log::Postgres => postgres(message, sink),
        };
        sink.names.number(name)
    }
}

/// `duration: 1.5 ms  statement: select 1`, and what else PostgreSQL says of its work.
fn postgres(message: &str, sink: &mut EventSink) -> &'static str {
    let mut add = |name: &str, value: Value<'_>| {
        let name = sink.names.number(name);
        sink.piece.attribute(name, value);
    };
    let (mut kind, mut rest) = ("postgres/log", message);
    if let Some((milliseconds, behind)) =
        message.strip_prefix("duration: ").and_then(|text| text.split_once(" ms"))
        && let Ok(milliseconds) = milliseconds.parse::<f64>()
    {
        add("duration", Value::Int((milliseconds * 1e6).round() as i64));
        (kind, rest) = ("postgres/duration", behind.trim_start());
    }
    let is_done = kind == "postgres/duration";
    let (word, text) = rest.split_once(": ").unwrap_or((rest, ""));
    let word = word.split(' ').next().unwrap_or_default();
    match word {
        "statement" | "execute" | "parse" | "bind" if !text.is_empty() => {
            add("sql", Value::Text(text));
            add("phase", Value::Text(word));
            if is_done { kind } else { "postgres/statement" }
        }
        _ if is_done => kind,
        _ if message.starts_with("connection received") => "postgres/connection_received",
        _ if message.starts_with("connection authorized") => "postgres/connection_authorized",
        _ if message.starts_with("disconnection") => "postgres/disconnection",
        _ => kind,
    }
}
