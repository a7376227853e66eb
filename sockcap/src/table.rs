//! Tables on a screen: columns as wide as their contents, within the available width. The last
//! column gets the remaining width; longer text continues on the next line, below its beginning.

use std::io::{self, Write};

use crate::output::escape_line_breaks;

/// Minimum room for the last column, in characters. With less, it continues below the row.
const MIN_ROOM: usize = 16;
/// Indent of a last column below its row, in characters.
const INDENT: usize = 4;
/// The separator of two columns.
const GAP: &str = "  ";

/// The side of a column that its text is aligned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnAlignment {
    Left,
    Right,
}

/// A table under construction.
#[derive(Clone, Debug)]
pub(crate) struct ScreenTable {
    head: Vec<(&'static str, ColumnAlignment)>,
    rows: Vec<ScreenRow>,
}

#[derive(Clone, Debug)]
struct ScreenRow {
    cells: Vec<String>,
    /// Lines below the row.
    below: Vec<String>,
}

impl ScreenTable {
    /// A table with the columns `head`.
    pub(crate) fn new(head: &[(&'static str, ColumnAlignment)]) -> ScreenTable {
        ScreenTable { head: head.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, with lines below it.
    pub(crate) fn add_row(&mut self, cells: Vec<String>, below: Vec<String>) {
        // A name with a line break must not make a line of its own.
        let cells = cells.iter().map(|cell| escape_line_breaks(cell)).collect();
        self.rows.push(ScreenRow { cells, below });
    }

    /// Writes the table in lines of at most `width` characters, if there is a limit.
    pub(crate) fn write_table(&self, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
        let head: Vec<String> = self.head.iter().map(|(name, _)| (*name).to_owned()).collect();
        let all = || std::iter::once(&head).chain(self.rows.iter().map(|row| &row.cells));
        let mut widths: Vec<usize> = (0..head.len())
            .map(|column| {
                all().filter_map(|cells| Some(display_width(cells.get(column)?))).max().unwrap_or(0)
            })
            .collect();
        let columns = head.len().saturating_sub(1);
        let all: usize = widths.iter().take(columns).map(|width| width + GAP.len()).sum();
        if let (Some(first), Some(width)) = (widths.first_mut(), width) {
            // Names may be of any length; figures are short.
            *first =
                first.saturating_sub((all + 1).saturating_sub(width)).max(MIN_ROOM.min(*first));
        }
        self.write_line(&head, &widths, width, out)?;
        for row in &self.rows {
            self.write_line(&row.cells, &widths, width, out)?;
            for line in &row.below {
                write_folded(line, "  ", width, out)?;
            }
        }
        Ok(())
    }

    fn write_line(
        &self,
        cells: &[String],
        widths: &[usize],
        width: Option<usize>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut line = String::new();
        let Some((last, columns)) = cells.split_last() else { return Ok(()) };
        for ((cell, (_, side)), width) in columns.iter().zip(&self.head).zip(widths) {
            let cell = cut_text(cell, *width);
            let padding = " ".repeat(width.saturating_sub(display_width(&cell)));
            match side {
                ColumnAlignment::Left => line.extend([&cell, padding.as_str(), GAP]),
                ColumnAlignment::Right => line.extend([padding.as_str(), &cell, GAP]),
            }
        }
        let begin = display_width(&line);
        let is_narrow = width
            .is_some_and(|width| begin + display_width(last) > width && begin + MIN_ROOM > width);
        if is_narrow {
            writeln!(out, "{}", line.trim_end())?;
            return write_folded(last, &" ".repeat(INDENT), width, out);
        }
        let room = width.map(|width| width.saturating_sub(begin).max(MIN_ROOM));
        for (number, piece) in fold_text(last, room).iter().enumerate() {
            if number > 0 {
                line = " ".repeat(begin);
            }
            writeln!(out, "{}", format!("{line}{piece}").trim_end())?;
        }
        Ok(())
    }
}

/// Writes `text` in lines of at most `width` characters, each after `indent`; lines from the second
/// on are indented by two more.
pub(crate) fn write_folded(
    text: &str,
    indent: &str,
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let room = width.map(|width| width.saturating_sub(indent.len() + 2).max(MIN_ROOM));
    let text = &escape_line_breaks(text);
    for (number, piece) in fold_text(text, room).iter().enumerate() {
        writeln!(out, "{indent}{}{piece}", if number > 0 { "  " } else { "" })?;
    }
    Ok(())
}

/// `text` in parts of at most `room` characters, cut at blanks if there are any.
fn fold_text(text: &str, room: Option<usize>) -> Vec<&str> {
    let Some(room) = room else { return vec![text] };
    let (mut pieces, mut rest) = (Vec::new(), text);
    while display_width(rest) > room {
        let end = rest.char_indices().nth(room).map_or(rest.len(), |(end, _)| end);
        // A word may end exactly at the limit.
        let fitting = rest.get(..=end).filter(|piece| piece.ends_with(' ')).map(|_| end);
        let at = fitting.or_else(|| rest[..end].rfind(' ').filter(|at| *at > 0)).unwrap_or(end);
        let (piece, following) = rest.split_at(at);
        pieces.push(piece.trim_end());
        rest = following.trim_start();
    }
    pieces.push(rest);
    pieces
}

/// `text`, cut to a number of characters.
fn cut_text(text: &str, width: usize) -> String {
    match display_width(text) > width {
        true => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// The number of columns of a text on a screen: for the names and numbers here, as many as it has
/// characters.
fn display_width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_text(table: &ScreenTable, width: Option<usize>) -> String {
        let mut out = Vec::new();
        table.write_table(width, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_contents() {
        let mut table = ScreenTable::new(&[
            ("HOST", ColumnAlignment::Left),
            ("N", ColumnAlignment::Right),
            ("COMMAND", ColumnAlignment::Left),
        ]);
        table.add_row(vec!["web1".into(), "7".into(), "nginx".into()], vec!["a remark".into()]);
        table.add_row(
            vec!["a-longer-name".into(), "12345".into(), "one two three four five".into()],
            Vec::new(),
        );
        let wide = "HOST               N  COMMAND
web1               7  nginx
  a remark
a-longer-name  12345  one two three four five
";
        assert_eq!(table_text(&table, None), wide);
        assert_eq!(table_text(&table, Some(45)), wide);
        let narrow = wide.replace("three four five", "three four\n                      five");
        assert_eq!(table_text(&table, Some(40)), narrow);
        let narrower = "HOST               N
    COMMAND
web1               7  nginx
  a remark
a-longer-name  12345
    one two three four
      five
";
        assert_eq!(table_text(&table, Some(28)), narrower);
    }

    #[test]
    fn a_name_that_is_longer_than_the_screen_is_cut() {
        let mut table = ScreenTable::new(&[
            ("HOST", ColumnAlignment::Left),
            ("N", ColumnAlignment::Right),
            ("COMMAND", ColumnAlignment::Left),
        ]);
        table.add_row(vec!["n".repeat(60), "7".into(), "nginx".into()], Vec::new());
        let shown = table_text(&table, Some(40));
        assert!(
            shown.lines().all(|line| display_width(line) <= 40)
                && shown.contains("nnn…  7\n    nginx"),
            "{shown}"
        );
    }

    #[test]
    fn a_text_without_blanks_is_cut_anywhere() {
        assert_eq!(fold_text("abcdefgh", Some(3)), ["abc", "def", "gh"]);
        assert_eq!(fold_text("ab cd", Some(2)), ["ab", "cd"]);
        assert_eq!(fold_text("äöü äöü", Some(3)), ["äöü", "äöü"]);
        assert_eq!(fold_text("", Some(3)), [""]);
    }
}
