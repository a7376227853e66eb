//! Pass 2: flows become sockets, and sockets are paired with their other ends.

use out_of_core::SpillableVec;
use rustc_hash::FxHashMap;
use socket_log::layout::source;

use crate::connections::connection::{self, Connection, SocketPartners};
use crate::connections::first_calls::FirstCalls;
use crate::connections::listening::ListeningNames;
use crate::connections::unix_sockets;
use crate::datagrams::peer_names::{self, FallbackNames};
use crate::error::Error;
use crate::indices::SocketIndex;
use crate::logs::capture::Capture;
use crate::partitioning::partition_pass::ConnectionPartitions;
use crate::pipeline::run::PipelineRun;
use crate::reconciliation::{Reconciliation, add_count};
use crate::recorded_operations::{self, RecordedOperations};
use crate::sockets::addresses::MachineAddresses;
use crate::sockets::routing::DatagramRouting;
use crate::sockets::socket::KernelSockets;
use crate::sockets::{duplicates, flow_grouping};
use crate::translation::translated_connections;

/// All sockets and connections, final from here on.
pub(crate) struct ConnectedCapture {
    pub(crate) capture: Capture,
    pub(crate) sockets: KernelSockets,
    /// Operations of messages.
    pub(crate) recorded_operations: RecordedOperations,
    /// The addresses of all machines, including addresses of duplicate sockets.
    pub(crate) addresses: MachineAddresses,
    pub(crate) listening: ListeningNames,
    /// Names of datagram sockets that have none of their own.
    pub(crate) fallbacks: FxHashMap<SocketIndex, FallbackNames>,
    /// The other end of each socket.
    pub(crate) partner: SocketPartners,
    pub(crate) connections: SpillableVec<Connection>,
    /// Partitions of connections that are matched together.
    pub(crate) partitions: ConnectionPartitions,
}

/// Finds sockets and connections in the capture.
pub(crate) fn connect_sockets(
    run: &PipelineRun,
    mut capture: Capture,
    outcome: &mut Reconciliation,
) -> Result<ConnectedCapture, Error> {
    run.progress.begin_step("finding connections", 0);
    let mut sockets = flow_grouping::build_sockets(&mut capture, outcome)?;
    let addresses = MachineAddresses::from_sockets(&capture.names, &sockets.all);
    remove_duplicates(run, &capture, &mut sockets, &addresses, outcome)?;
    let listening = ListeningNames::from_sockets(&capture, &sockets.all);
    let fallbacks =
        peer_names::find_fallbacks(&mut capture.names, &sockets.all, &listening.addresses)?;
    let mut partner = find_partners(run, &capture, &sockets, &listening)?;
    let ambiguous = translated_connections::pair_up(
        &capture,
        &sockets,
        &mut partner,
        run.options,
        run.progress,
        outcome,
    )?;
    let mut connections =
        connection::build_connections(&capture, &sockets.all, &partner, &listening)?;
    ambiguous.mark_connections(&mut connections);
    let recorded = recorded_operations::read_operations(&capture, run.threads, outcome)?;
    recorded.count_fragments(&capture, &mut sockets);
    let partitions = ConnectionPartitions::from_connections(&run.pool, &connections, &sockets.all)?;
    Ok(ConnectedCapture {
        capture,
        sockets,
        recorded_operations: recorded,
        addresses,
        listening,
        fallbacks,
        partner,
        connections,
        partitions,
    })
}

/// Drops duplicate sockets that another source saw more of.
fn remove_duplicates(
    run: &PipelineRun,
    capture: &Capture,
    sockets: &mut KernelSockets,
    addresses: &MachineAddresses,
    outcome: &mut Reconciliation,
) -> Result<(), Error> {
    let twice = duplicates::find_duplicates(capture, &sockets.all, addresses)?;
    for place in &twice {
        let source = sockets.all[place.index()].source as usize;
        add_count(&mut outcome.seen_twice, source::NAMES.get(source).unwrap_or(&"other"), 1);
    }
    Ok(sockets.remove_sockets(&twice, &run.pool)?)
}

/// Finds the other ends that are known by name or, for unix sockets, by their first calls.
fn find_partners(
    run: &PipelineRun,
    capture: &Capture,
    sockets: &KernelSockets,
    listening: &ListeningNames,
) -> Result<SocketPartners, Error> {
    let ambiguous = unix_sockets::find_ambiguous(capture, &sockets.all)?;
    let first_calls =
        FirstCalls::read_calls(capture, sockets, &ambiguous, run.threads, run.progress)?;
    Ok(connection::find_partners(capture, &sockets.all, listening, &first_calls)?)
}

impl ConnectedCapture {
    /// Routing of datagrams by their names.
    pub(crate) fn datagram_routing(&self) -> DatagramRouting<'_> {
        DatagramRouting {
            capture: &self.capture,
            sockets: &self.sockets.all,
            addresses: &self.listening.addresses,
            partner: &self.partner,
        }
    }
}
