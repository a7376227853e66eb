//! `links.parquet`: child i64, parent i64 (null: spontaneous), probability f64; a row per candidate, by child.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use message_trace::Error;
use message_trace::table::columns::{self, Columns, nullable, required};
use message_trace::table::{self, BATCH_ROWS};

use super::Links;

fn schema() -> SchemaRef {
    columns::schema([
        required("child", DataType::Int64),
        nullable("parent", DataType::Int64),
        required("probability", DataType::Float64),
    ])
}

type Row = (i64, Option<i64>, f64);

impl Links {
    fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        (0..self.messages()).flat_map(|child| {
            let parents =
                self.parents(child).map(|(parent, probability)| (Some(i64::from(parent)), probability));
            let spontaneous =
                Some((None, self.spontaneous(child))).filter(|(_, probability)| *probability > 0.0);
            parents.chain(spontaneous).map(move |(parent, probability)| (child as i64, parent, probability))
        })
    }

    /// Writes the table to `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let mut rows = self.rows();
        let batches = std::iter::from_fn(|| {
            let rows: Vec<Row> = rows.by_ref().take(BATCH_ROWS).collect();
            (!rows.is_empty()).then(|| batch(path, &rows))
        });
        crate::analysis::write_batches(path, schema(), batches)
    }

    /// Reads the table at `path`; the messages without a row are not known of, except before the last child.
    ///
    /// # Errors
    /// When it cannot be read, or is not such a table.
    pub fn read(path: &Path) -> Result<Links, Error> {
        let mut links = Links::default();
        let (mut child, mut parents, mut spontaneous) = (None, Vec::new(), 0.0);
        for batch in table::read(path)? {
            let batch = batch?;
            let table = Columns::new(path, &batch);
            let (children, parent) = (table.int64("child")?, table.int64("parent")?);
            let probability = table.float64("probability")?;
            for row in 0..batch.num_rows() {
                let of = table.some("child", children[row])?;
                if child != Some(of) {
                    links.push(path, child, &parents, spontaneous)?;
                    (child, spontaneous) = (Some(of), 0.0);
                    parents.clear();
                }
                let probability = table.some("probability", probability[row])?;
                match parent[row] {
                    Some(parent) => {
                        let parent = u32::try_from(parent);
                        parents.push((parent.map_err(|why| Error::malformed(path, why))?, probability));
                    }
                    None => spontaneous = probability,
                }
            }
        }
        links.push(path, child, &parents, spontaneous)?;
        Ok(links)
    }

    fn push(
        &mut self,
        path: &Path,
        child: Option<i64>,
        parents: &[(u32, f64)],
        spontaneous: f64,
    ) -> Result<(), Error> {
        let Some(child) = child else { return Ok(()) };
        if usize::try_from(child) != Ok(self.messages()) {
            return Err(Error::malformed(path, format!("child {child} is missing or out of order")));
        }
        self.add_message();
        self.set(child as usize, parents, spontaneous);
        Ok(())
    }
}

fn batch(path: &Path, rows: &[Row]) -> Result<RecordBatch, Error> {
    let arrays = vec![
        columns::int64(rows.iter().map(|(child, _, _)| Some(*child))),
        columns::int64(rows.iter().map(|(_, parent, _)| *parent)),
        columns::float64(rows.iter().map(|(_, _, probability)| Some(*probability))),
    ];
    columns::batch(path, &schema(), arrays)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_read_back_and_a_table_with_a_gap_is_refused() {
        let mut links = Links::spontaneous_only(3);
        links.set(1, &[(0, 0.9)], 0.1);
        links.set(2, &[(1, 0.75), (0, 0.25)], 0.0);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("links.parquet");
        links.write(&path).unwrap();
        assert_eq!(Links::read(&path).unwrap(), links);
        let gap = batch(&path, &[(0, None, 1.0), (2, None, 1.0)]).unwrap();
        table::write(&path, schema(), [gap]).unwrap();
        assert!(Links::read(&path).unwrap_err().to_string().contains("child 2"));
    }
}
