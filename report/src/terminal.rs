//! The report on a terminal, in the style of `perf report`: the trace and what was not seen of it,
//! then the patterns by rank. Each pattern is a headline and a tree with one line for each hop.

mod columns;
mod delays;
mod footer;
mod header;
mod headline;
mod operations;
mod paint;
mod screen;
#[cfg(test)]
mod tests;
mod tree;

use std::io::{self, Write};

use analyze::paths::PathPattern;

use crate::delays::DelayReport;
use crate::options::Options;
use crate::report_writer::ReportWriter;
use crate::summary::Report;
use columns::TreeColumns;
use screen::TerminalScreen;

/// A writer of text lines that fit [`Options::width`].
#[derive(Clone, Copy, Debug, Default)]
pub struct TerminalWriter;

impl ReportWriter for TerminalWriter {
    fn write_report(
        &self,
        report: &Report<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let screen = TerminalScreen::new(options);
        let families = report.ranked_families(options);
        let leads: Vec<&PathPattern> = families.iter().map(|family| family.lead).collect();
        screen.write_header(report, options, out)?;
        let columns = TreeColumns::from_patterns(&leads, &screen);
        for family in &families {
            writeln!(out)?;
            screen.write_headline(family.lead, report, options, out)?;
            screen.write_family(family, report, out)?;
            tree::write_tree(family.lead, &columns, &screen, out)?;
        }
        screen.write_operations(report, options, out)?;
        screen.write_footer(report, &families, out)
    }
}

impl TerminalWriter {
    /// Writes delays by node or by hop, one per line.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn write_delays(
        &self,
        report: &DelayReport<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        delays::write_delays(report, &TerminalScreen::new(options), options, out)
    }
}
