//! `import pcap`: captured packets. What passed the network becomes the logs that the programs at
//! both ends would have written, and reconcile matches them as it matches those of the library
//! (WAP5 section 7, Project 5 section 6).
//!
//! Captures are read twice. First each sniffer's are looked through ([`survey`]); copies of packets
//! under other names show translated addresses ([`translation`]), and it is decided by whose clock
//! each host is timed ([`plan`]). Then each sniffer's packets are put together to streams and
//! datagrams ([`replay`], [`tcp`]), which become [`logs`]. Neither pass holds more than what is
//! going on at one time, so captures may be larger than memory.

mod captured;
mod container;
mod flow;
mod fragments;
mod headers;
mod kind;
mod link_types;
mod logs;
mod plan;
mod replay;
mod roles;
#[cfg(test)]
mod samples;
mod sniffer;
mod survey;
mod tcp;
mod translation;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use message_trace::{DataDir, Progress};
use out_of_core::workers;

use self::plan::Plan;
use self::replay::Replayed;
use self::sniffer::Counts;
use self::survey::Survey;
use crate::error::Error;
use crate::importer::Importer;
use crate::summary::{At, Summary};
use crate::tuning::MAX_SAMPLES;
use crate::unfinished::nothing;
pub use captured::Captured;
pub(crate) use kind::PCAP;
pub use sniffer::Sniffer;

/// The importer of captured packets.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    /// On which hosts files were captured, where the user says so. All files of a host are one
    /// sniffer's; any other file is a sniffer of its own, called after the file.
    pub hosts: Vec<(String, PathBuf)>,
    /// Which host has which address, where the user says so.
    pub addresses: Vec<(String, IpAddr)>,
}

/// What is said of captures in which nothing is found.
const NONE: &str = "there is no TCP connection with data and no UDP datagram between hosts over IP";

impl Importer for Packets {
    fn reads(&self) -> [&'static str; 2] {
        ["packet", "packets"]
    }

    fn makes(&self) -> [&'static str; 2] {
        ["record", "records"]
    }

    fn import(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<Summary, Error> {
        let sniffers = self.sniffers(files);
        let mut summary = sizes(&sniffers)?;
        progress.step("looking through packets", summary.bytes);
        let limit = MAX_SAMPLES / sniffers.len().max(1);
        let surveys =
            for_each_sniffer(&sniffers, |_, sniffer| survey::survey(sniffer, limit, progress))?;
        tell(&surveys, &mut summary);
        if summary.read == 0 {
            return Err(nothing(&all_files(&sniffers), "there is no packet", &summary));
        }
        let plan = plan::plan(&sniffers, &surveys, translation::find(&surveys), &self.addresses);
        let counts: Vec<Counts> = surveys.into_iter().map(|survey| survey.counts).collect();

        progress.step("putting packets together", summary.bytes);
        let mut earlier = BTreeSet::new();
        for sniffer in &sniffers {
            earlier.extend(logs::earlier(data, &sniffer.name)?);
        }
        let replayed = for_each_sniffer(&sniffers, |number, sniffer| {
            replay::replay(sniffer, number as u32, &plan, Some(data), progress)
        })?;
        let sides = sniffers.iter().zip(0..).zip(counts.iter().zip(&replayed));
        let captured: Vec<Captured> = sides
            .map(|((sniffer, number), (counts, made))| {
                Captured::of(sniffer, number, counts, made, &plan)
            })
            .collect();
        conclude(&captured, &replayed, &plan, &mut summary);
        if summary.made == 0 {
            return Err(nothing(&all_files(&sniffers), NONE, &summary));
        }
        for logs in replayed.iter().map(|replayed| &replayed.logs) {
            logs.iter().for_each(|log| summary.replaced |= earlier.remove(log));
        }
        // What is not made any more, as the hosts are others now.
        for log in earlier {
            summary.replaced = true;
            log.remove_file().map_err(|error| Error::io(&log, error))?;
        }
        captured.iter().try_for_each(|captured| captured.write(data))?;
        Ok(summary)
    }
}

impl Packets {
    /// Who captured what: the files in the order in which they are named, those of one host
    /// together.
    pub fn sniffers(&self, files: &[PathBuf]) -> Vec<Sniffer> {
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
            add(&name_of(file), file);
        }
        sniffers
    }
}

/// Imports what would be a file, and writes nothing; says how many packets were read, and how many
/// records came of them.
fn dry(bytes: &[u8]) -> Result<(u64, u64), Error> {
    let file = PathBuf::from("input");
    let sniffers =
        [Sniffer { name: "input".into(), files: vec![file], held: Some(bytes.to_vec()) }];
    let surveys =
        for_each_sniffer(&sniffers, |_, sniffer| survey::survey(sniffer, MAX_SAMPLES, &()))?;
    let mut summary = Summary::default();
    tell(&surveys, &mut summary);
    let plan = plan::plan(&sniffers, &surveys, translation::find(&surveys), &[]);
    let replayed = replay::replay(&sniffers[0], 0, &plan, None, &())?;
    Ok((summary.read, replayed.records))
}

/// What a file's sniffer is called: as the file, without the endings of captures and with nothing
/// that a directory's name may not have.
fn name_of(file: &Path) -> String {
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

fn sizes(sniffers: &[Sniffer]) -> Result<Summary, Error> {
    let mut summary = Summary::default();
    for file in sniffers.iter().flat_map(|sniffer| &sniffer.files) {
        let metadata = file.metadata().map_err(|error| Error::io(file, error))?;
        if !metadata.is_file() {
            let why = "captures are read twice, so this must be a file";
            return Err(Error::malformed(file, At::File, why));
        }
        summary.files += 1;
        summary.bytes += metadata.len();
    }
    Ok(summary)
}

/// Puts what the first pass read and skipped into the summary.
fn tell(surveys: &[Survey], summary: &mut Summary) {
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
fn conclude(captured: &[Captured], replayed: &[Replayed], plan: &Plan, summary: &mut Summary) {
    let directories = replayed.iter().flat_map(|replayed| &replayed.logs).map(|log| log.parent());
    summary.written = directories.collect::<BTreeSet<_>>().into_iter().collect();
    let mut odd: BTreeMap<&str, u64> = BTreeMap::new();
    for captured in captured {
        summary.made += captured.records;
        if !captured.hosts.is_empty() {
            summary.notes.push(format!(
                "by the clock of {}: {}",
                captured.sniffer,
                shortened(&captured.hosts)
            ));
        }
        for (what, count) in &captured.odd {
            *odd.entry(what).or_default() += count;
        }
    }
    let translated = plan.translations.flows() as u64;
    let more = [
        ("flows with translated addresses, which go by their ends' own", translated),
        ("addresses without a log, as there are too many", plan.left_out),
    ];
    for (what, count) in odd.into_iter().chain(more).filter(|(_, count)| *count > 0) {
        summary.notes.push(format!("{what}: {count}"));
    }
}

fn shortened(names: &[String]) -> String {
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
    let results = workers::one_by_one(sniffers.len(), |number| {
        sniffers.get(number).map(|sniffer| work(number, sniffer))
    });
    results.into_iter().flatten().collect()
}
