//! Attributes with a meaning in OpenTelemetry's conventions, current and earlier ones. An attribute
//! that becomes part of a span or a resource is not a parameter as well.

use std::borrow::Cow;

use request_flow::spans::SpanResource;

/// Names and values as recorded.
pub(super) type SpanAttributes<'t> = Vec<(Cow<'t, str>, Cow<'t, str>)>;

/// Facts from the attributes of a span, other than its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AttributeFacts<'t> {
    pub(super) bytes_in: Option<i64>,
    pub(super) bytes_out: Option<i64>,
    pub(super) probability: Option<f64>,
    /// Names of the node at the other end of a call, the best first.
    peers: [Option<&'t str>; 5],
    /// Ports of the second and the third name.
    ports: [Option<&'t str>; 2],
}

impl<'t> AttributeFacts<'t> {
    /// Notes the fact that an attribute states, if it is one; returns whether the attribute has to
    /// be a parameter as well.
    pub(super) fn take_attribute(&mut self, name: &str, value: &'t str) -> bool {
        let slot = match name {
            "sockcap.probability" => return set_once(&mut self.probability, value),
            "sockcap.request.bytes"
            | "http.request.body.size"
            | "http.request.size"
            | "http.request_content_length"
            | "messaging.message.body.size"
            | "messaging.message.payload_size_bytes"
            | "messaging.message_payload_size_bytes" => return set_once(&mut self.bytes_in, value),
            "sockcap.response.bytes"
            | "http.response.body.size"
            | "http.response.size"
            | "http.response_content_length" => return set_once(&mut self.bytes_out, value),
            "peer.service" => &mut self.peers[0],
            "server.address" => &mut self.peers[1],
            "net.peer.name" | "peer.hostname" => &mut self.peers[2],
            "db.system.name" | "db.system" => &mut self.peers[3],
            "messaging.system" => &mut self.peers[4],
            "server.port" => &mut self.ports[0],
            "net.peer.port" => &mut self.ports[1],
            _ => return true,
        };
        *slot = Some(value).filter(|value| !value.is_empty()).or(*slot);
        true
    }

    /// The calling node, as the called node names it.
    pub(super) fn calling_node(&self) -> Option<Cow<'t, str>> {
        self.peers[0].map(Cow::Borrowed)
    }

    /// The called node, as its caller names it.
    pub(super) fn called_node(&self) -> Option<Cow<'t, str>> {
        let [service, server, net_peer, others @ ..] = self.peers;
        let [server_port, net_peer_port] = self.ports;
        let with_port = |name: Option<&'t str>, port: Option<&str>| match (name?, port) {
            (name, None | Some("0")) => Some(Cow::Borrowed(name)),
            (name, Some(port)) => Some(Cow::Owned(format!("{name}:{port}"))),
        };
        let others = || others.into_iter().flatten().next().map(Cow::Borrowed);
        service
            .map(Cow::Borrowed)
            .or_else(|| with_port(server, server_port))
            .or_else(|| with_port(net_peer, net_peer_port))
            .or_else(others)
    }
}

/// Sets a value that is not set yet; returns whether the value could not be used.
fn set_once<T: std::str::FromStr>(slot: &mut Option<T>, value: &str) -> bool {
    match (&slot, value.parse()) {
        (None, Ok(value)) => {
            *slot = Some(value);
            false
        }
        _ => true,
    }
}

/// Resource (service, host and shared parameters of spans) with these attributes.
///
/// The host of the resource is the one that has its clock. A pod or a container has no clock of its
/// own: if its name is given as the host's, the name of its machine is the better one.
pub(super) fn resource_of_attributes<'t>(attributes: &'t SpanAttributes<'_>) -> SpanResource<'t> {
    let value = |name: &'static str| {
        let found = attributes.iter().find(|(key, value)| key == name && !value.is_empty());
        found.map(|(_, value)| (name, value.as_ref()))
    };
    let text = |name| value(name).map_or("", |(_, value)| value);
    let node = value("service.name").or_else(|| value("process.executable.name"));
    let (pod, container) = (text("k8s.pod.name"), text("container.id"));
    let machine = |(_, host): &(&str, &str)| {
        *host != pod && !(host.len() >= 12 && container.starts_with(host))
    };
    let host = value("host.name")
        .filter(machine)
        .or_else(|| value("k8s.node.name"))
        .or_else(|| value("host.id"))
        .or_else(|| value("host.name"));
    let is_used = |key: &str| [node, host].iter().flatten().any(|(name, _)| *name == key);
    SpanResource {
        node: node.map_or(UNKNOWN_SERVICE, |(_, value)| value),
        host: host.map_or("", |(_, value)| value),
        parameters: attributes
            .iter()
            .filter(|(key, _)| !is_used(key))
            .map(|(key, value)| (key.as_ref(), Cow::Borrowed(value.as_ref())))
            .collect(),
    }
}

