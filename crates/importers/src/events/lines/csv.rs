//! CSV: a header, and a row an event. A column `attributes` has an object of JSON, as `sockcap
//! export events` writes it.

use std::io::Read;

use super::json;
use super::log::{Log, POSTGRES_CSV};
use super::row::Rows;
use crate::error::Error;
use crate::events::sink::EventSink;
use crate::events::value::value;
use crate::reading::Input;
use crate::summary::{At, Place, Skip, Summary};
use crate::tabular::{self, Next, Wrong};

/// Reads a table.
///
/// # Errors
/// When its header cannot be read, or what was read cannot be kept.
pub(super) fn read(
    rows: &Rows,
    input: Input<'_>,
    sink: &mut EventSink,
    summary: &mut Summary,
) -> Result<(), Error> {
    let Input { file, bytes } = input;
    let mut table = tabular::Rows::new(bytes);
    let header: Vec<String> = if rows.log == Some(Log::Postgres) {
        POSTGRES_CSV.iter().map(|name| (*name).to_owned()).collect()
    } else {
        let (_, width) = table.next().map_err(|error| Error::io(&file, error))?;
        let name = |place| {
            let name = String::from_utf8_lossy(table.field(place)).into_owned();
            name.trim_start_matches('\u{feff}').trim().to_owned()
        };
        (0..width).map(name).collect()
    };
    loop {
        let next = table.next();
        let place = || Place::new(&file, At::Line(table.line()));
        let outcome = match next {
            Ok((Next::End, _)) => return Ok(()),
            Ok((Next::Row, fields)) => event(rows, &table, &header, fields, sink),
            Ok((Next::TooLong, _)) => Err(Wrong::new(
                "row that is too long",
                b"",
                "is longer than a row can be; is a quote not closed?",
            )),
            Err(error) => {
                summary.read += 1;
                summary.cut_off(place(), &error);
                return Ok(());
            }
        };
        summary.read += 1;
        match outcome {
            Ok(()) => sink.taken(&file)?,
            Err(Wrong { cause, why }) => {
                sink.piece.discard();
                summary.skipped.add(cause, || Skip { place: place(), why });
            }
        }
    }
}

fn event<R: Read>(
    rows: &Rows,
    table: &tabular::Rows<R>,
    header: &[String],
    fields: usize,
    sink: &mut EventSink,
) -> Result<(), Wrong> {
    let mut row = rows.begin();
    let mut said = [None; 2];
    for (place, name) in header.iter().enumerate().take(fields) {
        let field = table.field(place);
        if field.is_empty() {
            continue;
        }
        if name == "attributes" && field.starts_with(b"{") {
            json::attributes(field, sink)?;
            continue;
        }
        match name.as_str() {
            "message" => said[0] = std::str::from_utf8(field).ok(),
            "error_severity" => said[1] = std::str::from_utf8(field).ok(),
            _ => {}
        }
        rows.take(&mut row, name, &value(name.as_bytes(), field), sink)?;
    }
    rows.end(row, said, sink)
}
