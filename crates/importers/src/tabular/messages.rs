//! `import messages`: a CSV table with one message per row and the columns of `messages.parquet` by
//! name. All columns except the sender, the receiver and one with times are optional.
//!
//! Two columns tell when a message was sent, on different clocks: `send_ts` is on the common clock
//! of the whole table and stays unchanged, `send_first` and `send_last` are on the sender's own
//! clock and are corrected by reconcile without `send_ts`. The same holds for `recv_ts`, and
//! `recv_first` and `recv_last`.
//!
//! If flows are not given, all messages between two endpoints are one flow; without endpoints, all
//! messages between two nodes. The connecting side is inferred from the ports, or from which side
//! sent first.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use message_trace::{
    DataDir, EndPair, Endpoint, EndpointId, FROM_ACCEPTING, FROM_CONNECTING, FlowId, Message,
    NodeEnd, Progress, TransportProtocol,
};
use registry::{EntryHelp, Spec};

use super::columns::{self, TableColumns, TableRow, UnusedRow};
use super::flags::TableFlags;
use super::nodes::NodeTable;
use super::tables::TableImport;
use super::values::{TimeUnit, WrongValue};
use crate::error::Error;
use crate::fuzz::{input_of, run_import};
use crate::import_input::ImportInput;
use crate::importer::Importer;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::ImportSummary;
use crate::target::{ConnectionHint, MessageTarget};

#[derive(Args)]
struct MessageFlags {
    #[command(flatten)]
    table: TableFlags,
    /// The table of nodes ('sockcap export nodes'), if src and dst are its ids instead of names
    #[arg(long, value_name = "FILE")]
    nodes: Option<PathBuf>,
}

/// Registry entry.
pub(crate) static MESSAGES: ImporterSpec = Spec {
    about: EntryHelp {
        name: "messages",
        summary: "A table of messages: CSV, plain or compressed (gzip, zstd, xz)",
        details: "\
Its columns, in any order, are those of 'sockcap export messages'. Required are src, dst and a \
column with times: send_ts and recv_ts are on one clock, send_first, send_last, recv_first and \
recv_last each on the clock of its own host. Empty means unknown. src_host and dst_host name the \
host of a node if its name does not.",
        notes: "",
        examples: &[
            "sockcap import messages messages.csv && sockcap report",
            "sockcap import messages messages.csv --nodes nodes.csv -d copy",
        ],
    },
    flags: MessageFlags::augment_args,
    entry: ImporterEntry {
        files: "The files, which become one import",
        files_by: None,
        make: |given| {
            let MessageFlags { table, nodes } = MessageFlags::from_arg_matches(given)?;
            let (name, unit) = (table.name.name, table.unit.unit);
            let unit = unit.unwrap_or(TableFlags::UNIT);
            Ok(Box::new(MessageImporter { name, unit, nodes }))
        },
        fuzz: fuzz_table,
        #[cfg(test)]
        samples,
    },
};

/// The importer of messages.
#[derive(Clone, Debug)]
pub struct MessageImporter {
    /// Name of the import; `None` to use the name of the import's first file.
    pub name: Option<String>,
    /// The unit of the times.
    pub unit: TimeUnit,
    /// Table of nodes, as written by `export nodes`, if `src` and `dst` are ids of its rows; `None`
    /// if they are names.
    pub nodes: Option<PathBuf>,
}

