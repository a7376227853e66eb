//! Datagrams of one partition, which has all datagrams of some contents. Matched, lost and
//! one-sided datagrams are passed on to their flows.

use clocks::ClockSamples;
use message_trace::PathError;
use out_of_core::{PartitionStore, PartitionWriter, SpillableVec};
use rustc_hash::FxHashMap;

use crate::calls::DatagramCall;
use crate::datagrams::datagram_end::DatagramMessage;
use crate::datagrams::datagram_matches::DatagramMatches;
use crate::datagrams::joined::{BlockProof, cut_joined};
use crate::datagrams::matching::{match_all, match_remaining, match_translated};
use crate::datagrams::pass::MatchingPass;
use crate::datagrams::peer_names::{FallbackNames, SeenNames};
use crate::datagrams::receivers::DatagramReceivers;
use crate::datagrams::translations::{
    DatagramTranslations, TranslatedPairs, TranslationHints, may_be_translated, split_by_direction,
};
use crate::indices::SocketIndex;
use crate::reconciliation::Reconciliation;
use crate::sockets::routing::DatagramRouting;
use crate::tuning::DATAGRAM_BLOCK;
use crate::unmatched_cause::UnmatchedCause;

/// Inputs of matching that all partitions share, and the destinations of its results.
pub(crate) struct DatagramMatcher<'a, 'b> {
    pub(crate) routing: DatagramRouting<'a>,
    pub(crate) receivers: DatagramReceivers<'a>,
    /// Sockets with names that only their peers know.
    pub(crate) nameless: &'a FxHashMap<SocketIndex, FallbackNames>,
    /// Messages by flow.
    pub(crate) messages: &'a PartitionStore<'b, DatagramMessage>,
    /// Store for a later step if some datagrams were received in part, have no checksum or may be
    /// joined: remaining sends, and receives of these kinds, by destination.
    pub(crate) late: Option<&'a PartitionStore<'b, DatagramCall>>,
    /// Store for datagrams with names that may have been translated: the remaining ones, by
    /// content.
    pub(crate) astray: Option<&'a PartitionStore<'b, DatagramCall>>,
    /// Whether any remaining receive may be of any remaining send: some have no checksum, or may be
    /// joined.
    pub(crate) any_is_late: bool,
    /// Whether some datagrams may be joined.
    pub(crate) joined: bool,
}

/// The datagrams of a partition, block by block.
pub(crate) trait DatagramBlocks:
    Iterator<Item = Result<Vec<DatagramCall>, PathError>>
{
}

impl<T: Iterator<Item = Result<Vec<DatagramCall>, PathError>>> DatagramBlocks for T {}

/// Results of one partition in addition to its messages.
#[derive(Default)]
pub(crate) struct MatchedDatagrams {
    pub(crate) counts: Reconciliation,
    pub(crate) names: SeenNames,
    /// The pairs of sockets that exchanged translated datagrams.
    pub(crate) translated: TranslatedPairs,
}

impl DatagramMatcher<'_, '_> {
    /// Collects all datagrams of a partition in one table, since all of them may be equal.
    fn collect_datagrams(
        &self,
        blocks: impl DatagramBlocks,
    ) -> Result<SpillableVec<DatagramCall>, PathError> {
        let mut all = SpillableVec::new(&self.routing.capture.pool);
        for block in blocks {
            all.extend(block?)?;
        }
        Ok(all)
    }

    /// Matches the datagrams of partition number `piece`, which are in the order of logs and
    /// records. Of the remaining ones some go to the stores `late` and `astray`.
    pub(crate) fn match_partition(
        &self,
        piece: usize,
        datagrams: impl DatagramBlocks,
        samples: &mut ClockSamples,
    ) -> Result<MatchedDatagrams, PathError> {
        let datagrams = self.collect_datagrams(datagrams)?;
        let mut matches = match_all(
            self.routing,
            &datagrams,
            &[MatchingPass::Exact, MatchingPass::UnknownSender],
        )?;
        let mut matched = MatchedDatagrams::default();
        let sent = datagrams.iter().filter(|datagram| datagram.is_sent()).count() as u64;
        matched.counts.datagrams.sent = sent;
        matched.counts.datagrams.received = datagrams.len() as u64 - sent;
        let Some(late) = self.late else {
            let matches = self.remove_astray(piece, &datagrams, matches)?;
            self.write_messages(piece, &datagrams, &matches, samples, &mut matched)?;
            return Ok(matched);
        };
        let is_late = |at: &u32| {
            self.any_is_late
                || datagrams[*at as usize].is_sent()
                || datagrams[*at as usize].is_truncated()
        };
        let mut writer = PartitionWriter::new(late, piece);
        for at in matches.sends.iter().chain(matches.receives.iter()).filter(|at| is_late(at)) {
            let datagram = datagrams[*at as usize];
            writer.partition_record(
                (self.routing.routing_hash(&datagram, false) % late.partition_count() as u64)
                    as usize,
                datagram,
            )?;
        }
        writer.finish()?;
        matches.sends.truncate(0);
        matches.receives.retain(|at| !is_late(at));
        let matches = self.remove_astray(piece, &datagrams, matches)?;
        self.write_messages(piece, &datagrams, &matches, samples, &mut matched)?;
        Ok(matched)
    }

