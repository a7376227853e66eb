//! Names of roles. A role is what a node does, whichever of several equivalent servers it is (WAP5
//! section 2.5.1, Figure 3). The paper leaves open how a role is known. Here its name is the first
//! of these that exists:
//!
//! 1. the name by a `role` rule of the user;
//! 2. `CLIENT`, for nodes that only make calls and have no known program;
//! 3. the user's name of the program or, if a node is not a program, of the host;
//! 4. the program; for a host as a whole, the programs that serve there;
//! 5. for a node known by an address only, the port: `any:443`;
//! 6. the name of the host, without the number at its end if several have the rest in common.

use std::net::{IpAddr, SocketAddr};

use message_trace::{Node, NodeGrain, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Aliases;
use super::labels::CLIENT;
use super::node_identity::NodeIdentity;
use super::outline::TraceOutline;
use super::roles::ServerRoles;
use crate::options::Options;

/// Name in place of the address, for a node known by its address only.
const ANY: &str = "any";

/// The name of a role.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RoleName {
    /// Name of the role.
    pub(crate) name: String,
    /// The port with a colon before it, if it is a part of the role; else empty.
    pub(crate) port: String,
}

impl RoleName {
    fn new(name: &str) -> RoleName {
        RoleName { name: name.to_owned(), port: String::new() }
    }

    /// Returns the role of all clients.
    pub(super) fn for_clients() -> RoleName {
        RoleName::new(CLIENT)
    }

    /// Returns the name of the `number`-th node with the role in a path, from 0: `proxy`,
    /// `proxy#2`, `any#2:443`.
    pub(crate) fn numbered_name(&self, number: u32) -> String {
        let RoleName { name, port } = self;
        match number {
            0 => format!("{name}{port}"),
            more => format!("{name}#{}{port}", u64::from(more) + 1),
        }
    }
}

/// The roles of the nodes of a trace, at a grain.
pub(super) struct RoleFinder<'trace> {
    aliases: &'trace Aliases,
    grain: NodeGrain,
    /// Programs that serve at each host, if hosts are nodes.
    programs: FxHashMap<&'trace str, String>,
    /// Names that several hosts share except for the numbers at their ends.
    stems: FxHashSet<&'trace str>,
}

impl<'trace> RoleFinder<'trace> {
    /// Finds the programs and name stems of hosts in the outline of a trace.
    pub(super) fn from_trace(
        outline: &'trace TraceOutline,
        identities: &[NodeIdentity<'trace>],
        options: &'trace Options,
    ) -> Self {
        let mut hosts: FxHashMap<&str, usize> = FxHashMap::default();
        let distinct: FxHashSet<&str> = identities.iter().map(|identity| identity.host).collect();
        distinct.into_iter().for_each(|host| *hosts.entry(host_stem(host)).or_default() += 1);
        let stems =
            hosts.into_iter().filter(|(_, count)| *count > 1).map(|(stem, _)| stem).collect();
        let programs = match options.grain {
            NodeGrain::Host => serving_programs(outline, identities, options.fixed_port_peers),
            _ => FxHashMap::default(),
        };
        RoleFinder { aliases: &options.aliases, grain: options.grain, programs, stems }
    }

    /// Returns the role of `node`, which is called `name` at the grain.
    pub(super) fn role_of_node(
        &self,
        node: &Node,
        identity: &NodeIdentity,
        name: &str,
    ) -> RoleName {
        if let Some(role) = self.aliases.role(name).filter(|_| name != CLIENT) {
            return RoleName::new(role);
        }
        match self.grain {
            _ if name == CLIENT => RoleName::for_clients(),
            NodeGrain::Host => self.role_of_host(identity),
            _ => self.role_of_program(node, identity),
        }
    }

    /// Returns whether ports distinguish kinds of requests to nodes with a role. Nodes that do the
    /// same by a rule of the user may do it at any port, as replicas on one host must.
    pub(super) fn ports_matter(&self, role: &RoleName) -> bool {
        !self.aliases.has_role(&role.name)
    }

    fn role_of_host(&self, identity: &NodeIdentity) -> RoleName {
        let host = if identity.host.is_empty() { identity.name.as_str() } else { identity.host };
        match (identity.host_alias, self.programs.get(host)) {
            (Some(alias), _) => RoleName::new(alias),
            (None, Some(programs)) => RoleName::new(programs),
            (None, None) => self.role_without_number(host),
        }
    }

    fn role_of_program(&self, node: &Node, identity: &NodeIdentity) -> RoleName {
        if identity.is_alias {
            return RoleName::new(&identity.name);
        }
        match node.command.parse::<SocketAddr>() {
            Ok(end) => RoleName { port: format!(":{}", end.port()), ..RoleName::new(ANY) },
            Err(_) if is_host(node) => self.role_without_number(&identity.name),
            Err(_) => RoleName::new(&identity.name),
        }
    }

    /// Returns the role of a node known by its host only.
    fn role_without_number(&self, host: &str) -> RoleName {
        match host.parse::<IpAddr>() {
            Ok(_) => RoleName::new(ANY),
            Err(_) => RoleName::new(self.stems.get(host_stem(host)).copied().unwrap_or(host)),
        }
    }
}

/// Returns whether only the host of a node is known.
pub(super) fn is_host(node: &Node) -> bool {
    node.command.is_empty() || node.command == node.host
}

/// Returns the name of a host without the number at its end and the separator before it: `web-12`
/// is a `web`.
fn host_stem(host: &str) -> &str {
    let stem = host.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = if stem.len() < host.len() { stem.trim_end_matches(['-', '_', '.']) } else { host };
    if stem.is_empty() || host.parse::<IpAddr>().is_ok() { host } else { stem }
}

/// Returns the programs that serve others, by host, joined to one text: `nginx+shop.py`.
fn serving_programs<'trace>(
    outline: &TraceOutline,
    identities: &[NodeIdentity<'trace>],
    fixed_port_peers: usize,
) -> FxHashMap<&'trace str, String> {
    let roles = ServerRoles::from_trace(outline, identities, NodeGrain::Process, fixed_port_peers);
    let mut of_hosts: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
    for (id, (node, identity)) in outline.trace().nodes.0.iter().zip(identities).enumerate() {
        if node.traced && !is_host(node) && !roles.is_client(NodeId::from_index(id)) {
            of_hosts.entry(identity.host).or_default().push(&identity.name);
        }
    }
    let joined = |(host, mut programs): (&'trace str, Vec<&str>)| {
        programs.sort_unstable();
        programs.dedup();
        (host, programs.join("+"))
    };
    of_hosts.into_iter().map(joined).collect()
}

#[cfg(test)]
#[path = "role_names_tests.rs"]
mod tests;
