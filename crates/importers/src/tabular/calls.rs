//! `import calls`: a CSV table with one call per row. Each call is two messages, the request and
//! the response, with its `call_id` in common.
//!
//! Every time is on the clock of the side that read it, so the messages get own-clock times, and
//! reconcile converts them to the common clock. A table of calls has no connections: all calls from
//! one node to another are one flow, and its ends have no endpoints.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use message_trace::{
    DataDir, EndPair, Endpoint, FROM_ACCEPTING, FROM_CONNECTING, FlowId, Message, NodeEnd,
    Progress, TransportProtocol,
};
use registry::{EntryHelp, Spec};

use super::columns::{self, TableColumns, TableRow, UnusedRow};
use super::flags::TableFlags;
use super::tables::TableImport;
use super::values::TimeUnit;
use crate::error::Error;
use crate::fuzz::run_import;
use crate::import_input::ImportInput;
use crate::importer::Importer;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::{ImportSummary, SkippedItem};
use crate::target::{ConnectionHint, MessageTarget};

/// Registry entry.
pub(crate) static CALLS: ImporterSpec = Spec {
    about: EntryHelp {
        name: "calls",
        summary: "A table of calls: CSV, plain or compressed (gzip, zstd, xz)",
        details: "\
Its columns, in any order: call_id, caller, callee; t_call_send, t_call_recv, t_ret_send and \
t_ret_recv, each on the clock of the side that read it, empty if unknown; caller_thread, \
callee_thread, req_bytes, resp_bytes, caller_host and callee_host if they are known.",
        notes: "",
        examples: &[
            "sockcap import calls calls.csv && sockcap report",
            "sockcap import calls calls.csv.gz --unit us --name friday",
        ],
    },
    flags: TableFlags::augment_args,
    entry: ImporterEntry {
        files: "The files, which become one import",
        files_by: None,
        make: |given| {
            let TableFlags { name, unit } = TableFlags::from_arg_matches(given)?;
            let unit = unit.unit.unwrap_or(TableFlags::UNIT);
            Ok(Box::new(CallImporter { name: name.name, unit }))
        },
        fuzz: fuzz_table,
        #[cfg(test)]
        samples,
    },
};

/// The importer of calls.
#[derive(Clone, Debug)]
pub struct CallImporter {
    /// Name of the import; `None` to use the name of the import's first file.
    pub name: Option<String>,
    /// The unit of the times.
    pub unit: TimeUnit,
}

/// Names of the columns.
const NAMES: [&str; 13] = [
    "call_id",
    "caller",
    "callee",
    "t_call_send",
    "t_call_recv",
    "t_ret_send",
    "t_ret_recv",
    "caller_thread",
    "callee_thread",
    "req_bytes",
    "resp_bytes",
    "caller_host",
    "callee_host",
];
/// Indexes of columns in `NAMES`.
const CALL_ID: usize = 0;
const CALLER: usize = 1;
const CALLEE: usize = 2;
const TIMES: [usize; 4] = [3, 4, 5, 6];
const THREADS: [usize; 2] = [7, 8];
const BYTES: [usize; 2] = [9, 10];
const HOSTS: [usize; 2] = [11, 12];

impl Importer for CallImporter {
    fn input_nouns(&self) -> [&'static str; 2] {
        ["call", "calls"]
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
            .import_tables(|input, target, summary| self.read_table(input, target, summary))
    }
}

impl CallImporter {
    /// Reads one table.
    pub(crate) fn read_table(
        &self,
        input: ImportInput,
        target: &mut MessageTarget,
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        let check = |file: &Path, columns: &TableColumns<13>| {
            columns.require_columns(file, &[CALL_ID, CALLER, CALLEE])?;
            let has_times = TIMES.iter().any(|time| columns.has_column(*time));
            if has_times {
                Ok(())
            } else {
                Err(columns.missing_error(file, "there is no column with times"))
            }
        };
        columns::read_table(input, NAMES, summary, check, |row, summary| {
            self.read_call(row, target, summary)
        })
    }

    fn read_call<R: Read>(
        &self,
        row: &TableRow<R, 13>,
        target: &mut MessageTarget,
        summary: &mut ImportSummary,
    ) -> Result<(), UnusedRow> {
        let times: [Option<i64>; 4] = [
            row.time(TIMES[0], self.unit)?,
            row.time(TIMES[1], self.unit)?,
            row.time(TIMES[2], self.unit)?,
            row.time(TIMES[3], self.unit)?,
        ];
        let [request, response] = [row.number(BYTES[0], "bytes")?, row.number(BYTES[1], "bytes")?];
        let call_id = Some(row.text(CALL_ID)?).filter(|id| !id.is_empty());
        let hosts = [row.word(HOSTS[0])?, row.word(HOSTS[1])?];
        let [caller_thread, callee_thread] = [row.word(THREADS[0])?, row.word(THREADS[1])?];
        let names = [row.name(CALLER)?, row.name(CALLEE)?];
        let caller = target.node_of_command(row.file, hosts[0], names[0])?;
        let callee = target.node_of_command(row.file, hosts[1], names[1])?;
        let ends = [
            (caller, target.thread_number(row.file, caller_thread)?),
            (callee, target.thread_number(row.file, callee_thread)?),
        ];
        let nameless = Endpoint::Other(String::new());
        let mut skip = |cause, why: &str| {
            summary.skipped.add(cause, || SkippedItem { place: row.place(), why: why.to_owned() });
        };
        for (direction, [sent, received], bytes) in [
            (FROM_CONNECTING, [times[0], times[1]], request),
            (FROM_ACCEPTING, [times[2], times[3]], response),
        ] {
            if sent.is_none() && received.is_none() {
                match direction {
                    FROM_CONNECTING => {
                        skip("request without a time", "it has neither t_call_send nor t_call_recv")
                    }
                    _ => {
                        skip("response without a time", "it has neither t_ret_send nor t_ret_recv")
                    }
                }
                continue;
            }
            let [(src, src_tid), (dst, dst_tid)] =
                if direction == FROM_CONNECTING { ends } else { [ends[1], ends[0]] };
            let endpoint = target.unknown_endpoint();
            let [src, dst] =
                [(src, src_tid), (dst, dst_tid)].map(|(node, tid)| NodeEnd { node, endpoint, tid });
            let message = Message::between_ends(
                EndPair { src, dst, protocol: TransportProtocol::Other },
                FlowId::default(),
                direction,
            )
            .with_send_times([sent, sent, None])
            .with_recv_times([received, received, None])
            .with_payload(bytes.unwrap_or(0), 1);
            let connection = ConnectionHint::Call(direction);
            target.write_message(row.file, message, [&nameless; 2], connection, call_id)?;
        }
        Ok(())
    }
}

/// Runs `import calls` on a table.
fn fuzz_table(bytes: &[u8]) {
    let importer = CallImporter { name: None, unit: TimeUnit::Nanoseconds };
    run_import(bytes, 2, |input, target, summary| importer.read_table(input, target, summary));
}

#[cfg(test)]
fn samples() -> Vec<Vec<u8>> {
    const CALLS: &str = "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv,caller_thread,callee_thread,req_bytes,resp_bytes\n\
        0,client,a,0,5,6,9,,,,\n1,a,b,1,,4,,t1,12,100,2\n2,a,b,,,,7,,,,\n";
    vec![CALLS.into()]
}