    /// Matches datagrams that have no checksum, are joined on one side, or were received in part,
    /// with the remaining ones of the same destination.
    pub(crate) fn match_late_partition(
        &self,
        piece: usize,
        datagrams: impl DatagramBlocks,
        samples: &mut ClockSamples,
    ) -> Result<MatchedDatagrams, PathError> {
        let mut datagrams = self.collect_datagrams(datagrams)?;
        let mut matched = MatchedDatagrams::default();
        let mut matches = match_all(self.routing, &datagrams, &[])?;
        self.cut_joined_datagrams(
            &mut datagrams,
            &mut matches,
            BlockProof::Checksums,
            &mut matched,
        )?;
        let mut matches =
            match_remaining(self.routing, &datagrams, matches, MatchingPass::UNCHECKED)?;
        if self.joined {
            // Equal sizes are paired first: a datagram that both ends saw uncut must not be cut by
            // its size, and a truncated receive fits any larger send.
            matches = match_remaining(
                self.routing,
                &datagrams,
                matches,
                &[MatchingPass::TruncatedAlike],
            )?;
        }
        self.cut_joined_datagrams(&mut datagrams, &mut matches, BlockProof::Sizes, &mut matched)?;
        self.cut_joined_datagrams(&mut datagrams, &mut matches, BlockProof::Lost, &mut matched)?;
        let last = [MatchingPass::UncheckedSend, MatchingPass::Truncated];
        let matches = match_remaining(self.routing, &datagrams, matches, &last)?;
        let matches = self.remove_astray(piece, &datagrams, matches)?;
        self.write_messages(piece, &datagrams, &matches, samples, &mut matched)?;
        Ok(matched)
    }

    /// Cuts datagrams that one side saw joined at the boundaries of the other side, and counts each
    /// part.
    fn cut_joined_datagrams(
        &self,
        datagrams: &mut SpillableVec<DatagramCall>,
        matches: &mut DatagramMatches,
        proof: BlockProof,
        matched: &mut MatchedDatagrams,
    ) -> Result<(), PathError> {
        if self.joined {
            let [sent, received] = cut_joined(self.routing, datagrams, matches, proof)?;
            matched.counts.datagrams.sent += sent;
            matched.counts.datagrams.received += received;
        }
        Ok(())
    }

    /// Moves the unmatched datagrams that a translation may explain to the store `astray`, by
    /// content, and returns the other matches.
    fn remove_astray(
        &self,
        piece: usize,
        datagrams: &SpillableVec<DatagramCall>,
        mut matches: DatagramMatches,
    ) -> Result<DatagramMatches, PathError> {
        let Some(astray) = self.astray else { return Ok(matches) };
        let mut writer = PartitionWriter::new(astray, piece);
        for left in [&mut matches.sends, &mut matches.receives] {
            let is_astray = |at: &u32| may_be_translated(self.routing, &datagrams[*at as usize]);
            for at in left.iter().filter(|at| is_astray(at)) {
                let datagram = datagrams[*at as usize];
                let content = u64::from(datagram.checksum) ^ u64::from(datagram.bytes) << 32;
                writer.partition_record(
                    (content % astray.partition_count() as u64) as usize,
                    datagram,
                )?;
            }
            left.retain(|at| !is_astray(at));
        }
        writer.finish()?;
        Ok(matches)
    }

