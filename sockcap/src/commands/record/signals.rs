//! Signals of a recorded command: what is sent to `sockcap record` is sent on, so that a supervisor
//! can treat it as the command itself.
//!
//! Interrupts that the terminal makes reach the command without our help, as it belongs to the same
//! group of processes; they must only not end us before it. The kernel tells which ones it made
//! itself.

use std::io;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::Cause;

/// The signals received from now on, until a command is there to take them.
pub(super) struct SignalForwarder(SignalsInfo<WithOrigin>);

impl SignalForwarder {
    /// Begins to hold signals back. To be called before the command is started, so that none ends
    /// us alone.
    pub(super) fn hold_signals() -> io::Result<SignalForwarder> {
        Ok(SignalForwarder(SignalsInfo::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2])?))
    }

    /// Sends them to `child`, those of before and those to come, until the handle is closed.
    pub(super) fn forward_to(mut self, child: &Child) -> Handle {
        let handle = self.0.handle();
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        std::thread::spawn(move || {
            for origin in self.0.forever() {
                let by_terminal =
                    [SIGINT, SIGQUIT].contains(&origin.signal) && origin.cause == Cause::Kernel;
                let signal = Signal::from_named_raw(origin.signal).filter(|_| !by_terminal);
                if let (Some(pid), Some(signal)) = (pid, signal) {
                    // A command that is gone needs no signal.
                    let _ = kill_process(pid, signal);
                }
            }
        });
        handle
    }
}
