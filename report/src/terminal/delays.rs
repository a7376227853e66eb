//! The delays by node or by hop, one line each.

use std::io::{self, Write};

use analyze::paths::DelayStatistics;
use message_trace::units::{
    count_noun, format_bytes, format_count, format_duration, format_expected, format_percent,
    format_whole_percent,
};

use super::paint::{PaintedRow, TextRole};
use super::screen::TerminalScreen;
use crate::delays::{DelayReport, DelayRow, DelaysBy};
use crate::options::Options;
/// Minimum number of characters for the names. Below it, the least important columns are left out.
const MIN_NAME_CHARACTERS: usize = 30;

/// A column of numbers.
struct DelayColumn {
    title: &'static str,
    role: TextRole,
    cells: Vec<String>,
    /// The rank by which the column is left out, the largest first; 0 means never.
    gives_way: u8,
}

impl DelayColumn {
    fn from_rows(
        title: &'static str,
        gives_way: u8,
        rows: &[DelayRow<'_>],
        cell: impl Fn(&DelayRow<'_>) -> String,
    ) -> DelayColumn {
        DelayColumn {
            title,
            role: TextRole::Plain,
            cells: rows.iter().map(cell).collect(),
            gives_way,
        }
    }

    /// The number of characters, with two blanks before them.
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count());
        2 + cells.max().unwrap_or(0).max(self.title.chars().count())
    }
}

/// Writes all of `report`.
pub(super) fn write_delays(
    report: &DelayReport<'_>,
    screen: &TerminalScreen,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (one, many, latency, title) = match report.table {
        DelaysBy::Node(_) => ("node", "nodes", "node latency", "node"),
        DelaysBy::Hop(_) => ("hop", "hops", "network latency", "hop"),
    };
    let (instances, real, _) = report.instance_sums();
    screen.write_trace(&report.meta, out)?;
    let mut row = screen.new_row();
    row.push_text(
        TextRole::Strong,
        &format!("{latency} of {}", count_noun(report.row_count() as u64, one, many)),
    );
    row.push_items([
        (
            TextRole::Plain,
            format!("in {}", count_noun(instances, "path instance", "path instances")),
        ),
        (TextRole::Plain, format!("{} expected to be real", format_expected(real))),
        (TextRole::Plain, format!("ranked by {}", screen.plain_label(options.sort.label()))),
    ]);
    row.finish(out)?;
    screen.write_limits(&report.meta, out)?;
    let rows = report.ranked_rows(options);
    if report.row_count() == 0 {
        screen.write_no_paths(&report.meta, out)?;
    } else {
        writeln!(out)?;
        write_table(title, &rows, screen, matches!(report.table, DelaysBy::Hop(_)), out)?;
    }
    let hidden = report.row_count() - rows.len();
    if hidden > 0 {
        writeln!(out)?;
        let mut row = screen.new_row();
        row.push_text(
            TextRole::Dim,
            &format!("{} not shown", count_noun(hidden as u64, one, many)),
        );
        row.finish(out)?;
    }
    screen.write_end(&report.meta, rows.iter().any(|row| row.subject.is_untraced()), out)
}

/// Writes the rows below a line of headings; `title` is the heading of the names.
fn write_table(
    title: &str,
    rows: &[DelayRow<'_>],
    screen: &TerminalScreen,
    with_bytes: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut columns = delay_columns(rows, screen, with_bytes);
    let widest = rows
        .iter()
        .map(|row| row.subject.row_label(screen.signs, usize::MAX).chars().count())
        .max()
        .unwrap_or(0);
    let wanted = widest.max(title.chars().count());
    let left = |columns: &[DelayColumn]| {
        screen.width.saturating_sub(columns.iter().map(DelayColumn::width).sum())
    };
    while left(&columns) < wanted.min(MIN_NAME_CHARACTERS) {
        let sooner = columns.iter().map(|column| column.gives_way).max().unwrap_or(0);
        if sooner == 0 {
            break;
        }
        columns.retain(|column| column.gives_way != sooner);
    }
    let name = wanted.min(left(&columns));
    let line =
        |label: Option<&str>, text: &str, cell: &dyn Fn(&DelayColumn) -> (TextRole, String)| {
            let mut row: PaintedRow = screen.new_row();
            row.push_text(
                if label.is_some() { TextRole::Dim } else { TextRole::Strong },
                label.unwrap_or(text),
            );
            let mut end = name;
            for column in &columns {
                end += column.width();
                let (role, text) = cell(column);
                row.push_right(role, &text, end);
            }
            row
        };
    line(Some(title), "", &|column| (TextRole::Dim, column.title.to_owned())).finish(out)?;
    for (index, row) in rows.iter().enumerate() {
        let label = row.subject.row_label(screen.signs, name);
        let cell = |column: &DelayColumn| {
            (column.role, column.cells.get(index).cloned().unwrap_or_default())
        };
        line(None, &label, &cell).finish(out)?;
    }
    Ok(())
}

/// Whether connections took at least a hundredth of the time of the row.
fn is_connecting(row: &DelayRow<'_>) -> bool {
    let own = row.delays.delay.map_or(0.0, |delay| delay.mean.max(0.0));
    row.delays.connect.is_some_and(|connect| connect.mean_over_all() >= 0.01 * own)
}

/// The columns of numbers, before any of them is left out.
fn delay_columns(
    rows: &[DelayRow<'_>],
    screen: &TerminalScreen,
    with_bytes: bool,
) -> Vec<DelayColumn> {
    let time = |part: fn(&DelayStatistics) -> Option<f64>| {
        move |row: &DelayRow<'_>| {
            part(row.delays)
                .map_or_else(String::new, |time| screen.duration_text(format_duration(time)))
        }
    };
    let delay = |title, gives_way, part| DelayColumn::from_rows(title, gives_way, rows, time(part));
    let mut columns = vec![
        DelayColumn::from_rows("share", 0, rows, |row| match row.delays.delay {
            Some(_) => format_percent(row.share),
            None => String::new(),
        }),
        delay("mean", 0, |delays| delays.delay.map(|delay| delay.mean)),
        delay("p50", 3, |delays| delays.delay.map(|delay| delay.p50)),
        delay("p99", 1, |delays| delays.delay.map(|delay| delay.p99)),
        DelayColumn::from_rows("seen", 2, rows, |row| format_count(row.delays.count)),
        DelayColumn::from_rows("expected", 4, rows, |row| format_expected(row.delays.expected)),
    ];
    if rows.iter().any(is_connecting) {
        columns
            .push(delay("connect", 2, |delays| delays.connect.map(|connect| connect.delay.mean)));
        columns.push(DelayColumn::from_rows("in", 2, rows, |row| match row.delays.connect {
            Some(connect) => format_whole_percent(connect.share),
            None => String::new(),
        }));
    }
    if with_bytes {
        columns
            .push(DelayColumn::from_rows("bytes", 5, rows, |row| format_bytes(row.delays.bytes)));
    }
    for column in &mut columns {
        if column.title == "mean" || column.title == "share" {
            column.role = TextRole::Strong;
        }
    }
    columns
}

#[cfg(test)]
#[path = "delays_tests.rs"]
mod tests;
