//! Converter from samples of tracepoints to events.

use std::path::PathBuf;

use ::events::{AttributeValue, Event};
use out_of_core::{NameId, NameInterner};
use rustc_hash::FxHashMap;

use super::layout::{PerfFeatures, PerfLayout, place_at};
use crate::error::Error;
use crate::events::perf::perf_import::{PerfImport, skip_record};
use crate::events::perf::tracepoint::{
    ByteReader, FieldEncoding, TracepointField, TracepointFormat,
};
use crate::events::sink::EventSink;
use crate::summary::ImportSummary;
use crate::tuning::MAX_NAMES;

/// Numbers of the record types that are handled here.
const LOST: u32 = 2;
const COMM: u32 = 3;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const HEADER_ATTR: u32 = 64;
const TRACING_DATA: u32 = 66;
const HEADER_FEATURE: u32 = 80;

/// Number of the feature that corresponds to [`TRACING_DATA`] in a file.
const TRACING_FEATURE: usize = 1;

/// Letters of task states, by their bits.
const STATES: &[(i64, &str)] = &[
    (0x01, "S"),
    (0x02, "D"),
    (0x04, "T"),
    (0x08, "t"),
    (0x10, "X"),
    (0x20, "Z"),
    (0x40, "P"),
    (0x80, "I"),
];

/// Bit of a task that was preempted and could have continued to run.
const PREEMPTED: i64 = 0x100;

/// Reader that converts records to events.
pub(super) struct SampleReader {
    file: PathBuf,
    features: PerfFeatures,
    host: NameId,
    /// Clock offset that the user gave.
    given_offset: Option<i64>,
    is_host_given: bool,
    /// Kind and field names of each format.
    interned: FxHashMap<u16, (NameId, Vec<NameId>)>,
    /// Name of each thread that the file names.
    comms: FxHashMap<i32, Box<str>>,
    /// The attribute name `comm`.
    comm: NameId,
}

impl SampleReader {
    /// Creates a reader of the records of a file with that layout.
    pub(super) fn new(
        perf: &PerfImport,
        layout: &PerfLayout,
        sink: &mut EventSink,
    ) -> SampleReader {
        let features = layout.features.clone();
        let host = perf.host.clone().or_else(|| features.host.clone());
        let host = host.map_or(NameInterner::UNKNOWN, |host| sink.names.intern(&host));
        SampleReader {
            file: layout.file.clone(),
            features,
            host,
            given_offset: perf.offset,
            is_host_given: perf.host.is_some(),
            interned: FxHashMap::default(),
            comms: FxHashMap::default(),
            comm: sink.names.intern("comm"),
        }
    }

    /// Offset that is added to times, in nanoseconds.
    pub(super) fn clock_offset(&self) -> Option<i64> {
        self.given_offset.or(self.features.offset)
    }

