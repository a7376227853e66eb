//! The difference of two clocks, from the messages between their hosts.
//!
//! `pair` collects the samples of two clocks, `region` is the geometry of the lines that they
//! allow, `segments` splits the difference where a clock was set, `credibility` decides which
//! pieces are credible.

mod credibility;
pub(crate) mod pair;
pub(crate) mod region;
pub(crate) mod segments;
