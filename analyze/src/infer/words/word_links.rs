//! Links of single messages by rare words, for messages that no assignment of calls explains: a
//! message was caused by the last one that its sender received with one of its rare words. The
//! lookback, the number of last received messages among which a match is sought, is learned for
//! each kind of message.

use message_trace::{MessageId, WordHash};
use rustc_hash::FxHashMap;

use super::{MatchCase, MatchCounts, RarityLevel, Reliability, received_words, sent_words};
use crate::infer::input::InferenceInput;
use crate::links::Links;
use crate::tuning::words::{LOOKBACKS, RARITY_LEVELS};

/// For each message with a match, the message that it shares a rare word with, and the probability
/// that this is its cause.
#[derive(Debug, Default)]
pub(in crate::infer) struct WordLinks {
    causes: FxHashMap<MessageId, (MessageId, f64)>,
}

/// The messages that a node received, and their words.
#[derive(Default)]
struct NodeWords {
    /// Time of arrival and id of each message, by time.
    received: Vec<(i64, MessageId)>,
    /// The indices in `received` of the messages with each word.
    places: FxHashMap<WordHash, Vec<u32>>,
    /// Number of messages that the node received or sent with each word.
    counts: FxHashMap<WordHash, u32>,
}

/// The last match of a message by words of one level.
#[derive(Clone, Copy, Debug, Default)]
struct LastMatch {
    /// The matching message, and its number among the received messages, 1 for the last one.
    nearest: Option<(MessageId, u32)>,
    /// For each lookback, whether one of as many messages before the possible causes matches.
    by_chance: [bool; LOOKBACKS.len()],
}

/// The counts of a kind of messages by level and lookback.
type KindCounts = [[MatchCounts; LOOKBACKS.len()]; RARITY_LEVELS];

/// A sent message with a match, its hop, and its matches by level.
type MatchedMessage = (MessageId, u32, [LastMatch; RARITY_LEVELS]);

impl WordLinks {
    /// Finds the matches of all messages of a batch.
    pub(in crate::infer) fn from_input(input: &InferenceInput<'_>) -> WordLinks {
        let InferenceInput { trace, naming, .. } = *input;
        if !trace.has_words() {
            return WordLinks::default();
        }
        let nodes = NodeWords::by_node(input);
        let mut counts: FxHashMap<u32, KindCounts> = FxHashMap::default();
        let mut messages: Vec<MatchedMessage> = Vec::new();
        for row in trace.ids() {
            let words = sent_words(trace, row);
            let Some(time) = trace.send_ts(row).filter(|_| !trace.is_connect(row)) else {
                continue;
            };
            let Some(node) = nodes.get(&naming.src(row)) else { continue };
            let before = node.received.partition_point(|(came, _)| *came <= time);
            let matches = node.matches(words, before as u32, row);
            let hop = naming.hop(row);
            let of_kind = counts.entry(hop).or_default();
            for (of_level, found) in of_kind.iter_mut().zip(&matches) {
                for (place, counts) in of_level.iter_mut().enumerate() {
                    // The first messages have no others before them to compare with.
                    if before as u32 >= 2 * LOOKBACKS[place] {
                        counts.add(found.case(place));
                    }
                }
            }
            if matches.iter().any(|found| found.nearest.is_some()) {
                messages.push((row, hop, matches));
            }
        }
        let best: FxHashMap<u32, [Option<usize>; RARITY_LEVELS]> = counts
            .iter()
            .map(|(hop, levels)| (*hop, levels.each_ref().map(best_lookback)))
            .collect();
        let mut causes = FxHashMap::default();
        for (row, hop, matches) in messages {
            let (Some(counts), Some(best)) = (counts.get(&hop), best.get(&hop)) else { continue };
            let mut found: Option<(MessageId, Reliability)> = None;
            for ((counts, best), matched) in counts.iter().zip(best).zip(&matches) {
                let Some((lookback, (cause, rank))) = best.zip(matched.nearest) else { continue };
                let counted = counts[lookback].reliability_without(matched.case(lookback));
                let Some(reliability) = counted.filter(|_| rank <= LOOKBACKS[lookback]) else {
                    continue;
                };
                if found.is_none_or(|(_, known)| known.at_least < reliability.at_least) {
                    found = Some((cause, reliability));
                }
            }
            if let Some((cause, reliability)) = found {
                causes.insert(row, (cause, reliability.expected));
            }
        }
        WordLinks { causes }
    }

    /// Returns whether words show the cause of no message.
    pub(in crate::infer) fn is_empty(&self) -> bool {
        self.causes.is_empty()
    }

    /// The cause of the message by its words, and the probability that this is no
    /// coincidence.
    pub(in crate::infer) fn cause(&self, row: MessageId) -> Option<(MessageId, f64)> {
        self.causes.get(&row).copied()
    }

