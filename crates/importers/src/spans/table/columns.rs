//! Columns of a table of spans, by the names that tools give them.

use std::path::Path;

use crate::error::Error;
use crate::summary::At;
use crate::tabular::{Unit, Wrong, number, text, time};

/// What a column tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Trace,
    Span,
    Parent,
    Service,
    Host,
    Operation,
    Kind,
    Begin,
    End,
    Duration,
    Failed,
    Peer,
    Caller,
    CallerHost,
    CallerBegin,
    CallerEnd,
    Depth,
    Order,
    Probability,
    BytesIn,
    BytesOut,
}

/// Names of columns in small letters, without what separates words. The first is the usual one.
const NAMES: &[(Column, &[&str])] = &[
    (Column::Trace, &["trace", "traceid", "request", "requestid"]),
    (Column::Span, &["span", "spanid", "id", "step"]),
    (Column::Parent, &["parent", "parentid", "parentspan", "parentspanid"]),
    (Column::Service, &["service", "servicename", "node", "component"]),
    (Column::Host, &["host", "hostname"]),
    (Column::Operation, &["operation", "operationname", "name", "spanname"]),
    (Column::Kind, &["kind", "spankind"]),
    (Column::Begin, &["begin", "begintime", "start", "starttime", "startts", "timestamp"]),
    (Column::End, &["end", "endtime", "endts", "finish", "finishtime"]),
    (Column::Duration, &["duration"]),
    (Column::Failed, &["failed", "error", "iserror"]),
    (Column::Peer, &["peer", "peerservice", "callee"]),
    (Column::Caller, &["caller", "callerservice"]),
    (Column::CallerHost, &["callerhost"]),
    (Column::CallerBegin, &["callerbegin", "callerstart"]),
    (Column::CallerEnd, &["callerend"]),
    (Column::Depth, &["depth"]),
    (Column::Order, &["order", "sibling"]),
    (Column::Probability, &["probability"]),
    (Column::BytesIn, &["bytesin", "requestbytes", "reqbytes"]),
    (Column::BytesOut, &["bytesout", "responsebytes", "respbytes"]),
];

/// Where each column is.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    /// Place, name and unit of times by what a column tells.
    known: [Option<(usize, String, Unit)>; NAMES.len()],
    /// Place and name of the others.
    pub(super) others: Vec<(usize, String)>,
}

impl Columns {
    /// The columns that a header names. Times are in `unit` where their names do not say it.
    ///
    /// # Errors
    /// When a column is there twice, or one is missing without which there are no spans.
    pub(super) fn of<'h>(
        header: impl Iterator<Item = &'h [u8]>,
        unit: Unit,
        file: &Path,
    ) -> Result<Columns, Error> {
        let mut columns = Columns { known: [const { None }; NAMES.len()], others: Vec::new() };
        for (place, name) in header.enumerate() {
            let name = String::from_utf8_lossy(name);
            let name = name.trim_start_matches('\u{feff}').trim();
            let Some((column, own_unit)) = named(name) else {
                columns.others.push((place, name.to_owned()));
                continue;
            };
            let slot = &mut columns.known[column as usize];
            if let Some((_, other, _)) = slot {
                let why = format!("the columns '{other}' and '{name}' tell the same; rename one");
                return Err(Error::malformed(file, At::Line(1), why));
            }
            *slot = Some((place, name.to_owned(), own_unit.unwrap_or(unit)));
        }
        for needed in [Column::Trace, Column::Span, Column::Operation] {
            if !columns.has(needed) {
                return Err(columns.lacks(needed, file));
            }
        }
        let has_time = [Column::Begin, Column::End, Column::CallerBegin, Column::CallerEnd];
        match has_time.iter().any(|column| columns.has(*column)) {
            true => Ok(columns),
            false => Err(columns.lacks(Column::Begin, file)),
        }
    }

    pub(super) fn has(&self, column: Column) -> bool {
        self.known[column as usize].is_some()
    }

    fn lacks(&self, column: Column, file: &Path) -> Error {
        let usual: Vec<&str> = NAMES.iter().map(|(_, names)| names[0]).collect();
        let (missing, usual) = (usual[column as usize], usual.join(","));
        let why = format!(
            "there is no column '{missing}'; the first line must name the columns, in any order, \
             of: {usual}"
        );
        Error::malformed(file, At::Line(1), why)
    }
}

