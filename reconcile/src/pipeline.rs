//! The steps of reconciliation, one after the other.

use std::sync::Mutex;

use message_trace::{DataDir, Nodes, Progress, Protocol};
use out_of_core::workers::{self, lock};
use out_of_core::{MemoryBudget, PartitionStore};
use socket_log::layout::source;

use crate::addresses::Addresses;
use crate::calls::Datagram;
use crate::capture::Capture;
use crate::clock_hints;
use crate::connections::{self, Listening};
use crate::datagram_flows::{AllFlows, FlowMaker, MatchedFlows};
use crate::datagram_names::{self, AllSeenNames, Views};
use crate::datagram_partition::{DatagramMatcher, MatchedDatagrams};
use crate::datagram_translation::{self, DatagramTranslations, Hints, Translated};
use crate::deal::{self, Partitions, Stores};
use crate::end::DatagramMessage;
use crate::error::Error;
use crate::first_calls::FirstCalls;
use crate::host_facts;
use crate::imported::{self, CallIds, Joining};
use crate::lookups::Lookups;
use crate::options::Options;
use crate::output::Output;
use crate::reach::Reach;
use crate::read_logs;
use crate::receivers::Receivers;
use crate::reconciliation::{Reconciliation, add};
use crate::rows::Common;
use crate::seen_twice;
use crate::socket;
use crate::stream_flows::{MatchedStreams, StreamMatcher};
use crate::timeline::{Rows, Writing};
use crate::translated;
use crate::unix_sockets;
use crate::ways::Owners;
use clocks::Samples;
use out_of_core::MemoryPool;

/// So many imported messages are handed on at once.
const BLOCK: usize = 64 << 10;

