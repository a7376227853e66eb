//! The report on a terminal, in the manner of `perf report`: the trace and what was not seen of it,
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
use crate::output::Output;
use crate::summary::Report;
use columns::Columns;
use screen::Screen;

/// A writer of text lines that fit [`Options::width`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal;

impl Output for Terminal {
    fn write(&self, report: &Report<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let screen = Screen::new(options);
        let families = report.families(options);
        let leads: Vec<&PathPattern> = families.iter().map(|family| family.lead).collect();
        screen.header(report, options, out)?;
        let columns = Columns::of(&leads, &screen);
        for family in &families {
            writeln!(out)?;
            screen.headline(family.lead, report, options, out)?;
            screen.alike(family, report, out)?;
            tree::write(family.lead, &columns, &screen, out)?;
        }
        screen.operations(report, options, out)?;
        screen.footer(report, &families, out)
    }
}

impl Terminal {
    /// Writes delays by node or by hop, a line each.
    ///
    /// # Errors
    /// When `out` cannot be written to.
    pub fn write_delays(
        &self,
        report: &DelayReport<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        delays::write(report, &Screen::new(options), options, out)
    }
}
