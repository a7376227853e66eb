//! The host's side: follows the logs of one host and sends what is committed, over connections that
//! come and go.
//!
//! Two stages with bounded queues between them: `scan` finds what the collector does not have
//! (`files`, `tracked`, `writers`) and compresses it, `dialog` writes it to the connection (`rate`)
//! and reads the answers; `outgoing` stands between them and knows what was acknowledged. Nothing
//! is kept but in memory: a shipper that restarts asks the collector.

mod dialog;
mod event;
mod files;
mod named;
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

pub use dialog::Broken;
pub use event::{Event, Events};
pub use options::{Error, Options, Summary};

use crate::link::Stop;
use crate::tuning::{RETRY_PAUSES, STOP_GRACE};
use pause::pause;
use shipper::{Shipper, Went};

/// Sends until all is sent, or, where it follows, until `stop` is set.
///
/// # Errors
/// When a file cannot be read; and unless it follows, when the collector cannot be reached for
/// long, or refuses.
pub fn run(options: &Options, events: &dyn Events, stop: &Stop) -> Result<Summary, Error> {
    let mut shipper = Shipper::new(options, events, stop)?;
    let (abort, over) = (Arc::clone(&shipper.abort), Stop::default());
    std::thread::scope(|scope| {
        scope.spawn(|| give_up_when_stopped(stop, &abort, &over));
        let result = go_on(&mut shipper, options, events, stop);
        over.store(true, Relaxed);
        result
    })
}

/// Sets `abort` some time after `stop`, unless it is `over` before.
fn give_up_when_stopped(stop: &Stop, abort: &Stop, over: &Stop) {
    let mut stopped: Option<Instant> = None;
    while !over.load(Relaxed) {
        if stop.load(Relaxed) && stopped.get_or_insert_with(Instant::now).elapsed() >= STOP_GRACE {
            return abort.store(true, Relaxed);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes connection after connection.
fn go_on(
    shipper: &mut Shipper<'_>,
    options: &Options,
    events: &dyn Events,
    stop: &Stop,
) -> Result<Summary, Error> {
    let [first, longest] = RETRY_PAUSES;
    let mut again = first;
    let mut progress = Instant::now();
    while !stop.load(Relaxed) {
        let before = shipper.durable;
        let went = shipper.connection()?;
        if shipper.durable != before {
            (again, progress) = (first, Instant::now());
        }
        let broken = match went {
            Went::Over => break,
            Went::NoRoom(shortage) => {
                return Err(Error::NoRoom { to: options.to.clone(), shortage });
            }
            Went::Broken(broken) => broken,
        };
        let why = broken.to_string();
        if !options.follow {
            let to = options.to.clone();
            if let Broken::Refused(_) = broken {
                return Err(Error::Refused { to, why });
            }
            if progress.elapsed() >= options.patience {
                return Err(Error::GaveUp { to, why });
            }
        }
        events.event(&Event::Lost { why: &why, again });
        pause(again, stop);
        again = longest.min(again * 2);
    }
    let unreadable = shipper.scanner.unreadable.len() as u64;
    Ok(Summary { sent: shipper.scanner.sent, wire: shipper.wire, unreadable })
}
