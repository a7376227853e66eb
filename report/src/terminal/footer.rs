//! The lines below the patterns: what was left out, what the signs mean, and what to do next.

use std::io::{self, Write};

use analyze::paths::PathPattern;
use message_trace::units::{percent, plural, printable};

use super::paint::Role;
use super::screen::Screen;
use crate::families::Family;
use crate::summary::{Meta, Report};

impl Screen {
    /// Writes what was left out, what the signs mean, and what to do next.
    pub(super) fn footer(
        &self,
        report: &Report<'_>,
        families: &[Family<'_>],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let ranked: Vec<&PathPattern> = families.iter().flat_map(Family::patterns).collect();
        let hidden = report.pattern_count() - ranked.len() as u64;
        if hidden > 0 {
            let shown: f64 = ranked.iter().map(|pattern| report.share(pattern)).sum();
            writeln!(out)?;
            let mut row = self.row();
            row.push(Role::Dim, &format!("{} not shown", plural(hidden, "pattern", "patterns")));
            row.items([(Role::Dim, format!("{} of time", percent((1.0 - shown).max(0.0))))]);
            row.finish(out)?;
        }
        let is_untraced = |family: &Family<'_>| {
            family.lead.hops.iter().any(|hop| !hop.src_traced || !hop.dst_traced)
        };
        self.end(&report.meta, families.iter().any(is_untraced), out)
    }

    /// Writes what the sign of untraced nodes means, if there is one, and what to do next.
    pub(super) fn end(
        &self,
        meta: &Meta,
        is_untraced: bool,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if is_untraced {
            writeln!(out)?;
            let mut row = self.row();
            let legend = "not traced: its own delay and that of its network are one number";
            row.push(Role::Untraced, self.signs.untraced);
            row.words(Role::Plain, legend);
            row.finish(out)?;
        }
        for (index, step) in meta.next_steps.iter().enumerate() {
            if index == 0 {
                writeln!(out)?;
            }
            writeln!(out, "{}", printable(step))?;
        }
        Ok(())
    }
}
