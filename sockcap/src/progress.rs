//! Progress on a terminal; nothing at all elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use message_trace::Progress;

/// Shows a stage's steps on standard error, where that is a terminal.
pub(crate) struct Terminal {
    bar: Mutex<ProgressBar>,
    shown: bool,
}

impl Terminal {
    pub(crate) fn new() -> Terminal {
        Terminal { bar: Mutex::new(ProgressBar::hidden()), shown: std::io::stderr().is_terminal() }
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
        let template = if units == 0 { "{spinner} {msg}" } else { "{msg} {wide_bar} {percent}% {eta}" };
        let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let next = ProgressBar::with_draw_target(Some(units), target)
            .with_style(style)
            .with_message(what.to_owned());
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
