//! From logs to messages: reconciliation (WAP5 section 4) turns what every process saw of its own
//! sockets into one trace of messages, each with the time at both ends.
//!
//! The way of the data, one concern a file. The logs are read twice, on all processors, as there
//! may be more calls than memory holds:
//!
//! 1. for what there is: processes, flows with their totals, names (`survey`, `read_logs`,
//!    `capture`). The flows of all processes that hold one kernel socket become one (`socket`), and
//!    the two ends of each connection find each other (`connections`, `pairing`, `unix_sockets`),
//!    where their names differ by what they share ([`translation`], `half_flows`, `chosen`,
//!    `beginnings`, `translated`);
//! 2. for the calls (`second_reading`, and `positions` where a log has forgotten some), which are
//!    dealt into partitions (`deal`), in memory or in temporary files ([`out_of_core`]):
//!    those of one connection, or of one content of datagrams, meet in one.
//!
//! Tables of which there is a row for each flow, socket, name or connection are in files where they
//! are large, too (`column`, `numbered`, `places`, `tables`, `mapping`).
//!
//! Then each partition is matched apart from the others: streams by byte ([`streams`],
//! `stream_flows`) and made fat ([`fat`]), a connection with very many calls from files (`ways`,
//! `sorted`), datagrams by checksum (`datagram_match`, [`datagrams`]) and then grouped into flows
//! (`datagram_flows`). The messages (`rows`, `row_sink`) get the times of the common clock, are
//! sorted, with those that were imported as such (`imported`), and written (`timeline`). The public
//! modules are the steps by key: pure functions of the calls of one stream direction, one flow or
//! one datagram key. What could not be matched is counted by cause in the [`Reconciliation`].
//! [`blind_spots`] lists whom the logs mention and who has none.

mod addresses;
mod ancestors;
mod beginnings;
pub mod blind_spots;
mod calls;
mod capture;
mod cause;
mod chosen;
mod clock_hints;
mod connecting;
mod connections;
mod datagram_flows;
mod datagram_match;
mod datagram_names;
mod datagram_partition;
mod datagram_translation;
pub mod datagrams;
mod deal;
mod elsewhere;
mod end;
mod error;
mod fat;
mod first_calls;
mod greeting;
mod half_flows;
mod holes;
mod host_facts;
mod imported;
mod kept;
mod lookups;
mod machines;
mod multiplexed;
mod names;
mod namespaces;
mod options;
mod output;
mod pairing;
mod pipeline;
mod pipelined;
mod positions;
mod process;
mod program;
mod program_names;
mod reach;
mod read_logs;
mod receivers;
mod reconciliation;
mod row_sink;
mod rows;
mod second_reading;
mod seen_twice;
mod socket;
mod steady;
mod stream_flows;
mod streaming;
pub mod streams;
mod survey;
mod tally;
mod timeline;
mod translated;
pub mod translation;
mod unanswered;
mod unit;
mod units;
mod unix_sockets;
mod ways;

pub use calls::{Part, Seen, Transfer};
pub use cause::{NOT_RECORDED, is_of_the_system};
pub use error::Error;
pub use holes::Hole;
pub use options::Options;
pub use pipeline::reconcile;
pub use reconciliation::{
    Counts, DamagedLog, Datagrams, Internal, Reconciliation, StreamBytes, TranslatedEnd,
    Translation,
};
