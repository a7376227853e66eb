//! A table with a header: its columns are found by name, in any order, and each row is handed over
//! with them. What is wrong with a row is counted with its line and column, and the next row is
//! read.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::rows::{Next, Rows};
use super::values::{self, Unit, Wrong};
use crate::error::Error;
use crate::reading::Input;
use crate::summary::{At, Place, Skip, Summary};

/// Where each of `N` known columns is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Columns<const N: usize> {
    places: [Option<usize>; N],
    names: [&'static str; N],
}

/// Why a row is not used: it is wrong, or all that follows is.
pub(super) enum Unused {
    Skipped(Wrong),
    Failed(Error),
}

impl From<Wrong> for Unused {
    fn from(wrong: Wrong) -> Unused {
        Unused::Skipped(wrong)
    }
}

impl From<Error> for Unused {
    fn from(error: Error) -> Unused {
        Unused::Failed(error)
    }
}

/// One row.
pub(super) struct Row<'a, R, const N: usize> {
    pub(super) file: &'a Path,
    rows: &'a Rows<R>,
    columns: &'a Columns<N>,
}

/// Reads a table whose columns are among `names`: `check` says whether they do, and `each` takes
/// the rows.
pub(super) fn read<'a, const N: usize>(
    input: Input<'a>,
    names: [&'static str; N],
    summary: &mut Summary,
    check: impl FnOnce(&Path, &Columns<N>) -> Result<(), Error>,
    mut each: impl FnMut(&Row<'_, Box<dyn Read + Send + 'a>, N>, &mut Summary) -> Result<(), Unused>,
) -> Result<(), Error> {
    let Input { file, bytes } = input;
    let mut rows = Rows::new(bytes);
    let (columns, others) = header(&file, &mut rows, names)?;
    check(&file, &columns)?;
    summary.not_used(&file, &others);
    loop {
        let next = rows.next();
        let place = || Place::new(&file, At::Line(rows.line()));
        match next {
            Ok((Next::End, _)) => return Ok(()),
            Ok((Next::Row, _)) => {
                summary.read += 1;
                match each(&Row { file: &file, rows: &rows, columns: &columns }, summary) {
                    Ok(()) => {}
                    Err(Unused::Skipped(Wrong { cause, why })) => {
                        summary.skipped.add(cause, || Skip { place: place(), why });
                    }
                    Err(Unused::Failed(error)) => return Err(error),
                }
            }
            Ok((Next::TooLong, _)) => {
                summary.read += 1;
                let why = "it is longer than a row can be; is a quote not closed?".to_owned();
                summary.skipped.add("row that is too long", || Skip { place: place(), why });
            }
            Err(error) => {
                summary.cut_off(place(), &error);
                return Ok(());
            }
        }
    }
}

fn header<R: Read, const N: usize>(
    file: &Path,
    rows: &mut Rows<R>,
    names: [&'static str; N],
) -> Result<(Columns<N>, Vec<String>), Error> {
    let mut columns = Columns { places: [None; N], names };
    let (next, fields) = rows.next().map_err(|error| Error::io(file, error))?;
    if next != Next::Row {
        return Err(columns.lacks(file, "there is no header"));
    }
    let mut others = Vec::new();
    for place in 0..fields {
        let name = String::from_utf8_lossy(rows.field(place).trim_ascii()).into_owned();
        match names.iter().position(|known| *known == name) {
            Some(known) if columns.places[known].is_some() => {
                let why = format!("there are two columns '{name}'; rename one");
                return Err(Error::malformed(file, At::Line(rows.line()), why));
            }
            Some(known) => columns.places[known] = Some(place),
            None => others.push(name.chars().take(100).flat_map(char::escape_debug).collect()),
        }
    }
    Ok((columns, others))
}

impl<const N: usize> Columns<N> {
    /// Whether the table has the column.
    pub(super) fn has(&self, column: usize) -> bool {
        self.places.get(column).is_some_and(Option::is_some)
    }

    fn name(&self, column: usize) -> &'static str {
        self.names.get(column).copied().unwrap_or_default()
    }

    /// Sees whether the table has all of `columns`.
    pub(super) fn require(&self, file: &Path, columns: &[usize]) -> Result<(), Error> {
        match columns.iter().find(|column| !self.has(**column)) {
            None => Ok(()),
            Some(missing) => {
                Err(self.lacks(file, &format!("there is no column '{}'", self.name(*missing))))
            }
        }
    }

    /// The error for a table whose header does not do.
    pub(super) fn lacks(&self, file: &Path, what: &str) -> Error {
        let names = self.names.join(",");
        let why =
            format!("{what}; the first line must name the columns, in any order, of: {names}");
        Error::malformed(file, At::Line(1), why)
    }
}

impl<R: Read, const N: usize> Row<'_, R, N> {
    /// Where the row is.
    pub(super) fn place(&self) -> Place {
        Place { file: PathBuf::from(self.file), at: At::Line(self.rows.line()) }
    }

    /// The field of `column`, without the space around it; empty where there is no such column.
    #[inline]
    pub(super) fn field(&self, column: usize) -> &[u8] {
        match self.columns.places.get(column) {
            Some(Some(place)) => self.rows.field(*place).trim_ascii(),
            _ => &[],
        }
    }

    /// The time in `column`.
    pub(super) fn time(&self, column: usize, unit: Unit) -> Result<Option<i64>, Wrong> {
        values::time(self.field(column), unit).map_err(|wrong| self.at(column, wrong))
    }

    /// The number of `what` in `column`.
    pub(super) fn number(&self, column: usize, what: &str) -> Result<Option<i64>, Wrong> {
        values::number(self.field(column), what).map_err(|wrong| self.at(column, wrong))
    }

    /// The text in `column` as it is, space and all; it may be empty.
    pub(super) fn text(&self, column: usize) -> Result<&str, Wrong> {
        let field = match self.columns.places.get(column) {
            Some(Some(place)) => self.rows.field(*place),
            _ => &[],
        };
        values::text(field).map_err(|wrong| self.at(column, wrong))
    }

    /// The word in `column`, if there is one.
    pub(super) fn word(&self, column: usize) -> Result<Option<&str>, Wrong> {
        let word = values::text(self.field(column)).map_err(|wrong| self.at(column, wrong))?;
        Ok(Some(word).filter(|word| !word.is_empty()))
    }

    /// The name in `column`.
    pub(super) fn name(&self, column: usize) -> Result<&str, Wrong> {
        values::name(self.field(column)).map_err(|wrong| self.at(column, wrong))
    }

    /// `wrong`, in `column`.
    pub(super) fn at(&self, column: usize, wrong: Wrong) -> Wrong {
        Wrong { why: format!("column '{}': {}", self.columns.name(column), wrong.why), ..wrong }
    }
}
