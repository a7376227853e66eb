//! The columns of the trees: as narrow as their contents allow, the same for all patterns, and with
//! less detail on a narrow screen.

use analyze::paths::timing::{PatternTiming, is_noticeable};
use analyze::paths::{Hop, PathPattern};
use message_trace::stats::DelaySummary;
use message_trace::units::format_duration;

use super::screen::TerminalScreen;
use crate::label::HopLabel;
use crate::tree::{self, HopLine};
/// Minimum number of characters for the tree. Below it, medians and then 99th percentiles are left
/// out.
const MIN_LABEL_CHARACTERS: usize = 26;

/// The name of the column of the time that connections take.
pub(super) const CONNECT_TITLE: &str = "connect";

/// The name of the column with the share of responses that report errors.
pub(super) const ERRORS_TITLE: &str = "errors";

/// The number of characters of a full bar.
pub(super) const BAR_CHARACTERS: usize = 8;

/// The columns, as the number of characters before them and their width.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeColumns {
    /// The number of characters for the tree with its labels.
    pub(super) label: usize,
    /// The number of characters of one delay, with a blank before it.
    pub(super) delay: usize,
    /// The number of delays of a summary: the mean, then the 99th percentile, then the median.
    pub(super) delays: usize,
    /// Whether shares are also drawn as bars.
    pub(super) bars: bool,
    /// Whether there are columns for the time that connections take, and for the share of instances
    /// that make one.
    pub(super) connects: bool,
    /// Whether there is a column for the share of responses that report errors.
    pub(super) errors: bool,
}

impl TreeColumns {
    pub(super) fn from_patterns(patterns: &[&PathPattern], screen: &TerminalScreen) -> TreeColumns {
        let hops = || patterns.iter().flat_map(|pattern| &pattern.hops);
        let delay = hops().map(|hop| widest_delay(hop, screen)).max().unwrap_or(0).max(6) + 1;
        let wanted = patterns.iter().map(|pattern| widest_line(pattern, screen)).max().unwrap_or(0);
        let connects = patterns.iter().any(|pattern| {
            let mut hops = pattern.hops.iter();
            hops.any(|hop| is_noticeable(hop, pattern))
        });
        let errors = hops().any(|hop| hop.outcomes.is_some_and(|of| of.errors > 0));
        let mut columns = TreeColumns { label: 0, delay, delays: 3, bars: true, connects, errors };
        let left = |columns: &TreeColumns| screen.width.saturating_sub(columns.total_end());
        if left(&columns) < wanted.min(40) {
            columns.bars = false;
        }
        while columns.delays > 1 && left(&columns) < wanted.min(MIN_LABEL_CHARACTERS) {
            columns.delays -= 1;
        }
        columns.label = wanted.min(left(&columns));
        columns
    }

    /// The column after the node latencies.
    pub(super) fn node_end(&self) -> usize {
        self.label + self.delays * self.delay + 1
    }

    /// The column where the network latencies begin; the gap has room for the name of their group.
    pub(super) fn network_start(&self) -> usize {
        self.node_end() + 2
    }

    /// The column after the network latencies.
    pub(super) fn network_end(&self) -> usize {
        self.network_start() + self.delays * self.delay
    }

    /// The column after the shares in per cent.
    pub(super) fn share_end(&self) -> usize {
        self.errors_end() + 6
    }

    /// The column after the shares of errors.
    pub(super) fn errors_end(&self) -> usize {
        self.connect_end() + if self.errors { ERRORS_TITLE.len() + 1 } else { 0 }
    }

    /// The column after the mean times of connecting.
    pub(super) fn connect_time_end(&self) -> usize {
        self.network_end()
            + if self.connects { CONNECT_TITLE.len().max(self.delay - 1) + 1 } else { 0 }
    }

    /// The column after the shares of instances that make a connection.
    pub(super) fn connect_end(&self) -> usize {
        self.connect_time_end() + if self.connects { 5 } else { 0 }
    }

    /// The column after the last one, which has a bar and the mark of the critical hop.
    fn total_end(&self) -> usize {
        self.share_end() + if self.bars { BAR_CHARACTERS + 1 } else { 0 } + 2
    }

    /// The delays of a summary that are shown.
    pub(super) fn shown_delays(&self, summary: &DelaySummary) -> Vec<f64> {
        match self.delays {
            1 => vec![summary.mean],
            2 => vec![summary.mean, summary.p99],
            _ => vec![summary.mean, summary.p50, summary.p99],
        }
    }

    /// The names of the delays that are shown.
    pub(super) fn delay_names(&self) -> &'static [&'static str] {
        match self.delays {
            1 => &["mean"],
            2 => &["mean", "p99"],
            _ => &["mean", "p50", "p99"],
        }
    }
}

/// The number of characters of the longest delay of a hop.
fn widest_delay(hop: &Hop, screen: &TerminalScreen) -> usize {
    let connect = hop.connect.map(|connect| connect.delay);
    [&hop.node, &hop.network, &hop.untraced, &connect]
        .into_iter()
        .flatten()
        .flat_map(|summary| [summary.mean, summary.p50, summary.p99])
        .map(|delay| format_duration(delay).compact(!screen.unicode).chars().count())
        .max()
        .unwrap_or(0)
}

/// The number of characters of the longest label in the tree of a pattern, with its indentation.
fn widest_line(pattern: &PathPattern, screen: &TerminalScreen) -> usize {
    let width = |line: &HopLine| {
        label_indent(line) + HopLabel::from_ends(&pattern.hops[line.hop], screen.signs).width()
    };
    tree::tree_lines(&pattern.hops, &PatternTiming::from_pattern(pattern))
        .iter()
        .map(width)
        .max()
        .unwrap_or(0)
}

/// The number of characters before the label of `line`: two for each chain, two for its own mark,
/// two for each call.
pub(super) fn label_indent(line: &HopLine) -> usize {
    2 * line.guides.len() + 2 + 2 * line.calls
}
