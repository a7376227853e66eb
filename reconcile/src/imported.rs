//! What was imported as messages (`imports/NAME`) joins the messages that were made of the logs.
//!
//! It is read twice, batch by batch: before the clocks are estimated, for what it tells of them,
//! and to be put in order with all other messages. A time that is not on the common clock yet is
//! put on it; one that is stays.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use message_trace::{
    Endpoint, EndpointId, Error, Import, Message, MessageTrace, NodeId, Nodes, Progress, table,
};
use rustc_hash::{FxHashMap, FxHashSet};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::capture::NONE;
use crate::host_facts;
use crate::output::Output;
use crate::reconciliation::{Reconciliation, add};
use crate::rows::{Common, Key, NIL, Place, Row, Slot};
use clocks::{HostFacts, Samples};

/// The cause of a missing end.
const CAUSE: &str = "imported without";

/// An imported message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct ImportedRow {
    pub(crate) row: Row,
    /// `send_ts` and `recv_ts` as the import has them; [`NIL`]: the host's own time is to be put on
    /// the common clock.
    pub(crate) common: [i64; 2],
    /// Where its call id is among the [`CallIds`]; 0: it has none.
    pub(crate) call: u64,
}

impl ImportedRow {
    /// By what rows are sorted. `slot` is the row's.
    pub(crate) fn key(&self, slot: &Slot, common: &Common) -> Key {
        let (time, rest) = self.row.key(slot, common);
        match self.common {
            [NIL, NIL] => (time, rest),
            // What is not said is of the host's own clock, and comes before what is known of the
            // other end.
            [NIL, _] if self.row.times[0] != NIL => (time, rest),
            [NIL, received] => (received, rest),
            [sent, _] => (sent, rest),
        }
    }

    /// The row as a message. `slot` is the row's.
    pub(crate) fn message(&self, slot: &Slot, common: &Common) -> Message {
        let message = self.row.message(slot, None, common);
        let [sent, received] = self.common.map(|time| Some(time).filter(|time| *time != NIL));
        Message {
            send_ts: sent.or(message.send_ts),
            recv_ts: received.or(message.recv_ts),
            ..message
        }
    }
}

/// The texts of call ids, in a temporary file: there may be one for each two messages.
#[derive(Debug)]
pub(crate) struct CallIds {
    directory: PathBuf,
    file: File,
    end: u64,
    waiting: Vec<u8>,
}

/// The bits of a call id's place that tell its length.
const LENGTH_BITS: u32 = 16;

impl CallIds {
    pub(crate) fn new(directory: &Path) -> Result<CallIds, Error> {
        let file = tempfile::tempfile_in(directory).map_err(|error| Error::io(directory, error))?;
        Ok(CallIds { directory: directory.to_owned(), file, end: 0, waiting: Vec::new() })
    }

    fn add(&mut self, text: &str) -> Result<u64, Error> {
        let mut length = text.len().min((1 << LENGTH_BITS) - 1);
        while !text.is_char_boundary(length) {
            length -= 1;
        }
        let text = &text.as_bytes()[..length];
        let place = self.end + self.waiting.len() as u64;
        self.waiting.extend_from_slice(text);
        if self.waiting.len() > 1 << 20 {
            self.flush()?;
        }
        // The highest bit tells an empty id from none.
        Ok(1 << 63 | place << LENGTH_BITS | length as u64)
    }

    fn flush(&mut self) -> Result<(), Error> {
        let io = |error| Error::io(&self.directory, error);
        self.file.write_all_at(&self.waiting, self.end).map_err(io)?;
        self.end += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// What reads the texts, fastest in about the order in which they were added.
    pub(crate) fn reader(&self) -> CallReader<'_> {
        CallReader { calls: self, begin: 0, window: Vec::new() }
    }
}

/// Reads the texts of call ids.
#[derive(Debug)]
pub(crate) struct CallReader<'a> {
    calls: &'a CallIds,
    /// Where in the file the window begins.
    begin: u64,
    window: Vec<u8>,
}

