//! Path patterns: groups of path instances with one shape (WAP5 sections 5.1 and 5.2).
//!
//! There may be more patterns than fit in memory, since every wrong link makes another one. So the
//! steps are: an instance becomes a record of bytes ([`record`], [`shape_labels`]); the records of
//! one shape are in one partition and are described together ([`mod@aggregate`], [`description`]);
//! patterns are numbered ([`ranking`]) and written row group by row group ([`rows`], [`hop_texts`],
//! [`table`]).

pub(crate) mod aggregate;
pub(crate) mod description;
mod hop_texts;
pub(crate) mod pattern;

mod ranking;
pub(crate) mod record;
mod rows;
mod shape_labels;
pub(crate) mod table;
