//! The datagrams of one partition, which has those of some contents. What was matched, what was
//! lost and what only one side saw goes on to its flow.

use clocks::Samples;
use message_trace::PathError;
use out_of_core::{PartitionStore, PartitionWriter, SpillableVec};
use rustc_hash::FxHashMap;

use crate::calls::Datagram;
use crate::cause::Cause;
use crate::datagrams::end::DatagramMessage;
use crate::datagrams::joined::{self, Proof};
use crate::datagrams::matches::Matches;
use crate::datagrams::matching::{match_all, match_left, match_translated};
use crate::datagrams::pass::Pass;
use crate::datagrams::peer_names::{Fallback, SeenNames};
use crate::datagrams::receivers::Receivers;
use crate::datagrams::translations::{
    DatagramTranslations, Hints, Translated, may_be_translated, split,
};
use crate::names::NameId;
use crate::reconciliation::Reconciliation;
use crate::sockets::reach::Reach;
use crate::tuning::DATAGRAM_BLOCK;

/// What matching needs to know of all sockets, and where its results go.
pub(crate) struct DatagramMatcher<'a, 'b> {
    pub(crate) reach: Reach<'a>,
    pub(crate) receivers: Receivers<'a>,
    /// Sockets whose names their peers tell.
    pub(crate) nameless: &'a FxHashMap<u32, Fallback>,
    /// Messages by flow.
    pub(crate) messages: &'a PartitionStore<'b, DatagramMessage>,
    /// Where something was received in part, is without checksum or may be several datagrams at
    /// once: sends and such receives that are left, by where they go.
    pub(crate) late: Option<&'a PartitionStore<'b, Datagram>>,
    /// Where names may have been translated: what is left, by content.
    pub(crate) astray: Option<&'a PartitionStore<'b, Datagram>>,
    /// Whether any receive that is left may be of what is left of the sends: some are without
    /// checksum, or may be several datagrams at once.
    pub(crate) any_is_late: bool,
    /// Whether some may be several datagrams at once.
    pub(crate) joined: bool,
}

/// The datagrams of a partition, block by block.
pub(crate) trait Blocks: Iterator<Item = Result<Vec<Datagram>, PathError>> {}

impl<T: Iterator<Item = Result<Vec<Datagram>, PathError>>> Blocks for T {}

/// What came of one partition beside its messages.
#[derive(Default)]
pub(crate) struct MatchedDatagrams {
    pub(crate) counts: Reconciliation,
    pub(crate) names: SeenNames,
    /// The pairs of sockets between which translated datagrams went.
    pub(crate) translated: Translated,
}

impl DatagramMatcher<'_, '_> {
    /// All datagrams side by side: all of them may be equal.
    fn side_by_side(&self, blocks: impl Blocks) -> Result<SpillableVec<Datagram>, PathError> {
        let mut all = SpillableVec::new(&self.reach.capture.pool);
        for block in blocks {
            all.extend(block?)?;
        }
        Ok(all)
    }

    /// Matches the datagrams, in the order of logs and records, of partition number `piece`.
    pub(crate) fn partition(
        &self,
        piece: usize,
        datagrams: impl Blocks,
        samples: &mut Samples,
    ) -> Result<MatchedDatagrams, PathError> {
        let datagrams = self.side_by_side(datagrams)?;
        let mut matches = match_all(self.reach, &datagrams, &[Pass::Exact, Pass::UnknownSender])?;
        let mut matched = MatchedDatagrams::default();
        let sent = datagrams.iter().filter(|datagram| datagram.sent()).count() as u64;
        matched.counts.datagrams.sent = sent;
        matched.counts.datagrams.received = datagrams.len() as u64 - sent;
        let Some(late) = self.late else {
            let matches = self.without_astray(piece, &datagrams, matches)?;
            self.messages(piece, &datagrams, &matches, samples, &mut matched)?;
            return Ok(matched);
        };
        let is_late = |at: &u32| {
            self.any_is_late
                || datagrams[*at as usize].sent()
                || datagrams[*at as usize].truncated()
        };
        let mut dealer = PartitionWriter::new(late, piece);
        for at in matches.sends.iter().chain(matches.receives.iter()).filter(|at| is_late(at)) {
            let datagram = datagrams[*at as usize];
            dealer.deal(
                (self.reach.hash(&datagram, false) % late.partitions() as u64) as usize,
                datagram,
            )?;
        }
        dealer.finish()?;
        matches.sends.truncate(0);
        matches.receives.retain(|at| !is_late(at));
        let matches = self.without_astray(piece, &datagrams, matches)?;
        self.messages(piece, &datagrams, &matches, samples, &mut matched)?;
        Ok(matched)
    }

