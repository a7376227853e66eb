//! Table of nodes for a table of messages, as written by `sockcap export nodes`: it resolves the
//! node numbers in messages.

use std::path::Path;

use message_trace::{Node, NodeId, Progress};
use rustc_hash::FxHashMap;

use super::columns::{self, UnusedRow};
use super::values::{TimeUnit, WrongValue};
use crate::error::Error;
use crate::import_input::ImportInput;
use crate::summary::{FilePosition, ImportSummary};
use crate::target::MessageTarget;

/// Nodes by their ids in the table.
pub(crate) struct NodeTable(FxHashMap<Box<str>, NodeId>);

/// Names of the columns.
const NAMES: [&str; 11] = [
    "id",
    "host",
    "pid",
    "start",
    "command",
    "executable",
    "traced",
    "parent_pid",
    "unit",
    "service",
    "unfollowed",
];

impl NodeTable {
    /// Reads the table `file` into `target`. A faulty node is an error, as every message of it
    /// would be.
    pub(crate) fn read_file(
        file: &Path,
        target: &mut MessageTarget,
        progress: &dyn Progress,
    ) -> Result<NodeTable, Error> {
        let mut summary = ImportSummary::default();
        summary.begin_file(file, progress);
        NodeTable::from_input(ImportInput::open(file, progress)?, target, &mut summary)
    }

    /// Reads the table `input`.
    pub(crate) fn from_input(
        input: ImportInput,
        target: &mut MessageTarget,
        summary: &mut ImportSummary,
    ) -> Result<NodeTable, Error> {
        let file = input.file.clone();
        let mut nodes = FxHashMap::default();
        columns::read_table(
            input,
            NAMES,
            summary,
            |file, columns| columns.require_columns(file, &[0, 1, 4]),
            |row, _| {
                let process = |column: usize| match row.number(column, "a process")? {
                    None => Ok(None),
                    Some(pid) => i32::try_from(pid).map(Some).map_err(|_| {
                        let why = "no process has such a number".to_owned();
                        row.in_column(column, WrongValue { cause: "invalid number", why })
                    }),
                };
                let node = Node {
                    host: row.text(1)?.to_owned(),
                    pid: process(2)?,
                    parent_pid: process(7)?,
                    start: row.time(3, TimeUnit::Nanoseconds)?,
                    command: row.text(4)?.to_owned(),
                    executable: row.text(5)?.to_owned(),
                    traced: row.field(6) == b"true",
                    unit: row.text(8)?.to_owned(),
                    service: row.field(9) == b"true",
                    unfollowed: row.text(10)?.to_owned(),
                };
                nodes.insert(Box::from(row.name(0)?), target.add_node(row.file, node)?);
                Ok::<(), UnusedRow>(())
            },
        )?;
        match summary.skipped.first.first() {
            Some(skip) => {
                let (place, why) = (skip.place.clone(), skip.why.clone());
                Err(Error::Malformed { place, why, more: Vec::new() })
            }
            None if nodes.is_empty() => {
                Err(Error::malformed_at(&file, FilePosition::File, "there are no nodes in it"))
            }
            None => Ok(NodeTable(nodes)),
        }
    }

    /// Node that messages refer to by `id`.
    pub(super) fn find_node(&self, id: &str) -> Result<NodeId, WrongValue> {
        self.0.get(id).copied().ok_or_else(|| WrongValue {
            cause: "node that is not in the table of nodes",
            why: format!(
                "'{}' is not in the table of nodes",
                id.chars().take(40).collect::<String>().escape_debug()
            ),
        })
    }
}
