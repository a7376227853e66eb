//! A stage's table in the format that somebody else wants: the same columns by name as CSV, as JSON
//! (an object a line), or as Parquet again; if wanted, with other names in it.

mod cells;
mod rows;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;

use crate::node::Nodes;
use crate::table::{self, columns, writer};
use crate::{DataPath, PathError};

/// The formats of [`export`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Format {
    /// A header and a line a row; null is empty, and names with values are an object of JSON.
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
pub fn export(
    path: impl Into<DataPath>,
    format: Format,
    mut output: impl Write + Send,
    name: &Path,
) -> Result<(), PathError> {
    let path = &path.into();
    if format != Format::Parquet {
        let batches = table::read(path)?;
        return export_batches(batches.schema(), batches, format, output, name);
    }
    let mut file = path.open().map_err(|error| PathError::io(path, error))?;
    let copied = std::io::copy(&mut file, &mut output).and_then(|_| output.flush());
    copied.map_err(|error| PathError::io(name, error))
}

/// Writes the table at `path` as [`export`] does, with the texts of these columns as `call` calls
/// them, where it does.
///
/// # Errors
/// As for [`export`].
pub fn export_renamed(
    path: impl Into<DataPath>,
    columns: &[&str],
    call: impl Fn(&str) -> Option<String>,
    format: Format,
    output: impl Write + Send,
    name: &Path,
) -> Result<(), PathError> {
    let path = &path.into();
    let batches = table::read(path)?;
    let schema = batches.schema();
    let batches = batches.map(|batch| columns::renamed(path, batch?, columns, &call));
    export_batches(schema, batches, format, output, name)
}

/// Writes `nodes` as [`export`] writes the table at `path`, which they come from.
///
/// # Errors
/// As for [`export`].
pub fn export_nodes(
    nodes: &Nodes,
    path: impl Into<DataPath>,
    format: Format,
    output: impl Write + Send,
    name: &Path,
) -> Result<(), PathError> {
    let path = &path.into();
    let batch = nodes.batch(path)?;
    export_batches(batch.schema(), [Ok(batch)], format, output, name)
}

/// Writes `batches`, all of `schema`, to `output`, which `name` stands for in errors: a table that
/// is made as it is wanted and kept nowhere.
///
/// # Errors
/// When a batch is an error, or the output cannot be written.
pub fn export_batches(
    schema: SchemaRef,
    batches: impl IntoIterator<Item = Result<RecordBatch, PathError>>,
    format: Format,
    mut output: impl Write + Send,
    name: &Path,
) -> Result<(), PathError> {
    match format {
        Format::Csv => rows::csv(&schema, batches, &mut output, name)?,
        Format::Json => rows::json(&schema, batches, &mut output, name)?,
        Format::Parquet => {
            let refused = |error| PathError::io(name, of_parquet(error));
            let mut writer = ArrowWriter::try_new(&mut output, schema, Some(writer::properties()))
                .map_err(refused)?;
            for batch in batches {
                writer.write(&batch?).map_err(refused)?;
            }
            writer.close().map_err(refused)?;
        }
    }
    output.flush().map_err(|error| PathError::io(name, error))
}

/// Error of the output that an error of Parquet stands for.
fn of_parquet(error: ParquetError) -> std::io::Error {
    match error {
        ParquetError::External(cause) => {
            cause.downcast().map_or_else(std::io::Error::other, |error: Box<std::io::Error>| *error)
        }
        other => std::io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;
    use crate::node::Node;
    use crate::table::{RowGroupWriter, Stored};

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
        const HEADER: &str =
            "id,host,pid,start,command,executable,traced,parent_pid,unit,service\n";
        assert_eq!(exported(&Nodes::default(), Format::Csv), HEADER);
        let node =
            Node { host: "h".into(), pid: Some(7), command: "a,b".into(), ..Node::default() };
        let rows = exported(&Nodes(vec![node]), Format::Csv);
        assert_eq!(rows, format!("{HEADER}0,h,7,,\"a,b\",,false,,,false\n"));
    }

    #[test]
    fn json_is_an_object_a_line() {
        let node = Node { host: "h".into(), traced: true, ..Node::default() };
        let rows = exported(&Nodes(vec![node.clone(), node]), Format::Json);
        assert_eq!(rows.lines().count(), 2);
        assert!(
            rows.starts_with(
                r#"{"id":0,"host":"h","command":"","executable":"","traced":true,"service":false}"#
            ),
            "{rows}"
        );
    }

    #[test]
    fn texts_are_renamed_in_every_format() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.parquet");
        let (column, plain) = (columns::nullable("at", columns::dictionary()), DataType::Utf8);
        let schema = columns::schema([column, columns::required("by", plain)]);
        let rows = [Some("a"), None, Some("b"), Some("a")];
        let arrays = vec![columns::texts(rows), columns::text(["a", "a", "b", "c"].map(Some))];
        table::write(&path, schema.clone(), [columns::batch(&path, &schema, arrays).unwrap()])
            .unwrap();
        let call = |text: &str| (text == "a").then(|| "first".to_owned());
        let export = |columns: &[&str], format| {
            let mut output = Vec::new();
            export_renamed(&path, columns, call, format, &mut output, Path::new("output"))
                .map(|()| output)
        };
        let text =
            |columns: &[&str], format| String::from_utf8(export(columns, format).unwrap()).unwrap();
        assert_eq!(text(&["at"], Format::Csv), "at,by\nfirst,a\n,a\nb,b\nfirst,c\n");
        let both = "at,by\nfirst,first\n,first\nb,b\nfirst,c\n";
        assert_eq!(text(&["at", "by"], Format::Csv), both);
        assert_eq!(
            text(&["by"], Format::Json).lines().next().unwrap(),
            r#"{"at":"a","by":"first"}"#
        );
        let again = directory.path().join("again.parquet");
        std::fs::write(&again, export(&["at", "by"], Format::Parquet).unwrap()).unwrap();
        let mut csv = Vec::new();
        super::export(&again, Format::Csv, &mut csv, Path::new("output")).unwrap();
        assert_eq!(String::from_utf8(csv).unwrap(), both);
        assert_eq!(table::read(&again).unwrap().schema(), table::read(&path).unwrap().schema());
        let error = export(&["to"], Format::Csv).unwrap_err().to_string();
        assert!(error.contains("table.parquet") && error.contains("no column 'to'"), "{error}");
    }

    #[test]
    fn names_with_values_are_an_object_in_csv_and_in_json() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.parquet");
        let schema = columns::schema([columns::required("of", columns::named_texts())]);
        let rows = [vec![("a", "1"), ("b", "x\"y")], vec![]];
        let mut writer = RowGroupWriter::create(&path, schema, |_| Stored::Once).unwrap();
        let encoder = writer.encoder();
        let mut group = encoder.begin().unwrap();
        group.write(&[columns::named(&path, rows).unwrap()]).unwrap();
        writer.append(group.finish().unwrap()).unwrap();
        writer.finish().unwrap();
        let text = |format| {
            let mut output = Vec::new();
            export(&path, format, &mut output, Path::new("output")).unwrap();
            String::from_utf8(output).unwrap()
        };
        let csv = text(Format::Csv);
        assert_eq!(csv, "of\n\"{\"\"a\"\":\"\"1\"\",\"\"b\"\":\"\"x\\\"\"y\"\"}\"\n{}\n");
        assert!(text(Format::Json).starts_with(r#"{"of":{"a":"1","b":"x\"y"}}"#));
    }

    #[test]
    fn a_format_is_known_by_its_name() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert!("xml".parse::<Format>().is_err());
    }
}
