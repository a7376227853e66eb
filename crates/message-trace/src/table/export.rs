//! Export of a stage's table: the same columns by name as CSV, as JSON (an object per line), or as
//! Parquet again; optionally with other names in it.

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

use crate::node::NodeList;
use crate::table::{self, columns, writer};
use crate::{DataPath, PathError};

/// The formats of [`export_table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TableFormat {
    /// A header and a line per row; null is empty, and names with values are a JSON object.
    #[default]
    Csv,
    /// An object per line; null is omitted.
    Json,
    /// The file unchanged.
    Parquet,
}

impl TableFormat {
    /// All formats.
    pub const ALL: [TableFormat; 3] = [TableFormat::Csv, TableFormat::Json, TableFormat::Parquet];
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TableFormat::Csv => "csv",
            TableFormat::Json => "json",
            TableFormat::Parquet => "parquet",
        })
    }
}

impl FromStr for TableFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<TableFormat, String> {
        TableFormat::ALL
            .into_iter()
            .find(|format| format.to_string() == text)
            .ok_or_else(|| format!("'{text}' is not a format; choose csv, json or parquet"))
    }
}

/// Writes the table at `path` to `output`, which is called `name` in errors.
///
/// # Errors
/// If the table cannot be read or the output not written.
pub fn export_table(
    path: impl Into<DataPath>,
    format: TableFormat,
    mut output: impl Write + Send,
    name: &Path,
) -> Result<(), PathError> {
    let path = &path.into();
    if format != TableFormat::Parquet {
        let batches = table::read_batches(path)?;
        return export_batches(batches.schema(), batches, format, output, name);
    }
    let mut file = path.open().map_err(|error| PathError::io(path, error))?;
    let copied = std::io::copy(&mut file, &mut output).and_then(|_| output.flush());
    copied.map_err(|error| PathError::io(name, error))
}

/// Writes the table at `path` as [`export_table`] does, with the texts of these columns replaced by
/// the results of `rename`; texts with the result `None` stay.
///
/// # Errors
/// As for [`export_table`].
pub fn export_renamed(
    path: impl Into<DataPath>,
    columns: &[&str],
    rename: impl Fn(&str) -> Option<String>,
    format: TableFormat,
    output: impl Write + Send,
    name: &Path,
) -> Result<(), PathError> {
    let path = &path.into();
    let batches = table::read_batches(path)?;
    let schema = batches.schema();
    let batches = batches.map(|batch| columns::rename_texts(path, batch?, columns, &rename));
    export_batches(schema, batches, format, output, name)
}

/// Writes `nodes`, which were read from the table at `path`, as [`export_table`] writes the table.
///
/// # Errors
/// As for [`export_table`].
pub fn export_nodes(
    nodes: &NodeList,
    path: impl Into<DataPath>,
    format: TableFormat,
    output: impl Write + Send,
    name: &Path,
) -> Result<(), PathError> {
    let path = &path.into();
    let batch = nodes.to_batch(path)?;
    export_batches(batch.schema(), [Ok(batch)], format, output, name)
}

/// Writes `batches`, all of `schema`, to `output`, which is called `name` in errors: a table that
/// is made on demand and not stored.
///
/// # Errors
/// If a batch is an error, or the output cannot be written.
pub fn export_batches(
    schema: SchemaRef,
    batches: impl IntoIterator<Item = Result<RecordBatch, PathError>>,
    format: TableFormat,
    mut output: impl Write + Send,
    name: &Path,
) -> Result<(), PathError> {
    match format {
        TableFormat::Csv => rows::write_csv(&schema, batches, &mut output, name)?,
        TableFormat::Json => rows::write_json_lines(&schema, batches, &mut output, name)?,
        TableFormat::Parquet => {
            let refused = |error| PathError::io(name, parquet_to_io(error));
            let mut writer =
                ArrowWriter::try_new(&mut output, schema, Some(writer::table_properties()))
                    .map_err(refused)?;
            for batch in batches {
                writer.write(&batch?).map_err(refused)?;
            }
            writer.close().map_err(refused)?;
        }
    }
    output.flush().map_err(|error| PathError::io(name, error))
}

