//! `import project5`: traces as in Project 5 section 6.5, with one message per line in five columns
//! that are separated by white space: `timestamp operation sender rcvr ID`.
//!
//! Such a trace has one time for each message, on one clock, and its algorithms treat the
//! difference between two times as the delay of the node in between. To let all algorithms here do
//! the same, the time is used for both ends: the messages take no time, and their transit is part
//! of the nodes' delays.
//!
//! `CALL` and `RETURN` (also `RET`, and each with the suffix `_SENT`, as in the paper's example)
//! are the two messages of a call, paired by ID; `MESSAGE` belongs to no call, and the node that
//! sent the first one of two is assumed to be the connecting side.

use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use message_trace::{
    DataDir, EndPair, Endpoint, FROM_ACCEPTING, FROM_CONNECTING, FlowId, Message, NodeEnd,
    Progress, TransportProtocol,
};
use registry::{EntryHelp, Spec};

use super::columns::UnusedRow;
use super::flags::TableFlags;
use super::tables::TableImport;
use super::values::{self, TimeUnit, WrongValue};
use crate::error::Error;
use crate::fuzz::run_import;
use crate::import_input::ImportInput;
use crate::importer::Importer;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::{FilePlace, FilePosition, ImportSummary, SkippedItem};
use crate::target::{ConnectionHint, MessageTarget};
use crate::text_lines::{NextLine, TextLines};

/// Registry entry.
pub(crate) static PROJECT5: ImporterSpec = Spec {
    about: EntryHelp {
        name: "project5",
        summary: "A trace as in the Project 5 paper: timestamp operation sender rcvr ID",
        details: "\
One message per line, with columns separated by spaces. The operation is CALL, RETURN or MESSAGE, \
the time (in seconds, or in --unit) applies to both ends, and ID pairs a call with its return.",
        notes: "",
        examples: &[
            "sockcap import project5 trace.txt && sockcap report",
            "sockcap import project5 --unit ms trace.txt",
        ],
    },
    flags: TableFlags::augment_args,
    entry: ImporterEntry {
        files: "The files, which become one import",
        files_by: None,
        make: |given| {
            let TableFlags { name, unit } = TableFlags::from_arg_matches(given)?;
            let unit = unit.unit.unwrap_or(TableFlags::UNIT_OF_PROJECT5);
            Ok(Box::new(Project5Importer { name: name.name, unit }))
        },
        fuzz: fuzz_trace,
        #[cfg(test)]
        samples,
    },
};

/// The importer of Project 5's traces.
#[derive(Clone, Debug)]
pub struct Project5Importer {
    /// Name of the import; `None` to use the name of the import's first file.
    pub name: Option<String>,
    /// Unit of the times; in the paper, seconds.
    pub unit: TimeUnit,
}

/// Operation of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageOperation {
    Call,
    Return,
    Message,
}

impl Importer for Project5Importer {
    fn input_nouns(&self) -> [&'static str; 2] {
        ["line", "lines"]
    }

    fn output_nouns(&self) -> [&'static str; 2] {
        ["message", "messages"]
    }

    fn import_files(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<ImportSummary, Error> {
        TableImport::begin_import(self.name.as_deref(), files, data, progress)?
            .import_tables(|input, target, summary| self.read_trace(input, target, summary))
    }
}

impl Project5Importer {
    /// Reads one trace.
    pub(crate) fn read_trace(
        &self,
        input: ImportInput,
        target: &mut MessageTarget,
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        let ImportInput { file, bytes } = input;
        let mut lines = TextLines::new(bytes);
        loop {
            let number = lines.line_number() + 1;
            let place = || FilePlace::new(&file, FilePosition::Line(number));
            let line = match lines.next_line() {
                NextLine::Line(line) => line.trim_ascii(),
                NextLine::Pending => {
                    if let Err(error) = lines.read_more() {
                        summary.cut_off(place(), &error);
                        return Ok(());
                    }
                    continue;
                }
                NextLine::TooLong => {
                    summary.read += 1;
                    let why = "it is longer than a line can be".to_owned();
                    summary
                        .skipped
                        .add("line that is too long", || SkippedItem { place: place(), why });
                    continue;
                }
                NextLine::End => return Ok(()),
            };
            // Comments, and the names of the columns.
            if line.is_empty() || line.starts_with(b"#") || line.starts_with(b"timestamp") {
                continue;
            }
            summary.read += 1;
            match self.read_line(&file, line, target) {
                Ok(()) => {}
                Err(UnusedRow::Skipped(WrongValue { cause, why })) => {
                    summary.skipped.add(cause, || SkippedItem { place: place(), why });
                }
                Err(UnusedRow::Failed(error)) => return Err(error),
            }
        }
    }

