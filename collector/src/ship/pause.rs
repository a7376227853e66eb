//! Waiting that ends when the program is to stop.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::link::StopFlag;

/// Waits, unless the program is to stop.
pub(super) fn pause_unless_stopped(time: Duration, stop: &StopFlag) {
    let until = Instant::now() + time;
    while !stop.load(Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
}
