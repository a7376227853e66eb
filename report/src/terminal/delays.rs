//! Delays by node or by hop, one line each: how much of the time, what of, how often, how long.

use std::io::{self, Write};

use analyze::paths::Delays;

use super::Screen;
use super::paint::{Role, Row};
use crate::Options;
use crate::delays::{DelayReport, DelayRow, DelaysBy};
use message_trace::units::{bytes, count, duration, expected, percent, plural, whole_percent};

/// Below this, the columns that matter least give way to the names.
const SCARCE_NAME: usize = 30;

/// A column of numbers.
struct Column {
    title: &'static str,
    role: Role,
    cells: Vec<String>,
    /// The larger, the sooner it gives way; 0 never does.
    gives_way: u8,
}

impl Column {
    fn of(
        title: &'static str,
        gives_way: u8,
        rows: &[DelayRow<'_>],
        cell: impl Fn(&DelayRow<'_>) -> String,
    ) -> Column {
        Column { title, role: Role::Plain, cells: rows.iter().map(cell).collect(), gives_way }
    }

    /// Its characters, with two blanks before it.
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count());
        2 + cells.max().unwrap_or(0).max(self.title.chars().count())
    }
}

/// Writes the whole of `report`.
pub(super) fn write(
    report: &DelayReport<'_>,
    screen: &Screen,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (one, many, latency, title) = match report.table {
        DelaysBy::Node(_) => ("node", "nodes", "node latency", "node"),
        DelaysBy::Hop(_) => ("hop", "hops", "network latency", "hop"),
    };
    let (instances, real, _) = report.instances();
    screen.trace(&report.meta, out)?;
    let mut row = screen.row();
    row.push(Role::Strong, &format!("{latency} of {}", plural(report.rows() as u64, one, many)));
    row.items([
        (Role::Plain, format!("in {}", plural(instances, "path instance", "path instances"))),
        (Role::Plain, format!("{} expected to be real", expected(real))),
        (Role::Plain, format!("ranked by {}", screen.plain(options.sort.label()))),
    ]);
    row.finish(out)?;
    screen.limits(&report.meta, out)?;
    let rows = report.ranked(options);
    if report.rows() == 0 {
        screen.nothing(&report.meta, out)?;
    } else {
        writeln!(out)?;
        table(title, &rows, screen, matches!(report.table, DelaysBy::Hop(_)), out)?;
    }
    let hidden = report.rows() - rows.len();
    if hidden > 0 {
        writeln!(out)?;
        let mut row = screen.row();
        row.push(Role::Dim, &format!("{} not shown", plural(hidden as u64, one, many)));
        row.finish(out)?;
    }
    screen.end(&report.meta, rows.iter().any(|row| row.of.is_untraced()), out)
}

fn table(
    title: &str,
    rows: &[DelayRow<'_>],
    screen: &Screen,
    with_bytes: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut columns = columns(rows, screen, with_bytes);
    let widest = rows
        .iter()
        .map(|row| row.of.label(screen.signs, usize::MAX).chars().count())
        .max()
        .unwrap_or(0);
    let wanted = widest.max(title.chars().count());
    let left =
        |columns: &[Column]| screen.width.saturating_sub(columns.iter().map(Column::width).sum());
    while left(&columns) < wanted.min(SCARCE_NAME) {
        let sooner = columns.iter().map(|column| column.gives_way).max().unwrap_or(0);
        if sooner == 0 {
            break;
        }
        columns.retain(|column| column.gives_way != sooner);
    }
    let name = wanted.min(left(&columns));
    let line = |label: Option<&str>, text: &str, cell: &dyn Fn(&Column) -> (Role, String)| {
        let mut row: Row = screen.row();
        row.push(if label.is_some() { Role::Dim } else { Role::Strong }, label.unwrap_or(text));
        let mut end = name;
        for column in &columns {
            end += column.width();
            let (role, text) = cell(column);
            row.right(role, &text, end);
        }
        row
    };
    line(Some(title), "", &|column| (Role::Dim, column.title.to_owned())).finish(out)?;
    for (index, row) in rows.iter().enumerate() {
        let label = row.of.label(screen.signs, name);
        let cell =
            |column: &Column| (column.role, column.cells.get(index).cloned().unwrap_or_default());
        line(None, &label, &cell).finish(out)?;
    }
    Ok(())
}

/// Whether making connections took a hundredth of the time of the row, at least.
fn is_connecting(row: &DelayRow<'_>) -> bool {
    let own = row.delays.delay.map_or(0.0, |delay| delay.mean.max(0.0));
    row.delays.connect.is_some_and(|connect| connect.average() >= 0.01 * own)
}

fn columns(rows: &[DelayRow<'_>], screen: &Screen, with_bytes: bool) -> Vec<Column> {
    let time = |part: fn(&Delays) -> Option<f64>| {
        move |row: &DelayRow<'_>| {
            part(row.delays).map_or_else(String::new, |time| screen.text(duration(time)))
        }
    };
    let delay = |title, gives_way, part| Column::of(title, gives_way, rows, time(part));
    let mut columns = vec![
        Column::of("share", 0, rows, |row| match row.delays.delay {
            Some(_) => percent(row.share),
            None => String::new(),
        }),
        delay("mean", 0, |delays| delays.delay.map(|delay| delay.mean)),
        delay("p50", 3, |delays| delays.delay.map(|delay| delay.p50)),
        delay("p99", 1, |delays| delays.delay.map(|delay| delay.p99)),
        Column::of("seen", 2, rows, |row| count(row.delays.count)),
        Column::of("expected", 4, rows, |row| expected(row.delays.expected)),
    ];
    if rows.iter().any(is_connecting) {
        columns
            .push(delay("connect", 2, |delays| delays.connect.map(|connect| connect.delay.mean)));
        columns.push(Column::of("in", 2, rows, |row| match row.delays.connect {
            Some(connect) => whole_percent(connect.share),
            None => String::new(),
        }));
    }
    if with_bytes {
        columns.push(Column::of("bytes", 5, rows, |row| bytes(row.delays.bytes)));
    }
    for column in &mut columns {
        if column.title == "mean" || column.title == "share" {
            column.role = Role::Strong;
        }
    }
    columns
}

#[cfg(test)]
#[path = "delays_tests.rs"]
mod tests;
