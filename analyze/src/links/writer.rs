//! `links.parquet`: child i64, parent i64 (null: spontaneous), probability f64; a row per
//! candidate, by child.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use arrow_schema::{DataType, SchemaRef};
use message_trace::table::columns::{self, nullable, required};
use message_trace::table::{RowGroupWriter, Stored};
use message_trace::{DataPath, PathError};
use out_of_core::workers::in_order;

use super::reader::LinkReader;
use crate::links::Links;
use crate::tuning::links::writer::{CHILDREN_AT_ONCE, ROWS_AT_ONCE};
use out_of_core::workers;

fn schema() -> SchemaRef {
    columns::schema([
        required("child", DataType::Int64),
        nullable("parent", DataType::Int64),
        required("probability", DataType::Float64),
    ])
}

/// The table of links in the making; it is there once it is finished.
pub(crate) struct LinkWriter {
    table: RowGroupWriter,
}

impl LinkWriter {
    /// Begins the table at `path`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub(crate) fn create(path: &DataPath) -> Result<LinkWriter, PathError> {
        let stored = |column: &str| match column {
            "probability" => Stored::Bytewise,
            _ => Stored::Differences,
        };
        Ok(LinkWriter { table: RowGroupWriter::create(path, schema(), stored)? })
    }

    /// Appends the links of these children, on all processors; the message 0 of `links` is `first`
    /// in the whole trace.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn append(
        &mut self,
        links: &Links,
        children: Range<usize>,
        first: u64,
    ) -> Result<(), PathError> {
        let encoder = self.table.encoder();
        let pieces = children.len().div_ceil(CHILDREN_AT_ONCE);
        let encode = |piece: usize| {
            let begin = children.start + piece * CHILDREN_AT_ONCE;
            let end = (begin + CHILDREN_AT_ONCE).min(children.end);
            let mut group = encoder.begin()?;
            let mut step = Step::default();
            for child in begin..end {
                step.push(links, child, first as i64);
                if step.child.len() >= ROWS_AT_ONCE {
                    group.write(&std::mem::take(&mut step).arrays())?;
                }
            }
            group.write(&step.arrays())?;
            group.finish()
        };
        in_order(workers::threads(), pieces, encode, |_, group| self.table.append(group))
    }

    /// Ends the table and gives it its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn finish(self) -> Result<(), PathError> {
        self.table.finish()
    }
}

/// Some rows, by columns.
#[derive(Default)]
struct Step {
    child: Vec<i64>,
    parent: Vec<i64>,
    has_parent: Vec<bool>,
    probability: Vec<f64>,
}

impl Step {
    /// Adds the rows of a child of `links`, whose message 0 is `first`.
    fn push(&mut self, links: &Links, child: usize, first: i64) {
        for (parent, probability) in links.parents(child) {
            let known = Some(child).filter(|_| parent == Links::ELSEWHERE);
            let elsewhere = known.and_then(|child| links.elsewhere(child));
            self.parent.push(elsewhere.map_or(first + i64::from(parent), |parent| parent as i64));
            self.has_parent.push(true);
            self.probability.push(probability);
        }
        let spontaneous = links.spontaneous(child);
        if spontaneous > 0.0 {
            self.parent.push(0);
            self.has_parent.push(false);
            self.probability.push(spontaneous);
        }
        self.child.resize(self.parent.len(), first + child as i64);
    }

    fn arrays(self) -> [ArrayRef; 3] {
        [
            Arc::new(Int64Array::from(self.child)),
            Arc::new(Int64Array::new(self.parent.into(), Some(self.has_parent.into()))),
            Arc::new(Float64Array::from(self.probability)),
        ]
    }
}

impl Links {
    /// Writes the table to `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: impl Into<DataPath>) -> Result<(), PathError> {
        let path = &path.into();
        let mut writer = LinkWriter::create(path)?;
        writer.append(self, 0..self.messages(), 0)?;
        writer.finish()
    }

    /// Reads the table at `path`; the messages without a row are not known of, except before the
    /// last child.
    ///
    /// # Errors
    /// When it cannot be read, or is not such a table.
    pub fn read(path: impl Into<DataPath>) -> Result<Links, PathError> {
        let path = &path.into();
        let mut links = Links::default();
        LinkReader::open(path)?.read(&mut links, 0, u64::MAX)?;
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
        links.set(1, &[(0, 0.9)], 0.1);
        links.set(2, &[(1, 0.75), (0, 0.25)], 0.0);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("links.parquet");
        links.write(&path).unwrap();
        assert_eq!(Links::read(&path).unwrap(), links);
        let mut rows = Step::default();
        [0, 2].into_iter().for_each(|child| rows.push(&Links::spontaneous_only(3), child, 0));
        let gap = columns::batch(&path, &schema(), rows.arrays().to_vec()).unwrap();
        table::write(&path, schema(), [gap]).unwrap();
        assert!(Links::read(&path).unwrap_err().to_string().contains("child 2"));
    }
}
