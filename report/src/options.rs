//! What the reader of a report may choose: order, length and looks. Each output takes the options
//! that it has a use for.

use crate::sort::SortKey;

/// The options of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The metric by which patterns are ranked.
    pub sort: SortKey,
    /// Maximum number of patterns that are shown; all of them when `None`.
    pub limit: Option<usize>,
    /// Whether the patterns of a [`PatternFamily`](crate::PatternFamily) are one line of the
    /// terminal.
    pub fold: bool,
    /// The number of columns of the terminal. No line is longer if it is at least 40.
    pub width: usize,
    /// Whether the terminal output has colours; false for a pipe.
    pub color: bool,
    /// Whether the terminal output may use more than ASCII.
    pub unicode: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            sort: SortKey::default(),
            limit: None,
            fold: true,
            width: 100,
            color: false,
            unicode: true,
        }
    }
}
