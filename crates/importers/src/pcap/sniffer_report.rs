//! Sniffer report: what was read from the captures of each sniffer and what resulted, kept next to
//! the logs, so that gaps of the captures can be reported with the trace later.

use std::collections::BTreeMap;
use std::path::PathBuf;

use message_trace::{DataDir, json};
use serde::{Deserialize, Serialize};

use super::plan::CapturePlan;
use super::replay::ReplayResult;
use super::sniffer::{Sniffer, SnifferCounts};
use super::tcp::StreamOddities;
use crate::error::Error;
use crate::summary::SkippedItem;
use crate::tuning::MAX_SNIFFER_REPORT_BYTES;

/// Report of a sniffer, `hosts/SNIFFER/packets-SNIFFER.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SnifferReport {
    /// The sniffer's name.
    pub sniffer: String,
    /// Files of the sniffer.
    pub files: Vec<PathBuf>,
    /// Number of frames in the files.
    pub frames: u64,
    /// Number of segments and datagrams among the frames.
    pub packets: u64,
    /// Number of records in the resulting logs.
    pub records: u64,
    /// Hosts that are timed by the sniffer's clock.
    pub hosts: Vec<String>,
    /// Number of skipped frames and records, by cause.
    pub skipped: BTreeMap<String, u64>,
    /// Damage of files with its places; only the first ones if there are many.
    pub damaged: Vec<String>,
    /// Oddities of the packets, by kind; for streams in bytes.
    pub odd: BTreeMap<String, u64>,
}

impl SnifferReport {
    pub(super) fn from_replay(
        sniffer: &Sniffer,
        number: u32,
        counts: &SnifferCounts,
        replayed: &ReplayResult,
        plan: &CapturePlan,
    ) -> SnifferReport {
        let has_log =
            |host: &str| replayed.logs.iter().any(|log| log.parent().as_path().ends_with(host));
        let timed = plan.hosts.iter().filter(|host| host.sniffer == number && has_log(&host.name));
        let StreamOddities { repeated, missed, unacknowledged, impossible } = replayed.odd;
        let odd = [
            ("bytes seen more than once", repeated),
            ("bytes not captured, but acknowledged", missed),
            ("bytes never acknowledged", unacknowledged),
            ("bytes with impossible sequence numbers", impossible),
            ("datagrams not captured as a whole", counts.truncated),
            ("connections joined after their beginning", replayed.midstream),
            ("connections given up, as too many were open at once", replayed.given_up),
            ("connections without data", replayed.empty),
            ("broadcast packets, or packets between addresses without a host", replayed.homeless),
        ];
        let odd = odd.into_iter().filter(|(_, count)| *count > 0);
        SnifferReport {
            sniffer: sniffer.name.clone(),
            files: sniffer.files.clone(),
            frames: counts.frames,
            packets: counts.packets,
            records: replayed.records,
            hosts: timed.map(|host| host.name.clone()).collect(),
            skipped: counts
                .skipped
                .causes
                .iter()
                .map(|(cause, count)| ((*cause).to_owned(), *count))
                .collect(),
            damaged: counts.skipped.first.iter().map(SkippedItem::to_string).collect(),
            odd: odd.map(|(what, count)| (what.to_owned(), count)).collect(),
        }
    }

    pub(super) fn write(&self, data: &DataDir) -> Result<(), Error> {
        let directory = data.hosts_dir().join(&self.sniffer);
        directory.create_dir_all().map_err(|error| Error::from_io(&directory, error))?;
        Ok(json::write_json(directory.join(format!("packets-{}.json", self.sniffer)), self)?)
    }

    /// Reports of the sniffers with packets in `data`, by their names.
    ///
    /// # Errors
    /// When a report cannot be read.
    pub fn read_all(data: &DataDir) -> Result<Vec<SnifferReport>, message_trace::PathError> {
        let mut all: Vec<SnifferReport> = Vec::new();
        // A data directory without logs has no reports either.
        for host in data.hosts_dir().entries().unwrap_or_default() {
            let name = host.path.file_name().unwrap_or_default().to_string_lossy();
            let file = host.path.join(format!("packets-{name}.json"));
            if file.is_file() {
                // Other files may be there: files of another format are skipped.
                let text = file.read_text_at_most(MAX_SNIFFER_REPORT_BYTES).unwrap_or_default();
                all.extend(serde_json::from_str::<SnifferReport>(&text));
            }
        }
        all.sort_by(|one, other| one.sniffer.cmp(&other.sniffer));
        Ok(all)
    }
}
