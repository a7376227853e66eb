//! Table of all recorded operations, log by log, sorted by flow, direction and time.

use std::ops::Range;

use message_trace::PathError;
use out_of_core::{NameId, NameInterner, SpillableVec};

use crate::indices::SocketIndex;
use crate::logs::capture::Capture;
use crate::recorded_operations::interleaved;
use crate::recorded_operations::log_operations::{FlowsOfLog, LogOperations};
use crate::recorded_operations::operation::RecordedOperation;
use crate::recorded_operations::{coalesced_writes, uneven};
use crate::sockets::socket::KernelSockets;

/// The operations of all logs.
#[derive(Debug)]
pub(crate) struct RecordedOperations {
    operations: SpillableVec<RecordedOperation>,
    /// Range of operations by log.
    of_logs: Vec<Range<usize>>,
    /// By log, the flows shared by several causes without ids, sorted.
    interleaved: Vec<Vec<u32>>,
    /// By log, the flows with incomplete operations, sorted.
    uneven: Vec<Vec<u32>>,
    names: NameInterner,
}

impl RecordedOperations {
    /// An empty table for the logs of `capture`.
    pub(super) fn new(capture: &Capture) -> RecordedOperations {
        RecordedOperations {
            operations: SpillableVec::new(&capture.pool),
            of_logs: vec![0..0; capture.logs.len()],
            interleaved: vec![Vec::new(); capture.logs.len()],
            uneven: vec![Vec::new(); capture.logs.len()],
            names: NameInterner::default(),
        }
    }

    /// Adds the operations of log number `log`, which are sorted. Their texts are numbered in
    /// `names`.
    pub(super) fn add_log(
        &mut self,
        log: usize,
        operations: &SpillableVec<RecordedOperation>,
        names: &NameInterner,
    ) -> Result<(), PathError> {
        let numbers: Vec<NameId> = names.iter().map(|text| self.names.intern(text)).collect();
        let number = |local: NameId| numbers.get(local.index()).copied().unwrap_or_default();
        let first = self.operations.len();
        self.operations.extend(operations.iter().map(|operation| RecordedOperation {
            protocol: number(operation.protocol),
            name: number(operation.name),
            detail: number(operation.detail),
            status: number(operation.status),
            ..*operation
        }))?;
        if let Some(flows) = self.interleaved.get_mut(log) {
            *flows = interleaved::find_interleaved_flows(operations)?;
            flows.extend(coalesced_writes::find_coalesced_flows(operations)?);
            flows.sort_unstable();
            flows.dedup();
        }
        if let Some(flows) = self.uneven.get_mut(log) {
            *flows = uneven::find_uneven_flows(operations);
        }
        if let Some(range) = self.of_logs.get_mut(log) {
            *range = first..self.operations.len();
        }
        Ok(())
    }

    /// Whether no log has operations.
    pub(crate) fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The operations of log number `log`; `None` if the log has no operations.
    pub(crate) fn operations_of_log(&self, log: usize) -> Option<LogOperations<'_>> {
        let range = self.of_logs.get(log).filter(|range| !range.is_empty())?;
        let flows = FlowsOfLog {
            interleaved: self.interleaved.get(log).map_or(&[][..], Vec::as_slice),
            uneven: self.uneven.get(log).map_or(&[][..], Vec::as_slice),
        };
        Some(LogOperations::new(&self.operations, range.clone(), flows))
    }

    /// The ranges of all operations, log by log.
    pub(crate) fn iter_logs(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.of_logs.iter().cloned().enumerate().filter(|(_, range)| !range.is_empty())
    }

    /// The operation at an index of the table.
    pub(crate) fn get(&self, place: usize) -> Option<&RecordedOperation> {
        self.operations.get(place)
    }

    /// The text of a name.
    pub(crate) fn text_of_name(&self, number: NameId) -> &str {
        self.names.name_of(number)
    }

    /// Adds the pieces into which operations divide calls to the transfers of `sockets`, so that
    /// space is reserved for them.
    pub(crate) fn count_fragments(&self, capture: &Capture, sockets: &mut KernelSockets) {
        for (log, range) in self.iter_logs() {
            let Some(log) = capture.logs.get(log) else { continue };
            let places = sockets.places_of_log(log);
            let inner = self.operations.range(range).filter(|operation| operation.at > 0);
            for operation in inner {
                let socket = places.get(operation.flow).map(SocketIndex::index);
                if let Some(socket) = socket.and_then(|place| sockets.all.get_mut(place)) {
                    socket.transfers = socket.transfers.saturating_add(1);
                }
            }
        }
    }
}
