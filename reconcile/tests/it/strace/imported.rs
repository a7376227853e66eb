//! Test bench of the importer: imported files, the logs as text, and the resulting messages.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use importers::{ImportSummary, Importer, StraceImporter};
use message_trace::{DataDir, MessageTrace};
use reconcile::{InternalMessages, Options, reconcile};
use socket_log::{LogRecord, SocketLog};

pub fn traces() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strace")
}

pub struct Imported {
    pub directory: tempfile::TempDir,
    pub summary: ImportSummary,
}

impl Imported {
    /// All logs, one record per line: thread, microseconds since the first log's beginning, record.
    pub fn dump(&self) -> String {
        let data = DataDir::new(self.directory.path());
        let logs: Vec<SocketLog> =
            data.log_paths().unwrap().iter().map(|path| SocketLog::open(path).unwrap()).collect();
        let first = logs.iter().map(|log| log.header().start.realtime).min().unwrap();
        let mut cookies = BTreeMap::new();
        let mut out = String::new();
        for log in &logs {
            let header = log.header();
            let start = (header.start.realtime - first) / 1000;
            let pids = (header.pid, header.parent_pid);
            let what = (header.executable.as_str(), &header.arguments);
            writeln!(
                out,
                "# {pids:?} {start} state {} source {} {what:?}",
                header.state, header.source
            )
            .unwrap();
            let mut entries = Vec::new();
            assert_eq!(log.for_each(|entry| entries.push(entry)), []);
            for entry in entries {
                let mut record = entry.record;
                if let LogRecord::Flow(flow) = &mut record {
                    // The same in every log, and different from others.
                    let next = cookies.len() as u64 + 1;
                    flow.cookie = *cookies.entry(flow.cookie).or_insert(next);
                }
                let time = (entry.ticks as i64 - first) / 1000;
                writeln!(out, "{} {time} {record:?}", entry.tid).unwrap();
            }
        }
        out
    }

    /// The messages after reconciliation: flow, direction, bytes, and whether both ends were seen.
    pub fn messages(&self) -> Vec<(i64, i8, i64, bool)> {
        let data = DataDir::new(self.directory.path());
        let options = Options { internal: InternalMessages::Kept, ..Options::default() };
        reconcile(&data, &options, &()).unwrap();
        let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
        trace
            .messages()
            .map(|m| {
                let is_whole = m.send_first.is_some() && m.recv_first.is_some();
                (m.flow.number(), m.direction, m.bytes, is_whole)
            })
            .collect()
    }
}

pub fn import(files: &[PathBuf]) -> Imported {
    let directory = tempfile::tempdir().unwrap();
    let data = DataDir::new(directory.path());
    let summary = StraceImporter { host: "host".into() }.import_files(files, &data, &()).unwrap();
    Imported { directory, summary }
}

/// Imports lines as one file.
pub fn lines(text: &str) -> Imported {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    fs::write(&file, text).unwrap();
    import(&[file])
}

/// The error message of importing lines.
pub fn refused(text: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("trace");
    fs::write(&file, text).unwrap();
    let data = DataDir::new(directory.path().join("data"));
    let error =
        StraceImporter { host: "host".into() }.import_files(&[file], &data, &()).unwrap_err();
    assert!(!data.hosts_dir().exists(), "nothing is written");
    error.to_string().replace(&directory.path().display().to_string(), "")
}

/// Compares with the file `name`, which `UPDATE_GOLDEN=1` rewrites.
pub fn golden(name: &str, found: &str) {
    let path = traces().join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(found, expected, "{name}:{}", number + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{name}");
}
