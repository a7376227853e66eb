//! Progress on a terminal; nothing at all elsewhere.

use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use message_trace::Progress;

use crate::output;

/// Shows a stage's steps on standard error, where that is a terminal.
pub(crate) struct Terminal {
    bar: Mutex<ProgressBar>,
    shown: bool,
}

impl Terminal {
    pub(crate) fn new() -> Terminal {
        Terminal { bar: Mutex::new(ProgressBar::hidden()), shown: output::has_progress() }
    }

    fn with(&self, act: impl FnOnce(&mut ProgressBar)) {
        // A poisoned lock would mean that drawing failed before; the work is what counts.
        if let Ok(mut bar) = self.bar.lock() {
            act(&mut bar);
        }
    }
}

impl Progress for Terminal {
    fn step(&self, what: &str, units: u64) {
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
            .with_message(output::in_one_line(what));
        if units == 0 {
            next.enable_steady_tick(Duration::from_millis(100));
        }
        self.with(|bar| {
            bar.finish_and_clear();
            *bar = next;
        });
    }

    fn advance(&self, units: u64) {
        if self.shown {
            self.with(|bar| bar.inc(units));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.with(|bar| bar.finish_and_clear());
    }
}

/// How far a shipper is, on standard error where that is a terminal: what it has sent, how fast,
/// and what is left.
pub(crate) struct Sending {
    bar: ProgressBar,
}

impl Sending {
    pub(crate) fn new() -> Sending {
        if !output::has_progress() {
            return Sending { bar: ProgressBar::hidden() };
        }
        let template = "{spinner} {binary_bytes} sent, {binary_bytes_per_sec}{msg}";
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5))
            .with_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Sending { bar }
    }

    /// Sent so far and left, in bytes.
    pub(crate) fn update(&self, sent: u64, left: u64) {
        if self.bar.is_hidden() {
            return;
        }
        self.bar.set_position(sent);
        self.bar.set_message(match left {
            0 => ", all there is".to_owned(),
            left => format!(", {} left", output::bytes(left)),
        });
    }

    /// Does what writes to the terminal, without the two getting into each other's way.
    pub(crate) fn aside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