/// OpenTelemetry's name for a service without a name.
const UNKNOWN_SERVICE: &str = "unknown_service";

#[cfg(test)]
mod tests {
    use super::*;

    fn facts_and_parameters<'t>(
        attributes: &[(&str, &'t str)],
    ) -> (AttributeFacts<'t>, Vec<&'t str>) {
        let mut facts = AttributeFacts::default();
        let parameters =
            attributes.iter().filter(|(name, value)| facts.take_attribute(name, value));
        let parameters = parameters.map(|(_, value)| *value).collect();
        (facts, parameters)
    }

    #[test]
    fn sizes_and_probability_are_not_parameters() {
        let (facts, parameters) = facts_and_parameters(&[
            ("http.request_content_length", "12"),
            ("http.request.body.size", "13"),
            ("http.response.body.size", "many"),
            ("sockcap.response.bytes", "5"),
            ("sockcap.probability", "0.25"),
            ("http.route", "/x"),
        ]);
        assert_eq!(
            (facts.bytes_in, facts.bytes_out, facts.probability),
            (Some(12), Some(5), Some(0.25))
        );
        assert_eq!(parameters, ["13", "many", "/x"]);
    }

    #[test]
    fn the_best_name_of_a_peer_is_taken() {
        let peer =
            |attributes: &[(&str, &'static str)]| facts_and_parameters(attributes).0.called_node();
        let mut all = vec![
            ("messaging.system", "kafka"),
            ("db.system", "redis"),
            ("net.peer.name", "cache"),
            ("net.peer.port", "6379"),
            ("server.address", "cache.local"),
            ("server.port", "0"),
            ("peer.service", "sessions"),
        ];
        let mut peers = Vec::new();
        while !all.is_empty() {
            peers.push(peer(&all).unwrap());
            all.pop();
        }
        let expected =
            ["sessions", "cache.local", "cache.local", "cache:6379", "cache", "redis", "kafka"];
        assert_eq!(peers, expected);
        assert_eq!(peer(&[("http.route", "/")]), None);
        assert_eq!(peer(&[("peer.service", ""), ("db.system.name", "mysql")]).unwrap(), "mysql");
    }

    fn describe_resource(
        attributes: &[(&'static str, &'static str)],
    ) -> (String, String, Vec<String>) {
        let attributes: SpanAttributes<'_> =
            attributes.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let resource = resource_of_attributes(&attributes);
        let parameters = resource.parameters.iter().map(|(key, _)| (*key).to_owned()).collect();
        (resource.node.to_owned(), resource.host.to_owned(), parameters)
    }

    fn names(node: &str, host: &str, parameters: &[&str]) -> (String, String, Vec<String>) {
        (node.into(), host.into(), parameters.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn a_resource_is_a_service_on_a_host() {
        let all = [
            ("process.executable.name", "python3"),
            ("service.name", "cart"),
            ("host.id", "7f"),
            ("host.name", "web1"),
            ("k8s.pod.name", "cart-1"),
        ];
        let others = ["process.executable.name", "host.id", "k8s.pod.name"];
        assert_eq!(describe_resource(&all), names("cart", "web1", &others));
        assert_eq!(describe_resource(&all[..1]), names("python3", "", &[]));
        assert_eq!(describe_resource(&[("host.id", "7f")]), names("unknown_service", "7f", &[]));
        assert_eq!(
            describe_resource(&[("service.name", "")]),
            names("unknown_service", "", &["service.name"])
        );
    }

    #[test]
    fn the_machine_is_preferred_as_host_over_pod_or_container() {
        let pod = [("host.name", "cart-1"), ("k8s.pod.name", "cart-1"), ("k8s.node.name", "n1")];
        assert_eq!(
            describe_resource(&pod),
            names("unknown_service", "n1", &["host.name", "k8s.pod.name"])
        );
        assert_eq!(
            describe_resource(&pod[..2]),
            names("unknown_service", "cart-1", &["k8s.pod.name"])
        );
        let container =
            [("host.name", "0123456789ab"), ("container.id", "0123456789abcdef"), ("host.id", "m")];
        assert_eq!(
            describe_resource(&container),
            names("unknown_service", "m", &["host.name", "container.id"])
        );
    }
}
