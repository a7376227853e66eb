//! The lines above the tree of a pattern: its figures, and the figures of its family.

use std::io::{self, Write};

use analyze::paths::PathPattern;
use message_trace::units::{format_count, format_duration, format_expected, format_percent};

use super::paint::TextRole;
use super::screen::TerminalScreen;
use crate::families::PatternFamily;
use crate::options::Options;
use crate::sort::SortKey;
use crate::summary::{Report, share_of_whole};

impl TerminalScreen {
    /// Writes a pattern in one line, with the number by which the user can refer to it.
    pub(super) fn write_headline(
        &self,
        pattern: &PathPattern,
        report: &Report<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let time = |name: &str, nanoseconds| {
            format!("{name} {}", self.duration_text(format_duration(nanoseconds)))
        };
        let mut row = self.new_row();
        row.push_text(TextRole::Strong, &format!("#{}", pattern.id));
        row.push_items([
            (
                TextRole::Strong,
                format!("{} of time", format_percent(report.share_of_time(pattern))),
            ),
            (TextRole::Plain, format!("{} seen", format_count(pattern.count.max(0) as u64))),
            (TextRole::Plain, format!("{} expected", format_expected(pattern.expected))),
            (TextRole::Strong, time("mean", pattern.duration.mean)),
            (TextRole::Plain, time("p50", pattern.duration.p50)),
            (TextRole::Plain, time("p99", pattern.duration.p99)),
        ]);
        // All other metrics are on the line already.
        match options.sort {
            SortKey::Confidence => {
                row.push_items([(
                    TextRole::Strong,
                    format!("confidence {}", format_percent(pattern.expected_per_count())),
                )]);
            }
            SortKey::Evidence => {
                row.push_items([(
                    TextRole::Strong,
                    format!("evidence {:.2}", pattern.expected_per_root_count()),
                )]);
            }
            _ => {}
        }
        row.finish(out)
    }

    /// Writes the number of patterns in the family, their sums, and how to see them.
    pub(super) fn write_family(
        &self,
        family: &PatternFamily<'_>,
        report: &Report<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if family.alike.is_empty() {
            return Ok(());
        }
        let together = family.family_sums();
        let share = share_of_whole(together.total_time, report.total_time());
        let mut row = self.new_row();
        row.push_text(
            TextRole::Dim,
            &format!("    with {} alike (--alike {})", family.alike.len(), family.lead.id),
        );
        row.push_items([
            (TextRole::Dim, format!("{} of time", format_percent(share))),
            (TextRole::Dim, format!("{} seen", format_count(together.count.max(0) as u64))),
            (TextRole::Dim, format!("{} expected", format_expected(together.expected))),
            (
                TextRole::Dim,
                format!("mean {}", self.duration_text(format_duration(together.mean_duration()))),
            ),
        ]);
        row.finish(out)
    }
}
