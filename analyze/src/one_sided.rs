//! Counts the messages that were seen at one end only, by sender and receiver. What happened to a
//! message at the other end is unknown.

use std::collections::BTreeMap;

use message_trace::table::columns::BatchColumns;
use message_trace::{
    DataDir, FROM_CONNECTING, FlowId, MessageTrace, NodeId, NodeList, PathError, TransportProtocol,
    table,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::naming::{CLIENT, NodeNames};
use crate::options::Options;

/// Columns that show which end is missing.
const COLUMNS: [&str; 9] =
    ["src", "dst", "flow", "direction", "protocol", "bytes", "parts", "send_first", "recv_last"];

/// The end of a message that was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MissingEnd {
    /// The sending was not seen.
    Sending,
    /// The receipt was not seen.
    Receipt,
}

/// Messages from one node to another that were seen at one end only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneSided {
    /// The sender's name.
    pub from: String,
    /// The receiver's name.
    pub to: String,
    /// Transport protocol of the messages.
    pub protocol: TransportProtocol,
    /// The end that was not seen.
    pub missing: MissingEnd,
    /// Whether the node at that end was traced.
    pub traced: bool,
    /// Number of messages.
    pub messages: u64,
    /// Number of flows with such messages.
    pub flows: u64,
    /// Total size of their payloads, in bytes.
    pub bytes: i64,
}

