//! What was imported as messages (`imports/NAME`) joins the messages that were made of the logs.

use message_trace::{Import, Message, MessageTrace, NodeId};
use rustc_hash::FxHashMap;

use crate::clocks::{Clocks, HostClock};
use crate::error::Error;
use crate::reconciliation::{Reconciliation, add};

/// Appends the messages of `imports` to `trace`. Nodes that are the same in every respect are one node; flows get
/// numbers after those that are there. A time that is not on the common clock yet is put on it.
pub(crate) fn append(
    imports: &[Import],
    clocks: &Clocks,
    trace: &mut MessageTrace,
    outcome: &mut Reconciliation,
) -> Result<(), Error> {
    let mut next_flow = trace.messages().map(|message| message.flow + 1).max().unwrap_or(0);
    for import in imports {
        let imported = MessageTrace::read(&import.messages(), &import.nodes())?;
        let mut known: FxHashMap<_, NodeId> = FxHashMap::default();
        for (id, node) in trace.nodes.0.iter().enumerate() {
            known.entry(node.clone()).or_insert(id as NodeId);
        }
        let nodes: Vec<NodeId> = imported
            .nodes
            .0
            .iter()
            .map(|node| *known.entry(node.clone()).or_insert_with(|| trace.nodes.push(node.clone())))
            .collect();
        let endpoints: Vec<u32> =
            imported.endpoints().iter().map(|endpoint| trace.intern(endpoint)).collect();
        let clock_of: Vec<Option<&HostClock>> = imported
            .nodes
            .0
            .iter()
            .map(|node| clocks.hosts.iter().find(|clock| clock.host == node.host))
            .collect();
        let common = |node: NodeId, time: Option<i64>| {
            time.map(|time| clock_of[node as usize].map_or(time, |clock| clock.common(time)))
        };
        let first_flow = next_flow;
        for (row, m) in imported.messages().enumerate() {
            let message = Message {
                send_ts: m.send_ts.or_else(|| common(m.src, m.send_first)),
                recv_ts: m.recv_ts.or_else(|| common(m.dst, m.recv_last)),
                src: nodes[m.src as usize],
                dst: nodes[m.dst as usize],
                src_endpoint: endpoints[m.src_endpoint as usize],
                dst_endpoint: endpoints[m.dst_endpoint as usize],
                flow: first_flow.saturating_add(m.flow),
                ..m
            };
            next_flow = next_flow.max(message.flow.saturating_add(1));
            trace.push(&message, imported.call_id(row));
            outcome.count_message(&message, "imported without");
        }
        add(&mut outcome.imported, &import.name, imported.len() as u64);
    }
    Ok(())
}
