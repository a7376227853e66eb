//! Signals that end commands that run until they are asked to stop.

use collector::link::StopFlag;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::CommandError;

/// A flag that is set when this process receives SIGTERM or SIGINT.
pub(crate) fn stop_on_signals() -> Result<StopFlag, CommandError> {
    let stop = StopFlag::default();
    for signal in [SIGTERM, SIGINT] {
        // A second signal ends the process immediately.
        signal_hook::flag::register_conditional_default(signal, StopFlag::clone(&stop))
            .map_err(CommandError::Signals)?;
        signal_hook::flag::register(signal, StopFlag::clone(&stop))
            .map_err(CommandError::Signals)?;
    }
    Ok(stop)
}

/// A flag that is set when this process receives SIGTERM, SIGINT or SIGHUP, for a command that has
/// to clean up when its terminal is closed, too. SIGHUP stays ignored if the process was started
/// with it ignored (`nohup`).
///
/// A second signal does not end the process: `timeout` sends two, and when a terminal is closed,
/// the kernel and the shell send one each.
pub(crate) fn stop_on_signals_or_hangup() -> Result<StopFlag, CommandError> {
    let stop = StopFlag::default();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        if signal != SIGHUP || !is_ignored(&status, signal) {
            signal_hook::flag::register(signal, StopFlag::clone(&stop))
                .map_err(CommandError::Signals)?;
        }
    }
    Ok(stop)
}

/// Whether a process ignores a signal, by its `status`.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_recognised() {
        let status = "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(status, SIGHUP));
        assert!(!is_ignored(status, SIGTERM));
        assert!(!is_ignored("", SIGHUP));
    }
}