const COLUMNS: usize = 21;
/// Names of the columns.
const NAMES: [&str; COLUMNS] = [
    "id",
    "send_first",
    "send_last",
    "recv_first",
    "recv_last",
    "send_ts",
    "recv_ts",
    "src",
    "dst",
    "src_endpoint",
    "dst_endpoint",
    "src_tid",
    "dst_tid",
    "flow",
    "direction",
    "protocol",
    "bytes",
    "parts",
    "call_id",
    "src_host",
    "dst_host",
];
/// Indexes of columns in `NAMES`.
const SEND: [usize; 3] = [1, 2, 5];
const RECV: [usize; 3] = [3, 4, 6];
const ENDS: [usize; 2] = [7, 8];
const ENDPOINTS: [usize; 2] = [9, 10];
const THREADS: [usize; 2] = [11, 12];
const FLOW: usize = 13;
const DIRECTION: usize = 14;
const PROTOCOL: usize = 15;
const BYTES: usize = 16;
const PARTS: usize = 17;
const CALL_ID: usize = 18;
const HOSTS: [usize; 2] = [19, 20];

impl Importer for MessageImporter {
    fn input_nouns(&self) -> [&'static str; 2] {
        ["row", "rows"]
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
        let mut tables = TableImport::begin_import(self.name.as_deref(), files, data, progress)?;
        let nodes = self.nodes.as_deref();
        let nodes = nodes
            .map(|file| NodeTable::read_file(file, &mut tables.target, progress))
            .transpose()?;
        tables.import_tables(|input, target, summary| {
            self.read_table(input, nodes.as_ref(), target, summary)
        })
    }
}

impl MessageImporter {
    /// Reads one table.
    pub(crate) fn read_table(
        &self,
        input: ImportInput,
        nodes: Option<&NodeTable>,
        target: &mut MessageTarget,
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        let check = |file: &Path, columns: &TableColumns<COLUMNS>| {
            columns.require_columns(file, &ENDS)?;
            let has_times = SEND.iter().chain(&RECV).any(|time| columns.has_column(*time));
            if has_times {
                Ok(())
            } else {
                Err(columns.missing_error(file, "there is no column with times"))
            }
        };
        columns::read_table(input, NAMES, summary, check, |row, _| {
            self.read_message(row, nodes, target)
        })
    }

    fn read_message<R: Read>(
        &self,
        row: &TableRow<R, COLUMNS>,
        nodes: Option<&NodeTable>,
        target: &mut MessageTarget,
    ) -> Result<(), UnusedRow> {
        let sent = self.read_times(row, SEND)?;
        let received = self.read_times(row, RECV)?;
        if sent[0].is_none() && received[0].is_none() {
            let why = "it has neither a send time nor a receive time".to_owned();
            return Err(WrongValue { cause: "message without a time", why }.into());
        }
        let direction = read_direction(row)?;
        let protocol = match row.field(PROTOCOL) {
            [] => TransportProtocol::Other,
            _ => row.text(PROTOCOL)?.parse().unwrap_or(TransportProtocol::Other),
        };
        let bytes = row.number(BYTES, "bytes")?.unwrap_or(0);
        let parts = row.number(PARTS, "messages that were merged")?.unwrap_or(1);
        let call_id = Some(row.text(CALL_ID)?).filter(|id| !id.is_empty());
        let endpoints = [row.text(ENDPOINTS[0])?, row.text(ENDPOINTS[1])?];
        let threads = [row.word(THREADS[0])?, row.word(THREADS[1])?];
        let flow = row.number(FLOW, "a flow")?;
        let names = [row.name(ENDS[0])?, row.name(ENDS[1])?];
        let [src, dst] = match nodes {
            Some(nodes) => {
                let node = |end: usize| {
                    nodes.find_node(names[end]).map_err(|wrong| row.in_column(ENDS[end], wrong))
                };
                [node(0)?, node(1)?]
            }
            None => {
                let hosts = [row.word(HOSTS[0])?, row.word(HOSTS[1])?];
                [
                    target.node_of_command(row.file, hosts[0], names[0])?,
                    target.node_of_command(row.file, hosts[1], names[1])?,
                ]
            }
        };
        let endpoints = endpoints.map(|text| {
            let Ok(endpoint) = text.parse::<Endpoint>();
            endpoint
        });
        let end = |side: usize, node, target: &mut MessageTarget| {
            let tid = target.thread_number(row.file, threads[side])?;
            Ok::<_, UnusedRow>(NodeEnd {
                node,
                endpoint: endpoint_number(&endpoints[side], target),
                tid,
            })
        };
        let ends = EndPair { src: end(0, src, target)?, dst: end(1, dst, target)?, protocol };
        let message = Message::between_ends(ends, FlowId::default(), FROM_CONNECTING)
            .with_send_times(sent)
            .with_recv_times(received)
            .with_payload(bytes, i32::try_from(parts).unwrap_or(i32::MAX));
        let connection = ConnectionHint::FlowAndDirection(flow.map(FlowId::from_number), direction);
        let endpoints = [&endpoints[0], &endpoints[1]];
        Ok(target.write_message(row.file, message, endpoints, connection, call_id)?)
    }

