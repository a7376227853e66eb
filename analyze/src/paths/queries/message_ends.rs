//! The ends of the messages of instances, from `messages.parquet`: nodes, threads and endpoints.

use message_trace::table::RowGroups;
use message_trace::table::columns::BatchColumns;
use message_trace::{DataPath, NodeId, PathError};
use rustc_hash::FxHashMap;

use super::message_times::LookupFailure;

/// The columns of `messages.parquet` with the ends.
pub(super) struct MessageEnds {
    path: DataPath,
    groups: RowGroups,
}

/// Both ends of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EndsOfMessage {
    pub(super) src: NodeId,
    pub(super) dst: NodeId,
    /// The thread that sent the message's first part.
    pub(super) src_tid: Option<i32>,
    /// The thread that received the message.
    pub(super) dst_tid: Option<i32>,
    /// The receiver's endpoint, as a number of [`EndsOfMessages::endpoints`].
    pub(super) dst_endpoint: u32,
}

/// The ends of some messages.
#[derive(Default)]
pub(super) struct EndsOfMessages {
    pub(super) ends: Vec<EndsOfMessage>,
    /// Texts of the endpoints.
    pub(super) endpoints: Vec<String>,
}

impl MessageEnds {
    pub(super) fn open(path: &DataPath) -> Result<MessageEnds, PathError> {
        let groups = RowGroups::open(path, &["src", "dst", "src_tid", "dst_tid", "dst_endpoint"])?;
        Ok(MessageEnds { path: path.to_owned(), groups })
    }

    /// Reads the ends of these messages, each given by its row.
    pub(super) fn read_ends(&self, messages: &[i64]) -> Result<EndsOfMessages, LookupFailure> {
        let mut read = EndsOfMessages {
            ends: vec![EndsOfMessage::default(); messages.len()],
            ..EndsOfMessages::default()
        };
        // Sorted by message. That is nearly their order, which a stable sort exploits.
        let mut order: Vec<u32> = (0..messages.len() as u32).collect();
        order.sort_by_key(|place| messages[*place as usize]);
        let message = |place: usize| order.get(place).map(|hop| messages[*hop as usize]);
        let (Some(first), Some(last)) = (message(0), message(order.len().saturating_sub(1))) else {
            return Ok(read);
        };
        let begin = u64::try_from(first).map_err(|_| LookupFailure::NoMessage(first))?;
        let mut numbers: FxHashMap<String, u32> = FxHashMap::default();
        let (mut before, mut place) = (first, 0);
        for batch in self.groups.read_rows(begin..(last as u64).saturating_add(1))? {
            let batch = batch?;
            let table = BatchColumns::new(&self.path, &batch);
            let (src, dst) = (table.int32_column("src")?, table.int32_column("dst")?);
            let node = |name, id: Option<i32>| {
                table.required_value(name, id).map(|id| NodeId::from_index(id as usize))
            };
            let (senders, receivers) =
                (table.int32_column("src_tid")?, table.int32_column("dst_tid")?);
            let (texts_of, texts) = table.numbered_texts("dst_endpoint")?;
            // The number of each text of the batch, once it was needed.
            let mut known: Vec<Option<u32>> = vec![None; texts.len()];
            let end = before + batch.num_rows() as i64;
            while let Some(message) = message(place).filter(|message| *message < end) {
                let row = (message - before) as usize;
                let text = table.required_value("dst_endpoint", texts_of[row])? as usize;
                let dst_endpoint = *known[text].get_or_insert_with(|| {
                    let next = numbers.len() as u32;
                    *numbers.entry(texts[text].to_owned()).or_insert_with_key(|text| {
                        read.endpoints.push(text.clone());
                        next
                    })
                });
                read.ends[order[place] as usize] = EndsOfMessage {
                    src: node("src", src[row])?,
                    dst: node("dst", dst[row])?,
                    src_tid: senders[row],
                    dst_tid: receivers[row],
                    dst_endpoint,
                };
                place += 1;
            }
            before = end;
        }
        match message(place) {
            Some(missing) => Err(LookupFailure::NoMessage(missing)),
            None => Ok(read),
        }
    }
}
