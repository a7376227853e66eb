//! `import spans`: a CSV table with one span per row.
//!
//! A row reports a span at its service, and may report what its caller saw of it: `caller_begin`
//! and `caller_end` are on the caller's clock. A row with these columns is both halves of a call.
//! Columns with other names are parameters.

mod columns;

use std::borrow::Cow;
use std::io::Read;

use clap::{Args, FromArgMatches};
use registry::{EntryHelp, Spec};
use request_flow::spans::{ResourceId, Span, SpanKind, SpanResource};

use super::driver::SpanImporter;
use super::format::SpanFormat;
use super::fuzz::fuzz_format;
use super::ids;
use super::receiver::SpanReceiver;
use super::span_import::SpanImport;
use super::unused_record::UnusedRecord;
use crate::error::Error;
use crate::import_input::ImportInput;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::{FilePlace, FilePosition, SkippedItem};
use crate::tabular::{CsvRows, NextRow, TableFlags, TimeUnit, WrongValue};
use columns::{SpanColumn, SpanColumns, SpanRow};

/// Registry entry.
pub(crate) static SPANS: ImporterSpec = Spec {
    about: EntryHelp {
        name: "spans",
        summary: "A table of spans: CSV, plain or compressed (gzip, zstd, xz)",
        details: "\
Its columns, in any order: trace, span, parent (empty: none), service, operation, begin and end, \
or duration; host, kind (client, server, producer, consumer, internal), failed, peer; caller, \
caller_host, caller_begin and caller_end for the caller's view; probability, bytes_in, bytes_out, \
and order and depth. Other usual names are recognised, such as trace_id, name or start_time_us. \
Any other column is a parameter. Each time is on the clock of its host. Empty means unknown.",
        notes: "",
        examples: &[
            "sockcap import spans spans.csv && sockcap report",
            "sockcap import spans spans.csv.gz --unit us --name friday",
        ],
    },
    flags: TableFlags::augment_args,
    entry: ImporterEntry {
        files: "The files, which become one import",
        files_by: None,
        make: |given| {
            let TableFlags { name, unit } = TableFlags::from_arg_matches(given)?;
            let format = SpanTableFormat { unit: unit.unit.unwrap_or(TableFlags::UNIT) };
            Ok(Box::new(SpanImporter { name: name.name, format }))
        },
        fuzz: |bytes| fuzz_format(&SpanTableFormat { unit: TimeUnit::Nanoseconds }, bytes),
        #[cfg(test)]
        samples: tests::samples,
    },
};

/// The format.
#[derive(Clone, Copy, Debug)]
struct SpanTableFormat {
    unit: TimeUnit,
}

impl SpanFormat for SpanTableFormat {
    const NONE: &str = "there is no row with a span";

    fn read_file(
        &self,
        input: ImportInput<'_>,
        reading: &mut SpanImport<'_, '_>,
    ) -> Result<(), Error> {
        let mut batch = reading.begin_batch();
        let cut_off = read_table(input, self.unit, &mut batch)?;
        reading.add_batch(batch)?;
        if let Some((place, error)) = cut_off {
            reading.cut_off(place, &error);
        }
        Ok(())
    }
}

/// Reads a table; returns where and why it ends early, if it does.
fn read_table(
    input: ImportInput<'_>,
    unit: TimeUnit,
    spans: &mut impl SpanReceiver,
) -> Result<Option<(FilePlace, std::io::Error)>, Error> {
    let ImportInput { file, bytes } = input;
    let mut rows = CsvRows::new(bytes);
    let (_, width) = rows.next_row().map_err(|error| Error::from_io(&file, error))?;
    let columns = SpanColumns::from_header((0..width).map(|place| rows.field(place)), unit, &file)?;
    loop {
        let next = rows.next_row();
        let place = || FilePlace::new(&file, FilePosition::Line(rows.line()));
        match next {
            Ok((NextRow::End, _)) => return Ok(None),
            Ok((NextRow::Row, fields)) if fields < width => {
                let why = format!("it has {fields} of {width} columns; was the file cut off?");
                spans.count_skip("row that is too short", || SkippedItem { place: place(), why });
            }
            Ok((NextRow::Row, _)) => match read_row(&rows, &columns, spans) {
                Ok(()) => {}
                Err(UnusedRecord::Failed(error)) => return Err(error),
                Err(UnusedRecord::Skipped(WrongValue { cause, why })) => {
                    spans.count_skip(cause, || SkippedItem { place: place(), why });
                }
            },
            Ok((NextRow::TooLong, _)) => spans.count_skip("row that is too long", || SkippedItem {
                place: place(),
                why: "it is longer than a row can be; is a quote not closed?".to_owned(),
            }),
            Err(error) => return Ok(Some((place(), error))),
        }
    }
}

