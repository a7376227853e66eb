//! Columns of a table of spans, by the names that tools use.

use std::path::Path;

use crate::error::Error;
use crate::summary::FilePosition;
use crate::tabular::{TimeUnit, WrongValue, parse_number, parse_text, parse_time};

/// Meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanColumn {
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

/// Names of columns in lower case, without word separators; of each column, the usual name first.
const NAMES: &[(SpanColumn, &[&str])] = &[
    (SpanColumn::Trace, &["trace", "traceid", "request", "requestid"]),
    (SpanColumn::Span, &["span", "spanid", "id", "step"]),
    (SpanColumn::Parent, &["parent", "parentid", "parentspan", "parentspanid"]),
    (SpanColumn::Service, &["service", "servicename", "node", "component"]),
    (SpanColumn::Host, &["host", "hostname"]),
    (SpanColumn::Operation, &["operation", "operationname", "name", "spanname"]),
    (SpanColumn::Kind, &["kind", "spankind"]),
    (SpanColumn::Begin, &["begin", "begintime", "start", "starttime", "startts", "timestamp"]),
    (SpanColumn::End, &["end", "endtime", "endts", "finish", "finishtime"]),
    (SpanColumn::Duration, &["duration"]),
    (SpanColumn::Failed, &["failed", "error", "iserror"]),
    (SpanColumn::Peer, &["peer", "peerservice", "callee"]),
    (SpanColumn::Caller, &["caller", "callerservice"]),
    (SpanColumn::CallerHost, &["callerhost"]),
    (SpanColumn::CallerBegin, &["callerbegin", "callerstart"]),
    (SpanColumn::CallerEnd, &["callerend"]),
    (SpanColumn::Depth, &["depth"]),
    (SpanColumn::Order, &["order", "sibling"]),
    (SpanColumn::Probability, &["probability"]),
    (SpanColumn::BytesIn, &["bytesin", "requestbytes", "reqbytes"]),
    (SpanColumn::BytesOut, &["bytesout", "responsebytes", "respbytes"]),
];

/// Positions of the columns.
#[derive(Clone, Debug)]
pub(super) struct SpanColumns {
    /// Position, name and time unit of columns, by meaning.
    known: [Option<(usize, String, TimeUnit)>; NAMES.len()],
    /// Position and name of the other columns.
    pub(super) others: Vec<(usize, String)>,
}

impl SpanColumns {
    /// Finds the columns in a header. Times are in `unit` unless their names include one.
    ///
    /// # Errors
    /// When a column occurs twice, or a required one is missing.
    pub(super) fn from_header<'h>(
        header: impl Iterator<Item = &'h [u8]>,
        unit: TimeUnit,
        file: &Path,
    ) -> Result<SpanColumns, Error> {
        let mut columns = SpanColumns { known: [const { None }; NAMES.len()], others: Vec::new() };
        for (place, name) in header.enumerate() {
            let name = String::from_utf8_lossy(name);
            let name = name.trim_start_matches('\u{feff}').trim();
            let Some((column, own_unit)) = column_of_name(name) else {
                columns.others.push((place, name.to_owned()));
                continue;
            };
            let slot = &mut columns.known[column as usize];
            if let Some((_, other, _)) = slot {
                let why = format!(
                    "the columns '{other}' and '{name}' have the same meaning; \
                                   rename one"
                );
                return Err(Error::malformed_at(file, FilePosition::Line(1), why));
            }
            *slot = Some((place, name.to_owned(), own_unit.unwrap_or(unit)));
        }
        for needed in [SpanColumn::Trace, SpanColumn::Span, SpanColumn::Operation] {
            if !columns.has(needed) {
                return Err(columns.missing_error(needed, file));
            }
        }
        let has_time =
            [SpanColumn::Begin, SpanColumn::End, SpanColumn::CallerBegin, SpanColumn::CallerEnd];
        match has_time.iter().any(|column| columns.has(*column)) {
            true => Ok(columns),
            false => Err(columns.missing_error(SpanColumn::Begin, file)),
        }
    }

    pub(super) fn has(&self, column: SpanColumn) -> bool {
        self.known[column as usize].is_some()
    }

    fn missing_error(&self, column: SpanColumn, file: &Path) -> Error {
        let usual: Vec<&str> = NAMES.iter().map(|(_, names)| names[0]).collect();
        let (missing, usual) = (usual[column as usize], usual.join(","));
        let why = format!(
            "there is no column '{missing}'; the first line must name the columns, in any order, \
             of: {usual}"
        );
        Error::malformed_at(file, FilePosition::Line(1), why)
    }
}

/// Meaning of a column's name, and the unit that the name ends with.
fn column_of_name(name: &str) -> Option<(SpanColumn, Option<TimeUnit>)> {
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
        let column = if is_begin { SpanColumn::Begin } else { SpanColumn::End };
        return Some((column, Some(TimeUnit::Nanoseconds)));
    }
    let (stem, unit) = name.rsplit_once('_')?;
    let column = find(stem).filter(|column| column.is_time())?;
    Some((column, Some(unit.parse().ok()?)))
}