/// Key of a sum of messages by node ids: sender, receiver, protocol, and missing end.
type NodeEnds = (NodeId, NodeId, TransportProtocol, MissingEnd);
/// Key of a sum of messages by node names: sender, receiver, protocol, missing end, and whether the
/// node at the missing end was traced.
type NamedEnds = (String, String, &'static str, MissingEnd, bool);

#[derive(Clone, Copy, Debug, Default)]
struct OneSidedSum {
    messages: u64,
    flows: u64,
    bytes: i64,
}

/// Returns the messages of `data` that were seen at one end only, summed by nodes, those with the
/// most messages first. `options` determine the names of nodes. All untraced nodes that only make
/// calls are one node, as in patterns.
///
/// # Errors
/// If the tables of messages and nodes cannot be read.
pub fn one_sided(data: &DataDir, options: &Options) -> Result<Vec<OneSided>, PathError> {
    let nodes = NodeList::read(data.nodes_path())?;
    let mut sums: FxHashMap<NodeEnds, OneSidedSum> = FxHashMap::default();
    let mut flows: FxHashSet<(NodeId, MissingEnd, FlowId)> = FxHashSet::default();
    let mut servers: FxHashSet<NodeId> = FxHashSet::default();
    let path = data.messages_path();
    for batch in table::read_columns(&path, &COLUMNS)? {
        let batch = batch?;
        let columns = BatchColumns::new(&path, &batch);
        let (sent, received) =
            (columns.int64_column("send_first")?, columns.int64_column("recv_last")?);
        let (src, dst) = (columns.int32_column("src")?, columns.int32_column("dst")?);
        let (flow, direction) = (columns.int64_column("flow")?, columns.int8_column("direction")?);
        let (bytes, parts) = (columns.int64_column("bytes")?, columns.int32_column("parts")?);
        let protocol = columns.text_column("protocol")?;
        for row in 0..batch.num_rows() {
            let missing = match (sent[row], received[row]) {
                (None, _) => MissingEnd::Sending,
                (_, None) => MissingEnd::Receipt,
                _ => continue,
            };
            // A connection setup is not a message.
            let (Some(src), Some(dst), Some(1..)) = (src[row], dst[row], parts[row]) else {
                continue;
            };
            let [src, dst] = [src, dst].map(|node| NodeId::from_index(node as usize));
            let Ok(protocol) = protocol[row].unwrap_or_default().parse::<TransportProtocol>();
            let sum = sums.entry((src, dst, protocol, missing)).or_default();
            sum.messages += 1;
            sum.bytes = sum.bytes.saturating_add(bytes[row].unwrap_or_default());
            let flow = flow[row].map(FlowId::from_number);
            if flow.is_some_and(|flow| flows.insert((src, missing, flow))) {
                sum.flows += 1;
            }
            servers.insert(if direction[row] == Some(FROM_CONNECTING) { dst } else { src });
        }
    }
    Ok(sum_by_name(&sums, &servers, nodes, options))
}

/// Adds up the sums of nodes with the same names.
fn sum_by_name(
    sums: &FxHashMap<NodeEnds, OneSidedSum>,
    servers: &FxHashSet<NodeId>,
    nodes: NodeList,
    options: &Options,
) -> Vec<OneSided> {
    let trace = MessageTrace::new(nodes);
    let mut names = NodeNames::new(&trace, options);
    let is_traced = |node: NodeId| trace.nodes.get(node).is_some_and(|node| node.traced);
    let mut name = |node: NodeId| match is_traced(node) || servers.contains(&node) {
        true => names.name(node, None).to_owned(),
        false => CLIENT.to_owned(),
    };
    let mut all: BTreeMap<NamedEnds, (TransportProtocol, OneSidedSum)> = BTreeMap::new();
    for ((src, dst, protocol, missing), sum) in sums {
        let traced = is_traced(if *missing == MissingEnd::Sending { *src } else { *dst });
        let key = (name(*src), name(*dst), protocol.name(), *missing, traced);
        let (_, all) = all.entry(key).or_insert((*protocol, OneSidedSum::default()));
        all.messages += sum.messages;
        all.flows += sum.flows;
        all.bytes = all.bytes.saturating_add(sum.bytes);
    }
    let mut found: Vec<OneSided> = all
        .into_iter()
        .map(
            |(
                (from, to, _, missing, traced),
                (protocol, OneSidedSum { messages, flows, bytes }),
            )| {
                OneSided { from, to, protocol, missing, traced, messages, flows, bytes }
            },
        )
        .collect();
    found.sort_by_key(|one| std::cmp::Reverse(one.messages));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    /// Returns the one-sided messages of `fixture` as text.
    fn one_sided_rows(fixture: Fixture) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        fixture.trace().write(data.messages_path(), data.nodes_path()).unwrap();
        let found = one_sided(&data, &Options::default()).unwrap();
        let in_words = |one: &OneSided| {
            let OneSided { from, to, protocol, missing, traced, messages, flows, bytes } = one;
            format!("{from} {to} {protocol} {missing:?} {traced} {messages} {flows} {bytes}")
        };
        found.iter().map(in_words).collect()
    }

    #[test]
    fn one_sided_messages_are_summed_by_nodes_and_missing_end() {
        let mut fixture = Fixture::new().untraced(&["phone", "tablet", "dns"]);
        fixture.send("web", "app", 0, 1);
        for time in [10, 20] {
            fixture.send("web", "app", time, 0).on(7).lost();
        }
        // Two clients that were not traced are one, as in patterns.
        fixture.send("phone", "web", 30, 31);
        fixture.send("tablet", "web", 32, 33);
        fixture.send("web", "phone", 34, 35).accepting();
        fixture.send("app", "dns", 40, 41).udp().bytes(30);
        fixture.send("app", "web", 50, 51).lost().connect();
        let mut found = one_sided_rows(fixture);
        assert!(found[0].ends_with(" 2 1 200") || found[0].ends_with(" 2 2 200"), "{found:?}");
        found.sort();
        assert_eq!(
            found,
            [
                "CLIENT web tcp Sending false 2 2 200",
                "app dns udp Receipt false 1 1 30",
                "web CLIENT tcp Receipt false 1 1 100",
                "web app tcp Receipt true 2 1 200",
            ]
        );
    }

    #[test]
    fn without_missing_ends_there_are_no_one_sided_messages() {
        let mut fixture = Fixture::new();
        fixture.send("web", "app", 0, 1);
        assert!(one_sided_rows(fixture).is_empty());
    }
}
