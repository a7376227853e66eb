//! Messages of name lookups: a request to the host's name lookup, and its answer.

use message_trace::{Endpoint, PathError, TransportProtocol};
use rustc_hash::FxHashMap;
use socket_log::api::Api;

use crate::indices::{OptionalIndex, ProcessIndex};
use crate::logs::lookups::{LookupIndex, TimedLookup};
use crate::optional_time::OptionalTime;
use crate::rows::imported_row::ImportedRow;
use crate::rows::optional_thread::OptionalThread;
use crate::rows::row::{MessageRow, MessageSlot, SlotEnd};
use crate::write::entity_tables::EntityTables;

/// Calls `row` with each of the two messages of each lookup, and returns their number. The calls of
/// a thread are one flow.
pub(crate) fn for_each_lookup_row(
    lookups: &LookupIndex,
    output: &mut EntityTables<'_>,
    mut row: impl FnMut(ImportedRow) -> Result<(), PathError>,
) -> Result<u64, PathError> {
    let mut slots: FxHashMap<(ProcessIndex, u32, Api), u32> = FxHashMap::default();
    for lookup in &lookups.all {
        let slot = match slots.get(&(lookup.process, lookup.tid, lookup.api)) {
            Some(slot) => *slot,
            None => {
                let slot = output.slots.len() as u32;
                let ends = lookup_ends(output, lookup)?;
                let flow = output.next_flow();
                output.slots.push(MessageSlot {
                    flow,
                    protocol: TransportProtocol::Other,
                    ends,
                })?;
                slots.insert((lookup.process, lookup.tid, lookup.api), slot);
                slot
            }
        };
        let [begin, end] = [lookup.begin, lookup.end].map(OptionalTime::some);
        let sent = [begin, begin, OptionalTime::NONE, OptionalTime::NONE];
        let received = [OptionalTime::NONE, OptionalTime::NONE, end, end];
        for (times, side) in [(sent, 0), (received, 1)] {
            row(ImportedRow {
                row: lookup_message(lookup, times, side, slot),
                common: [OptionalTime::NONE; 2],
                call: 0,
            })?;
        }
    }
    Ok(2 * lookups.all.len() as u64)
}

/// The ends of a thread's lookups.
fn lookup_ends(
    output: &mut EntityTables<'_>,
    lookup: &TimedLookup,
) -> Result<[SlotEnd; 2], PathError> {
    let own = Endpoint::Other(format!("lookup:{}/{}", lookup.process.index(), lookup.tid));
    let caller = SlotEnd { node: lookup.process.node(), endpoint: output.imported_endpoint(&own)? };
    let called = Endpoint::Other(lookup.api.libc_name().to_owned());
    let endpoint = output.imported_endpoint(&called)?;
    Ok([caller, SlotEnd { node: output.name_lookup(lookup.process)?, endpoint }])
}

/// The request (`side` 0) or the answer of a lookup.
fn lookup_message(
    lookup: &TimedLookup,
    times: [OptionalTime; 4],
    side: usize,
    slot: u32,
) -> MessageRow {
    let mut row = MessageRow::between_times(times, slot, side);
    row.nodes[side] = OptionalIndex::some(lookup.process.node());
    row.tids[side] = OptionalThread::some(lookup.tid as i32);
    row
}
