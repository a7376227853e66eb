//! The steps of one path instance.

use analyze::paths::{CalledInstance, PathCall};
use message_trace::table::operations::OperationRow;
use message_trace::{Endpoint, TransportProtocol};

use crate::parameter;
use crate::request::{Request, RequestBuilder};
use crate::step::Step;
use crate::step_threads::StepThreads;
use out_of_core::{NameId, NameInterner};

/// Names of steps, with buffers that are reused.
#[derive(Default)]
pub(super) struct StepNames {
    names: NameInterner,
    /// The operation of a step, or the concatenated values of its parameters.
    text: String,
    /// Parameters of a step: the names, and where their values end in [`StepNames::text`].
    parameters: Vec<(NameId, usize)>,
}

impl StepNames {
    /// Writes the request of `instance` to `request`. `builder` is empty before and after.
    pub(super) fn build_request(
        &mut self,
        instance: &CalledInstance<'_>,
        builder: &mut RequestBuilder,
        request: &mut Request,
    ) {
        request.clear();
        for call in &instance.calls.calls {
            let step = self.build_step(instance, call);
            self.find_parameters(instance, call);
            let mut begin = 0;
            let values = self.parameters.iter().map(|(name, end)| {
                let value = self.text.get(begin..*end).unwrap_or_default();
                begin = *end;
                (*name, value)
            });
            builder.add_step(step, None, values);
        }
        builder.build(request);
        let which = instance.timed.which;
        request.probability = which.probability;
        (request.pattern, request.path) = (Some(which.pattern), Some(which.path));
        let sender = instance.sender(0);
        request.torn = !sender.is_some_and(|sender| sender.is_client);
        request.caller_host =
            sender.map_or(NameInterner::UNKNOWN, |node| self.names.intern(&node.host));
        request.caller = instance
            .hop_labels(0)
            .map_or(NameInterner::UNKNOWN, |labels| self.names.intern(labels.src));
    }

    /// Returns all names.
    pub(super) fn into_names(self) -> NameInterner {
        self.names
    }

    fn build_step(&mut self, instance: &CalledInstance<'_>, call: &PathCall) -> Step {
        let hops = instance.timed.hops;
        let request = &hops[call.request];
        let response = call.response.map(|response| &hops[response]);
        let labels = instance.hop_labels(call.request);
        let node = labels.map_or(NameInterner::UNKNOWN, |labels| self.names.intern(labels.dst));
        let operation = labels.map_or(NameInterner::UNKNOWN, |labels| match labels.operation {
            Some(name) => self.names.intern(name),
            None => {
                self.text.clear();
                write_operation(labels.dst, labels.dst_port, &mut self.text);
                self.names.intern(&self.text)
            }
        });
        let receiver = instance.receiver(call.request);
        let host = receiver
            .map_or(NameInterner::UNKNOWN, |receiver| self.names.intern(&receiver.node.host));
        let asked = instance.threads(call.request);
        let answered = call.response.map_or_else(Default::default, |hop| instance.threads(hop));
        let threads = StepThreads {
            process: asked.to_process,
            begin: asked.to,
            end: answered.from,
            caller_process: asked.from_process,
            caller_begin: asked.from,
            caller_end: answered.to,
        };
        Step {
            threads,
            parent: call.parent.map(|parent| parent as u32),
            host,
            begin: request.received,
            end: response.and_then(|response| response.sent),
            // The caller is occupied with the call from the time when it began to connect for it.
            caller_begin: request.sent.map(|sent| sent.saturating_sub(request.connecting)),
            caller_end: response.and_then(|response| response.received),
            failed: response.is_some_and(|response| response.is_error == Some(true)),
            probability: instance.timed.which.probability,
            bytes_in: Some(request.bytes),
            bytes_out: response.map(|response| response.bytes),
            ..Step::new(node, operation)
        }
    }

    /// Finds the parameters of the step of `call`.
    fn find_parameters(&mut self, instance: &CalledInstance<'_>, call: &PathCall) {
        self.text.clear();
        self.parameters.clear();
        if let Some(answer) = call.response.and_then(|hop| instance.operation(hop)) {
            self.add_parameter(OperationRow::status_attribute(answer.protocol), answer.status);
        }
        let hop = call.request;
        let Some((labels, receiver)) = instance.hop_labels(hop).zip(instance.receiver(hop)) else {
            return;
        };
        // An ephemeral port varies, so it is omitted.
        if !is_ephemeral(labels.dst_port) {
            let Ok(endpoint) = receiver.endpoint.parse::<Endpoint>();
            match endpoint {
                Endpoint::Inet(address) => {
                    self.add_parameter(parameter::SERVER_ADDRESS, &address.ip().to_string());
                    self.add_parameter(parameter::SERVER_PORT, &address.port().to_string());
                }
                // A name that varies with each start identifies nothing, like an ephemeral port.
                Endpoint::Unix(_) => {
                    let stable = labels.dst_port.strip_prefix("unix:").unwrap_or(labels.dst_port);
                    self.add_parameter(parameter::SERVER_ADDRESS, stable);
                }
                Endpoint::Other(name) => self.add_parameter(parameter::SERVER_ADDRESS, &name),
            }
        }
        self.add_parameter(parameter::NETWORK_TRANSPORT, transport_name(labels.protocol));
        let connecting = instance.timed.hops.get(hop).map_or(0, |hop| hop.connecting);
        if connecting > 0 {
            self.add_parameter(parameter::CONNECTING, &connecting.to_string());
        }
        if let Some(pid) = receiver.node.pid {
            self.add_parameter(parameter::PROCESS_PID, &pid.to_string());
        }
        if let Some(tid) = receiver.tid {
            self.add_parameter(parameter::THREAD_ID, &tid.to_string());
        }
    }

    fn add_parameter(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.text.push_str(value);
            self.parameters.push((self.names.intern(name), self.text.len()));
        }
    }
}

/// Writes the operation: the callee with its port or other endpoint, as in the span names of
/// `sockcap export otlp`.
fn write_operation(node: &str, port: &str, out: &mut String) {
    out.push_str(node);
    let ends_with_port = || node.strip_suffix(port).is_some_and(|name| name.ends_with(':'));
    if is_ephemeral(port) || node == port || ends_with_port() {
        return;
    }
    out.push(if port.bytes().all(|byte| byte.is_ascii_digit()) { ':' } else { ' ' });
    out.push_str(port);
}

/// Returns whether the label of a port stands for an unknown one.
fn is_ephemeral(port: &str) -> bool {
    matches!(port, "" | "*")
}

/// Returns OpenTelemetry's word for the transport of a protocol; empty if unknown.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_the_callee_with_its_endpoint() {
        let operation = |node: &str, port: &str| {
            let mut text = String::new();
            write_operation(node, port, &mut text);
            text
        };
        assert_eq!(operation("nginx", "18080"), "nginx:18080");
        assert_eq!(operation("web", "unix:/run/web"), "web unix:/run/web");
        assert_eq!(operation("10.0.0.2:53", "53"), "10.0.0.2:53");
        assert_eq!(operation("web", "*"), "web");
        assert_eq!(operation("cart", "GetCart"), "cart GetCart");
    }
}