/// Emits a row to `spans`.
fn read_row<R: Read>(
    rows: &CsvRows<R>,
    columns: &SpanColumns,
    spans: &mut impl SpanReceiver,
) -> Result<(), UnusedRecord> {
    let row = SpanRow { columns, field: |place| rows.field(place) };
    let id = |column| {
        let missing = "is not an id; each row must name its trace and its span";
        ids::parse_any_id(row.text(column)?)
            .ok_or_else(|| WrongValue::new("span without an id", b"", missing))
    };
    let (trace, id) = (id(SpanColumn::Trace)?, id(SpanColumn::Span)?);
    let begin = row.time(SpanColumn::Begin)?;
    let duration = row.time(SpanColumn::Duration)?;
    let length =
        |begin: Option<i64>| begin.zip(duration).map(|(begin, it)| begin.saturating_add(it));
    let end = row.time(SpanColumn::End)?.or_else(|| length(begin));
    let [caller_begin, caller_end] =
        [row.time(SpanColumn::CallerBegin)?, row.time(SpanColumn::CallerEnd)?];
    let [caller, caller_host] = [row.text(SpanColumn::Caller)?, row.text(SpanColumn::CallerHost)?];
    let has_caller = !caller.is_empty() || caller_begin.or(caller_end).is_some();
    let parent = ids::parse_any_id(row.text(SpanColumn::Parent)?);
    let mut parameters: Vec<(&str, Cow<'_, str>)> = Vec::new();
    for (name, value) in row.other_columns() {
        parameters.push((name, Cow::Borrowed(value?)));
    }
    let peer = Some(row.text(SpanColumn::Peer)?).filter(|peer| !peer.is_empty());
    let depth = row.number(SpanColumn::Depth)?.and_then(|depth| u32::try_from(depth).ok());
    let [service, host] = [row.text(SpanColumn::Service)?, row.text(SpanColumn::Host)?];
    let span = Span {
        parent,
        // If there are parents, they determine the depth.
        depth: depth.filter(|_| !columns.has(SpanColumn::Parent)),
        order: row.number(SpanColumn::Order)?,
        kind: if has_caller { SpanKind::Server } else { span_kind(row.text(SpanColumn::Kind)?) },
        peer,
        begin,
        end,
        duration: duration.filter(|_| begin.is_none() && end.is_none()),
        failed: has_failed(row.text(SpanColumn::Failed)?),
        probability: row.probability(SpanColumn::Probability)?,
        bytes_in: row.number(SpanColumn::BytesIn)?,
        bytes_out: row.number(SpanColumn::BytesOut)?,
        parameters: &parameters,
        // The resource is set below.
        ..Span::new(trace, id, ResourceId::from_index(0), row.text(SpanColumn::Operation)?)
    };
    if has_caller {
        let host = match (caller, caller_host) {
            // The caller is unknown: its clock is assumed to be the span's.
            ("", "") if host.is_empty() => service,
            ("", "") => host,
            _ => caller_host,
        };
        let caller = SpanResource { node: caller, host, parameters: Vec::new() };
        let resource = spans.resource_id(&caller);
        let (kind, begin, end) = (SpanKind::Client, caller_begin, caller_end);
        let peer = Some(service).filter(|service| !service.is_empty());
        let seen = Span { resource, kind, peer, begin, end, parameters: &[], ..span.clone() };
        spans.add_span(&Span { duration: None, ..seen })?;
    }
    let resource = spans.resource_id(&SpanResource { node: service, host, parameters: Vec::new() });
    spans.add_span(&Span { resource, ..span })?;
    Ok(())
}

fn span_kind(text: &str) -> SpanKind {
    let text = text.to_ascii_lowercase();
    match text.strip_prefix("span_kind_").unwrap_or(&text) {
        "client" => SpanKind::Client,
        "server" => SpanKind::Server,
        "producer" => SpanKind::Producer,
        "consumer" => SpanKind::Consumer,
        "internal" => SpanKind::Internal,
        _ => SpanKind::Unknown,
    }
}

/// Whether a span failed, by the text in its column: a message, or any form of yes or no.
fn has_failed(text: &str) -> bool {
    let no = ["", "0", "false", "f", "no", "n", "ok", "unset", "none", "null"];
    !no.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;
