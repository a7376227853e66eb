//! The times of the messages of instances, out of `messages.parquet`.

use message_trace::table::RowGroups;
use message_trace::table::columns::Columns;
use message_trace::{DataPath, PathError, arrival};

use super::timed_instance::TimedHop;
use crate::receipt::Receipt;

/// The columns of `messages.parquet` that times and sizes are in.
pub(super) struct MessageTimes {
    path: DataPath,
    groups: RowGroups,
}

/// Why messages could not be looked up.
pub(super) enum Unfilled {
    Table(PathError),
    NoMessage(i64),
}

impl From<PathError> for Unfilled {
    fn from(error: PathError) -> Unfilled {
        Unfilled::Table(error)
    }
}

impl MessageTimes {
    pub(super) fn open(path: &DataPath) -> Result<MessageTimes, PathError> {
        let groups =
            RowGroups::open(path, &["send_ts", "recv_first", "recv_last", "recv_ts", "bytes"])?;
        Ok(MessageTimes { path: path.to_owned(), groups })
    }

    /// Looks up when these messages were sent, and their sizes; and gives when each was received.
    pub(super) fn fill(&self, hops: &mut [TimedHop]) -> Result<Vec<Receipt>, Unfilled> {
        let mut receipts = vec![Receipt::default(); hops.len()];
        // Sorted by message. That is nearly their order, which a stable sort makes use of.
        let mut order: Vec<u32> = (0..hops.len() as u32).collect();
        order.sort_by_key(|hop| hops[*hop as usize].message);
        let message = |hops: &[TimedHop], place: usize| {
            order.get(place).map(|hop| hops[*hop as usize].message)
        };
        let (Some(first), Some(last)) =
            (message(hops, 0), message(hops, order.len().saturating_sub(1)))
        else {
            return Ok(receipts);
        };
        let begin = u64::try_from(first).map_err(|_| Unfilled::NoMessage(first))?;
        let mut before = first;
        let mut place = 0;
        for batch in self.groups.rows(begin..(last as u64).saturating_add(1))? {
            let batch = batch?;
            let table = Columns::new(&self.path, &batch);
            let (sent, received) = (table.int64("send_ts")?, table.int64("recv_ts")?);
            let (own_first, own_last) = (table.int64("recv_first")?, table.int64("recv_last")?);
            let bytes = table.int64("bytes")?;
            let end = before + batch.num_rows() as i64;
            while let Some(message) = message(hops, place).filter(|message| *message < end) {
                let row = (message - before) as usize;
                let hop = &mut hops[order[place] as usize];
                hop.sent = sent[row];
                let arrival = arrival(received[row], own_first[row], own_last[row]);
                receipts[order[place] as usize] = Receipt::new(arrival, received[row]);
                hop.bytes = table.some("bytes", bytes[row])?;
                place += 1;
            }
            before = end;
        }
        match message(hops, place) {
            Some(missing) => Err(Unfilled::NoMessage(missing)),
            None => Ok(receipts),
        }
    }
}