impl CallReader<'_> {
    /// The text that [`ImportedRow::call`] stands for.
    pub(crate) fn get(&mut self, call: u64) -> Result<Option<String>, Error> {
        const WINDOW: u64 = 64 << 10;
        if call == 0 {
            return Ok(None);
        }
        let (place, length) = ((call & !(1 << 63)) >> LENGTH_BITS, call & ((1 << LENGTH_BITS) - 1));
        if place < self.begin || self.begin + (self.window.len() as u64) < place + length {
            self.begin = place;
            self.window.resize(WINDOW.max(length).min(self.calls.end - place) as usize, 0);
            let read = self.calls.file.read_exact_at(&mut self.window, place);
            read.map_err(|error| Error::io(&self.calls.directory, error))?;
        }
        let from = (place - self.begin) as usize;
        let text = self.window.get(from..from + length as usize).unwrap_or_default();
        Ok(Some(String::from_utf8_lossy(text).into_owned()))
    }
}

/// What the imports tell of the clocks: messages with the times of two hosts' own clocks alone.
/// Hosts that have clocks of their own and are in no log are added to `hosts`.
pub(crate) fn sample(
    imports: &[Import],
    hosts: &mut Vec<HostFacts>,
    progress: &dyn Progress,
) -> Result<Samples, Error> {
    let mut most = hosts.len();
    for import in imports {
        most += table::rows(&import.nodes())? as usize;
    }
    let mut samples = Samples::new(most);
    let mut known: FxHashMap<String, u32> =
        hosts.iter().enumerate().map(|(place, host)| (host.name.clone(), place as u32)).collect();
    for import in imports {
        let nodes = Nodes::read(&import.nodes())?;
        let mut host_of: Vec<u32> = vec![NONE; nodes.len()];
        let mut host = |node: NodeId, time: i64| {
            let place = host_of.get_mut(node as usize)?;
            if *place == NONE {
                let name = &nodes.get(node)?.host;
                *place = *known.entry(name.clone()).or_insert_with(|| {
                    hosts.push(HostFacts { name: name.clone(), ..HostFacts::default() });
                    (hosts.len() - 1) as u32
                });
            }
            host_facts::saw(hosts.get_mut(*place as usize)?, time);
            Some((*place, time))
        };
        each(import, &nodes, progress, |trace, row| {
            let m = trace.message(row);
            let sent =
                m.send_first.filter(|_| m.send_ts.is_none()).and_then(|time| host(m.src, time));
            let received =
                m.recv_last.filter(|_| m.recv_ts.is_none()).and_then(|time| host(m.dst, time));
            if let (Some((from, sent)), Some((to, received))) = (sent, received)
                && from != to
                && !m.is_connect()
            {
                samples.add(from, to, sent, received);
            }
            Ok(())
        })?;
    }
    Ok(samples)
}

/// Reads the messages of an import, batch by batch.
fn each(
    import: &Import,
    nodes: &Nodes,
    progress: &dyn Progress,
    mut message: impl FnMut(&MessageTrace, usize) -> Result<(), Error>,
) -> Result<(), Error> {
    let path = import.messages();
    for batch in table::read(&path)? {
        let trace = MessageTrace::of_batch(&path, &batch?, nodes.len())?;
        (0..trace.len()).try_for_each(|row| message(&trace, row))?;
        progress.advance(trace.len() as u64);
    }
    Ok(())
}

/// What is known of the imports' nodes while their messages join the others.
pub(crate) struct Joining<'a, 'b> {
    pub(crate) output: &'a mut Output<'b>,
    /// The host of each node; [`NONE`] of those whose times are on the common clock as they are.
    pub(crate) hosts: &'a mut Vec<u32>,
    pub(crate) host_names: &'a [HostFacts],
    pub(crate) calls: &'a mut CallIds,
    pub(crate) outcome: &'a mut Reconciliation,
}

/// What makes a slot of an import: its flow, protocol, and both ends' nodes and endpoints.
type SlotKey = (i64, message_trace::Protocol, [(NodeId, EndpointId); 2]);

