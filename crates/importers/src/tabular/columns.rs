//! Table with a header: its columns are found by name, in any order, and each row is passed on with
//! them. A fault in a row is counted with its line and column, and the next row is read.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::rows::{CsvRows, NextRow};
use super::values::{self, TimeUnit, WrongValue};
use crate::error::Error;
use crate::import_input::ImportInput;
use crate::summary::{FilePlace, FilePosition, ImportSummary, SkippedItem};

/// Position of each of `N` known columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableColumns<const N: usize> {
    places: [Option<usize>; N],
    names: [&'static str; N],
}

/// Reason why a row is not used.
pub(super) enum UnusedRow {
    /// The row is faulty, and the next row is read.
    Skipped(WrongValue),
    /// The import cannot go on.
    Failed(Error),
}

impl From<WrongValue> for UnusedRow {
    fn from(wrong: WrongValue) -> UnusedRow {
        UnusedRow::Skipped(wrong)
    }
}

impl From<Error> for UnusedRow {
    fn from(error: Error) -> UnusedRow {
        UnusedRow::Failed(error)
    }
}

/// One row of a table, with its columns.
pub(super) struct TableRow<'a, R, const N: usize> {
    pub(super) file: &'a Path,
    rows: &'a CsvRows<R>,
    columns: &'a TableColumns<N>,
}

/// Reads a table with columns from `names`: `check` validates the columns, and `each` receives the
/// rows.
pub(super) fn read_table<'a, const N: usize>(
    input: ImportInput<'a>,
    names: [&'static str; N],
    summary: &mut ImportSummary,
    check: impl FnOnce(&Path, &TableColumns<N>) -> Result<(), Error>,
    mut each: impl FnMut(
        &TableRow<'_, Box<dyn Read + Send + 'a>, N>,
        &mut ImportSummary,
    ) -> Result<(), UnusedRow>,
) -> Result<(), Error> {
    let ImportInput { file, bytes } = input;
    let mut rows = CsvRows::new(bytes);
    let (columns, others) = read_header(&file, &mut rows, names)?;
    check(&file, &columns)?;
    summary.note_unused_columns(&file, &others);
    loop {
        let next = rows.next_row();
        let place = || FilePlace::new(&file, FilePosition::Line(rows.line()));
        match next {
            Ok((NextRow::End, _)) => return Ok(()),
            Ok((NextRow::Row, _)) => {
                summary.read += 1;
                match each(&TableRow { file: &file, rows: &rows, columns: &columns }, summary) {
                    Ok(()) => {}
                    Err(UnusedRow::Skipped(WrongValue { cause, why })) => {
                        summary.skipped.add(cause, || SkippedItem { place: place(), why });
                    }
                    Err(UnusedRow::Failed(error)) => return Err(error),
                }
            }
            Ok((NextRow::TooLong, _)) => {
                summary.read += 1;
                let why = "it is longer than a row can be; is a quote not closed?".to_owned();
                summary.skipped.add("row that is too long", || SkippedItem { place: place(), why });
            }
            Err(error) => {
                summary.cut_off(place(), &error);
                return Ok(());
            }
        }
    }
}

/// Reads the header; returns the positions of the known columns, and the names of all others.
fn read_header<R: Read, const N: usize>(
    file: &Path,
    rows: &mut CsvRows<R>,
    names: [&'static str; N],
) -> Result<(TableColumns<N>, Vec<String>), Error> {
    let mut columns = TableColumns { places: [None; N], names };
    let (next, fields) = rows.next_row().map_err(|error| Error::from_io(file, error))?;
    if next != NextRow::Row {
        return Err(columns.missing_error(file, "there is no header"));
    }
    let mut others = Vec::new();
    for place in 0..fields {
        let name = String::from_utf8_lossy(rows.field(place).trim_ascii()).into_owned();
        match names.iter().position(|known| *known == name) {
            Some(known) if columns.places[known].is_some() => {
                let why = format!("there are two columns '{name}'; rename one");
                return Err(Error::malformed_at(file, FilePosition::Line(rows.line()), why));
            }
            Some(known) => columns.places[known] = Some(place),
            None => others.push(name.chars().take(100).flat_map(char::escape_debug).collect()),
        }
    }
    Ok((columns, others))
}

impl<const N: usize> TableColumns<N> {
    /// Whether the table has the column.
    pub(super) fn has_column(&self, column: usize) -> bool {
        self.places.get(column).is_some_and(Option::is_some)
    }

    fn column_name(&self, column: usize) -> &'static str {
        self.names.get(column).copied().unwrap_or_default()
    }

    /// Checks whether the table has all of `columns`.
    pub(super) fn require_columns(&self, file: &Path, columns: &[usize]) -> Result<(), Error> {
        match columns.iter().find(|column| !self.has_column(**column)) {
            None => Ok(()),
            Some(missing) => Err(self.missing_error(
                file,
                &format!("there is no column '{}'", self.column_name(*missing)),
            )),
        }
    }

    /// Error for a table with an unsuitable header.
    pub(super) fn missing_error(&self, file: &Path, what: &str) -> Error {
        let names = self.names.join(",");
        let why =
            format!("{what}; the first line must name the columns, in any order, of: {names}");
        Error::malformed_at(file, FilePosition::Line(1), why)
    }
}

impl<R: Read, const N: usize> TableRow<'_, R, N> {
    /// Place of the row.
    pub(super) fn place(&self) -> FilePlace {
        FilePlace { file: PathBuf::from(self.file), at: FilePosition::Line(self.rows.line()) }
    }

    /// The field of the row in `column`, without white space around it; empty if the table lacks
    /// the column.
    #[inline]
    pub(super) fn field(&self, column: usize) -> &[u8] {
        match self.columns.places.get(column) {
            Some(Some(place)) => self.rows.field(*place).trim_ascii(),
            _ => &[],
        }
    }

    /// The time in `column`, in nanoseconds; `None` if the field is empty.
    pub(super) fn time(&self, column: usize, unit: TimeUnit) -> Result<Option<i64>, WrongValue> {
        values::parse_time(self.field(column), unit).map_err(|wrong| self.in_column(column, wrong))
    }

    /// The number in `column`, which is a number of `what`.
    pub(super) fn number(&self, column: usize, what: &str) -> Result<Option<i64>, WrongValue> {
        values::parse_number(self.field(column), what)
            .map_err(|wrong| self.in_column(column, wrong))
    }

    /// The text in `column`, including white space; it may be empty.
    pub(super) fn text(&self, column: usize) -> Result<&str, WrongValue> {
        let field = match self.columns.places.get(column) {
            Some(Some(place)) => self.rows.field(*place),
            _ => &[],
        };
        values::parse_text(field).map_err(|wrong| self.in_column(column, wrong))
    }

    /// The word in `column`, if there is one.
    pub(super) fn word(&self, column: usize) -> Result<Option<&str>, WrongValue> {
        let word = values::parse_text(self.field(column))
            .map_err(|wrong| self.in_column(column, wrong))?;
        Ok(Some(word).filter(|word| !word.is_empty()))
    }

    /// The name in `column`.
    pub(super) fn name(&self, column: usize) -> Result<&str, WrongValue> {
        values::parse_name(self.field(column)).map_err(|wrong| self.in_column(column, wrong))
    }

    /// Adds `column` to the error `wrong`.
    pub(super) fn in_column(&self, column: usize, wrong: WrongValue) -> WrongValue {
        WrongValue {
            why: format!("column '{}': {}", self.columns.column_name(column), wrong.why),
            ..wrong
        }
    }
}
