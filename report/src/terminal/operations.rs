//! The table of operations below the patterns: what was asked for, how often, and how many of the
//! calls failed. Those with the most errors come first.

use std::io::{self, Write};

use message_trace::units::{expected, percent, plural, printable, shorten};

use super::paint::Role;
use super::screen::Screen;
use crate::operations::{Calls, Operation};
use crate::options::Options;
use crate::summary::Report;

/// The names of the columns of numbers.
const TITLES: [&str; 3] = ["calls", "errors", "share"];

impl Screen {
    /// Writes the operations, if any pattern says what it asks for.
    pub(super) fn operations(
        &self,
        report: &Report<'_>,
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let all = &report.operations.rows;
        if all.is_empty() {
            return Ok(());
        }
        let shown = &all[..all.len().min(options.limit.unwrap_or(usize::MAX))];
        let numbers: Vec<[String; 3]> = shown.iter().map(|(_, calls)| cells(calls)).collect();
        let width = |column: usize| {
            let cells = numbers.iter().map(|cells| cells[column].chars().count());
            2 + cells.max().unwrap_or(0).max(TITLES[column].len())
        };
        let widths = [width(0), width(1), width(2)];
        let left = self.width.saturating_sub(widths.iter().sum());
        let labels: Vec<String> = shown.iter().map(|(of, _)| self.operation(of)).collect();
        let widest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let label = widest.max("operation".len()).min(left);
        let line = |roles: [Role; 2], text: &str, cells: [&str; 3]| {
            let mut row = self.row();
            row.push(roles[0], text);
            let mut end = label;
            for (cell, width) in cells.into_iter().zip(widths) {
                end += width;
                row.right(roles[1], cell, end);
            }
            row
        };
        writeln!(out)?;
        line([Role::Dim; 2], "operation", TITLES).finish(out)?;
        for (((_, calls), text), cells) in shown.iter().zip(&labels).zip(&numbers) {
            let role = if calls.errors > 0.0 { Role::Warn } else { Role::Plain };
            let text = shorten(text, label, self.signs.ellipsis);
            let [called, errors, share] = cells;
            line([Role::Plain, role], &text, [called, errors, share]).finish(out)?;
        }
        let hidden = all.len() - shown.len();
        if hidden > 0 {
            let mut row = self.row();
            let hidden = plural(hidden as u64, "operation", "operations");
            row.push(Role::Dim, &format!("{hidden} not shown"));
            row.finish(out)?;
        }
        Ok(())
    }

    /// The node and what it is asked; behind an arrow where paths begin with it.
    fn operation(&self, of: &Operation<'_>) -> String {
        let arrow = if of.is_root { self.signs.arrow.trim_start() } else { "" };
        format!("{arrow}{} {}", printable(of.node), printable(of.name))
    }
}

/// The numbers of a row.
fn cells(calls: &Calls) -> [String; 3] {
    let errors = calls.error_share();
    [
        expected(calls.calls),
        errors.map_or_else(String::new, |_| expected(calls.errors)),
        errors.map_or_else(String::new, percent),
    ]
}
