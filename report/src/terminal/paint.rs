//! Lines of coloured text. Text has roles instead of colours. A line has no trailing blanks, and is
//! broken between items before it is too long.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use message_trace::units::to_printable;

/// The role of a text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextRole {
    Plain,
    /// Text that should be noticed first.
    Strong,
    /// Text of minor importance.
    Dim,
    /// A delay that is critical.
    Critical,
    /// The name of an untraced node.
    Untraced,
    /// A warning: something that limits the trust in the rest.
    Warn,
}

impl TextRole {
    fn style(self) -> Style {
        match self {
            TextRole::Plain => Style::new(),
            TextRole::Strong => Style::new().bold(),
            TextRole::Dim => Style::new().dimmed(),
            TextRole::Critical => AnsiColor::Red.on_default().bold(),
            TextRole::Untraced => AnsiColor::Magenta.on_default(),
            TextRole::Warn => AnsiColor::Yellow.on_default(),
        }
    }
}

/// A line, which becomes several if its items do not fit.
#[derive(Debug)]
pub(super) struct PaintedRow {
    text: String,
    color: bool,
    /// Maximum number of columns of a line.
    limit: usize,
    /// The column after the last character, blanks included.
    column: usize,
    /// The number of blanks that are not written yet, since the line may end here.
    blanks: usize,
}

impl PaintedRow {
    pub(super) fn new(color: bool, limit: usize) -> PaintedRow {
        PaintedRow { text: String::new(), color, limit, column: 0, blanks: 0 }
    }

    /// Adds `text`. Unprintable characters are replaced: only this module writes styles.
    pub(super) fn push_text(&mut self, role: TextRole, text: &str) {
        let text = &to_printable(text);
        if text.is_empty() {
            return;
        }
        self.text.extend(std::iter::repeat_n(' ', self.blanks));
        self.blanks = 0;
        self.column += text.chars().count();
        let style = role.style();
        if self.color && style != Style::new() {
            self.text.push_str(&format!("{style}{text}{style:#}"));
        } else {
            self.text.push_str(text);
        }
    }

    /// Adds blanks up to `column`.
    pub(super) fn pad_to(&mut self, column: usize) {
        let blanks = column.saturating_sub(self.column);
        self.blanks += blanks;
        self.column += blanks;
    }

    /// Adds `text` so that it ends before `column`.
    pub(super) fn push_right(&mut self, role: TextRole, text: &str, column: usize) {
        self.pad_to(column.saturating_sub(text.chars().count()));
        self.push_text(role, text);
    }

    /// Adds `items` two blanks apart, on new lines if they do not fit.
    pub(super) fn push_items(&mut self, items: impl IntoIterator<Item = (TextRole, String)>) {
        for (role, item) in items {
            self.push_separated(2, role, &item);
        }
    }

    /// Adds the words of `text`, on new lines if they do not fit.
    pub(super) fn push_words(&mut self, role: TextRole, text: &str) {
        for word in text.split(' ') {
            self.push_separated(1, role, word);
        }
    }

    /// Adds `text` after `blanks` blanks, or on a new line if it does not fit.
    fn push_separated(&mut self, blanks: usize, role: TextRole, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.column + blanks + text.chars().count() > self.limit {
            self.text.push('\n');
            (self.column, self.blanks) = (0, 0);
            self.pad_to(4);
        } else if self.column > 0 {
            self.pad_to(self.column + blanks);
        }
        self.push_text(role, text);
    }

    /// Writes the line, without trailing blanks.
    pub(super) fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(row: PaintedRow) -> String {
        let mut out = Vec::new();
        row.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_break_between_items_and_end_without_blanks() {
        let mut row = PaintedRow::new(false, 12);
        row.push_text(TextRole::Strong, "one");
        row.push_items(["two", "three", "four"].map(|item| (TextRole::Plain, item.to_owned())));
        row.pad_to(40);
        assert_eq!(text(row), "one  two\n    three\n    four\n");
    }

    #[test]
    fn colours_take_no_room() {
        let mut row = PaintedRow::new(true, 80);
        row.push_text(TextRole::Critical, "x");
        row.push_right(TextRole::Plain, "y", 4);
        assert_eq!(text(row), "\u{1b}[1m\u{1b}[31mx\u{1b}[0m  y\n");
    }
}
