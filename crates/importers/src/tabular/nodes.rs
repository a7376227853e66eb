//! The table of nodes that goes with a table of messages, as `sockcap export nodes` writes it: what
//! the messages call by a number.

use std::path::Path;

use message_trace::{Node, NodeId, Progress};
use rustc_hash::FxHashMap;

use super::columns::{self, Unused};
use super::values::{Unit, Wrong};
use crate::error::Error;
use crate::reading::Input;
use crate::summary::{At, Summary};
use crate::target::Target;

/// The nodes by their ids in the table.
pub(crate) struct NodeTable(FxHashMap<Box<str>, NodeId>);

const NAMES: [&str; 10] = [
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
];

impl NodeTable {
    /// Reads the table `file` into `target`. A node that is wrong is an error, as every message of
    /// it would be.
    pub(crate) fn read(
        file: &Path,
        target: &mut Target,
        progress: &dyn Progress,
    ) -> Result<NodeTable, Error> {
        let mut summary = Summary::default();
        summary.begin(file, progress);
        NodeTable::of(Input::open(file, progress)?, target, &mut summary)
    }

    /// Reads the table that `input` is.
    pub(crate) fn of(
        input: Input,
        target: &mut Target,
        summary: &mut Summary,
    ) -> Result<NodeTable, Error> {
        let file = input.file.clone();
        let mut nodes = FxHashMap::default();
        columns::read(
            input,
            NAMES,
            summary,
            |file, columns| columns.require(file, &[0, 1, 4]),
            |row, _| {
                let process = |column: usize| match row.number(column, "a process")? {
                    None => Ok(None),
                    Some(pid) => i32::try_from(pid).map(Some).map_err(|_| {
                        let why = "no process has such a number".to_owned();
                        row.at(column, Wrong { cause: "number that is none", why })
                    }),
                };
                let node = Node {
                    host: row.text(1)?.to_owned(),
                    pid: process(2)?,
                    parent_pid: process(7)?,
                    start: row.time(3, Unit::Nanoseconds)?,
                    command: row.text(4)?.to_owned(),
                    executable: row.text(5)?.to_owned(),
                    traced: row.field(6) == b"true",
                    unit: row.text(8)?.to_owned(),
                    service: row.field(9) == b"true",
                };
                nodes.insert(Box::from(row.name(0)?), target.add(row.file, node)?);
                Ok::<(), Unused>(())
            },
        )?;
        match summary.skipped.first.first() {
            Some(skip) => {
                let (place, why) = (skip.place.clone(), skip.why.clone());
                Err(Error::Malformed { place, why, more: Vec::new() })
            }
            None if nodes.is_empty() => {
                Err(Error::malformed(&file, At::File, "there are no nodes in it"))
            }
            None => Ok(NodeTable(nodes)),
        }
    }

    /// The node that messages call `id`.
    pub(super) fn node(&self, id: &str) -> Result<NodeId, Wrong> {
        self.0.get(id).copied().ok_or_else(|| Wrong {
            cause: "node that is not in the table of nodes",
            why: format!(
                "'{}' is not in the table of nodes",
                id.chars().take(40).collect::<String>().escape_debug()
            ),
        })
    }
}
