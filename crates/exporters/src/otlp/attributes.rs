//! The attributes of nodes and spans. Their names are from OpenTelemetry's conventions or, if no
//! convention exists, begin with `sockcap.`.

use std::net::SocketAddr;

use analyze::calls::windows::Party;
use message_trace::TransportProtocol;

use super::messages::{AnyValue, KeyValue, Value};
use crate::traces::{ExportedSpan, SpanSide};

/// An attribute with the name `key`.
pub(super) fn named_attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

/// A list of attributes. Attributes with unknown values are left out.
#[derive(Default)]
pub(super) struct OtlpAttributes(Vec<KeyValue>);

impl OtlpAttributes {
    pub(super) fn add(&mut self, key: &str, value: Option<Value>) {
        self.0.extend(value.map(|value| named_attribute(key, value)));
    }

    pub(super) fn add_text(&mut self, key: &str, text: &str) {
        self.add(key, (!text.is_empty()).then(|| Value::StringValue(text.to_owned())));
    }

    pub(super) fn add_number(&mut self, key: &str, number: Option<i64>) {
        self.add(key, number.map(Value::IntValue));
    }

    /// Returns the attributes as a list.
    pub(super) fn into_list(self) -> Vec<KeyValue> {
        self.0
    }

    /// Adds an endpoint: an address and a port as two attributes, any other kind as one text.
    fn add_endpoint(&mut self, address_key: &str, port_key: &str, endpoint: Option<&str>) {
        let Some(endpoint) = endpoint else { return };
        match endpoint.parse::<SocketAddr>() {
            Ok(address) => {
                self.add_text(address_key, &address.ip().to_string());
                self.add_number(port_key, Some(address.port().into()));
            }
            Err(_) => {
                self.add_text(address_key, endpoint.strip_prefix("unix:").unwrap_or(endpoint))
            }
        }
    }
}

/// The attributes of a node, which is a resource in OpenTelemetry.
pub(super) fn party_attributes(party: &Party) -> Vec<KeyValue> {
    let mut all = OtlpAttributes::default();
    all.add_text("service.name", &party.name);
    all.add_text("host.name", &party.host);
    all.add_number("process.pid", party.pid.map(i64::from));
    all.add_text("process.executable.name", &party.command);
    all.add_text("process.executable.path", &party.executable);
    all.into_list()
}

/// The attributes of a call at one of its nodes.
pub(super) fn span_attributes(span: &ExportedSpan<'_>, parties: &[Party]) -> Vec<KeyValue> {
    let call = span.call;
    let mut all = OtlpAttributes::default();
    all.add("sockcap.probability", call.probability.map(Value::DoubleValue));
    all.add_number("sockcap.call", Some(call.number as i64));
    all.add_text("sockcap.call_id", call.id.unwrap_or_default());
    if call.request.is_none() || call.response.is_none() {
        let missing = if call.response.is_none() { "response" } else { "request" };
        all.add_text("sockcap.not_seen", missing);
    }
    all.add_number("sockcap.request.bytes", call.request.map(|request| request.bytes));
    all.add_number("sockcap.response.bytes", call.response.map(|response| response.bytes));
    if let Some(peer) = parties.get(span.peer_index()) {
        all.add_text("peer.service", &peer.name);
        all.add_text("sockcap.peer.host", &peer.host);
        all.add_text("sockcap.peer.command", &peer.command);
        all.add_number("sockcap.peer.pid", peer.pid.map(i64::from));
    }
    let (caller, callee) = (call.src_endpoint, call.dst_endpoint);
    let (local, peer) = match span.side {
        SpanSide::Caller => (caller, callee),
        SpanSide::Callee => (callee, caller),
    };
    all.add_endpoint("server.address", "server.port", callee);
    if span.side == SpanSide::Callee {
        all.add_endpoint("client.address", "client.port", caller);
    }
    all.add_endpoint("network.local.address", "network.local.port", local);
    all.add_endpoint("network.peer.address", "network.peer.port", peer);
    all.add_text("network.transport", transport_name(call.protocol));
    all.add_text("sockcap.protocol", call.protocol.name());
    let address = callee.or(caller).and_then(|endpoint| endpoint.parse::<SocketAddr>().ok());
    all.add_text(
        "network.type",
        address.map_or("", |address| if address.is_ipv4() { "ipv4" } else { "ipv6" }),
    );
    all.add_number("thread.id", span.thread().map(i64::from));
    all.into_list()
}

/// OpenTelemetry's name of the transport that a protocol runs over; empty if it is unknown.
fn transport_name(protocol: TransportProtocol) -> &'static str {
    match protocol {
        TransportProtocol::Tcp => "tcp",
        TransportProtocol::Udp => "udp",
        TransportProtocol::UnixStream
        | TransportProtocol::UnixDatagram
        | TransportProtocol::UnixSequence => "unix",
        TransportProtocol::Sctp | TransportProtocol::Vsock | TransportProtocol::Other => "",
    }
}