    /// Matches what is without checksum, is several datagrams on one side, or was received in part,
    /// with what is left to the same place.
    pub(crate) fn late_partition(
        &self,
        piece: usize,
        datagrams: impl Blocks,
        samples: &mut Samples,
    ) -> Result<MatchedDatagrams, PathError> {
        let mut datagrams = self.side_by_side(datagrams)?;
        let mut matched = MatchedDatagrams::default();
        let mut matches = match_all(self.reach, &datagrams, &[])?;
        self.cut(&mut datagrams, &mut matches, Proof::Checksums, &mut matched)?;
        let mut matches = match_left(self.reach, &datagrams, matches, Pass::UNCHECKED)?;
        if self.joined {
            // What may be cut by sizes alone must not be whole at both ends, and what was received
            // in part may be of any that is larger.
            matches = match_left(self.reach, &datagrams, matches, &[Pass::TruncatedAlike])?;
        }
        self.cut(&mut datagrams, &mut matches, Proof::Sizes, &mut matched)?;
        self.cut(&mut datagrams, &mut matches, Proof::Lost, &mut matched)?;
        let last = [Pass::UncheckedSend, Pass::Truncated];
        let matches = match_left(self.reach, &datagrams, matches, &last)?;
        let matches = self.without_astray(piece, &datagrams, matches)?;
        self.messages(piece, &datagrams, &matches, samples, &mut matched)?;
        Ok(matched)
    }

    /// Cuts what one side saw joined where the other side has borders, and counts each part.
    fn cut(
        &self,
        datagrams: &mut SpillableVec<Datagram>,
        matches: &mut Matches,
        proof: Proof,
        matched: &mut MatchedDatagrams,
    ) -> Result<(), PathError> {
        if self.joined {
            let [sent, received] = joined::cut(self.reach, datagrams, matches, proof)?;
            matched.counts.datagrams.sent += sent;
            matched.counts.datagrams.received += received;
        }
        Ok(())
    }

    /// What was matched, and what is left that no translation can be the cause of; the rest is
    /// dealt by its content.
    fn without_astray(
        &self,
        piece: usize,
        datagrams: &SpillableVec<Datagram>,
        mut matches: Matches,
    ) -> Result<Matches, PathError> {
        let Some(astray) = self.astray else { return Ok(matches) };
        let mut dealer = PartitionWriter::new(astray, piece);
        for left in [&mut matches.sends, &mut matches.receives] {
            let is_astray = |at: &u32| may_be_translated(self.reach, &datagrams[*at as usize]);
            for at in left.iter().filter(|at| is_astray(at)) {
                let datagram = datagrams[*at as usize];
                let content = u64::from(datagram.checksum) ^ u64::from(datagram.bytes) << 32;
                dealer.deal((content % astray.partitions() as u64) as usize, datagram)?;
            }
            left.retain(|at| !is_astray(at));
        }
        dealer.finish()?;
        Ok(matches)
    }

