//! Names and hosts of the nodes of a trace before any grain is chosen: the user's names
//! ([`super::Aliases`]), if given. An untraced node belongs to the host that is known to have its
//! address.
//!
//! A node without a known process is known by an address or a name only. If the user gives one name
//! to several such nodes, they are one node.

use std::net::{IpAddr, SocketAddr};

use message_trace::{Endpoint, FROM_CONNECTING, Message, MessageTrace, Node, NodeId, NodeList};
use rustc_hash::FxHashMap;

use super::Aliases;

/// Names of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeIdentity<'a> {
    /// The node's host.
    pub(super) host: &'a str,
    /// The user's name of the host.
    pub(super) host_alias: Option<&'a str>,
    /// The name of the program.
    pub(super) name: String,
    /// Whether the name is the user's, given regardless of host.
    pub(super) is_alias: bool,
    /// Whether the name is unambiguous without the host.
    pub(super) is_unambiguous: bool,
    /// The first of the nodes that are one node with this one.
    pub(super) first_same: NodeId,
}

/// Returns the names of every node of `trace`.
pub(super) fn identify_nodes<'a>(
    trace: &'a MessageTrace,
    aliases: &'a Aliases,
) -> Vec<NodeIdentity<'a>> {
    let owners = AddressOwners::from_trace(trace);
    let at_endpoints = named_by_endpoint(trace, aliases);
    let many_hosts = trace.nodes.on_many_hosts();
    let mut first: FxHashMap<(String, bool), NodeId> = FxHashMap::default();
    let mut identities: Vec<NodeIdentity> = Vec::with_capacity(trace.nodes.len());
    for (id, node) in trace.nodes.0.iter().enumerate() {
        let id = NodeId::from_index(id);
        let of_endpoint = at_endpoints.get(id.index()).copied().flatten();
        let (mut of_node, is_one) =
            identify_node(node, of_endpoint, aliases, |address| match address {
                // A loopback address belongs to the host of its peers.
                address if address.is_loopback() => owners.host_of_peers(id).filter(|_| many_hosts),
                address => owners.host_of_address(address),
            });
        of_node.first_same = match is_one && node.pid.is_none() {
            true => *first.entry((of_node.name.clone(), node.traced)).or_insert(id),
            false => id,
        };
        identities.push(of_node);
    }
    identities
}

/// Returns the nodes of `trace` with the user's names for hosts and commands; other names stay as
/// captured.
pub fn apply_aliases(trace: &MessageTrace, aliases: &Aliases) -> NodeList {
    let identities = identify_nodes(trace, aliases);
    let rename = |(node, identity): (&Node, NodeIdentity)| Node {
        host: identity.host_alias.map_or_else(|| node.host.clone(), str::to_owned),
        command: if identity.is_alias { identity.name } else { node.command.clone() },
        ..node.clone()
    };
    NodeList(trace.nodes.0.iter().zip(identities).map(rename).collect())
}

/// Identifies `node`, which has an endpoint that the user calls `of_endpoint`; `host_of_address`
/// returns the host that has an address. Also returns whether all nodes with this name and without
/// a process are one node, because the user named their address or endpoint.
fn identify_node<'a>(
    node: &'a Node,
    of_endpoint: Option<&'a str>,
    aliases: &'a Aliases,
    host_of_address: impl Fn(IpAddr) -> Option<&'a str>,
) -> (NodeIdentity<'a>, bool) {
    let address = node.host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
    // The traced host that an untraced node runs on.
    let address_host = address.filter(|_| !node.traced).and_then(host_of_address);
    let by_address = address.and_then(|address| aliases.address(address));
    let host_alias = by_address.or_else(|| aliases.host(address_host.unwrap_or(&node.host)));
    let host = host_alias.or(address_host).unwrap_or(&node.host);
    let identity = |name: &str, is_alias, is_unambiguous| NodeIdentity {
        host,
        host_alias,
        name: name.to_owned(),
        is_alias,
        is_unambiguous,
        first_same: NodeId::default(),
    };
    let by_endpoint =
        of_endpoint.or_else(|| aliases.endpoint(&node.command).filter(|_| !node.traced));
    if let Some(name) = by_endpoint {
        return (identity(name, true, true), true);
    }
    let is_host = node.command.is_empty() || node.command == node.host;
    if let Some(name) = aliases.command(&node.command) {
        return (identity(name, true, !node.traced || is_host), false);
    }
    // The program is only known by its host, or an untraced one by its address: the host's alias
    // names it, too.
    let port = node
        .command
        .parse::<SocketAddr>()
        .ok()
        .filter(|end| Some(end.ip().to_canonical()) == address);
    match (host_alias, address_host, port) {
        (Some(alias), ..) if is_host || port.is_some() => (identity(alias, true, true), true),
        (None, Some(host), Some(end)) => {
            (identity(&format!("{host}:{}", end.port()), false, true), false)
        }
        _ if is_host => (identity(host, false, true), false),
        _ => (identity(&node.command, false, !node.traced), false),
    }
}

