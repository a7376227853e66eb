//! The difference of two clocks, from the messages between their hosts.
//!
//! `pair` puts the samples of two clocks together, `region` is the geometry of the lines that they
//! allow, `segments` cuts where a clock was set, `belief` says which pieces can be believed.

mod credibility;
pub(crate) mod pair;
pub(crate) mod region;
pub(crate) mod segments;
