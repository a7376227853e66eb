//! The times of the messages of instances, from `messages.parquet`.

use message_trace::table::RowGroups;
use message_trace::table::columns::BatchColumns;
use message_trace::{DataPath, PathError, arrival_of_times};

use super::timed_instance::TimedHop;
use crate::receipt::MessageReceipt;

/// The columns of `messages.parquet` with times and sizes.
pub(super) struct MessageTimes {
    path: DataPath,
    groups: RowGroups,
}

/// Why messages could not be looked up.
pub(super) enum LookupFailure {
    /// The table of messages could not be read.
    Table(PathError),
    /// The table has no message with this number.
    NoMessage(i64),
}

impl From<PathError> for LookupFailure {
    fn from(error: PathError) -> LookupFailure {
        LookupFailure::Table(error)
    }
}

impl MessageTimes {
    pub(super) fn open(path: &DataPath) -> Result<MessageTimes, PathError> {
        let groups =
            RowGroups::open(path, &["send_ts", "recv_first", "recv_last", "recv_ts", "bytes"])?;
        Ok(MessageTimes { path: path.to_owned(), groups })
    }

    /// Looks up these messages: sets their times of sending and their sizes, and returns when each
    /// was received.
    pub(super) fn fill_times(
        &self,
        hops: &mut [TimedHop],
    ) -> Result<Vec<MessageReceipt>, LookupFailure> {
        let mut receipts = vec![MessageReceipt::default(); hops.len()];
        // Sorted by message. That is nearly their order, which a stable sort exploits.
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
        let begin = u64::try_from(first).map_err(|_| LookupFailure::NoMessage(first))?;
        let mut before = first;
        let mut place = 0;
        for batch in self.groups.read_rows(begin..(last as u64).saturating_add(1))? {
            let batch = batch?;
            let table = BatchColumns::new(&self.path, &batch);
            let (sent, received) = (table.int64_column("send_ts")?, table.int64_column("recv_ts")?);
            let (own_first, own_last) =
                (table.int64_column("recv_first")?, table.int64_column("recv_last")?);
            let bytes = table.int64_column("bytes")?;
            let end = before + batch.num_rows() as i64;
            while let Some(message) = message(hops, place).filter(|message| *message < end) {
                let row = (message - before) as usize;
                let hop = &mut hops[order[place] as usize];
                hop.sent = sent[row];
                let arrival = arrival_of_times(received[row], own_first[row], own_last[row]);
                receipts[order[place] as usize] = MessageReceipt::new(arrival, received[row]);
                hop.bytes = table.required_value("bytes", bytes[row])?;
                place += 1;
            }
            before = end;
        }
        match message(hops, place) {
            Some(missing) => Err(LookupFailure::NoMessage(missing)),
            None => Ok(receipts),
        }
    }
}
