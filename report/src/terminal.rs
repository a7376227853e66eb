//! The report on a terminal, in the manner of `perf report`: what was traced and what could not be
//! seen, then the patterns by rank, each as a headline and a tree with one line a hop.

mod columns;
mod delays;
mod paint;
mod tree;

use std::io::{self, Write};

use analyze::paths::PathPattern;

use crate::label::{ASCII, Signs, UNICODE};
use crate::summary::share;
use crate::{DelayReport, Family, Meta, Options, Output, Report, SortKey};
use columns::Columns;
use message_trace::units::{Duration, count, duration, expected, percent, plural, printable};
use paint::{Role, Row};

/// Writes text lines that fit [`Options::width`].
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

/// How wide, and with which characters and colours.
#[derive(Clone, Copy, Debug)]
struct Screen {
    width: usize,
    color: bool,
    unicode: bool,
    signs: Signs,
}

impl Screen {
    fn new(options: &Options) -> Screen {
        let signs = if options.unicode { UNICODE } else { ASCII };
        Screen {
            width: options.width.max(40),
            color: options.color,
            unicode: options.unicode,
            signs,
        }
    }

    fn row(&self) -> Row {
        Row::new(self.color, self.width)
    }

    fn text(&self, duration: Duration) -> String {
        duration.compact(!self.unicode)
    }

    /// What was traced, how many paths came of it, and what could not be seen.
    fn header(
        &self,
        report: &Report<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.trace(&report.meta, out)?;
        let mut row = self.row();
        row.push(Role::Strong, &plural(report.pattern_count(), "path pattern", "path patterns"));
        row.items([
            (Role::Plain, plural(report.instances(), "instance", "instances")),
            (Role::Plain, format!("{} expected to be real", expected(report.meta.expected_paths))),
            (Role::Plain, format!("ranked by {}", self.plain(options.sort.label()))),
        ]);
        row.finish(out)?;
        self.limits(&report.meta, out)?;
        if report.patterns.is_empty() {
            self.nothing(&report.meta, out)?;
        }
        Ok(())
    }

    /// What was traced.
    fn trace(&self, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
        let mut row = self.row();
        row.push(Role::Strong, &printable(&meta.source));
        row.items([
            (Role::Plain, plural(meta.messages, "message", "messages")),
            (Role::Plain, plural(meta.processes, "process", "processes")),
            (Role::Plain, plural(meta.hosts, "host", "hosts")),
            (
                Role::Plain,
                if meta.span > 0 {
                    format!("over {}", self.text(duration(meta.span as f64)))
                } else {
                    String::new()
                },
            ),
        ]);
        row.finish(out)
    }

    /// What is not shown: what the reader did not ask for, and what could not be seen.
    fn limits(&self, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
        if let Some(filtered) = &meta.filtered {
            let mut row = self.row();
            row.push(Role::Warn, "only:");
            row.items(filtered.words().into_iter().map(|word| (Role::Warn, printable(&word))));
            row.items([(
                Role::Warn,
                format!(
                    "of {} in {}",
                    plural(filtered.of_instances, "instance", "instances"),
                    plural(filtered.of_patterns, "pattern", "patterns")
                ),
            )]);
            row.finish(out)?;
        }
        let notes: Vec<(Role, String)> = meta
            .notes
            .iter()
            .filter(|note| note.count > 0)
            .map(|note| (Role::Warn, format!("{} {}", count(note.count), printable(&note.label))))
            .collect();
        if !notes.is_empty() {
            let mut row = self.row();
            row.push(Role::Warn, "not seen:");
            row.items(notes);
            row.finish(out)?;
        }
        Ok(())
    }

    /// That there is nothing to show.
    fn nothing(&self, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        match meta.filtered {
            Some(_) => writeln!(out, "No path is left of what was asked for."),
            None => writeln!(out, "No path was found."),
        }
    }

    fn plain(&self, label: &str) -> String {
        if self.unicode { label.to_owned() } else { label.replace('√', "sqrt ") }
    }

    /// A pattern in one line, with the number by which it can be asked for.
    fn headline(
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
        // The other metrics are on the line already.
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

    /// How many patterns have the same hops in other numbers or orders, what all of them are
    /// together, and how to see them.
    fn alike(
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

    /// What was left out, what the signs mean, and what to do next.
    fn footer(
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

    /// What the mark of untraced nodes means, if there is one, and what to do next.
    fn end(&self, meta: &Meta, is_untraced: bool, out: &mut dyn Write) -> io::Result<()> {
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

#[cfg(test)]
mod tests;
