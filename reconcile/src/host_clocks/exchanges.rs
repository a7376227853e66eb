//! Reader of the collector's measurements of the hosts' clocks: `hosts/NAME/clock-hints.csv`, on
//! all processors.
//!
//! A file belongs to the host with logs in the same directory. Its times are as the host's clock
//! showed them, so the settings of that clock, as recorded by the logs of the same boot, are
//! subtracted, as for all times of the host (`steady`). Exchanges of a boot without logs are left
//! out: after a reboot a clock continues from an arbitrary setting, so they reveal nothing about
//! the times in the logs.

use std::collections::{BTreeMap, BTreeSet};

use clocks::{ClockHints, HostFacts};
use message_trace::{ClockExchange, DataDir, DataPath, PathError, Progress};
use out_of_core::workers;

use crate::indices::HostIndex;
use crate::logs::capture::Capture;
use crate::logs::steady::{self, SteadyClock};

/// Reads all hints of `data` about `hosts`, on `threads` threads. Unreadable hints are counted and
/// skipped.
///
/// # Errors
/// Fails if the directory of the hosts cannot be read.
pub(crate) fn read_hints(
    data: &DataDir,
    capture: &Capture,
    hosts: &[HostFacts],
    threads: usize,
    progress: &dyn Progress,
) -> Result<ClockHints, PathError> {
    let mut hints = ClockHints::new(hosts.len());
    let files = data.all_clock_hints_paths()?;
    if files.is_empty() {
        return Ok(hints);
    }
    let size = |path: &DataPath| path.metadata().map_or(0, |metadata| metadata.len());
    progress.begin_step("reading clock hints", files.iter().map(size).sum());
    let of_directory = hosts_of_directories(capture);
    let boots = boots_of_hosts(capture);
    let work = |piece: usize| {
        let mut hints = ClockHints::new(hosts.len());
        if let Some(host) = host_of_file(&files[piece], &of_directory, hosts) {
            let boots = boots.get(&host);
            read_file(&files[piece], host, boots.unwrap_or(&BTreeMap::new()), &mut hints);
        }
        Ok::<_, PathError>(hints)
    };
    workers::run_in_order(threads, files.len(), work, |piece, found| {
        hints.merge_hints(found);
        progress.advance_step(size(&files[piece]));
        Ok(())
    })?;
    Ok(hints)
}

/// The hosts with logs in each directory.
fn hosts_of_directories(capture: &Capture) -> BTreeMap<DataPath, BTreeSet<HostIndex>> {
    let mut hosts: BTreeMap<DataPath, BTreeSet<HostIndex>> = BTreeMap::new();
    for (log, process) in capture.logs.iter().zip(&capture.processes) {
        hosts.entry(log.path.parent()).or_default().insert(process.host);
    }
    hosts
}

/// The host to which a file belongs: the only host with logs in its directory, or else the host
/// with the directory's name. `None` if there is neither.
fn host_of_file(
    file: &DataPath,
    of_directory: &BTreeMap<DataPath, BTreeSet<HostIndex>>,
    hosts: &[HostFacts],
) -> Option<HostIndex> {
    let directory = file.parent();
    let with_logs =
        of_directory.get(&directory).filter(|hosts| hosts.len() == 1).and_then(BTreeSet::first);
    let name = directory.file_name()?.to_str()?;
    let named = || hosts.iter().position(|host| host.name == name).map(HostIndex::from_index);
    with_logs.copied().or_else(named)
}

/// The boots of each host's logs, and the settings of its clock in each.
fn boots_of_hosts(capture: &Capture) -> BTreeMap<HostIndex, BTreeMap<u128, SteadyClock>> {
    let mut boots: BTreeMap<HostIndex, BTreeMap<u128, SteadyClock>> = BTreeMap::new();
    for ((host, boot), settings) in steady::settings_of_boots(capture) {
        boots.entry(host).or_default().insert(boot, SteadyClock::new(&settings));
    }
    boots
}

/// Adds the exchanges of one file.
fn read_file(
    path: &DataPath,
    host: HostIndex,
    boots: &BTreeMap<u128, SteadyClock>,
    hints: &mut ClockHints,
) {
    // The clock to use if the exchange or the logs do not name the boot.
    let any = match boots.len() {
        1 => boots.values().next().cloned(),
        _ => None,
    };
    let any = any.unwrap_or_else(|| SteadyClock::new(&[]));
    let has_boots = boots.keys().any(|boot| *boot != 0);
    let host = host.number();
    let read = ClockExchange::for_each_exchange(path, |exchange| {
        let boot = u128::from_le_bytes(exchange.boot);
        let clock = match boots.get(&boot) {
            Some(clock) => clock,
            None if boot == 0 || !has_boots => &any,
            None => return hints.add_skipped(host),
        };
        match (clock.steady_time(exchange.host_sent), clock.steady_time(exchange.host_received)) {
            (Some(sent), Some(received)) => {
                hints.add_exchange(
                    host,
                    [sent, exchange.collector_received, exchange.collector_sent, received],
                );
            }
            _ => hints.add_skipped(host),
        }
    });
    // An unreadable file counts as one damaged line.
    hints.add_damaged(host, read.unwrap_or(1));
}