impl SpanColumn {
    fn is_time(self) -> bool {
        matches!(
            self,
            SpanColumn::Begin
                | SpanColumn::End
                | SpanColumn::Duration
                | SpanColumn::CallerBegin
                | SpanColumn::CallerEnd
        )
    }
}

/// One row, with its fields by position.
pub(super) struct SpanRow<'r, F> {
    pub(super) columns: &'r SpanColumns,
    pub(super) field: F,
}

impl<'r, F: Fn(usize) -> &'r [u8]> SpanRow<'r, F> {
    fn bytes(&self, column: SpanColumn) -> &'r [u8] {
        let place = self.columns.known[column as usize].as_ref();
        place.map_or(&[][..], |(place, ..)| (self.field)(*place).trim_ascii())
    }

    /// Adds `column` to the error `wrong`.
    fn in_column(&self, column: SpanColumn, wrong: WrongValue) -> WrongValue {
        let name = self.columns.known[column as usize].as_ref().map_or("", |(_, name, _)| name);
        WrongValue { why: format!("column '{name}': {}", wrong.why), ..wrong }
    }

    /// Text of a column; empty without the column.
    pub(super) fn text(&self, column: SpanColumn) -> Result<&'r str, WrongValue> {
        parse_text(self.bytes(column)).map_err(|wrong| self.in_column(column, wrong))
    }

    /// Time or duration of a column in nanoseconds.
    pub(super) fn time(&self, column: SpanColumn) -> Result<Option<i64>, WrongValue> {
        let Some((.., unit)) = &self.columns.known[column as usize] else { return Ok(None) };
        parse_time(self.bytes(column), *unit).map_err(|wrong| self.in_column(column, wrong))
    }

    /// Number of a column.
    pub(super) fn number(&self, column: SpanColumn) -> Result<Option<i64>, WrongValue> {
        parse_number(self.bytes(column), "its column")
            .map_err(|wrong| self.in_column(column, wrong))
    }

    /// Probability of a column.
    pub(super) fn probability(&self, column: SpanColumn) -> Result<Option<f64>, WrongValue> {
        let text = self.text(column)?;
        let share = text.parse().ok().filter(|share: &f64| (0.0..=1.0).contains(share));
        match share {
            None if !text.is_empty() => {
                let wrong =
                    WrongValue::new("invalid number", text.as_bytes(), "is not from 0 to 1");
                Err(self.in_column(column, wrong))
            }
            share => Ok(share),
        }
    }

    /// Name and value of each other column that has a value.
    pub(super) fn other_columns(
        &self,
    ) -> impl Iterator<Item = (&'r str, Result<&'r str, WrongValue>)> {
        self.columns.others.iter().filter_map(|(place, name)| {
            let bytes = (self.field)(*place);
            let value = parse_text(bytes).map_err(|wrong| WrongValue {
                why: format!("column '{name}': {}", wrong.why),
                ..wrong
            });
            (!bytes.is_empty()).then_some((name.as_str(), value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_columns() {
        for (place, (column, names)) in NAMES.iter().enumerate() {
            assert_eq!(*column as usize, place, "{column:?}");
            assert!(names.iter().all(|name| column_of_name(name) == Some((*column, None))));
        }
    }

    #[test]
    fn usual_names_are_understood() {
        for (name, expected) in [
            ("traceID", Some((SpanColumn::Trace, None))),
            ("Parent Span-ID", Some((SpanColumn::Parent, None))),
            ("start_time", Some((SpanColumn::Begin, None))),
            ("start_time_us", Some((SpanColumn::Begin, Some(TimeUnit::Microseconds)))),
            ("duration_s", Some((SpanColumn::Duration, Some(TimeUnit::Seconds)))),
            ("startTimeUnixNano", Some((SpanColumn::Begin, Some(TimeUnit::Nanoseconds)))),
            ("end_time_unix_nano", Some((SpanColumn::End, Some(TimeUnit::Nanoseconds)))),
            ("start_time_soon", None),
            ("host_ns", None),
            ("http.route", None),
            ("", None),
        ] {
            assert_eq!(column_of_name(name), expected, "{name}");
        }
    }

    fn parse_columns(header: &str) -> Result<SpanColumns, String> {
        let names = header.split(',').map(str::as_bytes);
        SpanColumns::from_header(names, TimeUnit::Nanoseconds, Path::new("x"))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_unsuitable_header_is_explained() {
        assert_eq!(
            parse_columns("\u{feff}trace,id,name,end,x").unwrap().others,
            [(4, "x".to_owned())]
        );
        for (header, why) in [
            ("span,name,begin", "x:1: there is no column 'trace'; the first line must name"),
            ("trace,name,begin", "no column 'span'"),
            ("trace,span,begin", "no column 'operation'"),
            ("trace,span,name,duration", "no column 'begin'"),
            ("trace,trace_id,span", "the columns 'trace' and 'trace_id' have the same meaning"),
        ] {
            let error = parse_columns(header).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
