//! Pass 5: datagrams are matched by content, in up to four steps. Each step works on what the one
//! before it left.

use out_of_core::{PartitionStore, workers};
use socket_log::layout::source;

use crate::calls::Datagram;
use crate::datagrams::end::DatagramMessage;
use crate::datagrams::partition::{DatagramMatcher, MatchedDatagrams};
use crate::datagrams::peer_names::AllSeenNames;
use crate::datagrams::receivers::Receivers;
use crate::datagrams::translations::{self, DatagramTranslations, Hints, Translated};
use crate::error::Error;
use crate::pipeline::matching::Matching;
use crate::pipeline::run::Run;
use crate::reconciliation::Reconciliation;

/// All datagrams, matched.
pub(crate) struct AllMatched<'a> {
    /// Messages by flow.
    pub(crate) messages: PartitionStore<'a, DatagramMessage>,
    /// The names under which peers saw sockets.
    pub(crate) seen: AllSeenNames,
    /// What went between translated names.
    pub(crate) translated: Translated,
    /// The translations that were found.
    pub(crate) translations: DatagramTranslations,
}

/// Matches the datagrams.
pub(crate) fn match_datagrams<'a>(
    matching: &Matching<'a>,
    calls: &PartitionStore<Datagram>,
    outcome: &mut Reconciliation,
) -> Result<AllMatched<'a>, Error> {
    let Matching { run, connected, budget, .. } = matching;
    let (directory, count) = (run.data.path(), calls.partitions());
    run.progress.step("matching datagrams", 2 * count as u64);
    let messages = PartitionStore::new(budget, directory, count);
    let store = || PartitionStore::<Datagram>::new(budget, directory, count);
    let unchecked = outcome.datagrams.unchecked > 0;
    let joined = connected.sockets.all.iter().any(|socket| {
        socket.datagrams > 0 && matches!(socket.source, source::PACKETS | source::STRACE)
    });
    let late = (unchecked || joined || outcome.datagrams.truncated > 0).then(store);
    let udp_is_left =
        run.options.translation.is_some() && translations::is_possible(&connected.sockets.all);
    let astray = udp_is_left.then(store);
    let matcher = DatagramMatcher {
        reach: connected.reach(),
        receivers: Receivers::of(connected.reach()),
        nameless: &connected.fallbacks,
        messages: &messages,
        late: late.as_ref(),
        astray: astray.as_ref(),
        any_is_late: unchecked || joined,
        joined,
    };
    let mut found = MatchedSoFar {
        run,
        outcome,
        seen: AllSeenNames::new(&run.pool),
        translated: Translated::default(),
    };
    by_name(matching, &matcher, calls, &mut found)?;
    if let Some(late) = &late {
        late_ones(matching, &matcher, late, &mut found)?;
    }
    let mut translations = DatagramTranslations::default();
    if let (Some(astray), Some(least)) = (&astray, run.options.translation) {
        translations = through_translation(matching, &matcher, astray, least, &mut found)?;
    }
    let MatchedSoFar { mut seen, translated, .. } = found;
    seen.put_in_order()?;
    Ok(AllMatched { messages, seen, translated, translations })
}

/// What has been found so far.
struct MatchedSoFar<'a> {
    run: &'a Run<'a>,
    outcome: &'a mut Reconciliation,
    seen: AllSeenNames,
    translated: Translated,
}

impl MatchedSoFar<'_> {
    /// Adds what one partition gave.
    fn take(&mut self, matched: MatchedDatagrams) -> Result<(), Error> {
        self.run.progress.advance(1);
        self.outcome.absorb(matched.counts);
        self.seen.absorb(matched.names)?;
        self.translated.absorb(matched.translated);
        Ok(())
    }
}

/// Step 1: those whose names agree at both ends.
fn by_name(
    matching: &Matching,
    matcher: &DatagramMatcher,
    calls: &PartitionStore<Datagram>,
    found: &mut MatchedSoFar,
) -> Result<(), Error> {
    let work = |piece: usize| {
        let calls = calls.blocks(piece);
        Ok(matching.samples.with(|samples| matcher.partition(piece, calls, samples))?)
    };
    let take = |_, matched| found.take(matched);
    workers::in_order(matching.run.threads, calls.partitions(), work, take)
}

/// Step 2: those without a checksum, joined on one side, or received in part.
fn late_ones(
    matching: &Matching,
    matcher: &DatagramMatcher,
    late: &PartitionStore<Datagram>,
    found: &mut MatchedSoFar,
) -> Result<(), Error> {
    let first = late.partitions();
    let work = |piece: usize| {
        let calls = late.blocks(piece);
        Ok(matching
            .samples
            .with(|samples| matcher.late_partition(first + piece, calls, samples))?)
    };
    let take = |_, matched| found.take(matched);
    workers::in_order(matching.run.threads, late.partitions(), work, take)
}

/// Steps 3 and 4: contents that were sent once and received once hint at translations, and what is
/// left is matched between the names that these lead from and to.
fn through_translation(
    matching: &Matching,
    matcher: &DatagramMatcher,
    astray: &PartitionStore<Datagram>,
    least: f64,
    found: &mut MatchedSoFar,
) -> Result<DatagramTranslations, Error> {
    let (threads, count) = (matching.run.threads, astray.partitions());
    let both = PartitionStore::<Datagram>::new(matching.budget, matching.run.data.path(), count);
    let first = 2 * count;
    let mut hints = Hints::default();
    let work =
        |piece: usize| Ok(matcher.hints([first + piece, piece], astray.blocks(piece), &both)?);
    workers::in_order(threads, count, work, |_, (matched, more)| {
        hints.absorb(more);
        found.take(matched)
    })?;
    let translations = hints.at_least(least);
    let first = 3 * count;
    let work = |piece: usize| {
        Ok(matcher.translated_partition(first + piece, both.blocks(piece), &translations)?)
    };
    workers::in_order(threads, both.partitions(), work, |_, matched| found.take(matched))?;
    Ok(translations)
}