/// What a column of this name tells, and the unit that its name ends with.
fn named(name: &str) -> Option<(Column, Option<Unit>)> {
    let plain = |name: &str| -> String {
        let letters = name.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let find = |name: &str| {
        let name = plain(name);
        NAMES.iter().find(|(_, names)| names.contains(&name.as_str())).map(|(column, _)| *column)
    };
    if let Some(column) = find(name) {
        return Some((column, None));
    }
    if plain(name) == "starttimeunixnano" || plain(name) == "endtimeunixnano" {
        let is_begin = plain(name).starts_with('s');
        let column = if is_begin { Column::Begin } else { Column::End };
        return Some((column, Some(Unit::Nanoseconds)));
    }
    let (stem, unit) = name.rsplit_once('_')?;
    let column = find(stem).filter(|column| column.is_time())?;
    Some((column, Some(unit.parse().ok()?)))
}

impl Column {
    fn is_time(self) -> bool {
        matches!(
            self,
            Column::Begin
                | Column::End
                | Column::Duration
                | Column::CallerBegin
                | Column::CallerEnd
        )
    }
}

/// One row: its fields by their places.
pub(super) struct Row<'r, F> {
    pub(super) columns: &'r Columns,
    pub(super) field: F,
}

impl<'r, F: Fn(usize) -> &'r [u8]> Row<'r, F> {
    fn bytes(&self, column: Column) -> &'r [u8] {
        let place = self.columns.known[column as usize].as_ref();
        place.map_or(&[][..], |(place, ..)| (self.field)(*place).trim_ascii())
    }

    /// `wrong`, in `column`.
    fn at(&self, column: Column, wrong: Wrong) -> Wrong {
        let name = self.columns.known[column as usize].as_ref().map_or("", |(_, name, _)| name);
        Wrong { why: format!("column '{name}': {}", wrong.why), ..wrong }
    }

    /// The text of a column; empty where there is none.
    pub(super) fn text(&self, column: Column) -> Result<&'r str, Wrong> {
        text(self.bytes(column)).map_err(|wrong| self.at(column, wrong))
    }

    /// The time or duration of a column in nanoseconds.
    pub(super) fn time(&self, column: Column) -> Result<Option<i64>, Wrong> {
        let Some((.., unit)) = &self.columns.known[column as usize] else { return Ok(None) };
        time(self.bytes(column), *unit).map_err(|wrong| self.at(column, wrong))
    }

    /// The number of a column.
    pub(super) fn number(&self, column: Column) -> Result<Option<i64>, Wrong> {
        number(self.bytes(column), "its column").map_err(|wrong| self.at(column, wrong))
    }

    /// Probability of a column.
    pub(super) fn share(&self, column: Column) -> Result<Option<f64>, Wrong> {
        let text = self.text(column)?;
        let share = text.parse().ok().filter(|share: &f64| (0.0..=1.0).contains(share));
        match share {
            None if !text.is_empty() => {
                let wrong =
                    Wrong::new("number that is none", text.as_bytes(), "is not from 0 to 1");
                Err(self.at(column, wrong))
            }
            share => Ok(share),
        }
    }

    /// Name and value of each other column that has one.
    pub(super) fn others(&self) -> impl Iterator<Item = (&'r str, Result<&'r str, Wrong>)> {
        self.columns.others.iter().filter_map(|(place, name)| {
            let bytes = (self.field)(*place);
            let value = text(bytes)
                .map_err(|wrong| Wrong { why: format!("column '{name}': {}", wrong.why), ..wrong });
            (!bytes.is_empty()).then_some((name.as_str(), value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_names_are_those_of_columns() {
        for (place, (column, names)) in NAMES.iter().enumerate() {
            assert_eq!(*column as usize, place, "{column:?}");
            assert!(names.iter().all(|name| named(name) == Some((*column, None))));
        }
    }

    #[test]
    fn usual_names_are_understood() {
        for (name, expected) in [
            ("traceID", Some((Column::Trace, None))),
            ("Parent Span-ID", Some((Column::Parent, None))),
            ("start_time", Some((Column::Begin, None))),
            ("start_time_us", Some((Column::Begin, Some(Unit::Microseconds)))),
            ("duration_s", Some((Column::Duration, Some(Unit::Seconds)))),
            ("startTimeUnixNano", Some((Column::Begin, Some(Unit::Nanoseconds)))),
            ("end_time_unix_nano", Some((Column::End, Some(Unit::Nanoseconds)))),
            ("start_time_soon", None),
            ("host_ns", None),
            ("http.route", None),
            ("", None),
        ] {
            assert_eq!(named(name), expected, "{name}");
        }
    }

    fn of(header: &str) -> Result<Columns, String> {
        let names = header.split(',').map(str::as_bytes);
        Columns::of(names, Unit::Nanoseconds, Path::new("x")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_header_that_does_not_do_says_why() {
        assert_eq!(of("\u{feff}trace,id,name,end,x").unwrap().others, [(4, "x".to_owned())]);
        for (header, why) in [
            ("span,name,begin", "x:1: there is no column 'trace'; the first line must name"),
            ("trace,name,begin", "no column 'span'"),
            ("trace,span,begin", "no column 'operation'"),
            ("trace,span,name,duration", "no column 'begin'"),
            ("trace,trace_id,span", "the columns 'trace' and 'trace_id' tell the same"),
        ] {
            let error = of(header).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
