//! Changes of whole rows: reserving space, appending rows of another trace, sorting.

use std::ops::Range;

use super::{MessageTrace, NIL, NO_CALL};
use crate::endpoint::EndpointId;
#[cfg(doc)]
use crate::message::Message;
use crate::message::MessageId;

impl MessageTrace {
    /// Reserves space for exactly `rows` more messages.
    pub fn reserve_rows(&mut self, rows: usize) {
        self.times.iter_mut().for_each(|column| column.reserve_exact(rows));
        [&mut self.src, &mut self.dst].into_iter().for_each(|column| column.reserve_exact(rows));
        for column in [&mut self.src_tid, &mut self.dst_tid, &mut self.parts] {
            column.reserve_exact(rows);
        }
        for column in [&mut self.src_endpoint, &mut self.dst_endpoint] {
            column.reserve_exact(rows);
        }
        self.call.reserve_exact(rows);
        self.flow.reserve_exact(rows);
        self.bytes.reserve_exact(rows);
        self.direction.reserve_exact(rows);
        self.protocol.reserve_exact(rows);
    }

    /// Appends the messages of these rows of `other`; both traces must have the same nodes.
    /// Endpoints and call ids that no row uses are not copied.
    ///
    /// # Panics
    /// As for [`MessageTrace::message`].
    pub fn append_rows(&mut self, other: &MessageTrace, rows: Range<usize>) {
        self.connects.append_rows(&other.connects, rows.clone(), self.len());
        self.operations.append_rows(&other.operations, rows.clone(), self.len());
        self.words.append_rows(&other.words, rows.clone(), self.len());
        for (column, others) in self.times.iter_mut().zip(&other.times) {
            column.extend_from_slice(&others[rows.clone()]);
        }
        self.src.extend_from_slice(&other.src[rows.clone()]);
        self.dst.extend_from_slice(&other.dst[rows.clone()]);
        self.src_tid.extend_from_slice(&other.src_tid[rows.clone()]);
        self.dst_tid.extend_from_slice(&other.dst_tid[rows.clone()]);
        self.flow.extend_from_slice(&other.flow[rows.clone()]);
        self.direction.extend_from_slice(&other.direction[rows.clone()]);
        self.protocol.extend_from_slice(&other.protocol[rows.clone()]);
        self.bytes.extend_from_slice(&other.bytes[rows.clone()]);
        self.parts.extend_from_slice(&other.parts[rows.clone()]);
        let MessageTrace { endpoints, calls, src_endpoint, dst_endpoint, call, .. } = self;
        let mut known: Vec<Option<EndpointId>> = vec![None; other.endpoints.values.len()];
        let mut own_id = |id: &EndpointId| match (known.get_mut(id.index()), other.endpoint(*id)) {
            (Some(known), Some(endpoint)) => {
                *known.get_or_insert_with(|| endpoints.intern(endpoint))
            }
            _ => *id,
        };
        for row in rows.clone() {
            src_endpoint.push(own_id(&other.src_endpoint[row]));
            dst_endpoint.push(own_id(&other.dst_endpoint[row]));
        }
        let call_ids = MessageId::of_rows(rows).map(|id| other.call_id(id));
        call.extend(call_ids.map(|id| id.map_or(NO_CALL, |id| calls.intern(id))));
    }

    /// Sorts the messages by [`Message::sort_time`], equal times by flow, direction and former row,
    /// so that equal input always gives equal output.
    pub fn sort_messages(&mut self) {
        let key = |id: MessageId| {
            let row = id.index();
            let (sent, received) = (self.times[4][row], self.times[5][row]);
            (if sent == NIL { received } else { sent }, self.flow[row], self.direction[row], id)
        };
        let mut order: Vec<MessageId> = self.ids().collect();
        order.sort_unstable_by_key(|id| key(*id));
        for column in &mut self.times {
            permute_column(column, &order);
        }
        permute_column(&mut self.src, &order);
        permute_column(&mut self.dst, &order);
        permute_column(&mut self.src_endpoint, &order);
        permute_column(&mut self.dst_endpoint, &order);
        permute_column(&mut self.src_tid, &order);
        permute_column(&mut self.dst_tid, &order);
        permute_column(&mut self.flow, &order);
        permute_column(&mut self.direction, &order);
        permute_column(&mut self.protocol, &order);
        permute_column(&mut self.bytes, &order);
        permute_column(&mut self.parts, &order);
        self.connects.permute_rows(&order);
        self.operations.permute_rows(&order);
        self.words.permute_rows(&order);
        permute_column(&mut self.call, &order);
    }
}

fn permute_column<T: Copy>(column: &mut Vec<T>, order: &[MessageId]) {
    *column = order.iter().map(|former| column[former.index()]).collect();
}
