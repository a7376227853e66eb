//! Evidence of rare words that messages share: an order number, a correlation id, a session. A
//! message that a node received and one that it sent with the same rare word may belong together,
//! or share the word by chance. The trace shows which, without any assignment: for each kind of
//! sent messages, the share that has a match among the messages that can be its cause is compared
//! with the share that has one among as many messages that cannot. docs/accuracy.md derives the
//! formula.
//!
//! Words are distinguished by how many messages have them ([`RarityLevel`]), since a constant, the
//! id of a session and the number of an order differ in what they prove. [`WordLinks`] applies this
//! to single messages; [`super::auto`] applies it to the requests and calls of a service.

mod claim;
mod message_words;
mod word_links;

use crate::tuning::words::{MIN_CASES, RARITY_LEVELS, STANDARD_ERRORS};

pub(super) use claim::WordClaim;
pub(super) use message_words::{received_words, sent_words};
pub(super) use word_links::WordLinks;

/// A class of words by the number of messages of a node that have them: 1 to 3, 4 to 15, 16 to 63,
/// 64 to 255, or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RarityLevel(u8);

impl RarityLevel {
    /// All levels, the rarest words first.
    pub(super) fn all() -> impl Iterator<Item = RarityLevel> {
        (0..RARITY_LEVELS as u8).map(RarityLevel)
    }

    /// The level of a word that `count` messages have.
    pub(super) fn of_count(count: u32) -> RarityLevel {
        RarityLevel((count.max(1).ilog2() as u8 / 2).min(RARITY_LEVELS as u8 - 1))
    }

    /// The index of the level, from the rarest words on.
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The matches of one sent message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MatchCase {
    /// Whether a message that can be its cause shares a word with it.
    pub(super) is_matched: bool,
    /// Whether one of as many messages that cannot be its cause does.
    pub(super) is_matched_by_chance: bool,
}

/// Counts of the cases of one kind of sent messages and one level of words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MatchCounts {
    cases: u32,
    matched: u32,
    by_chance: u32,
}

/// The probability that a match is no coincidence.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct Reliability {
    /// A lower bound, which decides whether words count.
    pub(super) at_least: f64,
    /// The best estimate.
    pub(super) expected: f64,
}

impl MatchCounts {
    /// Adds a case.
    pub(super) fn add(&mut self, case: MatchCase) {
        self.cases += 1;
        self.matched += u32::from(case.is_matched);
        self.by_chance += u32::from(case.is_matched_by_chance);
    }

    /// The share of the cases that have a match.
    pub(super) fn matched_share(&self) -> f64 {
        f64::from(self.matched) / f64::from(self.cases.max(1))
    }

    /// The probability that a match is no coincidence, as the cases other than `own` show; `None`
    /// if they show nothing.
    ///
    /// Words are passed on with probability h, and an unrelated match exists with probability g, so
    /// that the share f of cases with a match is 1 - (1 - h)(1 - g). Then h = (f - g) / (1 - g),
    /// and the share h / f of the matches is no coincidence.
    pub(super) fn reliability_without(&self, own: MatchCase) -> Option<Reliability> {
        let left = |count: u32, own: bool| f64::from(count.saturating_sub(u32::from(own)));
        let cases = left(self.cases, true);
        let matched = left(self.matched, own.is_matched);
        let by_chance = left(self.by_chance, own.is_matched_by_chance);
        if cases < f64::from(MIN_CASES) || matched <= by_chance {
            return None;
        }
        let (f, g) = (matched / cases, by_chance / cases);
        // The variance of a share; as much as one case more is never known.
        let variance = |share: f64| (share * (1.0 - share) + 1.0 / cases) / cases;
        if f - g <= STANDARD_ERRORS * (variance(f) + variance(g)).sqrt() {
            return None;
        }
        // Half a match by chance is supposed where none was seen.
        let likely = (by_chance + 0.5) / (cases + 1.0);
        let expected = (f - likely).max(0.0) / (f * (1.0 - likely));
        // The error of h / f follows from those of f and g by their partial derivatives. If no
        // match is by chance, it does not matter how many cases have one.
        let by_f = likely / (f * f * (1.0 - likely));
        let by_g = (1.0 - f) / (f * (1.0 - likely).powi(2));
        let error = (by_f.powi(2) * variance(f) + by_g.powi(2) * variance(g)).sqrt();
        let at_least = expected - STANDARD_ERRORS * error;
        (at_least > 0.0).then_some(Reliability { at_least, expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: MatchCase = MatchCase { is_matched: true, is_matched_by_chance: false };

    /// Counts with these numbers in addition to a matched case of its own.
    fn reliability(cases: u32, matched: u32, by_chance: u32) -> Option<Reliability> {
        let counts = MatchCounts { cases: cases + 1, matched: matched + 1, by_chance };
        counts.reliability_without(OWN)
    }

    #[test]
    fn reliability_matches_handwritten_values() {
        // Every case is matched, none by chance, where 0.5 of 101 is supposed: 1 - 0.00495 divided
        // by itself.
        let all = reliability(100, 100, 0).unwrap();
        assert!((all.expected - 1.0).abs() < 1e-12, "{all:?}");
        // The derivatives are 0.00495 / 0.99505 = 0.004975 by f and 0 by g; the error of f is 0.01.
        assert!((all.at_least - (1.0 - 3.0 * 0.000_049_75)).abs() < 1e-7, "{all:?}");
        // Other cases are matched by words of another rarity: f = 0.5, and the derivative by g is
        // 0.5 / (0.5 * 0.99505^2) = 1.009975, with an error of 0.01; by f it is 0.019901, with one
        // of 0.050990.
        let half = reliability(100, 50, 0).unwrap();
        let error = (0.010_099_75_f64.powi(2) + 0.001_014_75_f64.powi(2)).sqrt();
        assert!((half.at_least - (half.expected - 3.0 * error)).abs() < 1e-6, "{half:?}");
        assert!(half.at_least > 0.96, "{half:?}");
        // f = 0.6, g = 0.2: h = 0.4 / 0.8 = 0.5, and 0.5 / 0.6 of the matches are no coincidence.
        let some = reliability(100_000, 60_000, 20_000).unwrap();
        assert!((some.expected - 5.0 / 6.0).abs() < 1e-4, "{some:?}");
        assert!(some.at_least < some.expected && some.at_least > 0.81, "{some:?}");
    }

    #[test]
    fn chance_constants_and_few_cases_say_nothing() {
        assert_eq!(reliability(1000, 300, 300), None, "as many by chance");
        assert_eq!(reliability(1000, 310, 300), None, "a few more, as chance has it");
        assert_eq!(reliability(1000, 1000, 1000), None, "a constant");
        assert_eq!(reliability(1000, 0, 0), None, "no matches but the own one");
        assert_eq!(reliability(MIN_CASES - 1, MIN_CASES - 1, 0), None);
    }

    #[test]
    fn sessions_that_are_not_always_open_count_in_part() {
        // Each session is open half of the time: f = 1, g = 0.5, so h = 1.
        let sessions = reliability(1000, 1000, 500).unwrap();
        assert!(sessions.expected > 0.99 && sessions.at_least > 0.9, "{sessions:?}");
    }

    #[test]
    fn levels_grow_fourfold() {
        let levels =
            [1, 3, 4, 15, 16, 255, 256, u32::MAX].map(|count| RarityLevel::of_count(count).index());
        assert_eq!(levels, [0, 0, 1, 1, 2, 3, 4, 4]);
        assert_eq!(RarityLevel::all().count(), RARITY_LEVELS);
    }
}
