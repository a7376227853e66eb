//! Quick reading of `messages.parquet`: only the ends of messages, that is sender, receiver,
//! endpoints and protocol. Row groups can be read by several threads.

use std::sync::Arc;

use crate::node::NodeList;
use crate::table::RowGroups;
use crate::table::columns::BatchColumns;
use crate::trace::MessageTrace;
use crate::{DataPath, PathError};

/// Columns of the ends of messages.
const COLUMNS: [&str; 7] =
    ["src", "dst", "src_endpoint", "dst_endpoint", "flow", "direction", "protocol"];
/// The column that is read if calls are needed.
const CALL_ID: [&str; 1] = ["call_id"];
/// The columns that are read if times are needed.
pub(super) const TIMES: [&str; 2] = ["send_ts", "recv_ts"];

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
        EndsReader::with_columns(messages, nodes, if call_ids { &CALL_ID } else { &[] })
    }

    /// Opens the tables of messages and of their nodes. The messages have the times on the common
    /// clock, too, and appear to have no call ids.
    ///
    /// # Errors
    /// If a file cannot be read, or is not a table of messages or nodes.
    pub fn open_timed(
        messages: impl Into<DataPath>,
        nodes: impl Into<DataPath>,
    ) -> Result<EndsReader, PathError> {
        EndsReader::with_columns(messages, nodes, &TIMES)
    }

    fn with_columns(
        messages: impl Into<DataPath>,
        nodes: impl Into<DataPath>,
        others: &[&'static str],
    ) -> Result<EndsReader, PathError> {
        let (path, nodes) = (messages.into(), Arc::new(NodeList::read(nodes.into())?));
        let groups = RowGroups::open(&path, &[&COLUMNS[..], others].concat())?;
        Ok(EndsReader { path, nodes, groups })
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
    /// Each has its nodes, endpoints, flow, direction and protocol, and the times or an empty call
    /// id if these are read.
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
