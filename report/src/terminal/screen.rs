//! The screen that the report is written for: its width, and the characters that it can show.

use message_trace::units::Duration;

use super::paint::Row;
use crate::label::{ASCII, Signs, UNICODE};
use crate::options::Options;

/// The screen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    pub(super) width: usize,
    pub(super) color: bool,
    pub(super) unicode: bool,
    pub(super) signs: Signs,
}

impl Screen {
    pub(super) fn new(options: &Options) -> Screen {
        let signs = if options.unicode { UNICODE } else { ASCII };
        Screen {
            width: options.width.max(40),
            color: options.color,
            unicode: options.unicode,
            signs,
        }
    }

    /// An empty line.
    pub(super) fn row(&self) -> Row {
        Row::new(self.color, self.width)
    }

    /// A duration without a blank.
    pub(super) fn text(&self, duration: Duration) -> String {
        duration.compact(!self.unicode)
    }

    /// `label` in characters that the screen can show.
    pub(super) fn plain(&self, label: &str) -> String {
        if self.unicode { label.to_owned() } else { label.replace('√', "sqrt ") }
    }
}
