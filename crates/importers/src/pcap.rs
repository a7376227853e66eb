//! `import pcap`: captured packets. What passed the network becomes the logs that the programs at
//! both ends would have written, and reconcile matches them as it matches those of the library
//! (WAP5 section 7, Project 5 section 6).
//!
//! Captures are read twice. First each sniffer's are looked through ([`index_pass`]); copies of
//! packets under other names show translated addresses ([`translation`]), and it is decided by
//! whose clock each host is timed (`plan`). Then each sniffer's packets are put together to
//! streams and datagrams (`replay`, [`tcp`]), which become `logs`. Neither
//! pass holds more than what is going on at one time, so captures may be larger than memory.

mod container;
mod flow;
mod fragments;
mod headers;
mod index_pass;
mod link_types;
mod logs;
mod plan;
mod replay;
mod roles;
#[cfg(test)]
mod samples;
mod sniffer;
mod sniffer_report;
mod spec;
mod tcp;
mod translation;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use message_trace::{DataDir, Progress};
use out_of_core::workers;

use self::index_pass::SnifferIndex;
use self::plan::CapturePlan;
use self::replay::ReplayResult;
use self::sniffer::SnifferCounts;
use crate::error::Error;
use crate::importer::Importer;
use crate::summary::{FilePosition, ImportSummary};
use crate::tuning::MAX_SAMPLES;
use crate::unfinished::nothing_imported;
pub use sniffer::Sniffer;
pub use sniffer_report::SnifferReport;
pub(crate) use spec::PCAP;

/// The importer of captured packets.
#[derive(Clone, Debug, Default)]
pub struct PacketImporter {
    /// On which hosts files were captured, where the user says so. All files of a host are one
    /// sniffer's; any other file is a sniffer of its own, called after the file.
    pub hosts: Vec<(String, PathBuf)>,
    /// Which host has which address, where the user says so.
    pub addresses: Vec<(String, IpAddr)>,
}

/// What is said of captures in which nothing is found.
const NONE: &str = "there is no TCP connection with data and no UDP datagram between hosts over IP";

impl Importer for PacketImporter {
    fn input_nouns(&self) -> [&'static str; 2] {
        ["packet", "packets"]
    }

    fn output_nouns(&self) -> [&'static str; 2] {
        ["record", "records"]
    }

