//! Signals of a recorded command: signals sent to `sockcap record` are forwarded, so that a
//! supervisor can treat it as the command itself.
//!
//! Interrupts from the terminal reach the command without forwarding, as it belongs to the same
//! process group; they must only not end sockcap before it. The kernel marks the signals that it
//! made itself.

use std::io;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, SignalsInfo};
use signal_hook::low_level::siginfo::Cause;

/// The signals received from now on, until a command can receive them.
pub(super) struct SignalForwarder(SignalsInfo<WithOrigin>);

impl SignalForwarder {
    /// Begins to hold signals back. It must be called before the command is started, so that no
    /// signal ends sockcap alone.
    pub(super) fn hold_signals() -> io::Result<SignalForwarder> {
        Ok(SignalForwarder(SignalsInfo::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2])?))
    }

    /// Forwards to `child` the signals received so far and later ones, until the handle is closed.
    pub(super) fn forward_to(mut self, child: &Child) -> Handle {
        let handle = self.0.handle();
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        std::thread::spawn(move || {
            for origin in self.0.forever() {
                let by_terminal =
                    [SIGINT, SIGQUIT].contains(&origin.signal) && origin.cause == Cause::Kernel;
                let signal = Signal::from_named_raw(origin.signal).filter(|_| !by_terminal);
                if let (Some(pid), Some(signal)) = (pid, signal) {
                    // A command that has ended needs no signal.
                    let _ = kill_process(pid, signal);
                }
            }
        });
        handle
    }
}
