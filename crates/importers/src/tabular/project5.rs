//! `import project5`: traces as in Project 5 section 6.5, a message a line, in five columns with
//! space between them: `timestamp operation sender rcvr ID`.
//!
//! Such a trace has one time for each message, on one clock, and its algorithms take the difference
//! between two of them for the delay of the node between. So that every algorithm here does the
//! same, the time stands for both ends: the messages take no time at all, and what they took is in
//! the delays of the nodes.
//!
//! `CALL` and `RETURN` (also `RET`, and each with `_SENT` behind, as the paper's example has it)
//! are the two messages of a call, paired by ID; `MESSAGE` is one that belongs to none, and of two
//! nodes the one that was first to send one is taken for the side that connected.

use std::path::PathBuf;

use message_trace::{
    DataDir, End, Endpoint, Ends, FROM_ACCEPTING, FROM_CONNECTING, Message, Progress, Protocol,
};
use registry::About;

use super::columns::Unused;
use super::flags;
use super::tables::Tables;
use super::values::{self, Unit, Wrong};
use crate::error::Error;
use crate::flags::NAME;
use crate::fuzz::run;
use crate::importer::Importer;
use crate::kind::Kind;
use crate::reading::Input;
use crate::summary::{At, Place, Skip, Summary};
use crate::target::{Connection, Target};
use crate::text_lines::{Next, TextLines};

/// The entry in the registry.
pub(crate) static PROJECT5: Kind = Kind {
    about: About {
        name: "project5",
        summary: "A trace as in the Project 5 paper: timestamp operation sender rcvr ID",
        details: "\
A line a message, the columns with space between them. The operation is CALL, RETURN or MESSAGE, \
the time (in seconds unless --unit says otherwise) stands for both ends, and ID pairs a call with \
its return.",
        notes: "",
        examples: &[
            "sockcap import project5 trace.txt && sockcap report",
            "sockcap import project5 --unit ms trace.txt",
        ],
    },
    files: "The files, which become one import",
    files_by: None,
    flags: &[&NAME, &flags::UNIT],
    make: |given| {
        Box::new(Project5 { name: given.get(&NAME), unit: flags::unit(given, Unit::Seconds) })
    },
    fuzz,
    #[cfg(test)]
    samples,
};

/// The importer of Project 5's traces.
#[derive(Clone, Debug)]
pub struct Project5 {
    /// What the import is called; `None`: after its first file.
    pub name: Option<String>,
    /// The unit of the times; in the paper, seconds.
    pub unit: Unit,
}

/// What a line tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Call,
    Return,
    Message,
}

impl Importer for Project5 {
    fn reads(&self) -> [&'static str; 2] {
        ["line", "lines"]
    }

    fn makes(&self) -> [&'static str; 2] {
        ["message", "messages"]
    }

    fn import(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<Summary, Error> {
        Tables::begin(self.name.as_deref(), files, data, progress)?
            .import(|input, target, summary| self.read(input, target, summary))
    }
}

impl Project5 {
    /// Reads one trace.
    pub(crate) fn read(
        &self,
        input: Input,
        target: &mut Target,
        summary: &mut Summary,
    ) -> Result<(), Error> {
        let Input { file, bytes } = input;
        let mut lines = TextLines::new(bytes);
        loop {
            let number = lines.number() + 1;
            let place = || Place::new(&file, At::Line(number));
            let line = match lines.next() {
                Next::Line(line) => line.trim_ascii(),
                Next::Pending => {
                    if let Err(error) = lines.fill() {
                        summary.cut_off(place(), &error);
                        return Ok(());
                    }
                    continue;
                }
                Next::TooLong => {
                    summary.read += 1;
                    let why = "it is longer than a line can be".to_owned();
                    summary.skipped.add("line that is too long", || Skip { place: place(), why });
                    continue;
                }
                Next::End => return Ok(()),
            };
            // Comments, and the names of the columns.
            if line.is_empty() || line.starts_with(b"#") || line.starts_with(b"timestamp") {
                continue;
            }
            summary.read += 1;
            match self.line(&file, line, target) {
                Ok(()) => {}
                Err(Unused::Skipped(Wrong { cause, why })) => {
                    summary.skipped.add(cause, || Skip { place: place(), why });
                }
                Err(Unused::Failed(error)) => return Err(error),
            }
        }
    }