    fn import_files(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<ImportSummary, Error> {
        let sniffers = self.group_by_sniffer(files);
        let mut summary = sum_sizes(&sniffers)?;
        progress.begin_step("looking through packets", summary.bytes);
        let limit = MAX_SAMPLES / sniffers.len().max(1);
        let surveys =
            for_each_sniffer(&sniffers, |_, sniffer| index_pass::index(sniffer, limit, progress))?;
        summarize_first_pass(&surveys, &mut summary);
        if summary.read == 0 {
            return Err(nothing_imported(&all_files(&sniffers), "there is no packet", &summary));
        }
        let plan = plan::plan_hosts(
            &sniffers,
            &surveys,
            translation::compare_samples(&surveys),
            &self.addresses,
        );
        let counts: Vec<SnifferCounts> = surveys.into_iter().map(|survey| survey.counts).collect();

        progress.begin_step("putting packets together", summary.bytes);
        let mut earlier = BTreeSet::new();
        for sniffer in &sniffers {
            earlier.extend(logs::earlier_logs(data, &sniffer.name)?);
        }
        let replayed = for_each_sniffer(&sniffers, |number, sniffer| {
            replay::replay_sniffer(sniffer, number as u32, &plan, Some(data), progress)
        })?;
        let sides = sniffers.iter().zip(0..).zip(counts.iter().zip(&replayed));
        let captured: Vec<SnifferReport> = sides
            .map(|((sniffer, number), (counts, made))| {
                SnifferReport::from_replay(sniffer, number, counts, made, &plan)
            })
            .collect();
        summarize_second_pass(&captured, &replayed, &plan, &mut summary);
        if summary.made == 0 {
            return Err(nothing_imported(&all_files(&sniffers), NONE, &summary));
        }
        for logs in replayed.iter().map(|replayed| &replayed.logs) {
            logs.iter().for_each(|log| summary.replaced |= earlier.remove(log));
        }
        // What is not made any more, as the hosts are others now.
        for log in earlier {
            summary.replaced = true;
            log.remove_file().map_err(|error| Error::from_io(&log, error))?;
        }
        captured.iter().try_for_each(|captured| captured.write(data))?;
        Ok(summary)
    }
}

impl PacketImporter {
    /// Who captured what: the files in the order in which they are named, those of one host
    /// together.
    pub fn group_by_sniffer(&self, files: &[PathBuf]) -> Vec<Sniffer> {
        let mut sniffers: Vec<Sniffer> = Vec::new();
        let mut add = |name: &str, file: &Path| {
            match sniffers.iter_mut().find(|sniffer| sniffer.name == name) {
                Some(sniffer) => sniffer.files.push(file.to_owned()),
                None => sniffers.push(Sniffer {
                    name: name.to_owned(),
                    files: vec![file.to_owned()],
                    held: None,
                }),
            };
        };
        for (name, file) in &self.hosts {
            add(name, file);
        }
        for file in files.iter().filter(|file| !self.hosts.iter().any(|(_, known)| known == *file))
        {
            add(&sniffer_name(file), file);
        }
        sniffers
    }
}

/// Imports what would be a file, and writes nothing; says how many packets were read, and how many
/// records came of them.
fn import_dry(bytes: &[u8]) -> Result<(u64, u64), Error> {
    let file = PathBuf::from("input");
    let sniffers =
        [Sniffer { name: "input".into(), files: vec![file], held: Some(bytes.to_vec()) }];
    let surveys =
        for_each_sniffer(&sniffers, |_, sniffer| index_pass::index(sniffer, MAX_SAMPLES, &()))?;
    let mut summary = ImportSummary::default();
    summarize_first_pass(&surveys, &mut summary);
    let plan = plan::plan_hosts(&sniffers, &surveys, translation::compare_samples(&surveys), &[]);
    let replayed = replay::replay_sniffer(&sniffers[0], 0, &plan, None, &())?;
    Ok((summary.read, replayed.records))
}

/// What a file's sniffer is called: as the file, without the endings of captures and with nothing
/// that a directory's name may not have.
fn sniffer_name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let mut name = name.as_ref();
    for ending in [".zst", ".gz", ".pcapng", ".pcap", ".cap", ".dmp", ".dump"] {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = name.trim_start_matches('.').chars().take(100).map(allowed).collect();
    if name.is_empty() { "packets".to_owned() } else { name }
}

fn all_files(sniffers: &[Sniffer]) -> Vec<PathBuf> {
    sniffers.iter().flat_map(|sniffer| &sniffer.files).cloned().collect()
}

fn sum_sizes(sniffers: &[Sniffer]) -> Result<ImportSummary, Error> {
    let mut summary = ImportSummary::default();
    for file in sniffers.iter().flat_map(|sniffer| &sniffer.files) {
        let metadata = file.metadata().map_err(|error| Error::from_io(file, error))?;
        if !metadata.is_file() {
            let why = "captures are read twice, so this must be a file";
            return Err(Error::malformed_at(file, FilePosition::File, why));
        }
        summary.files += 1;
        summary.bytes += metadata.len();
    }
    Ok(summary)
}

/// Puts what the first pass read and skipped into the summary.
fn summarize_first_pass(surveys: &[SnifferIndex], summary: &mut ImportSummary) {
    for survey in surveys {
        let counts = &survey.counts;
        summary.read += counts.frames;
        for (cause, count) in &counts.skipped.causes {
            *summary.skipped.causes.entry(cause).or_default() += count;
        }
        summary.skipped.first.extend_from_slice(&counts.skipped.first);
    }
}

/// Says what the second pass made, and what was decided.
fn summarize_second_pass(
    captured: &[SnifferReport],
    replayed: &[ReplayResult],
    plan: &CapturePlan,
    summary: &mut ImportSummary,
) {
    let directories = replayed.iter().flat_map(|replayed| &replayed.logs).map(|log| log.parent());
    summary.written = directories.collect::<BTreeSet<_>>().into_iter().collect();
    let mut odd: BTreeMap<&str, u64> = BTreeMap::new();
    for captured in captured {
        summary.made += captured.records;
        if !captured.hosts.is_empty() {
            summary.notes.push(format!(
                "by the clock of {}: {}",
                captured.sniffer,
                shorten_list(&captured.hosts)
            ));
        }
        for (what, count) in &captured.odd {
            *odd.entry(what).or_default() += count;
        }
    }
    let translated = plan.translations.flow_count() as u64;
    let more = [
        ("flows with translated addresses, which go by their ends' own", translated),
        ("addresses without a log, as there are too many", plan.left_out),
    ];
    for (what, count) in odd.into_iter().chain(more).filter(|(_, count)| *count > 0) {
        summary.notes.push(format!("{what}: {count}"));
    }
}

fn shorten_list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.get(..SHOWN).unwrap_or(names).join(", ");
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}

/// Runs `work` for all sniffers, on all processors.
fn for_each_sniffer<T: Send>(
    sniffers: &[Sniffer],
    work: impl Fn(usize, &Sniffer) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let results = workers::map_items(sniffers.len(), |number| {
        sniffers.get(number).map(|sniffer| work(number, sniffer))
    });
    results.into_iter().flatten().collect()
}
