//! CSV: a header, and one event per row. A column `attributes` contains a JSON object, as written
//! by `sockcap export events`.

use std::io::Read;

use super::json;
use super::log::{POSTGRES_CSV, ServerLog};
use super::row::EventRowReader;
use crate::error::Error;
use crate::events::sink::EventSink;
use crate::events::value::parse_value;
use crate::import_input::ImportInput;
use crate::summary::{FilePlace, FilePosition, ImportSummary, SkippedItem};
use crate::tabular::{self, NextRow, WrongValue};

/// Reads a table.
///
/// # Errors
/// When the table's header cannot be read, or events cannot be written.
pub(super) fn read_table(
    rows: &EventRowReader,
    input: ImportInput<'_>,
    sink: &mut EventSink,
    summary: &mut ImportSummary,
) -> Result<(), Error> {
    let ImportInput { file, bytes } = input;
    let mut table = tabular::CsvRows::new(bytes);
    let header: Vec<String> = if rows.log == Some(ServerLog::Postgres) {
        POSTGRES_CSV.iter().map(|name| (*name).to_owned()).collect()
    } else {
        let (_, width) = table.next_row().map_err(|error| Error::from_io(&file, error))?;
        let name = |place| {
            let name = String::from_utf8_lossy(table.field(place)).into_owned();
            name.trim_start_matches('\u{feff}').trim().to_owned()
        };
        (0..width).map(name).collect()
    };
    loop {
        let next = table.next_row();
        let place = || FilePlace::new(&file, FilePosition::Line(table.line()));
        let outcome = match next {
            Ok((NextRow::End, _)) => return Ok(()),
            Ok((NextRow::Row, fields)) => add_event(rows, &table, &header, fields, sink),
            Ok((NextRow::TooLong, _)) => Err(WrongValue::new(
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
            Ok(()) => sink.flush_if_full(&file)?,
            Err(WrongValue { cause, why }) => {
                sink.batch.discard_attributes();
                summary.skipped.add(cause, || SkippedItem { place: place(), why });
            }
        }
    }
}

fn add_event<R: Read>(
    rows: &EventRowReader,
    table: &tabular::CsvRows<R>,
    header: &[String],
    fields: usize,
    sink: &mut EventSink,
) -> Result<(), WrongValue> {
    let mut row = rows.begin_row();
    let mut message_and_severity = [None; 2];
    for (place, name) in header.iter().enumerate().take(fields) {
        let field = table.field(place);
        if field.is_empty() {
            continue;
        }
        if name == "attributes" && field.starts_with(b"{") {
            json::add_attributes(field, sink)?;
            continue;
        }
        match name.as_str() {
            "message" => message_and_severity[0] = std::str::from_utf8(field).ok(),
            "error_severity" => message_and_severity[1] = std::str::from_utf8(field).ok(),
            _ => {}
        }
        rows.take_value(&mut row, name, &parse_value(name.as_bytes(), field), sink)?;
    }
    rows.finish_row(row, message_and_severity, sink)
}
