//! Writer of `links.parquet`: child i64, parent i64 (null: spontaneous), probability f64, evidence
//! text (what decided the parents of a call; null for other messages); a row per candidate, by
//! child.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray};
use arrow_schema::{DataType, SchemaRef};
use message_trace::table::columns::{
    self, dictionary_type, keyed_array, nullable_field, required_field,
};
use message_trace::table::{ColumnEncoding, RowGroupWriter};
use message_trace::{DataPath, MessageId, PathError};
use out_of_core::workers::run_in_order;

use super::reader::LinkReader;
use crate::call_evidence::CallEvidence;
use crate::links::{Links, ParentMessage};
use crate::tuning::links::writer::{CHILDREN_AT_ONCE, ROWS_AT_ONCE};
use out_of_core::workers;

fn link_schema() -> SchemaRef {
    columns::build_schema([
        required_field("child", DataType::Int64),
        nullable_field("parent", DataType::Int64),
        required_field("probability", DataType::Float64),
        nullable_field("evidence", dictionary_type()),
    ])
}

/// Writer of the table of links, which appears under its name once it is finished.
pub(crate) struct LinkWriter {
    table: RowGroupWriter,
}

impl LinkWriter {
    /// Creates the table at `path`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub(crate) fn create(path: &DataPath) -> Result<LinkWriter, PathError> {
        let stored = |column: &str| match column {
            "probability" => ColumnEncoding::Bytewise,
            "evidence" => ColumnEncoding::Once,
            _ => ColumnEncoding::Differences,
        };
        Ok(LinkWriter { table: RowGroupWriter::create(path, link_schema(), stored)? })
    }

    /// Appends the links of these children, on all processors; message 0 of `links` has the number
    /// `first` in the whole trace.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn append_links(
        &mut self,
        links: &Links,
        children: Range<usize>,
        first: u64,
    ) -> Result<(), PathError> {
        let encoder = self.table.encoder();
        let groups = children.len().div_ceil(CHILDREN_AT_ONCE);
        let encode = |number: usize| {
            let begin = children.start + number * CHILDREN_AT_ONCE;
            let end = (begin + CHILDREN_AT_ONCE).min(children.end);
            let mut group = encoder.begin_group()?;
            let mut step = LinkRows::default();
            for child in MessageId::of_rows(begin..end) {
                step.push(links, child, first as i64);
                if step.child.len() >= ROWS_AT_ONCE {
                    group.write_rows(&std::mem::take(&mut step).into_arrays())?;
                }
            }
            group.write_rows(&step.into_arrays())?;
            group.finish_group()
        };
        run_in_order(workers::thread_count(), groups, encode, |_, group| {
            self.table.append_group(group)
        })
    }

    /// Finishes the table and gives it its name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn finish(self) -> Result<(), PathError> {
        self.table.finish()
    }
}

/// Row that is written for a parent outside of memory whose number is unknown: a value after all
/// rows that are in memory.
const UNKNOWN_ROW: i64 = u32::MAX as i64;

/// Rows of the table, by columns.
#[derive(Default)]
struct LinkRows {
    child: Vec<i64>,
    parent: Vec<i64>,
    has_parent: Vec<bool>,
    probability: Vec<f64>,
    /// The index of each row's evidence in [`CallEvidence::ALL`].
    evidence: Vec<Option<i32>>,
}

impl LinkRows {
    /// Adds the rows of a child of `links`, in which message 0 has the number `first`.
    fn push(&mut self, links: &Links, child: MessageId, first: i64) {
        for (parent, probability) in links.parents(child) {
            self.parent.push(match parent {
                ParentMessage::Here(parent) => first + parent.index() as i64,
                ParentMessage::Elsewhere => {
                    links.outside_parent(child).map_or(first + UNKNOWN_ROW, |parent| parent as i64)
                }
            });
            self.has_parent.push(true);
            self.probability.push(probability);
        }
        let spontaneous = links.spontaneous_probability(child);
        if spontaneous > 0.0 {
            self.parent.push(0);
            self.has_parent.push(false);
            self.probability.push(spontaneous);
        }
        self.child.resize(self.parent.len(), first + child.index() as i64);
        self.evidence.resize(self.parent.len(), links.evidence(child).map(|of| of as i32));
    }

    fn into_arrays(self) -> [ArrayRef; 4] {
        let kinds = StringArray::from_iter_values(CallEvidence::ALL.map(CallEvidence::name));
        [
            Arc::new(Int64Array::from(self.child)),
            Arc::new(Int64Array::new(self.parent.into(), Some(self.has_parent.into()))),
            Arc::new(Float64Array::from(self.probability)),
            keyed_array(Int32Array::from(self.evidence), kinds),
        ]
    }
}

impl Links {
    /// Writes the table to `path`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: impl Into<DataPath>) -> Result<(), PathError> {
        let path = &path.into();
        let mut writer = LinkWriter::create(path)?;
        writer.append_links(self, 0..self.message_count(), 0)?;
        writer.finish()
    }

    /// Reads the table at `path`. It has a row for every message up to the last child with links;
    /// the number of messages after that child is unknown.
    ///
    /// # Errors
    /// If the table cannot be read, or is not a table of links.
    pub fn read(path: impl Into<DataPath>) -> Result<Links, PathError> {
        let path = &path.into();
        let mut links = Links::default();
        LinkReader::open(path)?.read_until(&mut links, 0, u64::MAX)?;
        Ok(links)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use message_trace::table;

    #[test]
    fn links_are_read_back_and_a_table_with_a_gap_is_refused() {
        let mut links = Links::spontaneous_only(3);
        links.set_parent_rows(1, &[(0, 0.9)], 0.1);
        links.set_parent_rows(2, &[(1, 0.75), (0, 0.25)], 0.0);
        let [second, third] = [1, 2].map(MessageId::from_index);
        links.set_evidence(second, Some(CallEvidence::Words));
        links.set_evidence(third, Some(CallEvidence::Inferred));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("links.parquet");
        links.write(&path).unwrap();
        assert_eq!(Links::read(&path).unwrap(), links);
        let mut rows = LinkRows::default();
        [0, 2]
            .map(MessageId::from_index)
            .into_iter()
            .for_each(|child| rows.push(&Links::spontaneous_only(3), child, 0));
        let gap = columns::build_batch(&path, &link_schema(), rows.into_arrays().to_vec()).unwrap();
        table::write_batches(&path, link_schema(), [gap]).unwrap();
        assert!(Links::read(&path).unwrap_err().to_string().contains("child 2"));
    }

    #[test]
    fn a_table_of_an_older_version_has_no_evidence() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("links.parquet");
        let mut links = Links::spontaneous_only(2);
        links.set_parent_rows(1, &[(0, 1.0)], 0.0);
        let fields = link_schema().fields().iter().take(3).cloned().collect::<Vec<_>>();
        let schema = columns::build_schema(fields.iter().map(|field| field.as_ref().clone()));
        let mut rows = LinkRows::default();
        links.ids().for_each(|child| rows.push(&links, child, 0));
        let arrays = rows.into_arrays()[..3].to_vec();
        let batch = columns::build_batch(&path, &schema, arrays).unwrap();
        table::write_batches(&path, schema, [batch]).unwrap();
        assert_eq!(Links::read(&path).unwrap(), links);
    }
}