/// Reads all logs and imports of `data`, and writes `messages.parquet`, `nodes.parquet`,
/// `clocks.json` and `reconciliation.json`. Equal logs and imports give equal files.
///
/// # Errors
/// When there is neither a log that can be read nor an import, or a file cannot be written. Damaged
/// logs are no error: what is whole in them is used, and the rest counted.
pub fn reconcile(
    data: &DataDir,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Reconciliation, Error> {
    let threads = options.threads();
    let mut outcome = Reconciliation::default();
    let tables = MemoryPool::new(options.memory, data.path());
    let mut capture = read_logs::read(data, &tables, threads, progress, &mut outcome)?;
    let imports = data.imported()?;
    if imports.is_empty() {
        something(data, &capture, &outcome)?;
    }

    progress.step("finding connections", 0);
    let mut sockets = socket::sockets(&mut capture, &mut outcome)?;
    let addresses = Addresses::of(&capture.names, &sockets.all);
    let twice = seen_twice::find(&capture, &sockets.all, &addresses)?;
    for place in &twice {
        let source = sockets.all[*place as usize].source as usize;
        add(&mut outcome.seen_twice, source::NAMES.get(source).unwrap_or(&"other"), 1);
    }
    sockets.remove(&twice, &tables)?;
    let sockets = sockets;
    let listening = Listening::of(&capture, &sockets.all);
    let fallbacks =
        datagram_names::fallbacks(&mut capture.names, &sockets.all, &listening.addresses)?;
    let capture = capture;
    let ambiguous = unix_sockets::ambiguous(&capture, &sockets.all)?;
    let first_calls = FirstCalls::read(&capture, &sockets, &ambiguous, threads, progress)?;
    let mut partner = connections::partners(&capture, &sockets.all, &listening, &first_calls)?;
    drop((first_calls, ambiguous));
    let doubtful =
        translated::pair_up(&capture, &sockets, &mut partner, options, progress, &mut outcome)?;
    let mut connections = connections::connections(&capture, &sockets.all, &partner, &listening)?;
    doubtful.mark(&mut connections);
    let (partner, connections) = (partner, connections);
    let partitions = Partitions::of(&tables, &connections, &sockets.all)?;
    let reach = Reach {
        capture: &capture,
        sockets: &sockets.all,
        addresses: &listening.addresses,
        partner: &partner,
    };

    // From now on there are calls and messages, and some tables beside them.
    let budget = MemoryBudget::beside(options.memory, tables.in_memory());
    tables.leave(options.memory / 8);
    let directory = data.path();
    let stores = Stores::new(&budget, directory, &partitions, &sockets.all);
    deal::deal(&sockets, &partitions, reach, &stores, threads, progress)?;
    let Stores { transfers, datagrams } = stores;

    progress.step("matching streams", partitions.ranges.len() as u64);
    // Samples hold what is least, in whatever order they were added, so each worker takes any of
    // those at hand.
    let samples = Pool::new(capture.hosts.len());
    let mut rows = Rows::new(&budget, directory);
    rows.grow(partitions.ranges.len());
    let mut taken = Vec::with_capacity(partitions.ranges.len());
    let matcher = StreamMatcher {
        capture: &capture,
        sockets: &sockets.all,
        owners: Owners { connections: &connections, connection_of: &partitions.connection_of },
        options,
        budget: &budget,
        directory,
    };
    let mut used: Vec<bool> = Vec::with_capacity(connections.len());
    let work = |piece: usize| {
        let range = partitions.ranges[piece].clone();
        let mut sink = rows.sink(piece);
        let calls = transfers.blocks(piece);
        let matched =
            samples.with(|samples| matcher.partition(range, calls, samples, &mut sink))?;
        Ok((matched, sink.finish()?))
    };
    workers::in_order(
        threads,
        partitions.ranges.len(),
        work,
        |_, (matched, rows): (MatchedStreams, _)| {
            progress.advance(1);
            used.extend(matched.used);
            outcome.absorb(matched.counts);
            taken.push(rows);
            Ok::<_, Error>(())
        },
    )?;
    rows.add(0, taken);

    progress.step("matching datagrams", 2 * datagrams.partitions() as u64);
    let messages: PartitionStore<DatagramMessage> =
        PartitionStore::new(&budget, directory, datagrams.partitions());
    let unchecked = outcome.datagrams.unchecked > 0;
    let late = (unchecked || outcome.datagrams.truncated > 0)
        .then(|| PartitionStore::<Datagram>::new(&budget, directory, datagrams.partitions()));
    let udp_is_left =
        options.translation.is_some() && datagram_translation::is_possible(&sockets.all);
    let astray = udp_is_left
        .then(|| PartitionStore::<Datagram>::new(&budget, directory, datagrams.partitions()));
    let matcher = DatagramMatcher {
        reach,
        receivers: Receivers::of(reach),
        nameless: &fallbacks,
        messages: &messages,
        late: late.as_ref(),
        astray: astray.as_ref(),
        unchecked,
    };
    let mut seen = AllSeenNames::new(&tables);
    let mut translated = Translated::default();
    let mut take = |_, matched: MatchedDatagrams| {
        progress.advance(1);
        outcome.absorb(matched.counts);
        seen.absorb(matched.names)?;
        translated.absorb(matched.translated);
        Ok::<_, Error>(())
    };
    let work = |piece: usize| {
        let calls = datagrams.blocks(piece);
        Ok(samples.with(|samples| matcher.partition(piece, calls, samples))?)
    };
    workers::in_order(threads, datagrams.partitions(), work, &mut take)?;
    if let Some(late) = &late {
        let first = datagrams.partitions();
        let work = |piece: usize| {
            let calls = late.blocks(piece);
            Ok(samples.with(|samples| matcher.late_partition(first + piece, calls, samples))?)
        };
        workers::in_order(threads, late.partitions(), work, &mut take)?;
    }
    let mut translations = DatagramTranslations::default();
    if let (Some(astray), Some(least)) = (&astray, options.translation) {
        let first = 2 * datagrams.partitions();
        let both = PartitionStore::<Datagram>::new(&budget, directory, astray.partitions());
        let mut hints = Hints::default();
        let work = |piece: usize| {
            Ok(matcher.hints([first + piece, piece], astray.blocks(piece), &both)?)
        };
        workers::in_order(threads, astray.partitions(), work, |piece, (matched, found)| {
            hints.absorb(found);
            take(piece, matched)
        })?;
        translations = hints.at_least(least);
        let first = 3 * datagrams.partitions();
        let work = |piece: usize| {
            Ok(matcher.translated_partition(first + piece, both.blocks(piece), &translations)?)
        };
        workers::in_order(threads, both.partitions(), work, &mut take)?;
    }
    seen.put_in_order()?;
    let views = Views { sockets: &sockets.all, names: &capture.names, fallbacks: &fallbacks, seen };
    let mut flows = AllFlows::new(&tables);
    let maker = FlowMaker { views: &views, options, budget: &budget, directory };
    let first = rows.grow(messages.partitions());
    let mut taken = Vec::with_capacity(messages.partitions());
    let work = |piece: usize| {
        let mut sink = rows.sink(first + piece);
        let matched = maker.partition(messages.blocks(piece), &mut sink)?;
        Ok((matched, sink.finish()?))
    };
    workers::in_order(
        threads,
        messages.partitions(),
        work,
        |_, (matched, rows): (MatchedFlows, _)| {
            progress.advance(1);
            outcome.absorb(matched.counts);
            flows.add(&matched.flows, &matched.slots)?;
            taken.push(rows);
            Ok::<_, Error>(())
        },
    )?;
    rows.add(first, taken);

    outcome.translations.extend(translations.translations(&capture, &views, &translated));

    let lookups = Lookups::of(&capture);
    let mut output = Output::new(&capture, &sockets.all);
    output.connections(&connections, &used)?;
    for (piece, begin) in output.datagrams(flows, &lookups, &addresses)?.into_iter().enumerate() {
        rows.set_begin(first + piece, begin);
    }

    let mut looked_up = Vec::new();
    let messages = lookups.rows(&mut output, |row| {
        looked_up.push(row);
        Ok(())
    })?;
    rows.add_imported(looked_up)?;
    if messages > 0 {
        add(&mut outcome.messages, Protocol::Other.name(), messages);
        outcome.both_ends += messages;
    }

    let mut hosts = host_facts::of(&capture);
    let mut samples = samples.merged();
    let mut host_of: Vec<u32> = capture.processes.iter().map(|process| process.host).collect();
    let mut calls = None;
    if !imports.is_empty() {
        progress.step("reading imports", 0);
        samples.merge(imported::sample(&imports, &mut hosts, progress)?);
        let calls = calls.insert(CallIds::new(directory)?);
        let mut joining = Joining {
            output: &mut output,
            hosts: &mut host_of,
            host_names: &hosts,
            calls,
            outcome: &mut outcome,
        };
        let mut block = Vec::new();
        joining.rows(&imports, progress, |row| {
            block.push(row);
            if block.len() < BLOCK { Ok(()) } else { rows.add_imported(std::mem::take(&mut block)) }
        })?;
        rows.add_imported(block)?;
    }
    outcome.flows = output.flows;

    let hints = clock_hints::read(data, &capture, &hosts, threads, progress)?;
    let clocks = host_facts::clocks(&capture, &hosts, &samples, &hints, progress);
    let common = Common { clocks: &clocks, hosts: &host_of };
    Nodes::write_each(&data.nodes(), output.nodes())?;
    let writing =
        Writing { output: &output, common: &common, calls: calls.as_ref(), threads, progress };
    rows.write(&data.messages(), &writing)?;
    host_facts::as_set(&clocks, &capture, &hosts).write(&data.clocks())?;
    outcome.write(data)?;
    Ok(outcome)
}

/// Whether there is something to reconcile.
fn something(data: &DataDir, capture: &Capture, outcome: &Reconciliation) -> Result<(), Error> {
    if outcome.logs == 0 {
        return Err(Error::NoLogs { hosts: data.hosts() });
    }
    if capture.processes.is_empty() {
        let first = outcome.damaged.first().and_then(|log| log.what.first());
        return Err(Error::NothingReadable {
            logs: outcome.logs,
            first: first.cloned().unwrap_or_default(),
        });
    }
    Ok(())
}

/// As many sets of samples as there are workers.
struct Pool {
    hosts: usize,
    free: Mutex<Vec<Samples>>,
}

impl Pool {
    fn new(hosts: usize) -> Pool {
        Pool { hosts, free: Mutex::new(Vec::new()) }
    }

    /// Does `work` with a set that nobody else uses meanwhile.
    fn with<T>(&self, work: impl FnOnce(&mut Samples) -> T) -> T {
        let free = lock(&self.free).pop();
        let mut samples = free.unwrap_or_else(|| Samples::new(self.hosts));
        let result = work(&mut samples);
        lock(&self.free).push(samples);
        result
    }

    /// All samples in one set.
    fn merged(self) -> Samples {
        let all = self.free.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.into_iter().fold(Samples::new(self.hosts), |mut merged, samples| {
            merged.merge(samples);
            merged
        })
    }
}
