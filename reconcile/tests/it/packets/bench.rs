//! Test bench of captures: captures in a directory, imported and reconciled, and the result as
//! comparable lines; and two exchanges that many tests use.

use std::path::PathBuf;

use importers::{ImportSummary, Importer, PacketImporter};
use message_trace::{DataDir, DataPath, MessageTrace};
use reconcile::{Options, Reconciliation, reconcile};

use super::wire::*;

pub const CLIENT: &str = "10.0.0.9:40000";
pub const SERVER: &str = "10.0.0.1:80";

/// A directory with captures and a data directory.
pub struct Bench {
    pub directory: tempfile::TempDir,
    pub packets: PacketImporter,
    pub files: Vec<PathBuf>,
}

pub struct Outcome {
    pub summary: ImportSummary,
    pub counts: Reconciliation,
    pub trace: MessageTrace,
}

impl Bench {
    pub fn new() -> Bench {
        Bench {
            directory: tempfile::tempdir().unwrap(),
            packets: PacketImporter::default(),
            files: Vec::new(),
        }
    }

    pub fn from_sniffers(sniffers: &[(&str, &Sniffer)]) -> Bench {
        let mut bench = Bench::new();
        for (name, sniffer) in sniffers {
            bench.add(name, &sniffer.bytes());
        }
        bench
    }

    pub fn add(&mut self, name: &str, bytes: &[u8]) {
        self.files.push(write(self.directory.path(), name, bytes));
    }

    pub fn data(&self) -> DataDir {
        DataDir::new(self.directory.path().join("data"))
    }

    pub fn import(&self) -> Result<ImportSummary, importers::Error> {
        self.packets.import_files(&self.files, &self.data(), &())
    }

    pub fn run(&self) -> Outcome {
        let summary = self.import().unwrap();
        let data = self.data();
        let counts = reconcile(&data, &Options::default(), &()).unwrap();
        let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
        Outcome { summary, counts, trace }
    }

    pub fn logs(&self) -> Vec<String> {
        let hosts = self.data().hosts_dir();
        let below =
            |path: &DataPath| path.as_path().strip_prefix(&hosts).unwrap().display().to_string();
        self.data().log_paths().unwrap().iter().map(below).collect()
    }
}

impl Outcome {
    /// The messages as `host/command => host/command bytes sent received`, times in microseconds
    /// from the beginning and `-` for a missing one.
    pub fn lines(&self) -> Vec<String> {
        let node = |id| {
            let node = self.trace.nodes.get(id).unwrap();
            format!("{}/{}{}", node.host, node.command, if node.traced { "" } else { "?" })
        };
        let time = |time: Option<i64>| {
            time.map_or_else(|| "-".to_owned(), |time| ((time - EPOCH) / 1000).to_string())
        };
        self.trace
            .messages()
            .map(|m| {
                let arrow = if m.direction == 0 { "=>" } else { "->" };
                let (sent, received) = (time(m.send_first), time(m.recv_last));
                format!("{} {arrow} {} {} {sent} {received}", node(m.src), node(m.dst), m.bytes)
            })
            .collect()
    }

    pub fn endpoints(&self) -> Vec<String> {
        let endpoint = |id| self.trace.endpoint(id).unwrap().to_string();
        self.trace
            .messages()
            .map(|m| format!("{} > {}", endpoint(m.src_endpoint), endpoint(m.dst_endpoint)))
            .collect()
    }

    pub fn has_note(&self, text: &str) -> bool {
        self.summary.notes.iter().any(|note| note.contains(text))
    }
}

/// One sniffer sees an exchange.
pub fn exchange(sniffer: &mut Sniffer, client: &str, server: &str) {
    let mut connection = Connection::new(client, server);
    let mut packets = Vec::new();
    let mut send = |time, from, flags, payload: usize| {
        let packet = connection.packet(from, flags, &vec![7; payload]);
        packets.push((time, packet));
    };
    send(0, 0, SYN, 0);
    send(10_000, 1, SYN | ACK, 0);
    send(20_000, 0, ACK, 0);
    send(30_000, 0, PUSH | ACK, 100);
    send(40_000, 1, ACK, 1448);
    send(41_000, 1, ACK, 1448);
    send(42_000, 1, PUSH | ACK, 104);
    send(50_000, 0, FIN | ACK, 0);
    send(60_000, 1, FIN | ACK, 0);
    send(70_000, 0, ACK, 0);
    for (time, packet) in &packets {
        sniffer.see(*time, packet);
    }
}

pub const EXCHANGE: [&str; 2] = [
    "10.0.0.9/10.0.0.9 => 10.0.0.1/10.0.0.1:80 100 30 30",
    "10.0.0.1/10.0.0.1:80 -> 10.0.0.9/10.0.0.9 3000 40 42",
];

/// Three hosts: one sends requests, one sends further ones for them, and one answers; each with a
/// sniffer, of different clocks.
pub fn three_hosts(links: [Link; 3]) -> [Sniffer; 3] {
    let own = ["10.0.0.9", "10.0.0.1", "10.0.0.2"];
    let mut sniffers = [0, 1, 2].map(|at| Sniffer::new(links[at]).on(&[own[at]]));
    sniffers[1].offset = 3_600_000 * MS;
    sniffers[2].offset = -7 * MS;
    let [client, web, db] = &mut sniffers;
    let mut front = Connection::new(CLIENT, SERVER);
    let mut back = Connection::new("10.0.0.1:50000", "10.0.0.2:5432");
    front.open(0, &mut [client, web]);
    back.open(0, &mut [web, db]);
    for turn in 0..5 {
        let at = (10 + 20 * turn) * MS;
        front.send(at, 0, PUSH | ACK, &[1; 100], &mut [client, web]);
        back.send(at + 2 * MS, 0, PUSH | ACK, &[2; 50], &mut [web, db]);
        back.send(at + 4 * MS, 1, PUSH | ACK, &[3; 500], &mut [web, db]);
        front.send(at + 6 * MS, 1, PUSH | ACK, &[4; 1000], &mut [client, web]);
    }
    front.close(200 * MS, &mut [client, web]);
    back.close(200 * MS, &mut [web, db]);
    sniffers
}
