//! Pass 2: flows become sockets, and sockets find their other ends.

use out_of_core::SpillableVec;
use rustc_hash::FxHashMap;
use socket_log::layout::source;

use crate::connections::connection::{self, Connection};
use crate::connections::first_calls::FirstCalls;
use crate::connections::listening::Listening;
use crate::connections::unix_sockets;
use crate::datagrams::peer_names::{self, Fallback};
use crate::dealing::deal::Partitions;
use crate::error::Error;
use crate::logs::capture::Capture;
use crate::pipeline::run::Run;
use crate::reconciliation::{Reconciliation, add};
use crate::sockets::addresses::Addresses;
use crate::sockets::reach::Reach;
use crate::sockets::socket::Sockets;
use crate::sockets::{of_flows, seen_twice};
use crate::told::{self, Told};
use crate::translation::translated;

/// All sockets and connections. Nothing of it changes any more.
pub(crate) struct Connected {
    pub(crate) capture: Capture,
    pub(crate) sockets: Sockets,
    /// What messages say they do.
    pub(crate) told: Told,
    /// The addresses of all machines, also by sockets that two sources saw.
    pub(crate) addresses: Addresses,
    pub(crate) listening: Listening,
    /// Names of datagram sockets that have none of their own.
    pub(crate) fallbacks: FxHashMap<u32, Fallback>,
    /// The other end of each socket.
    pub(crate) partner: SpillableVec<u32>,
    pub(crate) connections: SpillableVec<Connection>,
    /// Which connections are matched together.
    pub(crate) partitions: Partitions,
}

/// Finds sockets and connections in what was captured.
pub(crate) fn connect(
    run: &Run,
    mut capture: Capture,
    outcome: &mut Reconciliation,
) -> Result<Connected, Error> {
    run.progress.step("finding connections", 0);
    let mut sockets = of_flows::sockets(&mut capture, outcome)?;
    let addresses = Addresses::of(&capture.names, &sockets.all);
    leave_out_seen_twice(run, &capture, &mut sockets, &addresses, outcome)?;
    let listening = Listening::of(&capture, &sockets.all);
    let fallbacks = peer_names::fallbacks(&mut capture.names, &sockets.all, &listening.addresses)?;
    let mut partner = partners(run, &capture, &sockets, &listening)?;
    let doubtful =
        translated::pair_up(&capture, &sockets, &mut partner, run.options, run.progress, outcome)?;
    let mut connections = connection::connections(&capture, &sockets.all, &partner, &listening)?;
    doubtful.mark(&mut connections);
    let told = told::read(&capture, run.threads, outcome)?;
    told.count_pieces(&capture, &mut sockets);
    let partitions = Partitions::of(&run.pool, &connections, &sockets.all)?;
    Ok(Connected {
        capture,
        sockets,
        told,
        addresses,
        listening,
        fallbacks,
        partner,
        connections,
        partitions,
    })
}

/// Leaves out sockets that another source knows more of.
fn leave_out_seen_twice(
    run: &Run,
    capture: &Capture,
    sockets: &mut Sockets,
    addresses: &Addresses,
    outcome: &mut Reconciliation,
) -> Result<(), Error> {
    let twice = seen_twice::find(capture, &sockets.all, addresses)?;
    for place in &twice {
        let source = sockets.all[*place as usize].source as usize;
        add(&mut outcome.seen_twice, source::NAMES.get(source).unwrap_or(&"other"), 1);
    }
    Ok(sockets.remove(&twice, &run.pool)?)
}

/// The other ends that are known by name or, of unix sockets, by their first calls.
fn partners(
    run: &Run,
    capture: &Capture,
    sockets: &Sockets,
    listening: &Listening,
) -> Result<SpillableVec<u32>, Error> {
    let ambiguous = unix_sockets::ambiguous(capture, &sockets.all)?;
    let first_calls = FirstCalls::read(capture, sockets, &ambiguous, run.threads, run.progress)?;
    Ok(connection::partners(capture, &sockets.all, listening, &first_calls)?)
}

impl Connected {
    /// Where datagrams go by their names.
    pub(crate) fn reach(&self) -> Reach<'_> {
        Reach {
            capture: &self.capture,
            sockets: &self.sockets.all,
            addresses: &self.listening.addresses,
            partner: &self.partner,
        }
    }
}