/// Returns the error of the output that caused an error of Parquet.
fn parquet_to_io(error: ParquetError) -> std::io::Error {
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
    use crate::table::{ColumnEncoding, RowGroupWriter};

    fn export_text(nodes: &NodeList, format: TableFormat) -> String {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nodes.parquet");
        nodes.write(&path).unwrap();
        let mut output = Vec::new();
        export_table(&path, format, &mut output, Path::new("output")).unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn csv_has_its_header_once_also_without_rows() {
        const HEADER: &str =
            "id,host,pid,start,command,executable,traced,parent_pid,unit,service,unfollowed\n";
        assert_eq!(export_text(&NodeList::default(), TableFormat::Csv), HEADER);
        let node =
            Node { host: "h".into(), pid: Some(7), command: "a,b".into(), ..Node::default() };
        let rows = export_text(&NodeList(vec![node]), TableFormat::Csv);
        assert_eq!(rows, format!("{HEADER}0,h,7,,\"a,b\",,false,,,false,\n"));
    }

    #[test]
    fn json_is_an_object_per_line() {
        let node = Node { host: "h".into(), traced: true, ..Node::default() };
        let rows = export_text(&NodeList(vec![node.clone(), node]), TableFormat::Json);
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
        let (column, plain) =
            (columns::nullable_field("at", columns::dictionary_type()), DataType::Utf8);
        let schema = columns::build_schema([column, columns::required_field("by", plain)]);
        let rows = [Some("a"), None, Some("b"), Some("a")];
        let arrays = vec![
            columns::dictionary_array(rows),
            columns::string_array(["a", "a", "b", "c"].map(Some)),
        ];
        table::write_batches(
            &path,
            schema.clone(),
            [columns::build_batch(&path, &schema, arrays).unwrap()],
        )
        .unwrap();
        let call = |text: &str| (text == "a").then(|| "first".to_owned());
        let export = |columns: &[&str], format| {
            let mut output = Vec::new();
            export_renamed(&path, columns, call, format, &mut output, Path::new("output"))
                .map(|()| output)
        };
        let text =
            |columns: &[&str], format| String::from_utf8(export(columns, format).unwrap()).unwrap();
        assert_eq!(text(&["at"], TableFormat::Csv), "at,by\nfirst,a\n,a\nb,b\nfirst,c\n");
        let both = "at,by\nfirst,first\n,first\nb,b\nfirst,c\n";
        assert_eq!(text(&["at", "by"], TableFormat::Csv), both);
        assert_eq!(
            text(&["by"], TableFormat::Json).lines().next().unwrap(),
            r#"{"at":"a","by":"first"}"#
        );
        let again = directory.path().join("again.parquet");
        std::fs::write(&again, export(&["at", "by"], TableFormat::Parquet).unwrap()).unwrap();
        let mut csv = Vec::new();
        super::export_table(&again, TableFormat::Csv, &mut csv, Path::new("output")).unwrap();
        assert_eq!(String::from_utf8(csv).unwrap(), both);
        assert_eq!(
            table::read_batches(&again).unwrap().schema(),
            table::read_batches(&path).unwrap().schema()
        );
        let error = export(&["to"], TableFormat::Csv).unwrap_err().to_string();
        assert!(error.contains("table.parquet") && error.contains("no column 'to'"), "{error}");
    }

    #[test]
    fn names_with_values_are_an_object_in_csv_and_in_json() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("table.parquet");
        let schema =
            columns::build_schema([columns::required_field("of", columns::named_texts_type())]);
        let rows = [vec![("a", "1"), ("b", "x\"y")], vec![]];
        let mut writer = RowGroupWriter::create(&path, schema, |_| ColumnEncoding::Once).unwrap();
        let encoder = writer.encoder();
        let mut group = encoder.begin_group().unwrap();
        group.write_rows(&[columns::named_texts_array(&path, rows).unwrap()]).unwrap();
        writer.append_group(group.finish_group().unwrap()).unwrap();
        writer.finish().unwrap();
        let text = |format| {
            let mut output = Vec::new();
            export_table(&path, format, &mut output, Path::new("output")).unwrap();
            String::from_utf8(output).unwrap()
        };
        let csv = text(TableFormat::Csv);
        assert_eq!(csv, "of\n\"{\"\"a\"\":\"\"1\"\",\"\"b\"\":\"\"x\\\"\"y\"\"}\"\n{}\n");
        assert!(text(TableFormat::Json).starts_with(r#"{"of":{"a":"1","b":"x\"y"}}"#));
    }

    #[test]
    fn a_format_is_known_by_its_name() {
        for format in TableFormat::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        assert!("xml".parse::<TableFormat>().is_err());
    }
}