    /// Links the message to its cause by words; with the remaining probability its links
    /// are as before.
    pub(in crate::infer) fn link(&self, row: MessageId, links: &mut Links) {
        let Some((cause, sure)) = self.cause(row) else { return };
        let mut parents = vec![(cause, sure)];
        for (parent, share) in links.parents_here(row) {
            match parent == cause {
                true => parents[0].1 += (1.0 - sure) * share,
                false => parents.push((parent, (1.0 - sure) * share)),
            }
        }
        parents.retain(|(_, share)| *share > 0.0);
        links.set_parents(row, &parents, (1.0 - sure) * links.spontaneous_probability(row));
    }

    /// Links all messages to their causes by words.
    pub(in crate::infer) fn link_all(&self, links: &mut Links) {
        links.ids().for_each(|row| self.link(row, links));
    }
}

impl NodeWords {
    /// The received messages of each node that also sent some.
    fn by_node(input: &InferenceInput<'_>) -> FxHashMap<u32, NodeWords> {
        let InferenceInput { trace, naming, .. } = *input;
        let mut nodes: FxHashMap<u32, NodeWords> = FxHashMap::default();
        for row in trace.ids() {
            let words = sent_words(trace, row);
            nodes.entry(naming.src(row)).or_default().count(words);
        }
        for row in trace.ids().filter(|row| !trace.is_connect(*row)) {
            let Some(node) = nodes.get_mut(&naming.dst(row)) else { continue };
            let Some(came) = trace.arrival_time(row) else { continue };
            node.received.push((came, row));
            node.count(received_words(trace, row));
        }
        for node in nodes.values_mut() {
            node.received.sort_unstable();
            for (place, (_, row)) in (0..).zip(&node.received) {
                for word in received_words(trace, *row) {
                    node.places.entry(*word).or_default().push(place);
                }
            }
        }
        nodes
    }

    fn count(&mut self, words: &[WordHash]) {
        words.iter().for_each(|word| *self.counts.entry(*word).or_default() += 1);
    }

    /// The last match of message `row`, which has these `words`, at each level. Only the first
    /// `before` messages that the node received can match.
    fn matches(
        &self,
        words: &[WordHash],
        before: u32,
        row: MessageId,
    ) -> [LastMatch; RARITY_LEVELS] {
        let mut found = [LastMatch::default(); RARITY_LEVELS];
        for word in words {
            let Some(places) = self.places.get(word) else { continue };
            let count = self.counts.get(word).copied().unwrap_or(0);
            let found = &mut found[RarityLevel::of_count(count).index()];
            let end = places.partition_point(|place| *place < before);
            // A message to the node itself is not its own cause.
            let last = places[..end]
                .iter()
                .rev()
                .filter_map(|place| Some((*place, self.received.get(*place as usize)?.1)));
            let last = last.take(2).find(|(_, of)| *of != row);
            if let Some((place, of)) = last
                && found.nearest.is_none_or(|(_, rank)| before - place < rank)
            {
                found.nearest = Some((of, before - place));
            }
            for (lookback, by_chance) in LOOKBACKS.iter().zip(&mut found.by_chance) {
                let [first, end] =
                    [2 * lookback, *lookback].map(|back| before.saturating_sub(back));
                let next = places.partition_point(|place| *place < first);
                *by_chance |= places.get(next).is_some_and(|place| *place < end);
            }
        }
        found
    }
}

impl LastMatch {
    /// Whether the match is within this lookback (an index of [`LOOKBACKS`]), and whether one is by
    /// chance.
    fn case(&self, lookback: usize) -> MatchCase {
        MatchCase {
            is_matched: self.nearest.is_some_and(|(_, rank)| rank <= LOOKBACKS[lookback]),
            is_matched_by_chance: self.by_chance[lookback],
        }
    }
}

/// The lookback (an index of [`LOOKBACKS`]) with which most messages have a match that is no
/// coincidence, the shortest of equal ones; `None` if matches prove nothing with any lookback.
fn best_lookback(counts: &[MatchCounts; LOOKBACKS.len()]) -> Option<usize> {
    let worth = |counts: &MatchCounts| {
        let known = counts.reliability_without(MatchCase::default());
        known.map(|known| known.at_least * counts.matched_share())
    };
    let mut best: Option<(usize, f64)> = None;
    for (place, worth) in counts.iter().map(worth).enumerate() {
        if let Some(worth) = worth.filter(|worth| best.is_none_or(|(_, known)| *worth > known)) {
            best = Some((place, worth));
        }
    }
    best.map(|(place, _)| place)
}

#[cfg(test)]
#[path = "word_links_tests.rs"]
mod tests;