    /// Times of one end: the first and the last time on its own clock, and the time on the common
    /// clock. A missing own-clock time is assumed equal to the other own-clock time.
    fn read_times<R: Read>(
        &self,
        row: &TableRow<R, COLUMNS>,
        columns: [usize; 3],
    ) -> Result<[Option<i64>; 3], WrongValue> {
        let [first, last, common] = columns;
        let (first, last) = (row.time(first, self.unit)?, row.time(last, self.unit)?);
        let common = row.time(common, self.unit)?;
        Ok([first.or(last).or(common), last.or(first).or(common), common])
    }
}

fn read_direction<R: Read>(row: &TableRow<R, COLUMNS>) -> Result<Option<i8>, WrongValue> {
    match row.field(DIRECTION) {
        [] => Ok(None),
        b"0" => Ok(Some(FROM_CONNECTING)),
        b"1" => Ok(Some(FROM_ACCEPTING)),
        _ => {
            let why = "it must be 0 (from the side that connected), 1 (from the one that accepted) or empty"
                .to_owned();
            Err(row.in_column(DIRECTION, WrongValue { cause: "invalid direction", why }))
        }
    }
}

/// Number of an endpoint, valid for the next message only.
fn endpoint_number(endpoint: &Endpoint, target: &mut MessageTarget) -> EndpointId {
    match endpoint {
        Endpoint::Other(name) if name.is_empty() => target.unknown_endpoint(),
        endpoint => target.endpoint_number(endpoint),
    }
}

/// Runs `import messages` on a table; bytes before the first zero byte, if there is one, are a
/// table of nodes.
fn fuzz_table(bytes: &[u8]) {
    let importer = MessageImporter { name: None, unit: TimeUnit::Nanoseconds, nodes: None };
    let (nodes, table) = match bytes.iter().position(|byte| *byte == 0) {
        Some(place) => (Some(&bytes[..place]), &bytes[place + 1..]),
        None => (None, bytes),
    };
    run_import(table, 1, |input, target, summary| {
        let mut of_nodes = ImportSummary::default();
        let nodes = nodes
            .map(|bytes| NodeTable::from_input(input_of(bytes)?, target, &mut of_nodes))
            .transpose()?;
        importer.read_table(input, nodes.as_ref(), target, summary)
    });
}

#[cfg(test)]
fn samples() -> Vec<Vec<u8>> {
    const MESSAGES: &str = "send_first,recv_last,send_ts,recv_ts,src,dst,src_endpoint,src_tid,flow,direction,protocol,bytes,parts,call_id\n\
        1,2,1,2,a,b,10.0.0.1:80,7,0,0,tcp,10,1,x\n3,,3,,b,a,\"unix:/a,b\",,1,1,udp,,,\n,5,,5,a,c,[::1]:5,w,2,,,,,\n";
    const NODES: &str = "id,host,pid,start,command,executable,traced\na,h,1,2,c,/c,true\nb,h,,,d,,false\nc,,,,e,,true\n";
    vec![MESSAGES.into(), [NODES, "\0", MESSAGES].concat().into()]
}
