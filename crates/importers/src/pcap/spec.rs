//! `import pcap`: its registry entry.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use registry::{EntryHelp, Spec};
use socket_log::names;

use super::{PacketImporter, import_dry};
use crate::importer_spec::{ImporterEntry, ImporterSpec};

#[derive(Args)]
struct PcapFlags {
    /// The host on which a file was captured; several files of one host belong to one sniffer
    #[arg(long, value_name = "NAME=FILE", value_parser = parse_host_file)]
    host: Vec<(String, PathBuf)>,
    /// The host of an address
    #[arg(long, value_name = "NAME=ADDRESS", value_parser = parse_host_address)]
    address: Vec<(String, IpAddr)>,
}

/// Registry entry.
pub(crate) static PCAP: ImporterSpec = Spec {
    about: EntryHelp {
        name: "pcap",
        summary: "Captured packets: pcap or pcapng, plain or compressed (gzip, zstd, xz)",
        details: "\
TCP connections are assembled from their segments, and together with the datagrams they become the \
logs that the programs at both ends would have written. Name all captures of a system together: \
each host's packets are timed by the sniffer that saw most of them, and translated addresses are \
found by packets that several sniffers saw.",
        notes: "\
A file of 'tcpdump -i any' says which addresses are those of the host it was
captured on; of other files it is found where it can be. --host names that
host; without, it is called after the file. Hosts without a capture of their
own are called by their addresses. A host that also connects to others is one
node; of one that only answers each port is a node.",
        examples: &[
            "tcpdump -i any -s 0 -w web.pcap          on each host, and then",
            "sockcap import pcap --host web=web.pcap --host db=db.pcap && sockcap report",
            "sockcap import pcap switch.pcapng.zst --address web=10.0.0.1",
        ],
    },
    flags: PcapFlags::augment_args,
    entry: ImporterEntry {
        files: "The files, each of another sniffer",
        files_by: Some("host"),
        make: |given| {
            let PcapFlags { host, address } = PcapFlags::from_arg_matches(given)?;
            Ok(Box::new(PacketImporter { hosts: host, addresses: address }))
        },
        fuzz: fuzz_capture,
        #[cfg(test)]
        samples,
    },
};

fn parse_host_file(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("write it as NAME=FILE, such as web=web.pcap")?;
    Ok((names::read_host_name(name)?, file.into()))
}

fn parse_host_address(text: &str) -> Result<(String, IpAddr), String> {
    let (name, address) =
        text.split_once('=').ok_or("write it as NAME=ADDRESS, such as web=10.0.0.1")?;
    let address = address.parse().map_err(|_| format!("'{address}' is not an IP address"))?;
    Ok((names::read_host_name(name)?, address))
}

/// Runs `import pcap` on a capture.
fn fuzz_capture(bytes: &[u8]) {
    match import_dry(bytes) {
        // A packet yields at most a flow and its names at both ends, one message out and one in,
        // and the ends of sockets.
        Ok((read, made)) => assert!(made <= 32 * read, "{made} records of {read} packets"),
        Err(error) => assert!(error.to_string().contains("input"), "{error}"),
    }
}

#[cfg(test)]
use super::samples::samples;
