//! Pass 7: flows, nodes and endpoints get their numbers, and lookups of names become messages.

use message_trace::Protocol;

use crate::error::Error;
use crate::logs::lookups::Lookups;
use crate::pipeline::connect::Connected;
use crate::pipeline::datagram_flows::DatagramFlows;
use crate::reconciliation::{Reconciliation, add};
use crate::write::lookup_rows;
use crate::write::output::Output;
use crate::write::timeline::Rows;

/// Numbers all that messages of our own refer to. `used` says which connections have messages.
pub(crate) fn number<'a>(
    connected: &'a Connected,
    used: &[bool],
    datagrams: DatagramFlows,
    rows: &mut Rows,
    outcome: &mut Reconciliation,
) -> Result<Output<'a>, Error> {
    let Connected { capture, sockets, addresses, connections, .. } = connected;
    let DatagramFlows { flows, first } = datagrams;
    let lookups = Lookups::of(capture);
    let mut output = Output::new(capture, &sockets.all);
    output.connections(connections, used)?;
    for (piece, begin) in output.datagrams(flows, &lookups, addresses)?.into_iter().enumerate() {
        rows.set_begin(first + piece, begin);
    }
    let mut looked_up = Vec::new();
    let messages = lookup_rows::rows(&lookups, &mut output, |row| {
        looked_up.push(row);
        Ok(())
    })?;
    rows.add_imported(looked_up)?;
    if messages > 0 {
        add(&mut outcome.messages, Protocol::Other.name(), messages);
        outcome.both_ends += messages;
    }
    Ok(output)
}
