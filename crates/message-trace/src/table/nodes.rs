//! The table `nodes.parquet`: the senders and receivers of messages, one row per node; a node's id
//! is its row.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};

use crate::node::{Node, NodeList};
use crate::table;
use crate::table::columns::{self, BatchColumns, nullable_field, required_field};
use crate::{DataPath, PathError};

fn nodes_schema() -> SchemaRef {
    columns::build_schema([
        required_field("id", DataType::Int32),
        required_field("host", DataType::Utf8),
        nullable_field("pid", DataType::Int32),
        nullable_field("start", DataType::Int64),
        required_field("command", DataType::Utf8),
        required_field("executable", DataType::Utf8),
        required_field("traced", DataType::Boolean),
        nullable_field("parent_pid", DataType::Int32),
        nullable_field("unit", DataType::Utf8),
        nullable_field("service", DataType::Boolean),
        nullable_field("unfollowed", DataType::Utf8),
    ])
}

impl NodeList {
    /// Writes the table to `path`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: impl Into<DataPath>) -> Result<(), PathError> {
        let path = &path.into();
        table::write_batches(path, nodes_schema(), [self.to_batch(path)?])
    }

    /// Writes the table of all `nodes` to `path`; one batch of them is in memory at a time. The
    /// table is the same as by [`NodeList::write`].
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_all(
        path: impl Into<DataPath>,
        nodes: impl IntoIterator<Item = Node>,
    ) -> Result<(), PathError> {
        let path = &path.into();
        let mut writer = table::BatchWriter::create(path, nodes_schema())?;
        let (mut nodes, mut first) = (nodes.into_iter(), 0);
        loop {
            let batch = NodeList(nodes.by_ref().take(table::BATCH_ROWS).collect());
            if batch.is_empty() {
                return writer.finish();
            }
            writer.write_batch(&batch.batch_from(first, path)?)?;
            first += batch.len();
        }
    }

    /// Returns the table as one batch, for `path`.
    pub(super) fn to_batch(&self, path: impl AsRef<Path>) -> Result<RecordBatch, PathError> {
        let path = path.as_ref();
        self.batch_from(0, path)
    }

    /// Returns the batch of the nodes of this list as a part of a table; `first` is the id of the
    /// first one.
    fn batch_from(&self, first: usize, path: impl AsRef<Path>) -> Result<RecordBatch, PathError> {
        let path = path.as_ref();
        let rows = || self.0.iter();
        let text_if_any = |text: fn(&Node) -> &String| {
            columns::string_array(
                rows().map(move |node| Some(text(node)).filter(|text| !text.is_empty())),
            )
        };
        let arrays = vec![
            columns::int32_array((first..first + self.len()).map(|id| Some(id as i32))),
            columns::string_array(rows().map(|node| Some(&node.host))),
            columns::int32_array(rows().map(|node| node.pid)),
            columns::int64_array(rows().map(|node| node.start)),
            columns::string_array(rows().map(|node| Some(&node.command))),
            columns::string_array(rows().map(|node| Some(&node.executable))),
            columns::boolean_array(rows().map(|node| node.traced)),
            columns::int32_array(rows().map(|node| node.parent_pid)),
            text_if_any(|node| &node.unit),
            columns::boolean_array(rows().map(|node| node.service)),
            text_if_any(|node| &node.unfollowed),
        ];
        columns::build_batch(path, &nodes_schema(), arrays)
    }

    /// Reads the table at `path`.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a table of nodes.
    pub fn read(path: impl Into<DataPath>) -> Result<NodeList, PathError> {
        let path = &path.into();
        let mut nodes = NodeList::default();
        for batch in table::read_batches(path)? {
            let batch = batch?;
            let table = BatchColumns::new(path, &batch);
            let (host, pid, start) = (
                table.text_column("host")?,
                table.int32_column("pid")?,
                table.int64_column("start")?,
            );
            let (command, executable) =
                (table.text_column("command")?, table.text_column("executable")?);
            let traced = table.boolean_column("traced")?;
            // Tables of older versions lack these columns.
            let parent_pid = table.int32_if_any("parent_pid")?;
            let unit = table.texts_if_any("unit")?;
            let service = table.boolean_if_any("service")?;
            let unfollowed = table.texts_if_any("unfollowed")?;
            let text = |column: &Option<Vec<Option<&str>>>, row: usize| {
                column.as_ref().and_then(|texts| texts[row]).unwrap_or_default().to_owned()
            };
            for row in 0..batch.num_rows() {
                nodes.push(Node {
                    host: table.required_value("host", host[row])?.to_owned(),
                    pid: pid[row],
                    parent_pid: parent_pid.as_ref().and_then(|parents| parents[row]),
                    start: start[row],
                    command: table.required_value("command", command[row])?.to_owned(),
                    executable: table.required_value("executable", executable[row])?.to_owned(),
                    traced: traced[row],
                    unit: text(&unit, row),
                    service: service.as_ref().is_some_and(|services| services[row]),
                    unfollowed: text(&unfollowed, row),
                });
            }
        }
        Ok(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_written_in_batches_make_the_same_table() {
        let directory = tempfile::tempdir().unwrap();
        for count in [0, 1, table::BATCH_ROWS, 2 * table::BATCH_ROWS + 5] {
            let node = |number: usize| Node {
                command: format!("{}", number % 1_000),
                unfollowed: ["", "Python 3.15"][number % 2].to_owned(),
                ..Node::default()
            };
            let nodes = NodeList((0..count).map(node).collect());
            let [whole, parts] = ["whole", "parts"].map(|name| directory.path().join(name));
            nodes.write(&whole).unwrap();
            NodeList::write_all(&parts, (0..count).map(node)).unwrap();
            if count <= table::BATCH_ROWS {
                assert!(std::fs::read(&whole).unwrap() == std::fs::read(&parts).unwrap());
            }
            assert_eq!(NodeList::read(&whole).unwrap(), nodes);
            assert_eq!(NodeList::read(&parts).unwrap(), nodes);
        }
    }
}
