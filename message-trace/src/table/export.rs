//! A stage's table in the format that somebody else wants: the same columns by name as CSV, as JSON (an object a
//! line), or as Parquet again.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

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
            for batch in table::read(path)? {
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
