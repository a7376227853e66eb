//! Imported messages (`imports/NAME`), which join the messages from the logs.
//!
//! They are read twice, batch by batch: before the clocks are estimated, for their clock samples,
//! and again to be sorted with all other messages. A time that is not on the common clock yet is
//! converted; one that is stays unchanged.

use clocks::{ClockSamples, HostFacts};
use message_trace::{
    Endpoint, EndpointId, FlowId, ImportedTrace, Message, MessageId, MessageTrace, NodeId,
    NodeList, PathError, Progress, table,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::host_clocks::facts;
use crate::indices::{HostIndex, OptionalIndex};
use crate::optional_time::OptionalTime;
use crate::reconciliation::{Reconciliation, add_count};
use crate::rows::imported_row::ImportedRow;
use crate::rows::row::{MessageRow, MessageSlot, SlotEnd};
use crate::unmatched_cause::UnmatchedCause;
use crate::write::call_ids::CallIdFile;
use crate::write::entity_tables::EntityTables;

/// Collects clock samples from the imports: messages with the times of two hosts' own clocks alone.
/// Hosts that have clocks of their own and are in no log are added to `hosts`.
pub(crate) fn sample_imports(
    imports: &[ImportedTrace],
    hosts: &mut Vec<HostFacts>,
    progress: &dyn Progress,
) -> Result<ClockSamples, PathError> {
    let logged = hosts.len();
    let mut most = logged;
    for import in imports {
        most += table::count_rows(import.nodes_path())? as usize;
    }
    let mut samples = ClockSamples::new(most);
    let mut known: FxHashMap<String, HostIndex> =
        hosts.iter().map(|host| host.name.clone()).zip(HostIndex::indices()).collect();
    for import in imports {
        let nodes = NodeList::read(import.nodes_path())?;
        let mut host_of: Vec<Option<HostIndex>> = vec![None; nodes.len()];
        let mut host = |node: NodeId, time: i64| {
            let place = host_of.get_mut(node.index())?;
            let place = match *place {
                Some(place) => place,
                None => {
                    let name = &nodes.get(node)?.host;
                    *place.insert(*known.entry(name.clone()).or_insert_with(|| {
                        hosts.push(HostFacts { name: name.clone(), ..HostFacts::default() });
                        HostIndex::from_index(hosts.len() - 1)
                    }))
                }
            };
            facts::note_reading(hosts.get_mut(place.index())?, time);
            Some((place, time))
        };
        for_each_message(import, &nodes, progress, |trace, id| {
            let m = trace.message(id);
            let sent =
                m.send_first.filter(|_| m.send_ts.is_none()).and_then(|time| host(m.src, time));
            let received =
                m.recv_last.filter(|_| m.recv_ts.is_none()).and_then(|time| host(m.dst, time));
            if let (Some((from, sent)), Some((to, received))) = (sent, received)
                && from != to
                && !m.is_connect()
            {
                samples.add_message(from.number(), to.number(), sent, received);
            }
            Ok(())
        })?;
    }
    samples.renumber_hosts(&sort_hosts_by_name(hosts, logged));
    Ok(samples)
}

/// Sorts the hosts from `logged` on by their names, so that the order of an import's rows makes no
/// difference. Returns the new number of each.
fn sort_hosts_by_name(hosts: &mut [HostFacts], logged: usize) -> Vec<u32> {
    let mut order: Vec<usize> = (0..hosts.len()).collect();
    if let Some(imported) = order.get_mut(logged..) {
        imported.sort_by(|one, other| hosts[*one].name.cmp(&hosts[*other].name));
    }
    let sorted: Vec<HostFacts> = order.iter().map(|host| hosts[*host].clone()).collect();
    hosts.clone_from_slice(&sorted);
    let mut numbers = vec![0; order.len()];
    for (host, number) in order.into_iter().zip(0..) {
        numbers[host] = number;
    }
    numbers
}

/// Calls `message` for each message of an import, with its batch and its id there.
fn for_each_message(
    import: &ImportedTrace,
    nodes: &NodeList,
    progress: &dyn Progress,
    mut message: impl FnMut(&MessageTrace, MessageId) -> Result<(), PathError>,
) -> Result<(), PathError> {
    let path = import.messages_path();
    for batch in table::read_batches(&path)? {
        let trace = MessageTrace::from_batch(&path, &batch?, nodes.len())?;
        trace.ids().try_for_each(|id| message(&trace, id))?;
        progress.advance_step(trace.len() as u64);
    }
    Ok(())
}

/// State of the imports' nodes while their messages join the others.
pub(crate) struct ImportJoiner<'a, 'b> {
    pub(crate) output: &'a mut EntityTables<'b>,
    /// The host of each node; none for nodes with times that are already on the common clock.
    pub(crate) hosts: &'a mut Vec<OptionalIndex<HostIndex>>,
    pub(crate) host_names: &'a [HostFacts],
    pub(crate) calls: &'a mut CallIdFile,
    pub(crate) outcome: &'a mut Reconciliation,
}

/// Identity of a slot of an import: its flow, protocol, and both ends' nodes and endpoints.
type SlotKey = (FlowId, message_trace::TransportProtocol, [(NodeId, EndpointId); 2]);

impl ImportJoiner<'_, '_> {
    /// Calls `row` with the row of each message of `imports`. Nodes that are equal in every respect
    /// are one node; flows get numbers after the existing ones.
    pub(crate) fn for_each_row(
        &mut self,
        imports: &[ImportedTrace],
        progress: &dyn Progress,
        mut row: impl FnMut(ImportedRow) -> Result<(), PathError>,
    ) -> Result<(), PathError> {
        let mut known: FxHashMap<message_trace::Node, NodeId> = FxHashMap::default();
        // Of the existing nodes only those that recur matter.
        let mut again: FxHashSet<message_trace::Node> = FxHashSet::default();
        for import in imports {
            again.extend(NodeList::read(import.nodes_path())?.0);
        }
        for (id, node) in self.output.nodes().enumerate().filter(|(_, node)| again.contains(node)) {
            known.entry(node).or_insert(NodeId::from_index(id));
        }
        drop(again);
        self.hosts.resize(self.output.node_count(), OptionalIndex::NONE);
        let names = self.host_names.iter().map(|host| host.name.as_str());
        let places: FxHashMap<&str, HostIndex> = names.zip(HostIndex::indices()).collect();
        for import in imports {
            let own = NodeList::read(import.nodes_path())?;
            let mut nodes: Vec<NodeId> = Vec::with_capacity(own.len());
            for node in &own.0 {
                let id = *known
                    .entry(node.clone())
                    .or_insert_with(|| self.output.add_imported_node(node.clone()));
                self.hosts.resize(self.output.node_count(), OptionalIndex::NONE);
                if let Some(host) = self.hosts.get_mut(id.index()) {
                    *host = places.get(node.host.as_str()).copied().into();
                }
                nodes.push(id);
            }
            let first_flow = self.output.next_flow;
            let mut flows: FxHashSet<FlowId> = FxHashSet::default();
            let mut slots: FxHashMap<SlotKey, u32> = FxHashMap::default();
            let mut count = 0;
            for_each_message(import, &own, progress, |trace, id| {
                let m = trace.message(id);
                let mut slot = |endpoint: EndpointId, node: NodeId| {
                    let nothing = Endpoint::Other(String::new());
                    let id = self
                        .output
                        .imported_endpoint(trace.endpoint(endpoint).unwrap_or(&nothing))?;
                    Ok::<_, PathError>((nodes.get(node.index()).copied().unwrap_or_default(), id))
                };
                let mut ends = [slot(m.src_endpoint, m.src)?, slot(m.dst_endpoint, m.dst)?];
                if m.direction != 0 {
                    ends.swap(0, 1);
                }
                let flow = first_flow.advanced_by(m.flow.number());
                if flows.insert(flow) {
                    self.output.flows += 1;
                    self.output.next_flow = self.output.next_flow.max(flow.advanced_by(1));
                }
                let next = self.output.slots.len() as u32;
                let slot = *slots.entry((m.flow, m.protocol, ends)).or_insert(next);
                if slot == next {
                    let ends = ends.map(|(node, endpoint)| SlotEnd { node, endpoint });
                    self.output.slots.push(MessageSlot { flow, protocol: m.protocol, ends })?;
                }
                let call = match trace.call_id(id) {
                    Some(text) => self.calls.add(text)?,
                    None => 0,
                };
                count += 1;
                self.count_message(&m);
                let node = |id: NodeId| nodes.get(id.index()).copied().into();
                let own = MessageRow::from_imported(&m, slot, [node(m.src), node(m.dst)]);
                let common = [m.send_ts, m.recv_ts].map(OptionalTime::from);
                row(ImportedRow { row: own, common, call })
            })?;
            add_count(&mut self.outcome.imported, &import.name, count);
        }
        self.calls.flush()
    }

    /// Counts an imported message in the outcome.
    fn count_message(&mut self, m: &Message) {
        let counts = &mut *self.outcome;
        if m.is_connect() {
            counts.connects += 1;
            return;
        }
        add_count(&mut counts.messages, m.protocol.name(), 1);
        let seen = |own: Option<i64>, common: Option<i64>| own.or(common).is_some();
        match (seen(m.send_first, m.send_ts), seen(m.recv_last, m.recv_ts)) {
            (true, true) => counts.both_ends += 1,
            (true, false) => {
                add_count(&mut counts.send_only, UnmatchedCause::NotImported.name(), 1)
            }
            (false, _) => {
                add_count(&mut counts.receive_only, UnmatchedCause::NotImported.name(), 1)
            }
        }
    }
}
