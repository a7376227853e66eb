//! The lines above the tree of a pattern: its figures, and those of its family.

use std::io::{self, Write};

use analyze::paths::PathPattern;
use message_trace::units::{count, duration, expected, percent};

use super::paint::Role;
use super::screen::Screen;
use crate::families::Family;
use crate::options::Options;
use crate::sort::SortKey;
use crate::summary::{Report, share};

impl Screen {
    /// Writes a pattern in one line, with the number by which the user can ask for it.
    pub(super) fn headline(
        &self,
        pattern: &PathPattern,
        report: &Report<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let time = |name: &str, nanoseconds| format!("{name} {}", self.text(duration(nanoseconds)));
        let mut row = self.row();
        row.push(Role::Strong, &format!("#{}", pattern.id));
        row.items([
            (Role::Strong, format!("{} of time", percent(report.share(pattern)))),
            (Role::Plain, format!("{} seen", count(pattern.count.max(0) as u64))),
            (Role::Plain, format!("{} expected", expected(pattern.expected))),
            (Role::Strong, time("mean", pattern.duration.mean)),
            (Role::Plain, time("p50", pattern.duration.p50)),
            (Role::Plain, time("p99", pattern.duration.p99)),
        ]);
        // All other metrics are on the line already.
        match options.sort {
            SortKey::Confidence => {
                row.items([(
                    Role::Strong,
                    format!("confidence {}", percent(pattern.expected_per_count())),
                )]);
            }
            SortKey::Evidence => {
                row.items([(
                    Role::Strong,
                    format!("evidence {:.2}", pattern.expected_per_root_count()),
                )]);
            }
            _ => {}
        }
        row.finish(out)
    }

    /// Writes the number of patterns in the family, their sums, and how to see them.
    pub(super) fn alike(
        &self,
        family: &Family<'_>,
        report: &Report<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if family.alike.is_empty() {
            return Ok(());
        }
        let together = family.together();
        let share = share(together.total_time, report.total_time());
        let mut row = self.row();
        row.push(
            Role::Dim,
            &format!("    with {} alike (--alike {})", family.alike.len(), family.lead.id),
        );
        row.items([
            (Role::Dim, format!("{} of time", percent(share))),
            (Role::Dim, format!("{} seen", count(together.count.max(0) as u64))),
            (Role::Dim, format!("{} expected", expected(together.expected))),
            (Role::Dim, format!("mean {}", self.text(duration(together.mean())))),
        ]);
        row.finish(out)
    }
}
