//! The nodes and endpoints of a step.
//!
//! For a step of a tracer, the node is its service, and the endpoint stands for its operation. A
//! step of sockcap's own export records the program and process of its node and the endpoint of the
//! call, so that the paths equal those that were exported.

use message_trace::{Endpoint, Node};
use rustc_hash::FxHashMap;

use crate::request::Request;
use crate::step::Step;
use crate::to_paths::call_parameters::{CallParameters, CallPeer};
use crate::to_paths::end_interner::{EndInterner, NAMELESS, UNKNOWN_OPERATION};
use out_of_core::{NameId, NameInterner};

/// Name of a node without any name.
const UNKNOWN_NODE: &str = "unknown";

/// The node that was called, and both endpoints of the call, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CalleeEnd {
    pub(super) node: u32,
    /// The callee's endpoint.
    pub(super) endpoint: u32,
    /// The caller's endpoint.
    pub(super) caller_endpoint: u32,
    /// Whether the callee made the connection of the call.
    pub(super) is_connecting: bool,
}

/// Names of a group of requests, and their nodes and endpoints.
pub(super) struct NodeNames {
    names: NameInterner,
    /// Services by name, host, process and whether they were seen.
    services: FxHashMap<(NameId, NameId, Option<i32>, bool), u32>,
    /// Endpoints by the operations that name them.
    operations: FxHashMap<NameId, u32>,
}

impl NodeNames {
    pub(super) fn new(names: NameInterner) -> NodeNames {
        NodeNames { names, services: FxHashMap::default(), operations: FxHashMap::default() }
    }

    /// Returns the callee of a step.
    pub(super) fn find_callee(
        &mut self,
        step: &Step,
        parameters: &CallParameters<'_>,
        ends: &mut EndInterner,
    ) -> CalleeEnd {
        let is_seen = step.begin.is_some() || step.end.is_some();
        if parameters.is_exported() {
            return self.exported_callee(step, parameters, is_seen, ends);
        }
        let node = self.service_node(step.node, step.host, parameters.pid(), is_seen, ends);
        let endpoint = self.operation_endpoint(step.operation, ends);
        CalleeEnd { node, endpoint, caller_endpoint: NAMELESS, is_connecting: false }
    }

    /// Returns the number of the node that called the first step `root` of a request.
    pub(super) fn find_caller(
        &mut self,
        request: &Request,
        root: &Step,
        parameters: &CallParameters<'_>,
        ends: &mut EndInterner,
    ) -> u32 {
        let is_seen = root.caller_begin.is_some() || root.caller_end.is_some();
        // In the callee's span the other node is the caller.
        let is_callees = root.begin.is_some() || root.end.is_some();
        if let Some(peer) = parameters.peer().filter(|_| parameters.is_exported() && is_callees) {
            return ends.nodes.intern(node_of_peer(peer, is_seen));
        }
        match request.caller {
            NameInterner::UNKNOWN => ends.nodes.intern(Node::default()),
            caller => self.service_node(caller, request.caller_host, None, is_seen, ends),
        }
    }

    fn exported_callee(
        &mut self,
        step: &Step,
        parameters: &CallParameters<'_>,
        is_seen: bool,
        ends: &mut EndInterner,
    ) -> CalleeEnd {
        let host = self.names.name_of(step.host);
        // In the caller's span the other node is the callee.
        let peer = parameters.peer().filter(|_| !is_seen);
        let node = match (peer, parameters.program()) {
            (Some(peer), _) => node_of_peer(peer, is_seen),
            (None, Some((command, executable))) => Node {
                executable: executable.to_owned(),
                ..node_of_peer(CallPeer { host, command, pid: parameters.pid() }, is_seen)
            },
            (None, None) => node_of_peer(
                CallPeer { host, command: self.names.name_of(step.node), pid: parameters.pid() },
                is_seen,
            ),
        };
        let node = ends.nodes.intern(node);
        let server = parameters.server_endpoint();
        let operation = self.names.name_of(step.operation);
        // The operation ends with the endpoint if the callee accepts there.
        let is_connecting = server.as_ref().is_some_and(|server| !is_named(operation, server));
        let mut number = |endpoint: Option<Endpoint>| match endpoint {
            None => NAMELESS,
            Some(Endpoint::Unix(name)) if name.starts_with('#') => UNKNOWN_OPERATION,
            Some(endpoint) => ends.endpoints.intern(endpoint.to_string()),
        };
        // Ephemeral endpoints are many, and identify nothing.
        let (endpoint, caller_endpoint) = match is_connecting {
            true => (NAMELESS, number(parameters.client_endpoint())),
            false => (number(server), NAMELESS),
        };
        CalleeEnd { node, endpoint, caller_endpoint, is_connecting }
    }

    /// Returns the number of the node of a service.
    fn service_node(
        &mut self,
        name: NameId,
        host: NameId,
        pid: Option<i32>,
        is_seen: bool,
        ends: &mut EndInterner,
    ) -> u32 {
        let NodeNames { names, services, .. } = self;
        *services.entry((name, host, pid, is_seen)).or_insert_with(|| {
            let command =
                if name == NameInterner::UNKNOWN { UNKNOWN_NODE } else { names.name_of(name) };
            ends.nodes.intern(Node {
                service: true,
                ..node_of_peer(CallPeer { host: names.name_of(host), command, pid }, is_seen)
            })
        })
    }

    /// Returns the number of the endpoint that stands for an operation.
    fn operation_endpoint(&mut self, operation: NameId, ends: &mut EndInterner) -> u32 {
        let NodeNames { names, operations, .. } = self;
        match operation {
            NameInterner::UNKNOWN => UNKNOWN_OPERATION,
            _ => *operations.entry(operation).or_insert_with(|| {
                ends.endpoints
                    .intern(Endpoint::Other(names.name_of(operation).to_owned()).to_string())
            }),
        }
    }
}

fn node_of_peer(peer: CallPeer<'_>, traced: bool) -> Node {
    let CallPeer { host, command, pid } = peer;
    Node { host: host.to_owned(), command: command.to_owned(), pid, traced, ..Node::default() }
}

/// Returns whether the operation of an exported call names its endpoint, or the endpoint has no
/// name.
fn is_named(operation: &str, endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Inet(address) => operation
            .strip_suffix(&address.port().to_string())
            .is_some_and(|name| name.ends_with(':')),
        Endpoint::Unix(name) if name.starts_with('#') => true,
        Endpoint::Unix(_) | Endpoint::Other(_) => operation.ends_with(&endpoint.to_string()),
    }
}
