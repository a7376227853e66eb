//! Shows path patterns to people and to programs: one [`Output`] per form, each in a file of its
//! own.
//!
//! A [`Report`] is plain data, filled by the caller; [`Options`] say in what order and how much of
//! it; an [`Output`] writes it. Nothing here opens a file, asks the terminal or reads the clock, so
//! that the same report always gives the same bytes.
//!
//! ```
//! use report::{Meta, Options, Output, Report, Terminal};
//!
//! let meta = Meta { source: "sockcap.data".to_owned(), messages: 12, ..Meta::default() };
//! let report = Report { patterns: &[], meta };
//! let mut out = Vec::new();
//! Terminal.write(&report, &Options { width: 80, ..Options::default() }, &mut out)?;
//! assert!(out.starts_with(b"sockcap.data  12 messages"));
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod clocks;
mod delays;
mod families;
mod filtered;
mod html;
mod json;
mod label;
mod options;
pub mod page;
mod sort;
mod summary;
mod terminal;
mod tree;

#[cfg(test)]
mod samples;

use std::io::{self, Write};

pub use delays::{DelayReport, DelaysBy};
pub use families::{Family, Together};
pub use filtered::Filtered;
pub use html::Html;
pub use json::Json;
pub use options::Options;
pub use sort::{SortKey, UnknownSortKey};
pub use summary::{Meta, Note, Report, Rest};
pub use terminal::Terminal;

/// One form of the report.
pub trait Output {
    /// Writes the whole of `report` to `out`.
    fn write(&self, report: &Report<'_>, options: &Options, out: &mut dyn Write) -> io::Result<()>;
}
