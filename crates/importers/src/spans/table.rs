//! `import spans`: a CSV table of spans, one a row.
//!
//! A row tells of a span at its service, and may tell what its caller saw of it: `caller_begin` and
//! `caller_end` are on the caller's clock. Such a row is both halves of a call. Columns that mean
//! nothing here are parameters.

mod columns;

use std::borrow::Cow;
use std::io::Read;

use registry::About;
use request_flow::spans::{Resource, Span, SpanKind};

use super::driver::SpanImporter;
use super::format::Format;
use super::fuzz::run;
use super::ids;
use super::reading::Reading;
use super::receiver::Receiver;
use super::unused::Unused;
use crate::error::Error;
use crate::flags::NAME;
use crate::kind::Kind;
use crate::reading::Input;
use crate::summary::{At, Place, Skip};
use crate::tabular::{Next, Rows, UNIT, Unit, Wrong, unit};
use columns::{Column, Columns, Row};

/// The entry in the registry.
pub(crate) static SPANS: Kind = Kind {
    about: About {
        name: "spans",
        summary: "A table of spans: CSV, plain or compressed (gzip, zstd, xz)",
        details: "\
Its columns, in any order: trace, span, parent (empty: none), service, operation, begin and end, or \
duration; host, kind (client, server, producer, consumer, internal), failed, peer; caller, \
caller_host, caller_begin and caller_end for what the caller saw; probability, bytes_in, bytes_out, \
and order and depth. Usual other names are understood, such as trace_id, name or start_time_us. Any \
other column is a parameter. Each time is on the clock of its host. Empty is unknown.",
        notes: "",
        examples: &[
            "sockcap import spans spans.csv && sockcap report",
            "sockcap import spans spans.csv.gz --unit us --name friday",
        ],
    },
    files: "The files, which become one import",
    files_by: None,
    flags: &[&NAME, &UNIT],
    make: |given| {
        let format = Table { unit: unit(given, Unit::Nanoseconds) };
        Box::new(SpanImporter { name: given.get(&NAME), format })
    },
    fuzz: |bytes| run(&Table { unit: Unit::Nanoseconds }, bytes),
    #[cfg(test)]
    samples: tests::samples,
};

/// The format.
#[derive(Clone, Copy, Debug)]
struct Table {
    unit: Unit,
}

impl Format for Table {
    const NONE: &str = "there is no row with a span";

    fn read(&self, input: Input<'_>, reading: &mut Reading<'_, '_>) -> Result<(), Error> {
        let mut piece = reading.piece();
        let cut_off = read(input, self.unit, &mut piece)?;
        reading.take(piece)?;
        if let Some((place, error)) = cut_off {
            reading.cut_off(place, &error);
        }
        Ok(())
    }
}

/// Reads a table; returns where and why it ends too early, if it does.
fn read(
    input: Input<'_>,
    unit: Unit,
    spans: &mut impl Receiver,
) -> Result<Option<(Place, std::io::Error)>, Error> {
    let Input { file, bytes } = input;
    let mut rows = Rows::new(bytes);
    let (_, width) = rows.next().map_err(|error| Error::io(&file, error))?;
    let columns = Columns::of((0..width).map(|place| rows.field(place)), unit, &file)?;
    loop {
        let next = rows.next();
        let place = || Place::new(&file, At::Line(rows.line()));
        match next {
            Ok((Next::End, _)) => return Ok(None),
            Ok((Next::Row, fields)) if fields < width => {
                let why = format!("it has {fields} of {width} columns; was the file cut off?");
                spans.skip("row that is too short", || Skip { place: place(), why });
            }
            Ok((Next::Row, _)) => match row(&rows, &columns, spans) {
                Ok(()) => {}
                Err(Unused::Failed(error)) => return Err(error),
                Err(Unused::Skipped(Wrong { cause, why })) => {
                    spans.skip(cause, || Skip { place: place(), why });
                }
            },
            Ok((Next::TooLong, _)) => spans.skip("row that is too long", || Skip {
                place: place(),
                why: "it is longer than a row can be; is a quote not closed?".to_owned(),
            }),
            Err(error) => return Ok(Some((place(), error))),
        }
    }
}

/// Gives a row to `spans`.
fn row<R: Read>(
    rows: &Rows<R>,
    columns: &Columns,
    spans: &mut impl Receiver,
) -> Result<(), Unused> {
    let row = Row { columns, field: |place| rows.field(place) };
    let id = |column| {
        let missing = "is no id; each row must say of which trace it is, and which span";
        ids::any(row.text(column)?).ok_or_else(|| Wrong::new("span without an id", b"", missing))
    };
    let (trace, id) = (id(Column::Trace)?, id(Column::Span)?);
    let begin = row.time(Column::Begin)?;
    let duration = row.time(Column::Duration)?;
    let length =
        |begin: Option<i64>| begin.zip(duration).map(|(begin, it)| begin.saturating_add(it));
    let end = row.time(Column::End)?.or_else(|| length(begin));
    let [caller_begin, caller_end] = [row.time(Column::CallerBegin)?, row.time(Column::CallerEnd)?];
    let [caller, caller_host] = [row.text(Column::Caller)?, row.text(Column::CallerHost)?];
    let has_caller = !caller.is_empty() || caller_begin.or(caller_end).is_some();
    let parent = ids::any(row.text(Column::Parent)?);
    let mut parameters: Vec<(&str, Cow<'_, str>)> = Vec::new();
    for (name, value) in row.others() {
        parameters.push((name, Cow::Borrowed(value?)));
    }
    let peer = Some(row.text(Column::Peer)?).filter(|peer| !peer.is_empty());
    let depth = row.number(Column::Depth)?.and_then(|depth| u32::try_from(depth).ok());
    let [service, host] = [row.text(Column::Service)?, row.text(Column::Host)?];
    let span = Span {
        parent,
        // Where there are parents, they say it.
        depth: depth.filter(|_| !columns.has(Column::Parent)),
        order: row.number(Column::Order)?,
        kind: if has_caller { SpanKind::Server } else { kind(row.text(Column::Kind)?) },
        peer,
        begin,
        end,
        duration: duration.filter(|_| begin.is_none() && end.is_none()),
        failed: has_failed(row.text(Column::Failed)?),
        probability: row.share(Column::Probability)?,
        bytes_in: row.number(Column::BytesIn)?,
        bytes_out: row.number(Column::BytesOut)?,
        parameters: &parameters,
        ..Span::of(trace, id, 0, row.text(Column::Operation)?)
    };
    if has_caller {
        let host = match (caller, caller_host) {
            // Nobody knows who it was: its clock is taken for that of the span.
            ("", "") if host.is_empty() => service,
            ("", "") => host,
            _ => caller_host,
        };
        let caller = Resource { node: caller, host, parameters: Vec::new() };
        let resource = spans.resource(&caller);
        let (kind, begin, end) = (SpanKind::Client, caller_begin, caller_end);
        let peer = Some(service).filter(|service| !service.is_empty());
        let seen = Span { resource, kind, peer, begin, end, parameters: &[], ..span.clone() };
        spans.span(&Span { duration: None, ..seen })?;
    }
    let resource = spans.resource(&Resource { node: service, host, parameters: Vec::new() });
    spans.span(&Span { resource, ..span })?;
    Ok(())
}

fn kind(text: &str) -> SpanKind {
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

/// Whether a span failed, by the text in its column: a message, or yes or no in any way.
fn has_failed(text: &str) -> bool {
    let no = ["", "0", "false", "f", "no", "n", "ok", "unset", "none", "null"];
    !no.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests;
