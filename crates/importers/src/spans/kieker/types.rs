//! Types of Kieker's records, by their names in all versions, and the table in which a log numbers
//! them.

use std::io::Read;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::super::receiver::Receiver;
use crate::error::Error;
use crate::reading::Input;
use crate::summary::{At, Place, Skip};

/// What a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    /// A whole execution of an operation.
    Execution,
    /// How the log was written.
    Log,
    /// What is known of a trace of events.
    Trace,
    /// An operation begins.
    Before,
    /// An operation ends.
    After,
    /// An operation ends by an exception.
    Failed,
    /// An operation is going to be called, as its caller sees it.
    Call,
    /// Something else in a trace of events.
    Beside,
    /// Nothing of traces.
    Other,
}

impl Tells {
    /// What a record of this type tells.
    fn of(name: &str) -> Tells {
        let name = short(name);
        let is_of_operation = name.contains("Operation") || name.contains("Constructor");
        match name {
            "KiekerMetadataRecord" => Tells::Log,
            "TraceMetadata" | "Trace" => Tells::Trace,
            "ConstructionEvent" | "SplitEvent" | "JoinEvent" => Tells::Beside,
            "OperationExecutionRecord" | "KiekerExecutionRecord" => Tells::Execution,
            name if !is_of_operation || !name.ends_with("Event") => Tells::Other,
            name if name.starts_with("Before") => Tells::Before,
            name if name.starts_with("After") && name.contains("Failed") => Tells::Failed,
            name if name.starts_with("After") => Tells::After,
            name if name.starts_with("Call") => Tells::Call,
            _ => Tells::Other,
        }
    }
}

/// The name of a type without packages.
pub(super) fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}

/// The types of a log by their numbers.
#[derive(Debug, Default)]
pub(super) struct Types(FxHashMap<u32, (String, Tells)>);

impl Types {
    /// Reads the table that lies beside the records.
    ///
    /// # Errors
    /// When it cannot be read, or numbers no types.
    pub(super) fn read(input: Input<'_>, spans: &mut impl Receiver) -> Result<Types, Error> {
        let Input { file, mut bytes } = input;
        let mut text = Vec::new();
        bytes.read_to_end(&mut text).map_err(|error| Error::io(&file, error))?;
        let types = Types::of(&text, &file, spans);
        if types.0.is_empty() {
            let why = "it numbers no types of records, as in $1=kieker.common.record.X";
            return Err(Error::malformed(&file, At::File, why));
        }
        Ok(types)
    }

    /// The types that a text numbers: `$1=name` on each line.
    pub(super) fn of(text: &[u8], file: &Path, spans: &mut impl Receiver) -> Types {
        let mut types = Types::default();
        for (line, text) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let text = String::from_utf8_lossy(text.trim_ascii());
            let entry = text.strip_prefix('$').and_then(|entry| entry.split_once('='));
            match entry.map(|(number, name)| (number.parse(), name.trim())) {
                Some((Ok(number), name)) if !name.is_empty() => {
                    types.0.insert(number, (name.to_owned(), Tells::of(name)));
                }
                _ if text.is_empty() => {}
                _ => spans.damage("line that is no entry of a map", || Skip {
                    place: Place::new(file, At::Line(line)),
                    why: "it must be such as $1=kieker.common.record.X".to_owned(),
                }),
            }
        }
        types
    }

    /// The name of a type, and what it tells.
    pub(super) fn get(&self, number: u32) -> Option<(&str, Tells)> {
        self.0.get(&number).map(|(name, tells)| (name.as_str(), *tells))
    }

    /// Whether the log has records that tell this.
    pub(super) fn tell(&self, what: Tells) -> bool {
        self.0.values().any(|(_, tells)| *tells == what)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::kept::Kept;
    use super::*;

    #[test]
    fn types_are_told_by_their_names_in_all_versions() {
        for (name, tells) in [
            ("kieker.common.record.controlflow.OperationExecutionRecord", Tells::Execution),
            ("kieker.tpmon.monitoringRecord.executions.KiekerExecutionRecord", Tells::Execution),
            ("kieker.common.record.misc.KiekerMetadataRecord", Tells::Log),
            ("kieker.common.record.flow.trace.TraceMetadata", Tells::Trace),
            ("kieker.common.record.flow.trace.operation.BeforeOperationEvent", Tells::Before),
            ("x.BeforeConstructorObjectInterfaceEvent", Tells::Before),
            ("x.AfterOperationObjectEvent", Tells::After),
            ("x.AfterConstructorFailedEvent", Tells::Failed),
            ("x.CallConstructorEvent", Tells::Call),
            ("kieker.common.record.flow.trace.ConstructionEvent", Tells::Beside),
            ("x.BeforeReceivedRemoteEvent", Tells::Other),
            ("kieker.common.record.system.CPUUtilizationRecord", Tells::Other),
        ] {
            assert_eq!(Tells::of(name), tells, "{name}");
        }
    }

    #[test]
    fn a_damaged_entry_costs_itself() {
        let mut kept = Kept::default();
        let text = b"$0=a.KiekerMetadataRecord\r\n\n$x=b\n$1=c.TraceMetadata";
        let types = Types::of(text, Path::new("kieker.map"), &mut kept);
        assert_eq!(types.get(0), Some(("a.KiekerMetadataRecord", Tells::Log)));
        assert!(types.tell(Tells::Trace) && !types.tell(Tells::Before));
        assert_eq!(types.get(2), None);
        assert_eq!(kept.skipped, ["kieker.map:3: it must be such as $1=kieker.common.record.X"]);
    }
}
