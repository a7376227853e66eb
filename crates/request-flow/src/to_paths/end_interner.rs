//! Interner of nodes, endpoints and flows of messages: each group of requests has its own numbers,
//! and the values of all groups are merged.

use message_trace::{Endpoint, FlowId, Node, NodeList};
use out_of_core::ValueInterner;

use super::message_record::MessageRecord;

/// Number of the endpoint without a name, which is unknown, as at callers.
pub(super) const NAMELESS: u32 = 0;
/// Number of the endpoint of an unknown operation.
pub(super) const UNKNOWN_OPERATION: u32 = 1;

/// Nodes, endpoints and flows. A flow is all calls from one node to an endpoint of another.
#[derive(Debug)]
pub(super) struct EndInterner {
    pub(super) nodes: ValueInterner<Node>,
    /// Endpoints by their texts.
    pub(super) endpoints: ValueInterner<String>,
    /// Flows by the numbers of the calling node, the called node, and its endpoint.
    pub(super) flows: ValueInterner<[u32; 3]>,
}

impl Default for EndInterner {
    fn default() -> EndInterner {
        let mut endpoints = ValueInterner::default();
        endpoints.intern(String::new());
        // A socket without a name of its own is any socket.
        endpoints.intern(Endpoint::Unix("#".to_owned()).to_string());
        EndInterner { nodes: ValueInterner::default(), endpoints, flows: ValueInterner::default() }
    }
}

/// The numbers of one group's values among the values of all groups.
pub(super) struct EndNumbers {
    nodes: Vec<u32>,
    endpoints: Vec<u32>,
    flows: Vec<u32>,
}

impl EndInterner {
    /// Adds the values of a group, and returns their numbers in this interner.
    pub(super) fn add_group(&mut self, group: &EndInterner) -> EndNumbers {
        let of = |group: &ValueInterner<Node>, all: &mut ValueInterner<Node>| -> Vec<u32> {
            group.values().iter().map(|value| all.intern(value.clone())).collect()
        };
        let nodes = of(&group.nodes, &mut self.nodes);
        let texts = group.endpoints.values().iter();
        let endpoints: Vec<u32> = texts.map(|text| self.endpoints.intern(text.clone())).collect();
        let flows = group.flows.values().iter().map(|[from, to, endpoint]| {
            let node = |number: &u32| nodes.get(*number as usize).copied().unwrap_or_default();
            let endpoint = endpoints.get(*endpoint as usize).copied().unwrap_or_default();
            self.flows.intern([node(from), node(to), endpoint])
        });
        let flows = flows.collect();
        EndNumbers { nodes, endpoints, flows }
    }

    /// Replaces the numbers of the ends of a group's record by those in this interner.
    pub(super) fn renumber_ends(&self, record: &mut MessageRecord, numbers: &EndNumbers) {
        let get = |all: &[u32], number: usize| all.get(number).copied().unwrap_or_default();
        record.src = get(&numbers.nodes, record.src as usize) as i32;
        record.dst = get(&numbers.nodes, record.dst as usize) as i32;
        record.src_endpoint = get(&numbers.endpoints, record.src_endpoint as usize);
        record.dst_endpoint = get(&numbers.endpoints, record.dst_endpoint as usize);
        let flow = get(&numbers.flows, record.flow.number() as usize);
        record.flow = FlowId::from_number(i64::from(flow));
    }

    /// Returns the texts of the endpoints, by their numbers.
    pub(super) fn endpoint_texts(&self) -> &[String] {
        self.endpoints.values()
    }

    /// Returns the nodes, by their numbers.
    pub(super) fn into_nodes(self) -> NodeList {
        NodeList(self.nodes.into_values())
    }
}
