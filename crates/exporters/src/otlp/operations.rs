//! The operation of a call as attributes of its span, by OpenTelemetry's conventions for HTTP, RPC,
//! databases and messaging. A fact for which the conventions have no attribute gets one that begins
//! with `sockcap.`.
//!
//! For RPC, the names of the stable conventions are written and, in addition, the earlier names
//! with the same meaning, as back ends still look for these.

use message_trace::table::operations::OperationRow;
use protocols::GRPC_STATUSES;

use super::attributes::OtlpAttributes;
use super::messages::{KeyValue, Status, StatusCode};
use crate::traces::{CallOperation, SpanSide};

/// The kind of a protocol in OpenTelemetry's conventions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SemanticKind {
    Http,
    Rpc,
    /// A database with statements as requests.
    Statements,
    /// A database with commands as requests, each with the object it is applied to.
    Commands,
    Messaging(&'static str),
    Other,
}

/// The kind of `protocol`, by its name in sockcap.
fn semantic_kind(protocol: &str) -> SemanticKind {
    match protocol {
        "http" | "http2" | "websocket" | "fastcgi" => SemanticKind::Http,
        "grpc" => SemanticKind::Rpc,
        "postgresql" | "mysql" => SemanticKind::Statements,
        "redis" | "memcached" | "mongodb" => SemanticKind::Commands,
        "kafka" => SemanticKind::Messaging("kafka"),
        // The only AMQP 0-9-1 broker in the conventions.
        "amqp" => SemanticKind::Messaging("rabbitmq"),
        _ => SemanticKind::Other,
    }
}

/// The attributes of a call's operation, as the node on `side` sees it.
pub(super) fn operation_attributes(operation: &CallOperation<'_>, side: SpanSide) -> Vec<KeyValue> {
    let mut all = OtlpAttributes::default();
    let (protocol, name, status) = (operation.protocol(), operation.name(), operation.status());
    if protocol.is_empty() {
        return Vec::new();
    }
    let kind = semantic_kind(protocol);
    let (spoken, version) = match protocol {
        "http2" | "grpc" => ("http", "2"),
        other => (other, ""),
    };
    all.add_text("network.protocol.name", spoken);
    all.add_text("network.protocol.version", version);
    let (first, rest) = name.split_once(' ').unwrap_or((name, ""));
    match kind {
        SemanticKind::Http if rest.starts_with('/') => {
            all.add_text("http.request.method", first);
            // For the client, the requested path is not a route.
            all.add_text(
                if side == SpanSide::Callee { "http.route" } else { "url.template" },
                rest,
            );
        }
        SemanticKind::Rpc => {
            for key in ["rpc.system.name", "rpc.system"] {
                all.add_text(key, "grpc");
            }
            all.add_text("rpc.method", name);
            all.add_text("rpc.service", name.rsplit_once('/').map_or("", |(service, _)| service));
        }
        SemanticKind::Statements => {
            all.add_text("db.system.name", protocol);
            all.add_text("db.query.summary", name);
            all.add_text("db.query.text", operation.request.map_or("", |request| request.detail));
        }
        SemanticKind::Commands => {
            all.add_text("db.system.name", protocol);
            all.add_text("db.operation.name", first);
            all.add_text("db.collection.name", rest);
        }
        SemanticKind::Messaging(system) => {
            all.add_text("messaging.system", system);
            all.add_text("messaging.operation.name", first);
            all.add_text("messaging.operation.type", messaging_operation(first));
            all.add_text("messaging.destination.name", rest);
        }
        SemanticKind::Http | SemanticKind::Other => all.add_text("sockcap.operation", name),
    }
    let key = OperationRow::status_attribute(protocol);
    match kind {
        SemanticKind::Http => match status.parse() {
            Ok(code) => all.add_number(key, Some(code)),
            Err(_) => all.add_text("sockcap.status", status),
        },
        SemanticKind::Rpc => {
            all.add_text(key, status);
            let code = GRPC_STATUSES.iter().position(|code| *code == status);
            all.add_number("rpc.grpc.status_code", code.and_then(|code| i64::try_from(code).ok()));
        }
        SemanticKind::Statements | SemanticKind::Commands if operation.is_error(side) => {
            all.add_text(key, status);
        }
        _ => all.add_text("sockcap.status", status),
    }
    if operation.is_error(side) {
        let other = if status.is_empty() { "_OTHER" } else { status };
        all.add_text("error.type", other);
    }
    all.into_list()
}

/// The status of a call's span: an error, or not set, as the conventions ask of servers and clients
/// without a known error.
pub(super) fn span_status(operation: &CallOperation<'_>, side: SpanSide) -> Option<Status> {
    operation.is_error(side).then_some(Status { code: StatusCode::Error as i32 })
}

/// OpenTelemetry's name of an operation that moves messages; empty for other operations.
fn messaging_operation(operation: &str) -> &'static str {
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
    fn operation<'a>(
        protocol: &'a str,
        [name, detail, status]: [&'a str; 3],
        failed: bool,
    ) -> CallOperation<'a> {
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
        CallOperation { request: Some(request), response: Some(response) }
    }

    /// Attributes of a call, each as `key=value`.
    fn attributes_in_words(operation: &CallOperation<'_>, side: SpanSide) -> Vec<String> {
        let value = |value: Value| match value {
            Value::StringValue(text) => text,
            Value::IntValue(number) => number.to_string(),
            Value::DoubleValue(number) => number.to_string(),
        };
        operation_attributes(operation, side)
            .into_iter()
            .map(|of| format!("{}={}", of.key, value(of.value.unwrap().value.unwrap())))
            .collect()
    }

    #[test]
    fn http_on_both_sides() {
        let not_found = operation("http2", ["GET /cart/{}", "", "404"], false);
        let begin =
            ["network.protocol.name=http", "network.protocol.version=2", "http.request.method=GET"];
        let code = "http.response.status_code=404";
        let server = [&begin[..], &["http.route=/cart/{}", code]].concat();
        assert_eq!(attributes_in_words(&not_found, SpanSide::Callee), server);
        let client = [&begin[..], &["url.template=/cart/{}", code, "error.type=404"]].concat();
        assert_eq!(attributes_in_words(&not_found, SpanSide::Caller), client);
        assert_eq!(span_status(&not_found, SpanSide::Callee), None);
        let error = Some(Status { code: 2 });
        assert_eq!(span_status(&not_found, SpanSide::Caller), error);
        let failed = operation("http", ["GET /cart/{}", "", "500"], true);
        assert_eq!(span_status(&failed, SpanSide::Callee), error);
    }

    #[test]
    fn other_systems() {
        let of = |protocol, texts, failed| {
            attributes_in_words(&operation(protocol, texts, failed), SpanSide::Callee)
        };
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
