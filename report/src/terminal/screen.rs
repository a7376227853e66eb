//! The screen that the report is written for: its width, and the characters that it can show.

use message_trace::units::FormattedDuration;

use super::paint::PaintedRow;
use crate::label::{ASCII, LabelSigns, UNICODE};
use crate::options::Options;

/// The screen on which the report is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct TerminalScreen {
    pub(super) width: usize,
    pub(super) color: bool,
    pub(super) unicode: bool,
    pub(super) signs: LabelSigns,
}

impl TerminalScreen {
    pub(super) fn new(options: &Options) -> TerminalScreen {
        let signs = if options.unicode { UNICODE } else { ASCII };
        TerminalScreen {
            width: options.width.max(40),
            color: options.color,
            unicode: options.unicode,
            signs,
        }
    }

    /// Makes an empty line.
    pub(super) fn new_row(&self) -> PaintedRow {
        PaintedRow::new(self.color, self.width)
    }

    /// A duration without a blank.
    pub(super) fn duration_text(&self, duration: FormattedDuration) -> String {
        duration.compact(!self.unicode)
    }

    /// `label` in characters that the screen can show.
    pub(super) fn plain_label(&self, label: &str) -> String {
        if self.unicode { label.to_owned() } else { label.replace('√', "sqrt ") }
    }
}
