//! The attributes of nodes and spans. They have the names of OpenTelemetry's conventions or, where
//! there is none, names that begin with `sockcap.`.

use std::net::SocketAddr;

use analyze::calls::windows::Party;
use message_trace::Protocol;

use super::messages::{AnyValue, KeyValue, Value};
use crate::traces::{Side, Span};

/// The attribute of that name.
pub(super) fn named(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

/// A list of attributes. An attribute whose value is unknown is left out.
#[derive(Default)]
pub(super) struct Attributes(Vec<KeyValue>);

impl Attributes {
    pub(super) fn add(&mut self, key: &str, value: Option<Value>) {
        self.0.extend(value.map(|value| named(key, value)));
    }

    pub(super) fn text(&mut self, key: &str, text: &str) {
        self.add(key, (!text.is_empty()).then(|| Value::StringValue(text.to_owned())));
    }

    pub(super) fn number(&mut self, key: &str, number: Option<i64>) {
        self.add(key, number.map(Value::IntValue));
    }

    /// The list.
    pub(super) fn into_list(self) -> Vec<KeyValue> {
        self.0
    }

    /// Adds an endpoint: an address and a port as two attributes, any other kind as one text.
    fn endpoint(&mut self, address_key: &str, port_key: &str, endpoint: Option<&str>) {
        let Some(endpoint) = endpoint else { return };
        match endpoint.parse::<SocketAddr>() {
            Ok(address) => {
                self.text(address_key, &address.ip().to_string());
                self.number(port_key, Some(address.port().into()));
            }
            Err(_) => self.text(address_key, endpoint.strip_prefix("unix:").unwrap_or(endpoint)),
        }
    }
}

/// The attributes of a node, which is a resource to OpenTelemetry.
pub(super) fn of_party(party: &Party) -> Vec<KeyValue> {
    let mut all = Attributes::default();
    all.text("service.name", &party.name);
    all.text("host.name", &party.host);
    all.number("process.pid", party.pid.map(i64::from));
    all.text("process.executable.name", &party.command);
    all.text("process.executable.path", &party.executable);
    all.into_list()
}

/// The attributes of a call at one of its nodes.
pub(super) fn of_span(span: &Span<'_>, parties: &[Party]) -> Vec<KeyValue> {
    let call = span.call;
    let mut all = Attributes::default();
    all.add("sockcap.probability", call.probability.map(Value::DoubleValue));
    all.number("sockcap.call", Some(call.number as i64));
    all.text("sockcap.call_id", call.id.unwrap_or_default());
    if call.request.is_none() || call.response.is_none() {
        let missing = if call.response.is_none() { "response" } else { "request" };
        all.text("sockcap.not_seen", missing);
    }
    all.number("sockcap.request.bytes", call.request.map(|request| request.bytes));
    all.number("sockcap.response.bytes", call.response.map(|response| response.bytes));
    if let Some(peer) = parties.get(span.peer()) {
        all.text("peer.service", &peer.name);
        all.text("sockcap.peer.host", &peer.host);
        all.text("sockcap.peer.command", &peer.command);
        all.number("sockcap.peer.pid", peer.pid.map(i64::from));
    }
    let (caller, callee) = (call.src_endpoint, call.dst_endpoint);
    let (local, peer) = match span.side {
        Side::Caller => (caller, callee),
        Side::Callee => (callee, caller),
    };
    all.endpoint("server.address", "server.port", callee);
    if span.side == Side::Callee {
        all.endpoint("client.address", "client.port", caller);
    }
    all.endpoint("network.local.address", "network.local.port", local);
    all.endpoint("network.peer.address", "network.peer.port", peer);
    all.text("network.transport", transport(call.protocol));
    all.text("sockcap.protocol", call.protocol.name());
    let address = callee.or(caller).and_then(|endpoint| endpoint.parse::<SocketAddr>().ok());
    all.text(
        "network.type",
        address.map_or("", |address| if address.is_ipv4() { "ipv4" } else { "ipv6" }),
    );
    all.number("thread.id", span.thread().map(i64::from));
    all.into_list()
}

/// OpenTelemetry's word for what a protocol runs over; empty if that is unknown.
fn transport(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
        Protocol::UnixStream | Protocol::UnixDatagram | Protocol::UnixSequence => "unix",
        Protocol::Sctp | Protocol::Vsock | Protocol::Other => "",
    }
}
