//! State of one file of a shipper: what the collector has of each page, and which pages are worth
//! reading. Every page is read in the end; only the time is a guess, so that following a large
//! directory costs little.

use crate::identity::LogIdentity;
use crate::page::{self, PAGE};
use crate::tuning::{CALM_LOOKS, CALM_TURN, FULL_PAGE_ROOM};

/// Checksum of a page if the collector's content is not known.
const UNKNOWN: u64 = u64::MAX;

/// Which pages of a file to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageSelection {
    /// Pages that have probably changed, and some others in turn.
    Likely,
    /// All pages.
    All,
}

/// State of one file.
#[derive(Debug)]
pub(super) struct TrackedLog {
    pub(super) identity: LogIdentity,
    /// Whether the collector's content was queried.
    pub(super) asked: bool,
    /// Whether no process can write to the file any more and the collector has all of it.
    pub(super) done: bool,
    /// Length of the collector's file; `None` if uncertain.
    pub(super) remote: Option<u64>,
    /// Checksums of the collector's content; zeros follow the last.
    sums: Vec<u64>,
    /// Number of scans in which each page was unchanged, see [`CALM_LOOKS`].
    calm: Vec<u8>,
    /// First of the calm pages that are read in the next scan.
    next_calm_page: usize,
}

impl TrackedLog {
    /// Creates the state of a file about which nothing is known.
    pub(super) fn new(identity: LogIdentity) -> TrackedLog {
        TrackedLog {
            identity,
            asked: false,
            done: false,
            remote: None,
            sums: Vec::new(),
            calm: Vec::new(),
            next_calm_page: 0,
        }
    }

    /// Forgets what the collector has stored, since it is another collector, or has begun anew.
    pub(super) fn forget_remote(&mut self) {
        *self = TrackedLog::new(self.identity);
    }

    /// Records the collector's content from page `first` on.
    pub(super) fn set_remote_checksums(&mut self, first: usize, sums: &[u64]) {
        self.sums.resize(first, 0);
        self.sums.extend_from_slice(sums);
        self.calm.resize(self.sums.len(), 0);
    }

    /// Whether the collector still has the file, by its length there and the checksum of its first
    /// page. An acknowledged file may have been removed there to free space. A finished file then
    /// stays finished; any other has to be sent again as a whole.
    pub(super) fn is_at_collector(&self, length: u64, first: Option<u64>) -> bool {
        let is_known = |sum: &u64| *sum != 0 && *sum != UNKNOWN;
        if self.done || !self.sums.iter().any(is_known) {
            return true;
        }
        let is_same = match self.sums.first() {
            Some(&UNKNOWN) | None => first.is_some_and(|sum| sum != 0),
            known => first == known.copied(),
        };
        is_same && self.remote.is_none_or(|remote| length >= remote)
    }

    /// Records that the state of these pages is unknown.
    pub(super) fn mark_unknown(&mut self, first: usize, pages: usize) {
        self.remote = None;
        self.done = false;
        // If a length was lost, the collector's content past the end is not known either.
        self.asked &= pages > 0;
        for (sum, calm) in self.sums.iter_mut().zip(&mut self.calm).skip(first).take(pages) {
            (*sum, *calm) = (UNKNOWN, 0);
        }
    }

    /// Resizes the state for a file of `length` bytes.
    pub(super) fn resize_pages(&mut self, length: u64) {
        let pages = page::page_count(length) as usize;
        self.sums.resize(pages, 0);
        self.calm.resize(pages, 0);
    }

    /// Runs of pages to read, as `[first, end)`, among the pages in `data`, where the file has
    /// content, and the pages with content at the collector. No run is longer than `longest` pages.
    pub(super) fn select_runs(
        &mut self,
        look: PageSelection,
        data: &[[usize; 2]],
        longest: usize,
    ) -> Vec<[usize; 2]> {
        let pages = self.sums.len();
        let turn =
            self.next_calm_page..self.next_calm_page.saturating_add(pages.div_ceil(CALM_TURN));
        if look == PageSelection::Likely {
            self.next_calm_page = if turn.end >= pages { 0 } else { turn.end };
        }
        let mut runs: Vec<[usize; 2]> = Vec::new();
        let mut data = data.iter().peekable();
        for at in 0..pages {
            while data.next_if(|[_, end]| *end <= at).is_some() {}
            let is_data = data.peek().is_some_and(|[first, _]| *first <= at);
            let is_likely = at == 0 || self.calm[at] < CALM_LOOKS || turn.contains(&at);
            if !(look == PageSelection::All || is_likely) || !(is_data || self.sums[at] != 0) {
                continue;
            }
            match runs.last_mut() {
                Some([first, end]) if *end == at && at - *first < longest => *end += 1,
                _ => runs.push([at, at + 1]),
            }
        }
        runs
    }

