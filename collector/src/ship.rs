//! The shipper: follows the logs of one host and sends the committed data, over connections that
//! come and go.
//!
//! Two stages with bounded queues between them: `scan` finds the data that the collector does not
//! have (`files`, `tracked`, `writers`) and compresses it, `dialog` writes it to the connection
//! (`rate`) and reads the answers; `outgoing` is between them and tracks acknowledgements. All
//! state is in memory: a shipper that restarts queries the collector.

mod dialog;
mod event;
mod files;
mod operations;
mod options;
mod outgoing;
mod pause;
mod rate;
mod scan;
mod shipper;
mod tracked;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

pub use dialog::ConnectionError;
pub use event::{ShipEvent, ShipListener};
pub use options::{ShipError, ShipOptions, ShipSummary};

use crate::link::StopFlag;
use crate::tuning::{RETRY_PAUSES, STOP_GRACE};
use pause::pause_unless_stopped;
use shipper::{ConnectionOutcome, Shipper};

/// Sends the logs until everything is sent, or, if the shipper follows the logs, until `stop` is
/// set.
///
/// # Errors
/// Fails if a file cannot be read; and, unless the shipper follows the logs, if the collector
/// cannot be reached for long, or refuses.
pub fn run_shipper(
    options: &ShipOptions,
    events: &dyn ShipListener,
    stop: &StopFlag,
) -> Result<ShipSummary, ShipError> {
    let mut shipper = Shipper::new(options, events, stop)?;
    let (abort, over) = (Arc::clone(&shipper.abort), StopFlag::default());
    std::thread::scope(|scope| {
        scope.spawn(|| abort_after_stop(stop, &abort, &over));
        let result = run_connections(&mut shipper, options, events, stop);
        over.store(true, Relaxed);
        result
    })
}

/// Sets `abort` some time after `stop` was set, unless `over` is set before.
fn abort_after_stop(stop: &StopFlag, abort: &StopFlag, over: &StopFlag) {
    let mut stopped: Option<Instant> = None;
    while !over.load(Relaxed) {
        if stop.load(Relaxed) && stopped.get_or_insert_with(Instant::now).elapsed() >= STOP_GRACE {
            return abort.store(true, Relaxed);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs connections to the collector, each after the previous one has ended.
fn run_connections(
    shipper: &mut Shipper<'_>,
    options: &ShipOptions,
    events: &dyn ShipListener,
    stop: &StopFlag,
) -> Result<ShipSummary, ShipError> {
    let [first, longest] = RETRY_PAUSES;
    let mut again = first;
    let mut progress = Instant::now();
    while !stop.load(Relaxed) {
        let before = shipper.durable;
        let went = shipper.run_connection()?;
        if shipper.durable != before {
            (again, progress) = (first, Instant::now());
        }
        let broken = match went {
            ConnectionOutcome::Over => break,
            ConnectionOutcome::NoRoom(shortage) => {
                return Err(ShipError::NoRoom { to: options.to.clone(), shortage });
            }
            ConnectionOutcome::Broken(broken) => broken,
        };
        let why = broken.to_string();
        if !options.follow {
            let to = options.to.clone();
            if let ConnectionError::Refused(_) = broken {
                return Err(ShipError::Refused { to, why });
            }
            if progress.elapsed() >= options.patience {
                return Err(ShipError::GaveUp { to, why });
            }
        }
        events.on_event(&ShipEvent::Lost { why: &why, again });
        pause_unless_stopped(again, stop);
        again = longest.min(again * 2);
    }
    let unreadable = shipper.scanner.unreadable.len() as u64;
    Ok(ShipSummary { sent: shipper.scanner.sent, wire: shipper.wire, unreadable })
}
