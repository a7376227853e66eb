//! Pass 5: datagrams are matched by content, in up to four steps. Each step works on the remainder
//! of the previous one.

use out_of_core::{PartitionStore, workers};
use socket_log::layout::source;

use crate::calls::DatagramCall;
use crate::datagrams::datagram_end::DatagramMessage;
use crate::datagrams::partition::{DatagramMatcher, MatchedDatagrams};
use crate::datagrams::peer_names::AllSeenNames;
use crate::datagrams::receivers::DatagramReceivers;
use crate::datagrams::translations::{
    self, DatagramTranslations, TranslatedPairs, TranslationHints,
};
use crate::error::Error;
use crate::pipeline::matching::MatchingContext;
use crate::pipeline::run::PipelineRun;
use crate::reconciliation::Reconciliation;

/// All datagrams, matched.
pub(crate) struct AllMatched<'a> {
    /// Messages by flow.
    pub(crate) messages: PartitionStore<'a, DatagramMessage>,
    /// The names under which peers saw sockets.
    pub(crate) seen: AllSeenNames,
    /// Pairs between translated names.
    pub(crate) translated: TranslatedPairs,
    /// The translations that were found.
    pub(crate) translations: DatagramTranslations,
}

/// Matches the datagrams.
pub(crate) fn match_datagrams<'a>(
    matching: &MatchingContext<'a>,
    calls: &PartitionStore<DatagramCall>,
    outcome: &mut Reconciliation,
) -> Result<AllMatched<'a>, Error> {
    let MatchingContext { run, connected, budget, .. } = matching;
    let (directory, count) = (run.data.path(), calls.partition_count());
    run.progress.begin_step("matching datagrams", 2 * count as u64);
    let messages = PartitionStore::new(budget, directory, count);
    let store = || PartitionStore::<DatagramCall>::new(budget, directory, count);
    let unchecked = outcome.datagrams.unchecked > 0;
    let joined = connected.sockets.all.iter().any(|socket| {
        socket.datagrams > 0 && matches!(socket.source, source::PACKETS | source::STRACE)
    });
    let late = (unchecked || joined || outcome.datagrams.truncated > 0).then(store);
    let udp_is_left =
        run.options.translation.is_some() && translations::is_possible(&connected.sockets.all);
    let astray = udp_is_left.then(store);
    let matcher = DatagramMatcher {
        routing: connected.datagram_routing(),
        receivers: DatagramReceivers::from_routing(connected.datagram_routing()),
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
        translated: TranslatedPairs::default(),
    };
    match_by_name(matching, &matcher, calls, &mut found)?;
    if let Some(late) = &late {
        match_late(matching, &matcher, late, &mut found)?;
    }
    let mut translations = DatagramTranslations::default();
    if let (Some(astray), Some(least)) = (&astray, run.options.translation) {
        translations = match_through_translation(matching, &matcher, astray, least, &mut found)?;
    }
    let MatchedSoFar { mut seen, translated, .. } = found;
    seen.sort_names()?;
    Ok(AllMatched { messages, seen, translated, translations })
}

/// State of the matching so far.
struct MatchedSoFar<'a> {
    run: &'a PipelineRun<'a>,
    outcome: &'a mut Reconciliation,
    seen: AllSeenNames,
    translated: TranslatedPairs,
}

impl MatchedSoFar<'_> {
    /// Adds the results of one partition.
    fn add_matched(&mut self, matched: MatchedDatagrams) -> Result<(), Error> {
        self.run.progress.advance_step(1);
        self.outcome.absorb(matched.counts);
        self.seen.absorb(matched.names)?;
        self.translated.absorb(matched.translated);
        Ok(())
    }
}

/// Step 1: datagrams with names that agree at both ends.
fn match_by_name(
    matching: &MatchingContext,
    matcher: &DatagramMatcher,
    calls: &PartitionStore<DatagramCall>,
    found: &mut MatchedSoFar,
) -> Result<(), Error> {
    let work = |piece: usize| {
        let calls = calls.take_each_block(piece);
        Ok(matching
            .samples
            .with_samples(|samples| matcher.match_partition(piece, calls, samples))?)
    };
    let take = |_, matched| found.add_matched(matched);
    workers::run_in_order(matching.run.threads, calls.partition_count(), work, take)
}

/// Step 2: datagrams without a checksum, joined on one side, or received in part.
fn match_late(
    matching: &MatchingContext,
    matcher: &DatagramMatcher,
    late: &PartitionStore<DatagramCall>,
    found: &mut MatchedSoFar,
) -> Result<(), Error> {
    let first = late.partition_count();
    let work = |piece: usize| {
        let calls = late.take_each_block(piece);
        Ok(matching
            .samples
            .with_samples(|samples| matcher.match_late_partition(first + piece, calls, samples))?)
    };
    let take = |_, matched| found.add_matched(matched);
    workers::run_in_order(matching.run.threads, late.partition_count(), work, take)
}

/// Steps 3 and 4: contents that were sent once and received once hint at translations, and the
/// remaining datagrams are matched between the translated names.
fn match_through_translation(
    matching: &MatchingContext,
    matcher: &DatagramMatcher,
    astray: &PartitionStore<DatagramCall>,
    least: f64,
    found: &mut MatchedSoFar,
) -> Result<DatagramTranslations, Error> {
    let (threads, count) = (matching.run.threads, astray.partition_count());
    let both =
        PartitionStore::<DatagramCall>::new(matching.budget, matching.run.data.path(), count);
    let first = 2 * count;
    let mut hints = TranslationHints::default();
    let work = |piece: usize| {
        Ok(matcher.collect_hints([first + piece, piece], astray.take_each_block(piece), &both)?)
    };
    workers::run_in_order(threads, count, work, |_, (matched, more)| {
        hints.absorb(more);
        found.add_matched(matched)
    })?;
    let translations = hints.with_min_confidence(least);
    let first = 3 * count;
    let work = |piece: usize| {
        Ok(matcher.match_translated_partition(
            first + piece,
            both.take_each_block(piece),
            &translations,
        )?)
    };
    workers::run_in_order(threads, both.partition_count(), work, |_, matched| {
        found.add_matched(matched)
    })?;
    Ok(translations)
}