    fn line(&self, file: &std::path::Path, line: &[u8], target: &mut Target) -> Result<(), Unused> {
        let mut fields =
            line.split(|byte| byte.is_ascii_whitespace()).filter(|field| !field.is_empty());
        let (Some(time), Some(operation), Some(sender), Some(receiver)) =
            (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            return Err(wrong("line with too few columns", "it has too few columns").into());
        };
        let call_id = fields.next();
        if fields.next().is_some() {
            return Err(wrong("line with too many columns", "it has too many columns").into());
        }
        let column = |name: &str, wrong: Wrong| Wrong {
            why: format!("column '{name}': {}", wrong.why),
            ..wrong
        };
        let time = values::time(time, self.unit).map_err(|wrong| column("timestamp", wrong))?;
        let operation = operation_of(operation).map_err(|wrong| column("operation", wrong))?;
        let sender = values::name(sender).map_err(|wrong| column("sender", wrong))?;
        let receiver = values::name(receiver).map_err(|wrong| column("rcvr", wrong))?;
        let call_id =
            values::text(call_id.unwrap_or_default()).map_err(|wrong| column("ID", wrong))?;
        let (src, dst) = (target.node(file, None, sender)?, target.node(file, None, receiver)?);
        let connection = match operation {
            Operation::Call => Connection::OfCalls(FROM_CONNECTING),
            Operation::Return => Connection::OfCalls(FROM_ACCEPTING),
            Operation::Message => Connection::Of(None, None),
        };
        let endpoint = target.nameless();
        let [src, dst] = [src, dst].map(|node| End { node, endpoint, tid: None });
        let ends = Ends { src, dst, protocol: Protocol::Other };
        let message =
            Message::between(ends, 0, FROM_CONNECTING).sent([time; 3]).received([time; 3]);
        let call_id = Some(call_id).filter(|id| !id.is_empty());
        let nameless = Endpoint::Other(String::new());
        Ok(target.message(file, message, [&nameless; 2], connection, call_id)?)
    }
}

fn wrong(cause: &'static str, why: &str) -> Wrong {
    Wrong { cause, why: format!("{why}; a line is: timestamp operation sender rcvr ID") }
}

fn operation_of(text: &[u8]) -> Result<Operation, Wrong> {
    let known = [
        ("CALL", Operation::Call),
        ("CALL_SENT", Operation::Call),
        ("RETURN", Operation::Return),
        ("RETURN_SENT", Operation::Return),
        ("RET", Operation::Return),
        ("RET_SENT", Operation::Return),
        ("MESSAGE", Operation::Message),
        ("MESSAGE_SENT", Operation::Message),
    ];
    let found = known.iter().find(|(name, _)| text.eq_ignore_ascii_case(name.as_bytes()));
    found.map(|(_, operation)| *operation).ok_or_else(|| {
        Wrong::new(
            "operation that is none",
            text,
            "is no operation; it is one of CALL, RETURN, MESSAGE",
        )
    })
}

/// `import project5` of a trace.
fn fuzz(bytes: &[u8]) {
    let importer = Project5 { name: None, unit: Unit::Seconds };
    run(bytes, 1, |input, target, summary| importer.read(input, target, summary));
}

#[cfg(test)]
fn samples() -> Vec<Vec<u8>> {
    const PROJECT5: &str = "timestamp operation sender rcvr ID\n1.5 CALL a b 1\n1.75\tRETURN  b a 1\n2 MESSAGE a c\n# end\n";
    vec![PROJECT5.into()]
}
