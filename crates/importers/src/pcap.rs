//! `import pcap`: captured packets. The traffic becomes the logs that the programs at both ends
//! would have written, and reconcile matches them in the same way as logs of the library (WAP5
//! section 7, Project 5 section 6).
//!
//! Captures are read twice. First each sniffer's captures are indexed ([`index_pass`]); copies of
//! packets under other names show translated addresses ([`translation`]), and a clock is chosen for
//! each host (`plan`). Then each sniffer's packets are assembled to streams and datagrams
//! (`replay`, [`tcp`]), which become `logs`. Neither pass holds more than the traffic in progress,
//! so captures may be larger than memory.

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

/// Importer of captured packets.
#[derive(Clone, Debug, Default)]
pub struct PacketImporter {
    /// Hosts on which files were captured, as given by the user. All files of a host belong to one
    /// sniffer; any other file is a sniffer of its own, named after the file.
    pub hosts: Vec<(String, PathBuf)>,
    /// Addresses of hosts, as given by the user.
    pub addresses: Vec<(String, IpAddr)>,
}

/// Error text for captures without usable traffic.
const NO_TRAFFIC: &str =
    "there is no TCP connection with data and no UDP datagram between hosts over IP";

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
        progress.begin_step("indexing packets", summary.bytes);
        let limit = MAX_SAMPLES / sniffers.len().max(1);
        let indexes =
            for_each_sniffer(&sniffers, |_, sniffer| index_pass::index(sniffer, limit, progress))?;
        summarize_first_pass(&indexes, &mut summary);
        if summary.read == 0 {
            return Err(nothing_imported(&all_files(&sniffers), "there is no packet", &summary));
        }
        let plan = plan::plan_hosts(
            &sniffers,
            &indexes,
            translation::compare_samples(&indexes),
            &self.addresses,
        );
        let counts: Vec<SnifferCounts> = indexes.into_iter().map(|index| index.counts).collect();

        progress.begin_step("assembling packets", summary.bytes);
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
            return Err(nothing_imported(&all_files(&sniffers), NO_TRAFFIC, &summary));
        }
        for logs in replayed.iter().map(|replayed| &replayed.logs) {
            logs.iter().for_each(|log| summary.replaced |= earlier.remove(log));
        }
        // Logs of an earlier import that no longer result, as the hosts differ now.
        for log in earlier {
            summary.replaced = true;
            log.remove_file().map_err(|error| Error::from_io(&log, error))?;
        }
        captured.iter().try_for_each(|captured| captured.write(data))?;
        Ok(summary)
    }
}

impl PacketImporter {
    /// Groups the files by sniffer: sniffers by their names, and the files of each by their paths.
    /// If several sniffers saw equally much of a host, the first one's clock times its packets, so
    /// the order must not depend on the order in which the user names the files.
    pub fn group_by_sniffer(&self, files: &[PathBuf]) -> Vec<Sniffer> {
        let mut sniffers: Vec<Sniffer> = Vec::new();
        let mut add = |name: &str, file: &Path| {
            match sniffers.iter_mut().find(|sniffer| sniffer.name == name) {
                Some(sniffer) => sniffer.files.push(file.to_owned()),
                None => sniffers.push(Sniffer {
                    name: name.to_owned(),
                    files: vec![file.to_owned()],
                    bytes: None,
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
        sniffers.sort_by(|one, other| one.name.cmp(&other.name));
        sniffers.iter_mut().for_each(|sniffer| sniffer.files.sort());
        sniffers
    }
}

/// Imports bytes in place of a file, and writes nothing; returns the number of packets that were
/// read, and of records that resulted.
fn import_dry(bytes: &[u8]) -> Result<(u64, u64), Error> {
    let file = PathBuf::from("input");
    let sniffers =
        [Sniffer { name: "input".into(), files: vec![file], bytes: Some(bytes.to_vec()) }];
    let indexes =
        for_each_sniffer(&sniffers, |_, sniffer| index_pass::index(sniffer, MAX_SAMPLES, &()))?;
    let mut summary = ImportSummary::default();
    summarize_first_pass(&indexes, &mut summary);
    let plan = plan::plan_hosts(&sniffers, &indexes, translation::compare_samples(&indexes), &[]);
    let replayed = replay::replay_sniffer(&sniffers[0], 0, &plan, None, &())?;
    Ok((summary.read, replayed.records))
}

/// Name of a file's sniffer: that of the file, without the extensions of captures and without
/// characters that are not allowed in a directory's name.
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

/// Adds the counts of the first pass to the summary.
fn summarize_first_pass(indexes: &[SnifferIndex], summary: &mut ImportSummary) {
    for index in indexes {
        let counts = &index.counts;
        summary.read += counts.frames;
        for (cause, count) in &counts.skipped.causes {
            *summary.skipped.causes.entry(cause).or_default() += count;
        }
        summary.skipped.first.extend_from_slice(&counts.skipped.first);
    }
}

/// Adds the results of the second pass and the plan's decisions to the summary.
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
        ("flows with translated addresses, named by their ends' own", translated),
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
