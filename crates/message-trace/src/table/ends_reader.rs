//! Quick reading of `messages.parquet`: the ends of messages alone, that is who sent to whom over
//! what. Row groups can be read by several threads.

use std::sync::Arc;

use crate::node::NodeList;
use crate::table::RowGroups;
use crate::table::columns::BatchColumns;
use crate::trace::MessageTrace;
use crate::{DataPath, PathError};

/// Columns of the ends of messages. The last is read only where calls are wanted.
const COLUMNS: [&str; 8] =
    ["src", "dst", "src_endpoint", "dst_endpoint", "flow", "direction", "protocol", "call_id"];

/// Reader of a table of messages that reads their ends alone.
pub struct EndsReader {
    path: DataPath,
    nodes: Arc<NodeList>,
    groups: RowGroups,
}

impl EndsReader {
    /// Opens the tables of messages and of the nodes they name. Without `call_ids` it is as if no
    /// message had one.
    ///
    /// # Errors
    /// When a file cannot be read, or is not such a table.
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

    /// Nodes that the messages went between.
    pub fn nodes(&self) -> &Arc<NodeList> {
        &self.nodes
    }

    /// Number of row groups of the table.
    pub fn group_count(&self) -> usize {
        self.groups.group_count()
    }

    /// Hands the messages of a row group to `part`, batch by batch, in the order of the table. Each
    /// has its nodes, endpoints, flow, direction and protocol, and an empty call id where it has
    /// one.
    ///
    /// # Errors
    /// When the table cannot be read.
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
