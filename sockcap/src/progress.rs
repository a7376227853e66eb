//! Progress on a terminal; no output elsewhere.

use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use message_trace::Progress;

use crate::output;

/// Shows a stage's steps on standard error, if that is a terminal.
pub(crate) struct TerminalProgress {
    bar: Mutex<ProgressBar>,
    shown: bool,
}

impl TerminalProgress {
    pub(crate) fn new() -> TerminalProgress {
        TerminalProgress { bar: Mutex::new(ProgressBar::hidden()), shown: output::has_progress() }
    }

    fn with_bar(&self, act: impl FnOnce(&mut ProgressBar)) {
        // A poisoned lock means that drawing failed before; the work itself continues.
        if let Ok(mut bar) = self.bar.lock() {
            act(&mut bar);
        }
    }
}

impl Progress for TerminalProgress {
    fn begin_step(&self, what: &str, units: u64) {
        if !self.shown {
            return;
        }
        let template =
            if units == 0 { "{spinner} {msg}" } else { "{msg} {wide_bar} {percent}% {eta}" };
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let next = ProgressBar::with_draw_target(Some(units), target)
            .with_style(style)
            .with_message(output::escape_line_breaks(what));
        if units == 0 {
            next.enable_steady_tick(Duration::from_millis(100));
        }
        self.with_bar(|bar| {
            bar.finish_and_clear();
            *bar = next;
        });
    }

    fn advance_step(&self, units: u64) {
        if self.shown {
            self.with_bar(|bar| bar.inc(units));
        }
    }
}

impl Drop for TerminalProgress {
    fn drop(&mut self) {
        self.with_bar(|bar| bar.finish_and_clear());
    }
}

/// Progress of a shipper, on standard error if that is a terminal: the amount sent, the rate, and
/// the amount left.
pub(crate) struct SendingProgress {
    bar: ProgressBar,
}

impl SendingProgress {
    pub(crate) fn new() -> SendingProgress {
        if !output::has_progress() {
            return SendingProgress { bar: ProgressBar::hidden() };
        }
        let template = "{spinner} {binary_bytes} sent, {binary_bytes_per_sec}{msg}";
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5))
            .with_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        SendingProgress { bar }
    }

    /// Bytes sent so far and left.
    pub(crate) fn update_bytes(&self, sent: u64, left: u64) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_position(sent);
        self.bar.set_message(match left {
            0 => ", all there is".to_owned(),
            left => format!(", {} left", output::format_bytes(left)),
        });
    }

    /// Runs code that writes to the terminal, with the progress bar hidden.
    pub(crate) fn suspend_bar(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }
}

impl Drop for SendingProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