impl Joining<'_, '_> {
    /// Hands the messages of `imports` to `row`. Nodes that are the same in every respect are one
    /// node; flows get numbers after those that are there.
    pub(crate) fn rows(
        &mut self,
        imports: &[Import],
        progress: &dyn Progress,
        mut row: impl FnMut(ImportedRow) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut known: FxHashMap<message_trace::Node, NodeId> = FxHashMap::default();
        // Of the nodes that are there only those that come again matter.
        let mut again: FxHashSet<message_trace::Node> = FxHashSet::default();
        for import in imports {
            again.extend(Nodes::read(&import.nodes())?.0);
        }
        for (id, node) in self.output.nodes().enumerate().filter(|(_, node)| again.contains(node)) {
            known.entry(node).or_insert(id as NodeId);
        }
        drop(again);
        self.hosts.resize(self.output.node_count(), NONE);
        let places = self
            .host_names
            .iter()
            .enumerate()
            .map(|(place, host)| (host.name.as_str(), place as u32));
        let places: FxHashMap<&str, u32> = places.collect();
        for import in imports {
            let own = Nodes::read(&import.nodes())?;
            let mut nodes: Vec<NodeId> = Vec::with_capacity(own.len());
            for node in &own.0 {
                let id =
                    *known.entry(node.clone()).or_insert_with(|| self.output.import(node.clone()));
                self.hosts.resize(self.output.node_count(), NONE);
                if let Some(host) = self.hosts.get_mut(id as usize) {
                    *host = places.get(node.host.as_str()).copied().unwrap_or(NONE);
                }
                nodes.push(id);
            }
            let first_flow = self.output.next_flow;
            let mut flows: FxHashSet<i64> = FxHashSet::default();
            let mut slots: FxHashMap<SlotKey, u32> = FxHashMap::default();
            let mut count = 0;
            each(import, &own, progress, |trace, at| {
                let m = trace.message(at);
                let mut slot = |endpoint: EndpointId, node: NodeId| {
                    let nothing = Endpoint::Other(String::new());
                    let id = self
                        .output
                        .imported_endpoint(trace.endpoint(endpoint).unwrap_or(&nothing))?;
                    Ok::<_, Error>((nodes.get(node as usize).copied().unwrap_or(0), id))
                };
                let mut ends = [slot(m.src_endpoint, m.src)?, slot(m.dst_endpoint, m.dst)?];
                if m.direction != 0 {
                    ends.swap(0, 1);
                }
                let flow = first_flow.saturating_add(m.flow);
                if flows.insert(flow) {
                    self.output.flows += 1;
                    self.output.next_flow = self.output.next_flow.max(flow.saturating_add(1));
                }
                let next = self.output.slots.len() as u32;
                let slot = *slots.entry((m.flow, m.protocol, ends)).or_insert(next);
                if slot == next {
                    let ends = ends.map(|(node, endpoint)| Place { node, endpoint });
                    self.output.slots.push(Slot { flow, protocol: m.protocol, ends })?;
                }
                let call = match trace.call_id(at) {
                    Some(text) => self.calls.add(text)?,
                    None => 0,
                };
                count += 1;
                self.count(&m);
                let node = |id: NodeId| nodes.get(id as usize).map_or(NONE, |node| *node as u32);
                let own = Row::of_message(&m, slot, [node(m.src), node(m.dst)]);
                let common = [m.send_ts, m.recv_ts].map(|time| time.unwrap_or(NIL));
                row(ImportedRow { row: own, common, call })
            })?;
            add(&mut self.outcome.imported, &import.name, count);
        }
        self.calls.flush()
    }

    fn count(&mut self, m: &Message) {
        let counts = &mut *self.outcome;
        if m.is_connect() {
            counts.connects += 1;
            return;
        }
        add(&mut counts.messages, m.protocol.name(), 1);
        let seen = |own: Option<i64>, common: Option<i64>| own.or(common).is_some();
        match (seen(m.send_first, m.send_ts), seen(m.recv_last, m.recv_ts)) {
            (true, true) => counts.both_ends += 1,
            (true, false) => add(&mut counts.send_only, CAUSE, 1),
            (false, _) => add(&mut counts.receive_only, CAUSE, 1),
        }
    }
}
