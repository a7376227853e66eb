//! Reader of one log: it processes the records in sequence, and collects notes for the user.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::receiver::SpanReceiver;
use super::super::texts::FileText;
use super::super::unused_record::UnusedRecord;
use super::events::{EventCounts, OperationStacks};
use super::executions;
use super::fields::KiekerFields;
use super::types::{RecordMeaning, RecordTypes, short_name};
use crate::error::Error;
use crate::summary::{FilePlace, SkippedItem};
use crate::tabular::WrongValue;

/// Log that is being read.
#[derive(Debug)]
pub(super) struct KiekerLogReader {
    types: RecordTypes,
    /// Whether the events of a log with both events and executions are used.
    takes_events: bool,
    /// Likewise for the executions.
    takes_executions: bool,
    /// Unit of the log's times, in nanoseconds.
    unit_ns: i64,
    /// Host that the log's metadata names; empty if none.
    host: String,
    events: OperationStacks,
    /// Number of skipped records of operations that the log has both as events and as executions.
    duplicates: u64,
    /// Number of records without operations, by type.
    others: BTreeMap<String, u64>,
}

impl KiekerLogReader {
    /// Begins a log. If it has both events and whole executions, these report the same operations
    /// twice, and `events` decides which are used.
    pub(super) fn new(types: RecordTypes, events: bool) -> KiekerLogReader {
        let has_both = types.includes_meaning(RecordMeaning::Execution)
            && types.includes_meaning(RecordMeaning::Before);
        KiekerLogReader {
            types,
            takes_events: !has_both || events,
            takes_executions: !has_both || !events,
            unit_ns: 1,
            host: String::new(),
            events: OperationStacks::default(),
            duplicates: 0,
            others: BTreeMap::new(),
        }
    }

    /// Reads a line of `file`.
    pub(super) fn read_line(
        &mut self,
        line: FileText<'_>,
        file: &Path,
        spans: &mut impl SpanReceiver,
    ) -> Result<(), Error> {
        let place = FilePlace::new(file, line.at);
        let text = String::from_utf8_lossy(line.bytes);
        match self.read_record(&text, &place, spans) {
            Ok(()) => Ok(()),
            Err(UnusedRecord::Failed(error)) => Err(error),
            Err(UnusedRecord::Skipped(WrongValue { cause, why })) => {
                spans.count_damage(cause, || SkippedItem { place, why });
                Ok(())
            }
        }
    }

    fn read_record(
        &mut self,
        text: &str,
        place: &FilePlace,
        spans: &mut impl SpanReceiver,
    ) -> Result<(), UnusedRecord> {
        let (number, fields) = KiekerFields::parse_line(text)?;
        let Some((name, meaning)) = self.types.get(number) else {
            let why = format!("its type ${number} is not in the map");
            return Err(WrongValue { cause: "record of an unknown type", why }.into());
        };
        match meaning {
            RecordMeaning::Execution if self.takes_executions => {
                let own_trace = || match place.file.file_name() {
                    Some(name) => FilePlace::new(Path::new(name), place.at).to_string(),
                    None => place.to_string(),
                };
                executions::emit_execution(&fields, self.unit_ns, own_trace, spans)
            }
            RecordMeaning::Before
            | RecordMeaning::After
            | RecordMeaning::Failed
            | RecordMeaning::Call
                if self.takes_events =>
            {
                self.events.add_event(meaning, &fields, self.unit_ns, &self.host, spans)
            }
            RecordMeaning::OtherEvent if self.takes_events => {
                *self.others.entry(short_name(name).to_owned()).or_default() += 1;
                self.events.add_event(meaning, &fields, self.unit_ns, &self.host, spans)
            }
            RecordMeaning::Trace if self.takes_events => Ok(self.events.add_trace(&fields)?),
            RecordMeaning::Log => self.read_log_metadata(&fields),
            RecordMeaning::Other => {
                *self.others.entry(short_name(name).to_owned()).or_default() += 1;
                let why = format!("{} does not concern operations", short_name(name));
                Err(WrongValue { cause: "record of another type", why }.into())
            }
            _ => {
                self.duplicates += 1;
                Ok(())
            }
        }
    }

    /// Reads the metadata of the log: version, controller, host, experiment, debug mode, offset and
    /// unit of the times, number of records.
    fn read_log_metadata(&mut self, fields: &KiekerFields<'_>) -> Result<(), UnusedRecord> {
        self.host = fields.text_if_any(2).to_owned();
        self.unit_ns = match fields.text_if_any(6) {
            "" | "NANOSECONDS" => 1,
            "MICROSECONDS" => 1_000,
            "MILLISECONDS" => 1_000_000,
            "SECONDS" => 1_000_000_000,
            unit => {
                let why = format!("field 7: {unit:.40?} is not a known unit of time");
                return Err(WrongValue { cause: "unknown unit of time", why }.into());
            }
        };
        Ok(())
    }

    /// Emits the open operations to `spans`, and returns notes for the user.
    pub(super) fn finish_log(
        mut self,
        spans: &mut impl SpanReceiver,
    ) -> Result<Vec<String>, Error> {
        self.events.emit_open(spans)?;
        let EventCounts { without_end, without_begin, with_gaps, calls } = self.events.counts;
        let counted = [
            ("operations that began and did not end", without_end),
            ("operations that ended and had not begun", without_begin),
            ("traces that miss some of their events", with_gaps),
            ("calls of unrecorded operations, seen at the caller only", calls),
        ];
        let counted = counted.into_iter().filter(|(_, count)| *count > 0);
        let mut notes: Vec<String> =
            counted.map(|(what, count)| format!("{what}: {count}")).collect();
        if self.duplicates > 0 {
            let choice = match self.takes_events {
                true => "the events are used (without --events, the executions)",
                false => "the executions are used (with --events, the events)",
            };
            let count = self.duplicates;
            notes.push(format!(
                "the log has its operations twice; {choice}; skipped records: \
                                {count}"
            ));
        }
        let others = self.others.into_iter();
        notes.extend(others.map(|(name, count)| format!("records of {name}, not used: {count}")));
        Ok(notes)
    }
}
