//! `import calls`: a CSV table of calls, one a row. Each call is two messages, the request and the
//! response, which have its `call_id` in common.
//!
//! Every time is on the clock of the side that read it, so the messages get own-clock times, and
//! reconcile puts them on the common clock. A table of calls says nothing of connections: all calls
//! from one node to another are one flow, and its ends have no endpoints.

use std::io::Read;
use std::path::{Path, PathBuf};

use message_trace::{
    DataDir, End, Endpoint, Ends, FROM_ACCEPTING, FROM_CONNECTING, Message, Progress, Protocol,
};
use registry::About;

use super::columns::{self, Columns, Row, Unused};
use super::flags;
use super::tables::Tables;
use super::values::Unit;
use crate::error::Error;
use crate::flags::NAME;
use crate::fuzz::run;
use crate::importer::Importer;
use crate::kind::Kind;
use crate::reading::Input;
use crate::summary::{Skip, Summary};
use crate::target::{Connection, Target};

/// The entry in the registry.
pub(crate) static CALLS: Kind = Kind {
    about: About {
        name: "calls",
        summary: "A table of calls: CSV, plain or compressed (gzip, zstd, xz)",
        details: "\
Its columns, in any order: call_id, caller, callee; t_call_send, t_call_recv, t_ret_send and \
t_ret_recv, each on the clock of the side that read it, empty where unknown; caller_thread, \
callee_thread, req_bytes, resp_bytes, caller_host and callee_host where they are known.",
        notes: "",
        examples: &[
            "sockcap import calls calls.csv && sockcap report",
            "sockcap import calls calls.csv.gz --unit us --name friday",
        ],
    },
    files: "The files, which become one import",
    files_by: None,
    flags: &[&NAME, &flags::UNIT],
    make: |given| {
        Box::new(Calls { name: given.get(&NAME), unit: flags::unit(given, Unit::Nanoseconds) })
    },
    fuzz,
    #[cfg(test)]
    samples,
};

/// The importer of calls.
#[derive(Clone, Debug)]
pub struct Calls {
    /// What the import is called; `None`: after its first file.
    pub name: Option<String>,
    /// The unit of the times.
    pub unit: Unit,
}

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
const CALL_ID: usize = 0;
const CALLER: usize = 1;
const CALLEE: usize = 2;
const TIMES: [usize; 4] = [3, 4, 5, 6];
const THREADS: [usize; 2] = [7, 8];
const BYTES: [usize; 2] = [9, 10];
const HOSTS: [usize; 2] = [11, 12];

impl Importer for Calls {
    fn reads(&self) -> [&'static str; 2] {
        ["call", "calls"]
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

impl Calls {
    /// Reads one table.
    pub(crate) fn read(
        &self,
        input: Input,
        target: &mut Target,
        summary: &mut Summary,
    ) -> Result<(), Error> {
        let check = |file: &Path, columns: &Columns<13>| {
            columns.require(file, &[CALL_ID, CALLER, CALLEE])?;
            let has_times = TIMES.iter().any(|time| columns.has(*time));
            if has_times {
                Ok(())
            } else {
                Err(columns.lacks(file, "there is no column with times"))
            }
        };
        columns::read(input, NAMES, summary, check, |row, summary| self.call(row, target, summary))
    }

    fn call<R: Read>(
        &self,
        row: &Row<R, 13>,
        target: &mut Target,
        summary: &mut Summary,
    ) -> Result<(), Unused> {
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
        let caller = target.node(row.file, hosts[0], names[0])?;
        let callee = target.node(row.file, hosts[1], names[1])?;
        let ends = [
            (caller, target.thread(row.file, caller_thread)?),
            (callee, target.thread(row.file, callee_thread)?),
        ];
        let nameless = Endpoint::Other(String::new());
        let mut skip = |cause, why: &str| {
            summary.skipped.add(cause, || Skip { place: row.place(), why: why.to_owned() });
        };
        for (direction, [sent, received], bytes) in [
            (FROM_CONNECTING, [times[0], times[1]], request),
            (FROM_ACCEPTING, [times[2], times[3]], response),
        ] {
            if sent.is_none() && received.is_none() {
                match direction {
                    FROM_CONNECTING => skip(
                        "request without a time",
                        "neither t_call_send nor t_call_recv is there",
                    ),
                    _ => skip(
                        "response without a time",
                        "neither t_ret_send nor t_ret_recv is there",
                    ),
                }
                continue;
            }
            let [(src, src_tid), (dst, dst_tid)] =
                if direction == FROM_CONNECTING { ends } else { [ends[1], ends[0]] };
            let endpoint = target.nameless();
            let [src, dst] =
                [(src, src_tid), (dst, dst_tid)].map(|(node, tid)| End { node, endpoint, tid });
            let message =
                Message::between(Ends { src, dst, protocol: Protocol::Other }, 0, direction)
                    .sent([sent, sent, None])
                    .received([received, received, None])
                    .carrying(bytes.unwrap_or(0), 1);
            let connection = Connection::OfCalls(direction);
            target.message(row.file, message, [&nameless; 2], connection, call_id)?;
        }
        Ok(())
    }
}

/// `import calls` of a table.
fn fuzz(bytes: &[u8]) {
    let importer = Calls { name: None, unit: Unit::Nanoseconds };
    run(bytes, 2, |input, target, summary| importer.read(input, target, summary));
}

#[cfg(test)]
fn samples() -> Vec<Vec<u8>> {
    const CALLS: &str = "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv,caller_thread,callee_thread,req_bytes,resp_bytes\n\
        0,client,a,0,5,6,9,,,,\n1,a,b,1,,4,,t1,12,100,2\n2,a,b,,,,7,,,,\n";
    vec![CALLS.into()]
}
