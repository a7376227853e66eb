//! What a call does as attributes of its span, by OpenTelemetry's conventions for HTTP, RPC,
//! databases and messaging. What has no attribute there has one that begins with `sockcap.`.
//!
//! Of RPC the names of the stable conventions are written, and beside them those that were used
//! before and say the same by another name, as back ends still look for these.

use message_trace::table::operations::OperationRow;

use super::attributes::Attributes;
use super::messages::{KeyValue, Status, StatusCode};
use crate::traces::{Said, Side};

/// What a protocol is to OpenTelemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Http,
    Rpc,
    /// A database whose requests are statements.
    Statements,
    /// A database whose requests are commands, each with what it is done to.
    Commands,
    Messaging(&'static str),
    Other,
}

/// Codes of gRPC, by their numbers.
const GRPC_CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

fn kind(protocol: &str) -> Kind {
    match protocol {
        "http" | "http2" | "websocket" | "fastcgi" => Kind::Http,
        "grpc" => Kind::Rpc,
        "postgresql" | "mysql" => Kind::Statements,
        "redis" | "memcached" | "mongodb" => Kind::Commands,
        "kafka" => Kind::Messaging("kafka"),
        // The one broker of AMQP 0-9-1 that the conventions know.
        "amqp" => Kind::Messaging("rabbitmq"),
        _ => Kind::Other,
    }
}

/// What a call says that it does, as the node on that side sees it.
pub(super) fn attributes(said: &Said<'_>, side: Side) -> Vec<KeyValue> {
    let mut all = Attributes::default();
    let (protocol, name, status) = (said.protocol(), said.name(), said.status());
    if protocol.is_empty() {
        return Vec::new();
    }
    let kind = kind(protocol);
    let (spoken, version) = match protocol {
        "http2" | "grpc" => ("http", "2"),
        other => (other, ""),
    };
    all.text("network.protocol.name", spoken);
    all.text("network.protocol.version", version);
    let (first, rest) = name.split_once(' ').unwrap_or((name, ""));
    match kind {
        Kind::Http if rest.starts_with('/') => {
            all.text("http.request.method", first);
            // What the client asked for is no route to it.
            all.text(if side == Side::Callee { "http.route" } else { "url.template" }, rest);
        }
        Kind::Rpc => {
            for key in ["rpc.system.name", "rpc.system"] {
                all.text(key, "grpc");
            }
            all.text("rpc.method", name);
            all.text("rpc.service", name.rsplit_once('/').map_or("", |(service, _)| service));
        }
        Kind::Statements => {
            all.text("db.system.name", protocol);
            all.text("db.query.summary", name);
            all.text("db.query.text", said.request.map_or("", |request| request.detail));
        }
        Kind::Commands => {
            all.text("db.system.name", protocol);
            all.text("db.operation.name", first);
            all.text("db.collection.name", rest);
        }
        Kind::Messaging(system) => {
            all.text("messaging.system", system);
            all.text("messaging.operation.name", first);
            all.text("messaging.operation.type", transferred(first));
            all.text("messaging.destination.name", rest);
        }
        Kind::Http | Kind::Other => all.text("sockcap.operation", name),
    }
    let key = OperationRow::status_attribute(protocol);
    match kind {
        Kind::Http => match status.parse() {
            Ok(code) => all.number(key, Some(code)),
            Err(_) => all.text("sockcap.status", status),
        },
        Kind::Rpc => {
            all.text(key, status);
            let code = GRPC_CODES.iter().position(|code| *code == status);
            all.number("rpc.grpc.status_code", code.and_then(|code| i64::try_from(code).ok()));
        }
        Kind::Statements | Kind::Commands if said.is_error(side) => {
            all.text(key, status);
        }
        _ => all.text("sockcap.status", status),
    }
    if said.is_error(side) {
        let other = if status.is_empty() { "_OTHER" } else { status };
        all.text("error.type", other);
    }
    all.into_list()
}

/// The status of a call's span: an error, or not set, as the conventions want it of servers and
/// clients that know of none.
pub(super) fn status(said: &Said<'_>, side: Side) -> Option<Status> {
    said.is_error(side).then_some(Status { code: StatusCode::Error as i32 })
}