    /// Takes what is astray and was seen on one side only to its flow; the rest of partition number
    /// `piece` goes to `both`, and what it hints at is returned.
    pub(crate) fn hints(
        &self,
        piece: [usize; 2],
        datagrams: impl Blocks,
        both: &PartitionStore<Datagram>,
    ) -> Result<(MatchedDatagrams, Hints), PathError> {
        let mut hints = Hints::default();
        let [alone, rest] = split(self.reach, self.side_by_side(datagrams)?, &mut hints)?;
        let mut matched = MatchedDatagrams::default();
        let mut matches = Matches::new(&self.reach.capture.pool);
        for (at, datagram) in (0..).zip(alone.iter()) {
            if datagram.sent() { matches.sends.push(at)? } else { matches.receives.push(at)? }
        }
        self.messages(piece[0], &alone, &matches, &mut Samples::default(), &mut matched)?;
        let mut rest = rest.iter().copied().peekable();
        for tag in 0.. {
            if rest.peek().is_none() {
                break;
            }
            both.push(piece[1], tag, rest.by_ref().take(DATAGRAM_BLOCK).collect())?;
        }
        Ok((matched, hints))
    }

    /// Matches what is astray between the names that translations lead from and to.
    pub(crate) fn translated_partition(
        &self,
        piece: usize,
        datagrams: impl Blocks,
        translations: &DatagramTranslations,
    ) -> Result<MatchedDatagrams, PathError> {
        let datagrams = self.side_by_side(datagrams)?;
        let matches = match_translated(self.reach, translations, &datagrams)?;
        let mut matched = MatchedDatagrams::default();
        translations.note(self.reach, &datagrams, &matches, &mut matched.translated);
        // Names that were translated are not those of the other end, and equal contents may have
        // been taken for each other: neither names nor clocks are learned from them.
        self.messages(piece, &datagrams, &matches, &mut Samples::default(), &mut matched)?;
        matched.names = SeenNames::default();
        Ok(matched)
    }

    fn messages(
        &self,
        piece: usize,
        datagrams: &SpillableVec<Datagram>,
        matches: &Matches,
        samples: &mut Samples,
        matched: &mut MatchedDatagrams,
    ) -> Result<(), PathError> {
        let counts = &mut matched.counts.datagrams;
        counts.matched += matches.pairs.len() as u64;
        counts.copies += matches.copies.len() as u64;
        counts.duplicated += matches.duplicates.len() as u64;
        let mut dealer = PartitionWriter::new(self.messages, piece);
        let mut deal = |message: DatagramMessage| {
            dealer.deal((message.hash() % self.messages.partitions() as u64) as usize, message)
        };
        let datagram = |at: u32| &datagrams[at as usize];
        let all = matches.pairs.iter().map(|pair| (pair, false));
        for ((send, receive), copy) in all.chain(matches.copies.iter().map(|pair| (pair, true))) {
            let (sent, received) = (datagram(*send), datagram(*receive));
            let (from, to) = (sent.socket, received.socket);
            let [from_host, to_host] =
                [from, to].map(|socket| self.reach.sockets[socket as usize].host);
            if from_host != to_host {
                samples.add(from_host, to_host, sent.time, received.time);
            }
            if !copy {
                let name = |seen: NameId| self.reach.capture.names.inet(seen);
                matched.names.learn(sent, received, name, self.nameless);
            }
            deal(DatagramMessage::both(sent, received, copy))?;
        }
        for send in matches.sends.iter() {
            let sent = datagram(*send);
            let (to, cause) = match self.receivers.find(sent) {
                Some((receiver, true)) => (Some(receiver), Cause::Lost),
                Some((receiver, false)) => (Some(receiver), Cause::Closed),
                None => (None, Cause::Untraced),
            };
            matched.counts.datagrams.lost += u64::from(cause == Cause::Lost);
            deal(DatagramMessage::sent(sent, to, cause))?;
        }
        for receive in matches.receives.iter() {
            deal(DatagramMessage::received(datagram(*receive)))?;
        }
        dealer.finish()
    }
}
