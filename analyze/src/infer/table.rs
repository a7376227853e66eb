//! `links.parquet`: child i64, parent i64 (null: spontaneous), probability f64; a row per candidate, by child.

use std::ops::Range;
use std::path::Path;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, SchemaRef};
use message_trace::Error;
use message_trace::parallel::in_order;
use message_trace::table::columns::{self, nullable, required};
use message_trace::table::{RowGroupWriter, Stored};

use super::Links;
use super::link_reader::LinkReader;
use crate::parallel;

fn schema() -> SchemaRef {
    columns::schema([
        required("child", DataType::Int64),
        nullable("parent", DataType::Int64),
        required("probability", DataType::Float64),
    ])
}

type Row = (i64, Option<i64>, f64);

/// The rows of so many children are encoded at once.
const GROUP_CHILDREN: usize = 32 * 1024;
/// Rows that are put into columns at a time: few enough that they stay in the processor's cache.
const STEP: usize = 4096;

/// The table of links in the making; it is there once it is finished.
pub(crate) struct LinkWriter {
    table: RowGroupWriter,
}

impl LinkWriter {
    /// Begins the table at `path`.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub(crate) fn create(path: &Path) -> Result<LinkWriter, Error> {
        let stored = |column: &str| match column {
            "probability" => Stored::Bytewise,
            _ => Stored::Differences,
        };
        Ok(LinkWriter { table: RowGroupWriter::create(path, schema(), stored)? })
    }

    /// Appends the links of these children, on all processors; the message 0 of `links` is `first` in the whole trace.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn append(&mut self, links: &Links, children: Range<usize>, first: u64) -> Result<(), Error> {
        let encoder = self.table.encoder();
        let pieces = children.len().div_ceil(GROUP_CHILDREN);
        let encode = |piece: usize| {
            let begin = children.start + piece * GROUP_CHILDREN;
            let end = (begin + GROUP_CHILDREN).min(children.end);
            let mut group = encoder.begin()?;
            let mut rows = rows(links, begin..end, first as i64).peekable();
            while rows.peek().is_some() {
                let step: Vec<Row> = rows.by_ref().take(STEP).collect();
                group.write(&arrays(&step))?;
            }
            group.finish()
        };
        in_order(parallel::threads(), pieces, encode, |_, group| self.table.append(group))
    }

    /// Ends the table and gives it its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.table.finish()
    }
}

/// The rows of these children of `links`, whose message 0 is `first`.
fn rows(links: &Links, children: Range<usize>, first: i64) -> impl Iterator<Item = Row> + '_ {
    children.flat_map(move |child| {
        let id = first + child as i64;
        let parents = links
            .parents(child)
            .map(move |(parent, probability)| (id, Some(first + i64::from(parent)), probability));
        let spontaneous = Some(links.spontaneous(child)).filter(|probability| *probability > 0.0);
        parents.chain(spontaneous.map(|probability| (id, None, probability)))
    })
}

fn arrays(rows: &[Row]) -> [ArrayRef; 3] {
    [
        columns::int64(rows.iter().map(|(child, _, _)| Some(*child))),
        columns::int64(rows.iter().map(|(_, parent, _)| *parent)),
        columns::float64(rows.iter().map(|(_, _, probability)| Some(*probability))),
    ]
}

impl Links {
    /// Writes the table to `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let mut writer = LinkWriter::create(path)?;
        writer.append(self, 0..self.messages(), 0)?;
        writer.finish()
    }

    /// Reads the table at `path`; the messages without a row are not known of, except before the last child.
    ///
    /// # Errors
    /// When it cannot be read, or is not such a table.
    pub fn read(path: &Path) -> Result<Links, Error> {
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
        let rows = arrays(&[(0, None, 1.0), (2, None, 1.0)]);
        let gap = columns::batch(&path, &schema(), rows.to_vec()).unwrap();
        table::write(&path, schema(), [gap]).unwrap();
        assert!(Links::read(&path).unwrap_err().to_string().contains("child 2"));
    }
}
