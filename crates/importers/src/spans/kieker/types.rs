//! Types of Kieker's records, by their names in all versions, and the table in which a log numbers
//! them.

use std::io::Read;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::super::receiver::SpanReceiver;
use crate::error::Error;
use crate::import_input::ImportInput;
use crate::summary::{FilePlace, FilePosition, SkippedItem};

/// Meaning of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordMeaning {
    /// A whole execution of an operation.
    Execution,
    /// Metadata of the log.
    Log,
    /// Metadata of a trace of events.
    Trace,
    /// An operation begins.
    Before,
    /// An operation ends.
    After,
    /// An operation ends by an exception.
    Failed,
    /// An operation is about to be called, as its caller reports.
    Call,
    /// Another event in a trace.
    OtherEvent,
    /// A record that does not concern traces.
    Other,
}

impl RecordMeaning {
    /// Meaning of records of this type.
    fn from_type_name(name: &str) -> RecordMeaning {
        let name = short_name(name);
        let is_of_operation = name.contains("Operation") || name.contains("Constructor");
        match name {
            "KiekerMetadataRecord" => RecordMeaning::Log,
            "TraceMetadata" | "Trace" => RecordMeaning::Trace,
            "ConstructionEvent" | "SplitEvent" | "JoinEvent" => RecordMeaning::OtherEvent,
            "OperationExecutionRecord" | "KiekerExecutionRecord" => RecordMeaning::Execution,
            name if !is_of_operation || !name.ends_with("Event") => RecordMeaning::Other,
            name if name.starts_with("Before") => RecordMeaning::Before,
            name if name.starts_with("After") && name.contains("Failed") => RecordMeaning::Failed,
            name if name.starts_with("After") => RecordMeaning::After,
            name if name.starts_with("Call") => RecordMeaning::Call,
            _ => RecordMeaning::Other,
        }
    }
}

/// Name of a type without packages.
pub(super) fn short_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// Types of a log, by number.
#[derive(Debug, Default)]
pub(super) struct RecordTypes(FxHashMap<u32, (String, RecordMeaning)>);

impl RecordTypes {
    /// Reads the table that lies next to the records.
    ///
    /// # Errors
    /// When the table cannot be read, or contains no types.
    pub(super) fn read_table(
        input: ImportInput<'_>,
        spans: &mut impl SpanReceiver,
    ) -> Result<RecordTypes, Error> {
        let ImportInput { file, mut bytes } = input;
        let mut text = Vec::new();
        bytes.read_to_end(&mut text).map_err(|error| Error::from_io(&file, error))?;
        let types = RecordTypes::from_text(&text, &file, spans);
        if types.0.is_empty() {
            let why = "it defines no types of records, as in $1=kieker.common.record.X";
            return Err(Error::malformed_at(&file, FilePosition::File, why));
        }
        Ok(types)
    }

    /// Parses the types in a text: `$1=name` on each line.
    pub(super) fn from_text(
        text: &[u8],
        file: &Path,
        spans: &mut impl SpanReceiver,
    ) -> RecordTypes {
        let mut types = RecordTypes::default();
        for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let text = String::from_utf8_lossy(text.trim_ascii());
            let entry = text.strip_prefix('$').and_then(|entry| entry.split_once('='));
            match entry.map(|(number, name)| (number.parse(), name.trim())) {
                Some((Ok(number), name)) if !name.is_empty() => {
                    types.0.insert(number, (name.to_owned(), RecordMeaning::from_type_name(name)));
                }
                _ if text.is_empty() => {}
                _ => spans.count_damage("line that is not an entry of a map", || SkippedItem {
                    place: FilePlace::new(file, FilePosition::Line(line)),
                    why: "it must look like $1=kieker.common.record.X".to_owned(),
                }),
            }
        }
        types
    }

    /// Name of a type, and its meaning.
    pub(super) fn get(&self, number: u32) -> Option<(&str, RecordMeaning)> {
        self.0.get(&number).map(|(name, meaning)| (name.as_str(), *meaning))
    }

    /// Whether the log has records with this meaning.
    pub(super) fn includes_meaning(&self, meaning: RecordMeaning) -> bool {
        self.0.values().any(|(_, other)| *other == meaning)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::collected::SpanCollector;
    use super::*;

    #[test]
    fn types_are_recognised_by_their_names_in_all_versions() {
        for (name, meaning) in [
            ("kieker.common.record.controlflow.OperationExecutionRecord", RecordMeaning::Execution),
            (
                "kieker.tpmon.monitoringRecord.executions.KiekerExecutionRecord",
                RecordMeaning::Execution,
            ),
            ("kieker.common.record.misc.KiekerMetadataRecord", RecordMeaning::Log),
            ("kieker.common.record.flow.trace.TraceMetadata", RecordMeaning::Trace),
            (
                "kieker.common.record.flow.trace.operation.BeforeOperationEvent",
                RecordMeaning::Before,
            ),
            ("x.BeforeConstructorObjectInterfaceEvent", RecordMeaning::Before),
            ("x.AfterOperationObjectEvent", RecordMeaning::After),
            ("x.AfterConstructorFailedEvent", RecordMeaning::Failed),
            ("x.CallConstructorEvent", RecordMeaning::Call),
            ("kieker.common.record.flow.trace.ConstructionEvent", RecordMeaning::OtherEvent),
            ("x.BeforeReceivedRemoteEvent", RecordMeaning::Other),
            ("kieker.common.record.system.CPUUtilizationRecord", RecordMeaning::Other),
        ] {
            assert_eq!(RecordMeaning::from_type_name(name), meaning, "{name}");
        }
    }

    #[test]
    fn only_the_damaged_entry_is_skipped() {
        let mut kept = SpanCollector::default();
        let text = b"$0=a.KiekerMetadataRecord\r\n\n$x=b\n$1=c.TraceMetadata";
        let types = RecordTypes::from_text(text, Path::new("kieker.map"), &mut kept);
        assert_eq!(types.get(0), Some(("a.KiekerMetadataRecord", RecordMeaning::Log)));
        assert!(
            types.includes_meaning(RecordMeaning::Trace)
                && !types.includes_meaning(RecordMeaning::Before)
        );
        assert_eq!(types.get(2), None);
        assert_eq!(kept.skipped, ["kieker.map:3: it must look like $1=kieker.common.record.X"]);
    }
}
