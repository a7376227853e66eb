//! `import strace`: its registry entry.

use clap::{Args, FromArgMatches};
use registry::{EntryHelp, Spec};
use socket_log::names;

use super::{StraceImporter, import_bytes};
use crate::importer_spec::{ImporterEntry, ImporterSpec};

#[derive(Args)]
struct StraceFlags {
    /// The host on which the programs ran, by its name in the trace [default: SOCKCAP_HOST or, if
    /// it is not set, the kernel's name]
    #[arg(long, value_name = "NAME", value_parser = names::read_host_name)]
    host: Option<String>,
}

/// Registry entry.
pub(crate) static STRACE: ImporterSpec = Spec {
    about: EntryHelp {
        name: "strace",
        summary: "The output of strace, for programs that the library cannot be loaded into",
        details: "\
The traced calls become logs like those of 'sockcap record': programs that were recorded and \
programs that were traced by strace can belong to one system. Absolute times (-ttt) and the names \
of sockets (-yy) are required. Datagrams are matched by their payloads (-s 65535), of which only \
checksums are kept. The files may be one of 'strace -f', those of one 'strace -ff', or those of \
several straces that ran together on one host; plain or compressed (gzip, zstd, xz).",
        notes: "\
Run strace like this:
  CALLS=%network,%process,read,readv,write,writev,sendfile,splice,close
  CALLS=$CALLS,close_range,dup,dup2,dup3,fcntl,ioctl
  strace -f -ttt -T -yy -s 65535 -e trace=$CALLS -o FILE CMD",
        examples: &[
            "sockcap import strace /tmp/trace && sockcap report",
            "sockcap import strace --host web1 /tmp/trace.*",
        ],
    },
    flags: StraceFlags::augment_args,
    entry: ImporterEntry {
        files: "The files",
        files_by: None,
        make: |given| {
            let StraceFlags { host } = StraceFlags::from_arg_matches(given)?;
            Ok(Box::new(StraceImporter { host: host.unwrap_or_else(names::own_host_name) }))
        },
        fuzz,
        #[cfg(test)]
        samples,
    },
};

/// Runs `import strace` on one file, whatever it begins with.
fn fuzz(bytes: &[u8]) {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
    match import_bytes(bytes) {
        Ok((read, skipped)) => {
            assert_eq!(read, lines, "every line is read");
            assert!(skipped <= read, "{read} lines, {skipped} skipped");
        }
        Err(error) => assert!(error.to_string().contains("input"), "{error}"),
    }
}

#[cfg(test)]
fn samples() -> Vec<Vec<u8>> {
    let [all, batches] = [
        include_str!("../../../../reconcile/tests/strace/every_call.strace"),
        include_str!("../../../../reconcile/tests/strace/batches.strace"),
    ];
    vec![all.into(), batches.into()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_shows_the_strace_command() {
        let command = crate::how_to_run_strace("FILE", "CMD");
        assert_eq!(STRACE.about.notes, format!("Run strace like this:\n  {command}"));
    }
}
