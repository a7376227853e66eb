//! Signals that end commands which run until they are asked to stop.

use collector::link::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::error::Error;

/// A flag that is set when this process is asked to end.
pub(crate) fn stopped_by_signals() -> Result<Stop, Error> {
    let stop = Stop::default();
    for signal in [SIGTERM, SIGINT] {
        // A second signal ends the process at once.
        signal_hook::flag::register_conditional_default(signal, Stop::clone(&stop))
            .map_err(Error::Signals)?;
        signal_hook::flag::register(signal, Stop::clone(&stop)).map_err(Error::Signals)?;
    }
    Ok(stop)
}