    /// Reads a record, which ends at `offset`.
    ///
    /// # Errors
    /// When an event cannot be written.
    pub(super) fn read_record(
        &mut self,
        kind: u32,
        mut body: ByteReader<'_>,
        offset: u64,
        sink: &mut EventSink,
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        match kind {
            SAMPLE => {
                summary.read += 1;
                match self.add_sample(body, sink) {
                    Ok(()) => sink.flush_if_full(&self.file)?,
                    Err((cause, why)) => {
                        sink.batch.discard_attributes();
                        skip_record(summary, cause, || place_at(&self.file, offset), why);
                    }
                }
            }
            LOST => {
                let lost = body.take_u64().and_then(|_| body.take_u64()).unwrap_or(0);
                let file = self.file.display();
                summary.notes.push(format!("{file}: events that perf lost: {lost}"));
            }
            COMM => {
                let comm = (body.take_u32(), body.take_u32(), body.take_text());
                if let (_, Some(thread), Some(comm)) = comm {
                    self.name_thread(thread as i32, String::from_utf8_lossy(comm).into());
                }
            }
            FORK => {
                let ids = [(); 4].map(|()| body.take_u32());
                if let [_, _, Some(thread), Some(parent)] = ids
                    && let Some(comm) = self.comms.get(&(parent as i32)).cloned()
                {
                    self.name_thread(thread as i32, comm);
                }
            }
            HEADER_ATTR => self.features.attributes.add_record(body.0),
            TRACING_DATA => self.read_feature(TRACING_FEATURE, body.0, sink),
            HEADER_FEATURE => {
                if let Some(number) = body.take_u64() {
                    self.read_feature(number as usize, body.0, sink);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn read_feature(&mut self, number: usize, section: &[u8], sink: &mut EventSink) {
        self.features.take_feature(number, section);
        self.interned.clear();
        if let (false, Some(host)) = (self.is_host_given, &self.features.host) {
            self.host = sink.names.intern(host);
        }
    }

    fn name_thread(&mut self, thread: i32, comm: Box<str>) {
        if self.comms.len() >= MAX_NAMES {
            self.comms.clear();
        }
        self.comms.insert(thread, comm);
    }

    /// Adds the event of a sample.
    fn add_sample(
        &mut self,
        body: ByteReader<'_>,
        sink: &mut EventSink,
    ) -> Result<(), (&'static str, &'static str)> {
        const DAMAGED: (&str, &str) = ("damaged sample", "its parts do not fit its event");
        let attribute = self
            .features
            .attributes
            .attribute_of_sample(body.0)
            .ok_or(("sample of an unknown event", "no attribute of the file has its id"))?;
        let sample = attribute.parse_sample(body).ok_or(DAMAGED)?;
        let time = sample.time.ok_or((
            "sample without a time",
            "its event was recorded without times; perf record -T has them",
        ))?;
        let format = ByteReader(sample.raw).take_u16();
        let format = format.and_then(|id| Some((id, self.features.formats.get(&id)?)));
        let (kind, mut has_comm) = match (format, &attribute.kind) {
            (Some((id, format)), _) => {
                let (kind, names) = self.interned.entry(id).or_insert_with(|| {
                    let fields = format.fields.iter();
                    let fields = fields.map(|field| sink.names.intern(&field.name)).collect();
                    (sink.names.intern(&format.kind), fields)
                });
                add_fields(format, names, sample.raw, sink).ok_or(DAMAGED)?;
                (*kind, names.contains(&self.comm))
            }
            (None, Some(kind)) => (sink.names.intern(kind), false),
            (None, None) => {
                return Err((
                    "event of an undescribed tracepoint",
                    "perf writes the descriptions after the records; was the file cut off?",
                ));
            }
        };
        if sample.thread == 0 && !has_comm {
            // perf's name for the idle thread.
            sink.batch.push_attribute(self.comm, AttributeValue::Text("swapper"));
            has_comm = true;
        }
        if let (false, Some(comm)) = (has_comm, self.comms.get(&sample.thread)) {
            sink.batch.push_attribute(self.comm, AttributeValue::Text(comm));
        }
        let recorded = i64::try_from(time).unwrap_or(i64::MAX);
        sink.batch.end_event(Event {
            time: recorded.saturating_add(self.clock_offset().unwrap_or(0)),
            kind,
            host: self.host,
            processor: sample.processor,
            process: sample.process.max(0),
            thread: sample.thread.max(0),
        });
        Ok(())
    }
}

/// Adds the fields of an event as attributes.
fn add_fields(
    format: &TracepointFormat,
    names: &[NameId],
    raw: &[u8],
    sink: &mut EventSink,
) -> Option<()> {
    for (field, name) in format.fields.iter().zip(names) {
        let bytes = raw.get(field.offset..field.offset.checked_add(field.size)?)?;
        let text;
        let value = match &field.encoding {
            FieldEncoding::Int { signed } => AttributeValue::Int(read_int(bytes, *signed)),
            FieldEncoding::Text => {
                text = String::from_utf8_lossy(ByteReader::trim_padding(bytes)).into_owned();
                AttributeValue::Text(&text)
            }
            FieldEncoding::TextElsewhere { relative } => {
                text = referenced_text(field, *relative, bytes, raw)?;
                AttributeValue::Text(&text)
            }
            FieldEncoding::Address => {
                text = format_address(bytes)?;
                AttributeValue::Text(&text)
            }
            FieldEncoding::Symbol(table) => {
                let number = read_int(bytes, true);
                let name = table.iter().find(|(value, _)| *value == number);
                name.map_or(AttributeValue::Int(number), |(_, name)| AttributeValue::Text(name))
            }
            FieldEncoding::Flags(table, separator) => {
                let number = read_int(bytes, false);
                text = format_flags(number, table, separator);
                if text.is_empty() {
                    AttributeValue::Int(number)
                } else {
                    AttributeValue::Text(&text)
                }
            }
            FieldEncoding::TaskState => {
                text = task_state(read_int(bytes, true));
                AttributeValue::Text(&text)
            }
            FieldEncoding::Bytes => {
                text = bytes.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
                AttributeValue::Text(&text)
            }
        };
        sink.batch.push_attribute(*name, value);
    }
    Some(())
}

/// Number in little-endian bytes.
fn read_int(bytes: &[u8], signed: bool) -> i64 {
    let number = bytes.iter().rev().take(8).fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    if signed { ((number << unused) as i64) >> unused } else { number as i64 }
}

/// Text at the place that the field contains: 16 bits of its offset, and 16 of its length.
fn referenced_text(
    field: &TracepointField,
    relative: bool,
    bytes: &[u8],
    raw: &[u8],
) -> Option<String> {
    let place = ByteReader(bytes).take_u32()?;
    let (offset, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
    let begin = if relative { offset + field.offset + field.size } else { offset };
    let text = ByteReader::trim_padding(raw.get(begin..begin + length)?);
    Some(String::from_utf8_lossy(text).into_owned())
}

fn format_address(bytes: &[u8]) -> Option<String> {
    match bytes.len() {
        4 => Some(std::net::Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).to_string()),
        16 => Some(std::net::Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()),
        _ => None,
    }
}

/// Names of the flags that are set in `number`, with `separator` between them.
fn format_flags(number: i64, table: &[(i64, String)], separator: &str) -> String {
    let set = table.iter().filter(|(value, _)| *value != 0 && number & value == *value);
    let names: Vec<&str> = set.map(|(_, name)| name.as_str()).collect();
    names.join(separator)
}

/// Text of a task's state as in the kernel's traces, for example `R+`.
fn task_state(state: i64) -> String {
    let set = STATES.iter().filter(|(bit, _)| state & bit != 0);
    let letters: Vec<&str> = set.map(|(_, letter)| *letter).collect();
    let letters = if letters.is_empty() { "R".to_owned() } else { letters.join("|") };
    if state & PREEMPTED == 0 { letters } else { format!("{letters}+") }
}
