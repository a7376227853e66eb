//! An importer of pairs of names, each a message from the first to the second.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, FromArgMatches};
use importers::{
    Error, ImportSummary, Importer, ImporterEntry, ImporterSpec, MessageImporter, TimeUnit,
};
use message_trace::{DataDir, Progress};
use registry::{EntryHelp, Spec, values};

/// How long a message takes, unless the user sets another time.
const LATE_BY: &str = "1ms";

#[derive(Args)]
struct ToyFlags {
    /// How long a message takes
    #[arg(
        long,
        value_name = "TIME",
        value_parser = values::parse_duration,
        default_value = LATE_BY
    )]
    late_by: Duration,
}

pub(crate) static KIND: ImporterSpec = Spec {
    about: EntryHelp {
        name: "toy",
        summary: "Pairs of names",
        details: "A line a message, a second apart.",
        examples: &["sockcap import toy pairs.txt"],
        ..EntryHelp::NOTHING
    },
    flags: ToyFlags::augment_args,
    entry: ImporterEntry {
        files: "The file",
        files_by: None,
        make: |given| {
            let ToyFlags { late_by } = ToyFlags::from_arg_matches(given)?;
            Ok(Box::new(ToyImporter { late_by }))
        },
        fuzz: |bytes| drop(pairs_table(&String::from_utf8_lossy(bytes), Duration::ZERO)),
    },
};

#[derive(Debug)]
struct ToyImporter {
    late_by: Duration,
}

impl Importer for ToyImporter {
    fn input_nouns(&self) -> [&'static str; 2] {
        ["pair", "pairs"]
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
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pairs.csv");
        let text = std::fs::read_to_string(&files[0]).unwrap();
        std::fs::write(&file, pairs_table(&text, self.late_by)).unwrap();
        let messages = MessageImporter { name: None, unit: TimeUnit::Nanoseconds, nodes: None };
        messages.import_files(&[file], data, progress)
    }
}

/// The pairs as a table of messages.
fn pairs_table(text: &str, late_by: Duration) -> String {
    let mut table = "send_ts,recv_ts,src,dst\n".to_owned();
    for (second, line) in text.lines().enumerate() {
        let sent = second as u128 * 1_000_000_000;
        let received = sent + late_by.as_nanos();
        table += &format!("{sent},{received},{}\n", line.replace(' ', ","));
    }
    table
}
