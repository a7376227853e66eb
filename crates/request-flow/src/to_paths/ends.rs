//! Nodes, endpoints and flows of messages, as numbers: each group of requests has its own, and
//! those of all groups are put together.

use std::hash::Hash;

use message_trace::{Endpoint, Node, Nodes};
use rustc_hash::FxHashMap;

use super::record::Record;

/// The endpoint of a caller: nobody tells it.
pub(super) const NAMELESS: u32 = 0;
/// The endpoint of an operation that is not known.
pub(super) const UNKNOWN_OPERATION: u32 = 1;

/// Different values and their numbers.
#[derive(Debug)]
pub(super) struct Numbered<T> {
    numbers: FxHashMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Numbered { numbers: FxHashMap::default(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    /// The number of `value`.
    pub(super) fn number(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

/// Nodes, endpoints and flows. A flow is all calls from one node to an endpoint of another.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) nodes: Numbered<Node>,
    /// Endpoints by their texts.
    pub(super) endpoints: Numbered<String>,
    pub(super) flows: Numbered<[u32; 3]>,
}

impl Default for Ends {
    fn default() -> Ends {
        let mut endpoints = Numbered::default();
        endpoints.number(String::new());
        // A socket without a name of its own is any socket.
        endpoints.number(Endpoint::Unix("#".to_owned()).to_string());
        Ends { nodes: Numbered::default(), endpoints, flows: Numbered::default() }
    }
}

/// The numbers among all of those of one group.
pub(super) struct Numbers {
    nodes: Vec<u32>,
    endpoints: Vec<u32>,
    flows: Vec<u32>,
}

impl Ends {
    /// Adds those of a group, and says which numbers they have here.
    pub(super) fn add(&mut self, group: &Ends) -> Numbers {
        let of = |group: &Numbered<Node>, all: &mut Numbered<Node>| -> Vec<u32> {
            group.values.iter().map(|value| all.number(value.clone())).collect()
        };
        let nodes = of(&group.nodes, &mut self.nodes);
        let texts = group.endpoints.values.iter();
        let endpoints: Vec<u32> = texts.map(|text| self.endpoints.number(text.clone())).collect();
        let flows = group.flows.values.iter().map(|[from, to, endpoint]| {
            let node = |number: &u32| nodes.get(*number as usize).copied().unwrap_or_default();
            let endpoint = endpoints.get(*endpoint as usize).copied().unwrap_or_default();
            self.flows.number([node(from), node(to), endpoint])
        });
        let flows = flows.collect();
        Numbers { nodes, endpoints, flows }
    }

    /// Gives the ends of a record of a group the numbers that they have here.
    pub(super) fn rename(&self, record: &mut Record, numbers: &Numbers) {
        let get = |all: &[u32], number: usize| all.get(number).copied().unwrap_or_default();
        record.src = get(&numbers.nodes, record.src as usize) as i32;
        record.dst = get(&numbers.nodes, record.dst as usize) as i32;
        record.src_endpoint = get(&numbers.endpoints, record.src_endpoint as usize);
        record.dst_endpoint = get(&numbers.endpoints, record.dst_endpoint as usize);
        record.flow = i64::from(get(&numbers.flows, record.flow as usize));
    }

    /// The texts of the endpoints, by their numbers.
    pub(super) fn endpoints(&self) -> &[String] {
        &self.endpoints.values
    }

    /// The nodes, by their numbers.
    pub(super) fn into_nodes(self) -> Nodes {
        Nodes(self.nodes.values)
    }
}