    /// Records the content of a page. Returns whether the collector has a different one.
    pub(super) fn update_checksum(&mut self, at: usize, content: &[u8]) -> bool {
        let (Some(known), Some(calm)) = (self.sums.get_mut(at), self.calm.get_mut(at)) else {
            return false;
        };
        let sum = page::page_checksum(content).min(UNKNOWN - 1);
        let is_full = !page::is_zero(&content[content.len().saturating_sub(FULL_PAGE_ROOM)..]);
        if *known == sum {
            *calm = if is_full { calm.saturating_add(1) } else { 0 };
            return false;
        }
        (*known, *calm) = (sum, 0);
        true
    }

    /// Frees memory that a finished file no longer needs.
    pub(super) fn release_memory(&mut self) {
        self.done = true;
        self.sums = Vec::new();
        self.calm = Vec::new();
    }

    /// Bytes of content that the collector has, as far as known, in whole pages.
    pub(super) fn remote_bytes(&self) -> u64 {
        let pages = self.sums.iter().filter(|sum| **sum != 0 && **sum != UNKNOWN).count();
        (pages * PAGE) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: LogIdentity = LogIdentity { boot: [0; 16], pid: 1, ticks: 2, start: 3, name: 0 };

    fn file(pages: u64) -> TrackedLog {
        let mut file = TrackedLog::new(ANY);
        file.resize_pages(pages * PAGE as u64);
        file
    }

    #[test]
    fn only_pages_with_content_here_or_at_the_collector_are_selected() {
        let mut file = file(10);
        assert_eq!(
            file.select_runs(PageSelection::All, &[[0, 3], [5, 6]], 2),
            [[0, 2], [2, 3], [5, 6]]
        );
        // A hole where the collector has something.
        file.mark_unknown(8, 1);
        assert_eq!(
            file.select_runs(PageSelection::All, &[[0, 3], [5, 6]], 64),
            [[0, 3], [5, 6], [8, 9]]
        );
        assert!(file.update_checksum(8, &[0; PAGE]) && !file.update_checksum(8, &[0; PAGE]));
        assert_eq!(file.select_runs(PageSelection::All, &[[0, 3], [5, 6]], 64), [[0, 3], [5, 6]]);
    }

    #[test]
    fn unchanged_full_pages_are_read_only_in_turn() {
        let mut file = file(200);
        let (full, open) = ([7; PAGE], {
            let mut page = [7; PAGE];
            page[PAGE - FULL_PAGE_ROOM..].fill(0);
            page
        });
        let look = |file: &mut TrackedLog, look| {
            let runs = file.select_runs(look, &[[0, 200]], 64);
            let pages: Vec<usize> = runs.iter().flat_map(|[first, end]| *first..*end).collect();
            pages
                .into_iter()
                .filter(|at| {
                    file.update_checksum(*at, if *at == 150 { &open } else { &full });
                    true
                })
                .collect::<Vec<_>>()
        };
        // Once they are new, and then until they are calm.
        for _ in 0..=CALM_LOOKS {
            assert_eq!(look(&mut file, PageSelection::Likely).len(), 200);
        }
        // Four in each turn (200 / 64 rounded up); always the first page and the page with room.
        let mut seen = [false; 200];
        for _ in 0..50 {
            let pages = look(&mut file, PageSelection::Likely);
            assert!(pages.len() <= 6 && pages.contains(&0) && pages.contains(&150), "{pages:?}");
            pages.iter().for_each(|at| seen[*at] = true);
        }
        assert!(seen.iter().all(|seen| *seen), "each has its turn");
        assert_eq!(look(&mut file, PageSelection::All).len(), 200);
    }

    #[test]
    fn files_removed_at_the_collector_are_noticed() {
        let mut file = file(3);
        assert!(file.is_at_collector(0, None), "it was never stored");
        assert!(file.update_checksum(0, b"head") && file.update_checksum(1, b"x"));
        file.remote = Some(3 * PAGE as u64);
        let head = page::page_checksum(b"head");
        assert!(file.is_at_collector(3 * PAGE as u64, Some(head)));
        for (length, first) in [(0, None), (3 * PAGE as u64, Some(0)), (PAGE as u64, Some(head))] {
            assert!(!file.is_at_collector(length, first), "{length} {first:?}");
        }
        // The file's first page was in flight.
        file.mark_unknown(0, 1);
        assert!(file.is_at_collector(3 * PAGE as u64, Some(7)) && !file.is_at_collector(0, None));
        file.release_memory();
        assert!(file.is_at_collector(0, None), "a finished file is not sent again");
    }

    #[test]
    fn unstored_pages_differ_again() {
        let mut file = file(3);
        assert!(file.update_checksum(1, b"x") && !file.update_checksum(1, b"x"));
        file.remote = Some(3 * PAGE as u64);
        file.mark_unknown(1, 1);
        assert_eq!(file.remote, None);
        assert!(!file.update_checksum(0, &[0; 9]) && file.update_checksum(1, b"x"));
        file.set_remote_checksums(1, &[5]);
        assert!(file.update_checksum(1, b"x"), "the collector has something else");
        assert_eq!(file.remote_bytes(), PAGE as u64);
    }
}
