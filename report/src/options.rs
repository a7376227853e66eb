//! The reader's options for a report: order, length and appearance. Each output uses the options
//! that apply to it.

use crate::sort::SortKey;

/// The options of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The metric by which patterns are ranked.
    pub sort: SortKey,
    /// Maximum number of patterns to show; all of them if `None`.
    pub limit: Option<usize>,
    /// Whether the terminal output shows the patterns of a [`PatternFamily`](crate::PatternFamily)
    /// as one line.
    pub fold: bool,
    /// The number of columns of the terminal. If it is at least 40, no line is longer.
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