/// OpenTelemetry's word for an operation that moves messages; empty for others.
fn transferred(operation: &str) -> &'static str {
    match operation {
        "Produce" | "basic.publish" => "send",
        "Fetch" | "basic.get" => "receive",
        "basic.deliver" => "process",
        "basic.ack" | "basic.reject" | "basic.nack" => "settle",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::messages::Value;
    use message_trace::table::operations::{OperationRole, OperationRow};

    /// A call of a protocol with this name, detail and status, which may be the server's error.
    fn said<'a>(protocol: &'a str, [name, detail, status]: [&'a str; 3], failed: bool) -> Said<'a> {
        let request = OperationRow {
            message: 0,
            role: OperationRole::Request,
            protocol,
            name,
            detail,
            status: "",
            is_error: false,
            call: None,
            trace_id: None,
            parent_id: None,
        };
        let response = OperationRow { name: "", detail: "", status, is_error: failed, ..request };
        Said { request: Some(request), response: Some(response) }
    }

    /// Its attributes, each as `key=value`.
    fn told(said: &Said<'_>, side: Side) -> Vec<String> {
        let value = |value: Value| match value {
            Value::StringValue(text) => text,
            Value::IntValue(number) => number.to_string(),
            Value::DoubleValue(number) => number.to_string(),
        };
        attributes(said, side)
            .into_iter()
            .map(|of| format!("{}={}", of.key, value(of.value.unwrap().value.unwrap())))
            .collect()
    }

    #[test]
    fn http_on_both_sides() {
        let not_found = said("http2", ["GET /cart/{}", "", "404"], false);
        let begin =
            ["network.protocol.name=http", "network.protocol.version=2", "http.request.method=GET"];
        let code = "http.response.status_code=404";
        let server = [&begin[..], &["http.route=/cart/{}", code]].concat();
        assert_eq!(told(&not_found, Side::Callee), server);
        let client = [&begin[..], &["url.template=/cart/{}", code, "error.type=404"]].concat();
        assert_eq!(told(&not_found, Side::Caller), client);
        assert_eq!(status(&not_found, Side::Callee), None);
        let error = Some(Status { code: 2 });
        assert_eq!(status(&not_found, Side::Caller), error);
        let failed = said("http", ["GET /cart/{}", "", "500"], true);
        assert_eq!(status(&failed, Side::Callee), error);
    }

    #[test]
    fn other_systems() {
        let of = |protocol, texts, failed| told(&said(protocol, texts, failed), Side::Callee);
        assert_eq!(
            of("grpc", ["shop.Cart/GetCart", "", "UNAVAILABLE"], true),
            [
                "network.protocol.name=http",
                "network.protocol.version=2",
                "rpc.system.name=grpc",
                "rpc.system=grpc",
                "rpc.method=shop.Cart/GetCart",
                "rpc.service=shop.Cart",
                "rpc.response.status_code=UNAVAILABLE",
                "rpc.grpc.status_code=14",
                "error.type=UNAVAILABLE",
            ]
        );
        assert_eq!(
            of("postgresql", ["SELECT books", "SELECT a FROM books WHERE b = ?", ""], false),
            [
                "network.protocol.name=postgresql",
                "db.system.name=postgresql",
                "db.query.summary=SELECT books",
                "db.query.text=SELECT a FROM books WHERE b = ?",
            ]
        );
        assert_eq!(
            of("mongodb", ["find books", "", "11000"], true),
            [
                "network.protocol.name=mongodb",
                "db.system.name=mongodb",
                "db.operation.name=find",
                "db.collection.name=books",
                "db.response.status_code=11000",
                "error.type=11000",
            ]
        );
        assert_eq!(
            of("kafka", ["Produce orders", "", ""], false),
            [
                "network.protocol.name=kafka",
                "messaging.system=kafka",
                "messaging.operation.name=Produce",
                "messaging.operation.type=send",
                "messaging.destination.name=orders",
            ]
        );
        assert_eq!(
            of("dns", ["A", "", "SERVFAIL"], true),
            [
                "network.protocol.name=dns",
                "sockcap.operation=A",
                "sockcap.status=SERVFAIL",
                "error.type=SERVFAIL",
            ]
        );
        assert_eq!(of("", ["", "", ""], false), [""; 0]);
    }
}
