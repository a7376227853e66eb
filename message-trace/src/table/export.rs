//! A stage's table in the format that somebody else wants: the same columns by name as CSV, as JSON (an object a
//! line), or as Parquet again.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use arrow_array::RecordBatch;

use crate::error::Error;
use crate::table;

/// The formats of [`export`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// A header and a line a row; null is empty.
    #[default]
    Csv,
    /// An object a line; null is left out.
    Json,
    /// The file as it is.
    Parquet,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 3] = [Format::Csv, Format::Json, Format::Parquet];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Parquet => "parquet",
        })
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        Format::ALL
            .into_iter()
            .find(|format| format.to_string() == text)
            .ok_or_else(|| format!("'{text}' is no format; it is one of csv, json, parquet"))
    }
}

/// Writes the table at `path` to `output`, which `name` stands for in errors.
///
/// # Errors
/// When the table cannot be read or the output not written.
pub fn export(path: &Path, format: Format, mut output: impl Write, name: &Path) -> Result<(), Error> {
    let refused = |error: arrow_schema::ArrowError| Error::io(name, into_io(error));
    match format {
        Format::Csv => {
            let mut writer = arrow_csv::Writer::new(&mut output);
            let batches = table::read(path)?;
            // The header comes with the first batch, and a table without rows has none of its own.
            let header = RecordBatch::new_empty(batches.schema());
            for batch in std::iter::once(Ok(header)).chain(batches) {
                writer.write(&batch?).map_err(refused)?;
            }
        }
        Format::Json => {
            let mut writer = arrow_json::LineDelimitedWriter::new(&mut output);
            for batch in table::read(path)? {
                writer.write(&batch?).map_err(refused)?;
            }
            writer.finish().map_err(refused)?;
        }
        Format::Parquet => {
            let mut file = std::fs::File::open(path).map_err(|error| Error::io(path, error))?;
            std::io::copy(&mut file, &mut output).map_err(|error| Error::io(name, error))?;
        }
    }
    output.flush().map_err(|error| Error::io(name, error))
}

/// The operating system's error inside an Arrow error, so that a closed pipe is still known as one.
fn into_io(error: arrow_schema::ArrowError) -> std::io::Error {
    match error {
        arrow_schema::ArrowError::IoError(_, error) => error,
        other => std::io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Node, Nodes};

    fn exported(nodes: &Nodes, format: Format) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nodes.parquet");
        nodes.write(&path).unwrap();
        let mut output = Vec::new();
        export(&path, format, &mut output, Path::new("output")).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn csv_has_its_header_once_also_without_rows() {
        const HEADER: &str = "id,host,pid,start,command,executable,traced\n";
        assert_eq!(exported(&Nodes::default(), Format::Csv), HEADER);
        let node = Node { host: "h".into(), pid: Some(7), command: "a,b".into(), ..Node::default() };
        let rows = exported(&Nodes(vec![node]), Format::Csv);
        assert_eq!(rows, format!("{HEADER}0,h,7,,\"a,b\",,false\n"));
    }

    #[test]
    fn json_is_an_object_a_line() {
        let node = Node { host: "h".into(), traced: true, ..Node::default() };
        let rows = exported(&Nodes(vec![node.clone(), node]), Format::Json);
        assert_eq!(rows.lines().count(), 2);
        assert!(
            rows.starts_with(r#"{"id":0,"host":"h","command":"","executable":"","traced":true}"#),
            "{rows}"
        );
    }

    #[test]
    fn a_format_is_known_by_its_name() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert!("xml".parse::<Format>().is_err());
    }
}
