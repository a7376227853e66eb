//! Queries about the host's files at the collector, and the amount left to send.

use super::{LogScanner, ScanError, ScannedLog};
use crate::page::PAGE;
use crate::ship::files::OpenedLog;
use crate::ship::outgoing::{DialogEnded, OutgoingData};
use crate::tuning::{MAX_ASKED_FILES, MAX_ASKED_PAGES};

impl LogScanner<'_> {
    /// Queries whether the collector still has the files that are not finished. Files that were
    /// removed there are sent again.
    pub(super) fn find_removed(
        &mut self,
        out: &mut OutgoingData,
        names: &[String],
    ) -> Result<(), ScanError> {
        let known = |name: &&String| {
            self.files.get(*name).is_some_and(|entry| entry.tracked.asked && !entry.tracked.done)
        };
        let known: Vec<&String> = names.iter().filter(known).collect();
        for group in known.chunks(MAX_ASKED_FILES) {
            for name in group {
                let Some(entry) = self.files.get(*name) else { continue };
                out.select_file(name, entry.tracked.identity)?;
                out.request_checksums(0, 1)?;
            }
            for (name, (length, sums)) in group.iter().zip(out.take_checksums()?) {
                let Some(entry) = self.files.get_mut(*name) else { continue };
                if !entry.tracked.is_at_collector(length, sums.first().copied()) {
                    entry.tracked.forget_remote();
                    entry.stamp = None;
                }
            }
        }
        Ok(())
    }

    /// Queries the checksums of the files with unknown state at the collector.
    pub(super) fn query_checksums(
        &mut self,
        out: &mut OutgoingData,
        names: &[String],
    ) -> Result<(), ScanError> {
        let asked = |entry: &ScannedLog| entry.tracked.asked;
        let unknown: Vec<&String> =
            names.iter().filter(|name| !self.files.get(*name).is_none_or(asked)).collect();
        for group in unknown.chunks(MAX_ASKED_FILES) {
            for name in group {
                let Some(entry) = self.files.get(*name) else { continue };
                out.select_file(name, entry.tracked.identity)?;
                out.request_checksums(0, MAX_ASKED_PAGES)?;
            }
            let answers = out.take_checksums()?;
            for (name, (length, sums)) in group.iter().zip(answers) {
                let Some(entry) = self.files.get_mut(*name) else { continue };
                let tracked = &mut entry.tracked;
                let mut known = sums.len();
                tracked.set_remote_checksums(0, &sums);
                while (known as u64 * PAGE as u64) < length {
                    out.select_file(name, tracked.identity)?;
                    out.request_checksums(known, MAX_ASKED_PAGES)?;
                    let Some((_, sums)) =
                        out.take_checksums()?.pop_front().filter(|(_, sums)| !sums.is_empty())
                    else {
                        return Err(DialogEnded.into());
                    };
                    tracked.set_remote_checksums(known, &sums);
                    known += sums.len();
                }
                tracked.remote = Some(length);
                tracked.asked = true;
            }
        }
        Ok(())
    }

    /// Estimate of the bytes of content that the collector does not have.
    pub(super) fn estimate_left(
        &self,
        out: &mut OutgoingData,
        names: &[String],
    ) -> Result<u64, DialogEnded> {
        let mut left = 0;
        for name in names {
            out.keep_alive()?;
            let Some(entry) = self.files.get(name).filter(|entry| !entry.tracked.done) else {
                continue;
            };
            let Ok(Some(opened)) = OpenedLog::open(&self.directory, name) else { continue };
            let content: usize = opened.content_runs().iter().map(|[first, end]| end - first).sum();
            left += ((content * PAGE) as u64).saturating_sub(entry.tracked.remote_bytes());
        }
        Ok(left)
    }
}
