//! The lines below the patterns: omitted patterns, the meaning of the signs, and the next steps.

use std::io::{self, Write};

use analyze::paths::PathPattern;
use message_trace::units::{count_noun, format_percent, to_printable};

use super::paint::TextRole;
use super::screen::TerminalScreen;
use crate::families::PatternFamily;
use crate::summary::{Report, TraceMeta};

impl TerminalScreen {
    /// Writes the number of omitted patterns, the meaning of the signs, and the next steps.
    pub(super) fn write_footer(
        &self,
        report: &Report<'_>,
        families: &[PatternFamily<'_>],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let ranked: Vec<&PathPattern> = families.iter().flat_map(PatternFamily::patterns).collect();
        let hidden = report.pattern_count() - ranked.len() as u64;
        if hidden > 0 {
            let shown: f64 = ranked.iter().map(|pattern| report.share_of_time(pattern)).sum();
            writeln!(out)?;
            let mut row = self.new_row();
            row.push_text(
                TextRole::Dim,
                &format!("{} not shown", count_noun(hidden, "pattern", "patterns")),
            );
            row.push_items([(
                TextRole::Dim,
                format!("{} of time", format_percent((1.0 - shown).max(0.0))),
            )]);
            row.finish(out)?;
        }
        let is_untraced = |family: &PatternFamily<'_>| {
            family.lead.hops.iter().any(|hop| !hop.src_traced || !hop.dst_traced)
        };
        self.write_end(&report.meta, families.iter().any(is_untraced), out)
    }

    /// Writes the meaning of the sign for untraced nodes, if it occurs, and what to do next.
    pub(super) fn write_end(
        &self,
        meta: &TraceMeta,
        is_untraced: bool,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if is_untraced {
            writeln!(out)?;
            let mut row = self.new_row();
            let legend = "not traced: its own delay and that of its network are one number";
            row.push_text(TextRole::Untraced, self.signs.untraced);
            row.push_words(TextRole::Plain, legend);
            row.finish(out)?;
        }
        for (index, step) in meta.next_steps.iter().enumerate() {
            if index == 0 {
                writeln!(out)?;
            }
            writeln!(out, "{}", to_printable(step))?;
        }
        Ok(())
    }
}
