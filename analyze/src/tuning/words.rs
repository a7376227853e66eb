//! Tuned figures of rare words that messages share.

/// Number of classes of words by how many messages have them, each four times as many as the one
/// before. Chosen, not measured.
pub(crate) const RARITY_LEVELS: usize = 5;
/// Minimum number of sent messages of a kind; fewer are too little evidence. Chosen, not measured.
pub(crate) const MIN_CASES: u32 = 12;
/// Number of standard errors by which matches must exceed chance: one kind of words in 700 does by
/// chance alone, and then by little.
pub(crate) const STANDARD_ERRORS: f64 = 3.0;
/// Numbers of the messages received last among which a cause is sought. Chosen, not measured.
pub(crate) const LOOKBACKS: [u32; 4] = [4, 16, 64, 256];
/// Maximum number of requests with a word, before a call, that are examined. Chosen, not measured.
pub(crate) const EXAMINED_REQUESTS: usize = 64;
/// Part of the probabilities of a call that is the same for all candidates before words are
/// weighed, since other evidence may be wrong. Chosen, not measured.
pub(crate) const OTHER_SHARE: f64 = 0.05;
/// Least reliability of a match with a single open request that decides the call before other
/// evidence is weighed. Chosen, not measured.
pub(crate) const DECIDING_RELIABILITY: f64 = 0.9;
/// Least reliability of a match with a single open request that the search takes for given. Of a
/// recording of mosquitto at 32 requests at once, 1443 instead of 1399 of 1452 calls are right with
/// it, and of one of fastify 1425 of 1426 either way.
pub(crate) const GIVEN_RELIABILITY: f64 = 0.99;