    /// Moves datagrams that were seen on one side only to their flows. The others go to `both`, and
    /// the hints that they give are returned. `piece` is the number of the partition among the
    /// writers of messages, and in `both`.
    pub(crate) fn collect_hints(
        &self,
        piece: [usize; 2],
        datagrams: impl DatagramBlocks,
        both: &PartitionStore<DatagramCall>,
    ) -> Result<(MatchedDatagrams, TranslationHints), PathError> {
        let mut hints = TranslationHints::default();
        let [alone, rest] =
            split_by_direction(self.routing, self.collect_datagrams(datagrams)?, &mut hints)?;
        let mut matched = MatchedDatagrams::default();
        let mut matches = DatagramMatches::new(&self.routing.capture.pool);
        for (at, datagram) in (0..).zip(alone.iter()) {
            if datagram.is_sent() { matches.sends.push(at)? } else { matches.receives.push(at)? }
        }
        self.write_messages(
            piece[0],
            &alone,
            &matches,
            &mut ClockSamples::default(),
            &mut matched,
        )?;
        let mut rest = rest.iter().copied().peekable();
        for tag in 0.. {
            if rest.peek().is_none() {
                break;
            }
            both.push_block(piece[1], tag, rest.by_ref().take(DATAGRAM_BLOCK).collect())?;
        }
        Ok((matched, hints))
    }

    /// Matches the remaining datagrams between the names that translations connect.
    pub(crate) fn match_translated_partition(
        &self,
        piece: usize,
        datagrams: impl DatagramBlocks,
        translations: &DatagramTranslations,
    ) -> Result<MatchedDatagrams, PathError> {
        let datagrams = self.collect_datagrams(datagrams)?;
        let matches = match_translated(self.routing, translations, &datagrams)?;
        let mut matched = MatchedDatagrams::default();
        translations.note_matches(self.routing, &datagrams, &matches, &mut matched.translated);
        // Translated names are not the names of the other end, and equal contents may have been
        // confused: neither names nor clocks are learned from them.
        self.write_messages(
            piece,
            &datagrams,
            &matches,
            &mut ClockSamples::default(),
            &mut matched,
        )?;
        matched.names = SeenNames::default();
        Ok(matched)
    }

    /// Passes all matches, as messages, to the store of flows, and learns names and clocks from
    /// them.
    fn write_messages(
        &self,
        piece: usize,
        datagrams: &SpillableVec<DatagramCall>,
        matches: &DatagramMatches,
        samples: &mut ClockSamples,
        matched: &mut MatchedDatagrams,
    ) -> Result<(), PathError> {
        let counts = &mut matched.counts.datagrams;
        counts.matched += matches.pairs.len() as u64;
        counts.copies += matches.copies.len() as u64;
        counts.duplicated += matches.duplicates.len() as u64;
        let mut writer = PartitionWriter::new(self.messages, piece);
        let mut push = |message: DatagramMessage| {
            writer.partition_record(
                (message.flow_hash() % self.messages.partition_count() as u64) as usize,
                message,
            )
        };
        let datagram = |at: u32| &datagrams[at as usize];
        let all = matches.pairs.iter().map(|pair| (pair, false));
        for ((send, receive), copy) in all.chain(matches.copies.iter().map(|pair| (pair, true))) {
            let (sent, received) = (datagram(*send), datagram(*receive));
            let (from, to) = (sent.socket, received.socket);
            let [from_host, to_host] =
                [from, to].map(|socket| self.routing.sockets[socket.index()].host.number());
            if from_host != to_host {
                samples.add_message(from_host, to_host, sent.time, received.time);
            }
            if !copy {
                let names = &self.routing.capture.names;
                matched.names.learn_names(sent, received, names, self.nameless);
            }
            push(DatagramMessage::from_pair(sent, received, copy))?;
        }
        for send in matches.sends.iter() {
            let sent = datagram(*send);
            let (to, cause) = match self.receivers.find_receiver(sent) {
                Some((receiver, true)) => (Some(receiver), UnmatchedCause::Lost),
                Some((receiver, false)) => (Some(receiver), UnmatchedCause::Closed),
                None => (None, UnmatchedCause::Untraced),
            };
            matched.counts.datagrams.lost += u64::from(cause == UnmatchedCause::Lost);
            push(DatagramMessage::from_sent(sent, to, cause))?;
        }
        for receive in matches.receives.iter() {
            push(DatagramMessage::from_received(datagram(*receive)))?;
        }
        writer.finish()
    }
}
