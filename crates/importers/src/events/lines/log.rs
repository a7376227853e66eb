//! Server logs as events: PostgreSQL's (`log_destination = 'jsonlog'` or `'csvlog'`) and nginx's
//! access log in JSON. The text of a message determines the kind and attributes.

use std::str::FromStr;

use ::events::AttributeValue;
use out_of_core::NameId;

use super::column::EventColumn;
use crate::events::sink::EventSink;
use crate::events::value::ParsedValue;

/// Kind of server log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerLog {
    /// PostgreSQL's log.
    Postgres,
    /// nginx's access log.
    Nginx,
}

impl ServerLog {
    /// All kinds, in the order of help.
    pub(super) const ALL: [ServerLog; 2] = [ServerLog::Postgres, ServerLog::Nginx];

    /// The name on the command line.
    pub(super) fn name(self) -> &'static str {
        match self {
            ServerLog::Postgres => "postgres",
            ServerLog::Nginx => "nginx",
        }
    }
}

impl FromStr for ServerLog {
    type Err = String;

    fn from_str(text: &str) -> Result<ServerLog, String> {
        ServerLog::ALL
            .into_iter()
            .find(|log| log.name() == text)
            .ok_or_else(|| format!("'{text}' is not such a program; choose postgres or nginx"))
    }
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

impl ServerLog {
    /// Meaning of a column, if it differs from that of other files.
    pub(super) fn column_of_name(self, name: &str) -> Option<EventColumn> {
        match (self, name) {
            (ServerLog::Postgres, "remote_host") | (ServerLog::Nginx, "host") => {
                Some(EventColumn::Attribute)
            }
            _ => None,
        }
    }

    /// Converts an attribute to the name and unit of event schemas: durations are in nanoseconds.
    pub(super) fn convert_attribute(
        self,
        name: &str,
        value: &ParsedValue<'_>,
    ) -> Option<(&'static str, i64)> {
        match (self, name, value) {
            (ServerLog::Nginx, "connection_requests", ParsedValue::Int(number)) => {
                Some(("request_number", *number))
            }
            (ServerLog::Nginx, "request_time", ParsedValue::Int(seconds)) => {
                Some(("duration", seconds.saturating_mul(1_000_000_000)))
            }
            (ServerLog::Nginx, "request_time", ParsedValue::Real(seconds)) => {
                Some(("duration", (seconds * 1e9).round() as i64))
            }
            _ => None,
        }
    }

    /// Kind of a line with `message` and that severity; attributes in the message are added to the
    /// sink.
    pub(super) fn event_kind(self, message: &str, severity: &str, sink: &mut EventSink) -> NameId {
        let name = match self {
            ServerLog::Nginx => "nginx/access",
            ServerLog::Postgres => postgres_kind(message, severity, sink),
        };
        sink.names.intern(name)
    }
}

/// Kind of the event for a message of PostgreSQL on its work, such as `duration: 1.5 ms  statement:
/// select 1`.
fn postgres_kind(message: &str, severity: &str, sink: &mut EventSink) -> &'static str {
    if ["ERROR", "FATAL", "PANIC"].contains(&severity) {
        return "postgresql/error";
    }
    let mut add = |name: &str, value: AttributeValue<'_>| {
        let name = sink.names.intern(name);
        sink.batch.push_attribute(name, value);
    };
    let duration = message.strip_prefix("duration: ").and_then(|text| text.split_once(" ms"));
    let duration = duration.and_then(|(ms, rest)| Some((ms.parse::<f64>().ok()?, rest)));
    let rest = match duration {
        Some((milliseconds, rest)) => {
            add("duration", AttributeValue::Int((milliseconds * 1e6).round() as i64));
            rest.trim_start()
        }
        None => message,
    };
    let (word, text) = rest.split_once(": ").unwrap_or((rest.trim_end_matches(":\n"), ""));
    let word = word.split([' ', ':', '\n']).next().unwrap_or_default();
    if matches!(word, "statement" | "execute" | "parse" | "bind") && !text.is_empty() {
        add("statement", AttributeValue::Text(text));
    }
    match (duration.is_some(), word) {
        (true, "plan") => "postgresql/plan",
        (true, "parse") => "postgresql/parse",
        (true, "bind") => "postgresql/bind",
        (true, _) => "postgresql/statement",
        (false, "statement" | "execute") if !text.is_empty() => "postgresql/statement_begins",
        (false, "temporary") => "postgresql/temporary_file",
        (false, "process") => "postgresql/lock",
        (false, "disconnection") => "postgresql/disconnection",
        _ if message.starts_with("connection received") => "postgresql/connection_received",
        _ if message.starts_with("connection authorized") => "postgresql/connection_authorized",
        _ => "postgresql/log",
    }
}
