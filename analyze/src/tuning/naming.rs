//! Tuned figures of the naming of nodes and ports.

/// Minimum number of transient ports of a program; fewer are no evidence.
pub(crate) const MIN_PORTS: usize = 16;
/// Smallest share of a program's ports that must be transient.
pub(crate) const PASSING_SHARE: f64 = 0.9;
/// Maximum number of connections accepted at a transient port: a range of ports is reused.
pub(crate) const MAX_CONNECTIONS: usize = 8;
/// Longest use of a connection at a transient port, as a share of the trace's time.
pub(crate) const MAX_TIME_SHARE: f64 = 0.02;

/// Maximum number of ancestor processes of the server of a unix socket that may have created it.
/// Chosen, not measured.
pub(crate) const MAX_BINDING_PARENTS: usize = 8;
/// Smallest number in a single name that is treated as the id of the process that is bound to it:
/// services are numbered from 0 or 1, and in containers process ids are small, too. Chosen, not
/// measured.
pub(crate) const MIN_LONE_PID: u32 = 10;
/// Number of digits that no number of a service has, in the name of a unix socket: a time in
/// seconds since 1970 has ten. Chosen, not measured.
pub(crate) const MIN_LONG_NUMBER: usize = 10;
/// Smallest number of characters that are drawn at random for the name of a temporary file:
/// `mkstemp` draws 6. Known.
pub(crate) const MIN_DRAWN: usize = 6;
/// Smallest number of names that look drawn at random, for which another one of their form counts
/// as drawn, too, even if it does not look so. Chosen, not measured.
pub(crate) const MIN_DRAWN_ALIKE: usize = 3;
/// Smallest number of hexadecimal digits that are treated as random. Of 16,000 words in names of
/// Debian's files a few dozen are hexadecimal with 8 digits or more, nearly all of them checksums.
/// Measured.
pub(crate) const MIN_HEXADECIMAL: usize = 8;
/// Smallest number of unordered letters and digits that are treated as random in any place. Chosen,
/// not measured.
pub(crate) const MIN_PLAIN_DRAWN: usize = 8;
/// Longest word, in letters, within letters and digits that were drawn at random, outside of
/// folders of temporary files: `v1beta1` was not. Chosen, not measured.
pub(crate) const LONGEST_DRAWN_WORD: usize = 3;
