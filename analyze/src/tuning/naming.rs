//! Tuned figures of the naming of nodes and ports.

/// Minimum number of such ports of a program; fewer tell nothing.
pub(crate) const MIN_PORTS: usize = 16;
/// Smallest share of a program's ports that must be such ports.
pub(crate) const PASSING_SHARE: f64 = 0.9;
/// Maximum number of connections accepted at such a port: a range of ports is gone through again.
pub(crate) const MAX_CONNECTIONS: usize = 8;
/// Longest use of a connection at such a port, as a share of the trace's time.
pub(crate) const MAX_TIME_SHARE: f64 = 0.02;

/// Maximum number of processes above the one that serves a unix socket that may have made it.
/// Chosen, not measured.
pub(crate) const MAX_BINDING_PARENTS: usize = 8;
/// Smallest number in a single name that is taken for the id of the process that is bound to it:
/// services are numbered from 0 or 1, and in containers process ids are small, too. Chosen, not
/// measured.
pub(crate) const MIN_LONE_PID: u32 = 10;
/// Number of digits that no number of a service has, in the name of a unix socket: a time in
/// seconds since 1970 has ten. Chosen, not measured.
pub(crate) const MIN_LONG_NUMBER: usize = 10;
/// Smallest number of characters that are drawn at random for the name of a temporary file:
/// `mkstemp` draws 6. Known.
pub(crate) const MIN_DRAWN: usize = 6;
/// Smallest number of names that look drawn at random, for another one of their form to be drawn,
/// too, that does not look so. Chosen, not measured.
pub(crate) const MIN_DRAWN_ALIKE: usize = 3;
/// Smallest number of hexadecimal digits that are taken for drawn ones. Of 16,000 words in names of
/// Debian's files a few dozen are hexadecimal with 8 digits or more, nearly all of them checksums.
/// Measured.
pub(crate) const MIN_HEXADECIMAL: usize = 8;
/// Smallest number of letters and digits in no order that are taken for drawn ones wherever they
/// are. Chosen, not measured.
pub(crate) const MIN_PLAIN_DRAWN: usize = 8;
/// Longest word, in letters, within letters and digits that were drawn at random, outside of
/// folders of temporary files: `v1beta1` was not. Chosen, not measured.
pub(crate) const LONGEST_DRAWN_WORD: usize = 3;
