//! Reading of `messages.parquet` only who sent to whom over what, which is quick, group of rows by
//! group of rows, which may be on several threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::node::Nodes;
use crate::table::Groups;
use crate::table::columns::Columns;
use crate::trace::MessageTrace;

/// The columns that tell who sent what to whom over what. The last is read where calls are looked
/// for.
const WAYS: [&str; 8] =
    ["src", "dst", "src_endpoint", "dst_endpoint", "flow", "direction", "protocol", "call_id"];

/// A table of messages of which only the ways are read.
pub struct WayReader {
    path: PathBuf,
    nodes: Arc<Nodes>,
    groups: Groups,
}

impl WayReader {
    /// Opens the tables of messages and of the nodes they name. Without `call_ids` it is as if no
    /// message had one.
    ///
    /// # Errors
    /// When a file cannot be read, or is not such a table.
    pub fn open(messages: &Path, nodes: &Path, call_ids: bool) -> Result<WayReader, Error> {
        let columns = if call_ids { &WAYS[..] } else { &WAYS[..WAYS.len() - 1] };
        let (nodes, groups) = (Arc::new(Nodes::read(nodes)?), Groups::open(messages, columns)?);
        Ok(WayReader { path: messages.to_owned(), nodes, groups })
    }

    /// Who the messages are between.
    pub fn nodes(&self) -> &Arc<Nodes> {
        &self.nodes
    }

    /// How many groups of rows the table has.
    pub fn groups(&self) -> usize {
        self.groups.count()
    }

    /// Hands the messages of a group to `part`, some after the other, in the order of the table. Of
    /// each is known between whom it was, over which endpoints, on which flow, in which direction,
    /// by which protocol, and whether it has a call id, which is then empty.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn read(&self, group: usize, mut part: impl FnMut(&MessageTrace)) -> Result<(), Error> {
        for batch in self.groups.read(group)? {
            let batch = batch?;
            part(&MessageTrace::ways(&Columns::new(&self.path, &batch), self.nodes.len())?);
        }
        Ok(())
    }
}