/// The traced hosts to which addresses belong.
struct AddressOwners<'a> {
    /// The host with each address; `None` if several hosts have it.
    addresses: FxHashMap<IpAddr, Option<&'a str>>,
    /// The host of the peers of each untraced node.
    peers: Vec<Option<&'a str>>,
}

impl<'a> AddressOwners<'a> {
    fn from_trace(trace: &'a MessageTrace) -> AddressOwners<'a> {
        // Each endpoint is examined once for each change of its node, which is nearly once.
        let mut last: Vec<Option<NodeId>> = vec![None; trace.endpoints().len()];
        let mut owners =
            AddressOwners { addresses: FxHashMap::default(), peers: vec![None; trace.nodes.len()] };
        let is_traced: Vec<bool> = trace.nodes.0.iter().map(|node| node.traced).collect();
        let traced = |id: NodeId| is_traced.get(id.index()).copied().unwrap_or(false);
        let host = |id: NodeId| trace.nodes.get(id).map_or("", |node| node.host.as_str());
        for message in trace.messages() {
            let Message { src, dst, src_endpoint, dst_endpoint, .. } = message;
            for (node, endpoint, peer) in [(src, src_endpoint, dst), (dst, dst_endpoint, src)] {
                if !traced(node) {
                    if let Some(of) = owners.peers.get_mut(node.index())
                        && of.is_none()
                        && traced(peer)
                    {
                        *of = Some(host(peer));
                    }
                    continue;
                }
                let Some(known) =
                    last.get_mut(endpoint.index()).filter(|known| **known != Some(node))
                else {
                    continue;
                };
                *known = Some(node);
                if let Some(Endpoint::Inet(address)) = trace.endpoint(endpoint) {
                    let own = host(node);
                    let owner =
                        owners.addresses.entry(address.ip().to_canonical()).or_insert(Some(own));
                    // Several hosts have the address: it is private and identifies none of them.
                    *owner = owner.filter(|owner| *owner == own);
                }
            }
        }
        owners
    }

    /// Returns the host that has `address`.
    fn host_of_address(&self, address: IpAddr) -> Option<&'a str> {
        let anywhere = match address {
            IpAddr::V4(address) => address.is_link_local() || address.is_unspecified(),
            IpAddr::V6(address) => address.is_unicast_link_local() || address.is_unspecified(),
        };
        self.addresses.get(&address).copied().flatten().filter(|_| !anywhere)
    }

    /// Returns the host of the peers of an untraced node.
    fn host_of_peers(&self, node: NodeId) -> Option<&'a str> {
        self.peers.get(node.index()).copied().flatten()
    }
}

/// Returns for each node the user's name of an endpoint at which it accepts, if there is one. Empty
/// if the user named no endpoints.
fn named_by_endpoint<'a>(trace: &MessageTrace, aliases: &'a Aliases) -> Vec<Option<&'a str>> {
    if !aliases.has_endpoints() {
        return Vec::new();
    }
    let names: Vec<Option<&str>> =
        trace.endpoints().iter().map(|endpoint| aliases.endpoint(&endpoint.to_string())).collect();
    let mut of_nodes = vec![None; trace.nodes.len()];
    for message in trace.messages() {
        let (node, endpoint) = match message.direction {
            FROM_CONNECTING => (message.dst, message.dst_endpoint),
            _ => (message.src, message.src_endpoint),
        };
        if let (Some(Some(name)), Some(of)) =
            (names.get(endpoint.index()), of_nodes.get_mut(node.index()))
        {
            of.get_or_insert(*name);
        }
    }
    of_nodes
}

#[cfg(test)]
#[path = "known_tests.rs"]
mod tests;
