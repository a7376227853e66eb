//! Quick reading of `messages.parquet`: only the ends of messages, that is sender, receiver,
//! endpoints and protocol. Row groups can be read by several threads.

use std::sync::Arc;

use crate::node::NodeList;
use crate::table::RowGroups;
use crate::table::columns::BatchColumns;
use crate::trace::MessageTrace;
use crate::{DataPath, PathError};

/// Columns of the ends of messages. The last is read only if calls are needed.
const COLUMNS: [&str; 8] =
    ["src", "dst", "src_endpoint", "dst_endpoint", "flow", "direction", "protocol", "call_id"];

/// Reader of the ends in a table of messages.
pub struct EndsReader {
    path: DataPath,
    nodes: Arc<NodeList>,
    groups: RowGroups,
}

impl EndsReader {
    /// Opens the tables of messages and of their nodes. Without `call_ids` messages appear to have
    /// none.
    ///
    /// # Errors
    /// If a file cannot be read, or is not a table of messages or nodes.
    pub fn open(
        messages: impl Into<DataPath>,
        nodes: impl Into<DataPath>,
        call_ids: bool,
    ) -> Result<EndsReader, PathError> {
        let messages = &messages.into();
        let nodes = &nodes.into();
        let columns = if call_ids { &COLUMNS[..] } else { &COLUMNS[..COLUMNS.len() - 1] };
        let (nodes, groups) =
            (Arc::new(NodeList::read(nodes)?), RowGroups::open(messages, columns)?);
        Ok(EndsReader { path: messages.to_owned(), nodes, groups })
    }

    /// Returns the nodes of the messages.
    pub fn nodes(&self) -> &Arc<NodeList> {
        &self.nodes
    }

    /// Returns the number of row groups of the table.
    pub fn group_count(&self) -> usize {
        self.groups.group_count()
    }

    /// Passes the messages of a row group to `part`, batch by batch, in the order of the table.
    /// Each has its nodes, endpoints, flow, direction and protocol, and an empty call id if it has
    /// one.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn read_group(
        &self,
        group: usize,
        mut part: impl FnMut(&MessageTrace),
    ) -> Result<(), PathError> {
        for batch in self.groups.read_group(group)? {
            let batch = batch?;
            part(&MessageTrace::ends_only(
                &BatchColumns::new(&self.path, &batch),
                self.nodes.len(),
            )?);
        }
        Ok(())
    }
}
