//! The table of operations below the patterns: what was called, how often, and how many of the
//! calls failed. The ones with the most errors come first.

use std::io::{self, Write};

use message_trace::units::{
    count_noun, format_expected, format_percent, shorten_middle, to_printable,
};

use super::paint::TextRole;
use super::screen::TerminalScreen;
use crate::operations::{CallCounts, PatternOperation};
use crate::options::Options;
use crate::summary::Report;

/// The names of the columns of numbers.
const TITLES: [&str; 3] = ["calls", "errors", "share"];

impl TerminalScreen {
    /// Writes the operations, if any pattern has some.
    pub(super) fn write_operations(
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
        let numbers: Vec<[String; 3]> = shown.iter().map(|(_, calls)| row_cells(calls)).collect();
        let width = |column: usize| {
            let cells = numbers.iter().map(|cells| cells[column].chars().count());
            2 + cells.max().unwrap_or(0).max(TITLES[column].len())
        };
        let widths = [width(0), width(1), width(2)];
        let left = self.width.saturating_sub(widths.iter().sum());
        let labels: Vec<String> = shown.iter().map(|(of, _)| self.operation_text(of)).collect();
        let widest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
        let label = widest.max("operation".len()).min(left);
        let line = |roles: [TextRole; 2], text: &str, cells: [&str; 3]| {
            let mut row = self.new_row();
            row.push_text(roles[0], text);
            let mut end = label;
            for (cell, width) in cells.into_iter().zip(widths) {
                end += width;
                row.push_right(roles[1], cell, end);
            }
            row
        };
        writeln!(out)?;
        line([TextRole::Dim; 2], "operation", TITLES).finish(out)?;
        for (((_, calls), text), cells) in shown.iter().zip(&labels).zip(&numbers) {
            let role = if calls.errors > 0.0 { TextRole::Warn } else { TextRole::Plain };
            let text = shorten_middle(text, label, self.signs.ellipsis);
            let [called, errors, share] = cells;
            line([TextRole::Plain, role], &text, [called, errors, share]).finish(out)?;
        }
        let hidden = all.len() - shown.len();
        if hidden > 0 {
            let mut row = self.new_row();
            let hidden = count_noun(hidden as u64, "operation", "operations");
            row.push_text(TextRole::Dim, &format!("{hidden} not shown"));
            row.finish(out)?;
        }
        Ok(())
    }

    /// The node and its operation, after an arrow if paths begin with it.
    fn operation_text(&self, of: &PatternOperation<'_>) -> String {
        let arrow = if of.is_root { self.signs.arrow.trim_start() } else { "" };
        format!("{arrow}{} {}", to_printable(of.node), to_printable(of.name))
    }
}

/// The numbers of a row.
fn row_cells(calls: &CallCounts) -> [String; 3] {
    let errors = calls.error_share();
    [
        format_expected(calls.calls),
        errors.map_or_else(String::new, |_| format_expected(calls.errors)),
        errors.map_or_else(String::new, format_percent),
    ]
}
