//! Pass 7: flows, nodes and endpoints get their numbers, and name lookups become messages.

use message_trace::TransportProtocol;

use crate::error::Error;
use crate::logs::lookups::LookupIndex;
use crate::pipeline::connect::ConnectedCapture;
use crate::pipeline::datagram_flows::DatagramFlows;
use crate::reconciliation::{Reconciliation, add_count};
use crate::write::entity_tables::EntityTables;
use crate::write::lookup_rows;
use crate::write::timeline::PartitionedRows;

/// Numbers all entities to which messages from logs refer. `used` marks the connections that have
/// messages.
pub(crate) fn number_entities<'a>(
    connected: &'a ConnectedCapture,
    used: &[bool],
    datagrams: DatagramFlows,
    rows: &mut PartitionedRows,
    outcome: &mut Reconciliation,
) -> Result<EntityTables<'a>, Error> {
    let ConnectedCapture { capture, sockets, addresses, connections, .. } = connected;
    let DatagramFlows { flows, first } = datagrams;
    let lookups = LookupIndex::from_capture(capture);
    let mut output = EntityTables::new(capture, &sockets.all);
    output.add_connections(connections, used)?;
    for (piece, begin) in output.add_datagrams(flows, &lookups, addresses)?.into_iter().enumerate()
    {
        rows.set_begin(first + piece, begin);
    }
    let mut looked_up = Vec::new();
    let messages = lookup_rows::for_each_lookup_row(&lookups, &mut output, |row| {
        looked_up.push(row);
        Ok(())
    })?;
    rows.add_imported(looked_up)?;
    if messages > 0 {
        add_count(&mut outcome.messages, TransportProtocol::Other.name(), messages);
        outcome.both_ends += messages;
    }
    Ok(output)
}
