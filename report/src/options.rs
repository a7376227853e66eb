//! What the reader of a report may choose: order, length and looks. Each output takes what concerns
//! it.

use crate::sort::SortKey;

/// How a report is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The metric by which patterns are ranked.
    pub sort: SortKey,
    /// How many patterns are shown; all of them when `None`.
    pub limit: Option<usize>,
    /// Whether patterns of the same hops are one line of the terminal, see
    /// [`Family`](crate::Family).
    pub fold: bool,
    /// The columns of the terminal. Lines are kept within it as long as it is at least 40.
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