    fn read_line(
        &self,
        file: &std::path::Path,
        line: &[u8],
        target: &mut MessageTarget,
    ) -> Result<(), UnusedRow> {
        let mut fields =
            line.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty());
        let (Some(time), Some(operation), Some(sender), Some(receiver)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(wrong_line("line with too few columns", "it has too few columns").into());
        };
        let call_id = fields.next();
        if fields.next().is_some() {
            return Err(wrong_line("line with too many columns", "it has too many columns").into());
        }
        let column = |name: &str, wrong: WrongValue| WrongValue {
            why: format!("column '{name}': {}", wrong.why),
            ..wrong
        };
        let time =
            values::parse_time(time, self.unit).map_err(|wrong| column("timestamp", wrong))?;
        let operation = parse_operation(operation).map_err(|wrong| column("operation", wrong))?;
        let sender = values::parse_name(sender).map_err(|wrong| column("sender", wrong))?;
        let receiver = values::parse_name(receiver).map_err(|wrong| column("rcvr", wrong))?;
        let call_id =
            values::parse_text(call_id.unwrap_or_default()).map_err(|wrong| column("ID", wrong))?;
        let (src, dst) = (
            target.node_of_command(file, None, sender)?,
            target.node_of_command(file, None, receiver)?,
        );
        let connection = match operation {
            MessageOperation::Call => ConnectionHint::Call(FROM_CONNECTING),
            MessageOperation::Return => ConnectionHint::Call(FROM_ACCEPTING),
            MessageOperation::Message => ConnectionHint::FlowAndDirection(None, None),
        };
        let endpoint = target.unknown_endpoint();
        let [src, dst] = [src, dst].map(|node| NodeEnd { node, endpoint, tid: None });
        let ends = EndPair { src, dst, protocol: TransportProtocol::Other };
        let message = Message::between_ends(ends, FlowId::default(), FROM_CONNECTING)
            .with_send_times([time; 3])
            .with_recv_times([time; 3]);
        let call_id = Some(call_id).filter(|id| !id.is_empty());
        let nameless = Endpoint::Other(String::new());
        Ok(target.write_message(file, message, [&nameless; 2], connection, call_id)?)
    }
}

fn wrong_line(cause: &'static str, why: &str) -> WrongValue {
    WrongValue { cause, why: format!("{why}; a line is: timestamp operation sender rcvr ID") }
}

fn parse_operation(text: &[u8]) -> Result<MessageOperation, WrongValue> {
    let known = [
        ("CALL", MessageOperation::Call),
        ("CALL_SENT", MessageOperation::Call),
        ("RETURN", MessageOperation::Return),
        ("RETURN_SENT", MessageOperation::Return),
        ("RET", MessageOperation::Return),
        ("RET_SENT", MessageOperation::Return),
        ("MESSAGE", MessageOperation::Message),
        ("MESSAGE_SENT", MessageOperation::Message),
    ];
    let found = known.iter().find(|(name, _)| text.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|(_, operation)| *operation).ok_or_else(|| {
        WrongValue::new(
            "unknown operation",
            text,
            "is not an operation; it must be CALL, RETURN or MESSAGE",
        )
    })
}

/// Runs `import project5` on a trace.
fn fuzz_trace(bytes: &[u8]) {
    let importer = Project5Importer { name: None, unit: TimeUnit::Seconds };
    run_import(bytes, 1, |input, target, summary| importer.read_trace(input, target, summary));
}

#[cfg(test)]
fn samples() -> Vec<Vec<u8>> {
    const PROJECT5: &str = "timestamp operation sender rcvr ID\n1.5 CALL a b 1\n1.75\tRETURN  b a 1\n2 MESSAGE a c\n# end\n";
    vec![PROJECT5.into()]
}
