//! The tuned figures of this crate, in the order of its steps: each with its meaning, its unit, and
//! what it was measured to be worth if that was measured.

// Logs

/// Maximum size of the file with a host's sender, in bytes: names of a key, one per line. No
/// collector writes a larger one. Chosen, not measured.
pub(crate) const MAX_SENDER_BYTES: u64 = 1 << 20;

/// Minimum duration of a name lookup that becomes a hop, in nanoseconds. A lookup in `/etc/hosts`
/// takes some 60 µs, and the first lookup of a process, which loads libraries for it, 200 to 400
/// µs: these involved no server. Measured.
pub(crate) const MIN_LOOKUP_NS: i64 = 500_000;
/// Time before and after a lookup in which a name server may see its datagram, in nanoseconds: the
/// clocks of two hosts are not aligned yet. Chosen, not measured.
pub(crate) const LOOKUP_SLACK_NS: i64 = 20_000_000;
/// Longest time by which a child's log begins before its parent records that it started it, in
/// nanoseconds: the child may run first. Chosen, not measured.
pub(crate) const CHILD_LOG_BEFORE_NS: i64 = 10_000_000;
/// Longest time by which a child's log begins after its parent records that it started it, in
/// nanoseconds. Chosen, not measured.
pub(crate) const CHILD_LOG_AFTER_NS: i64 = 1_000_000_000;
/// Maximum number of folders that may become part of a program's name, from the innermost one.
/// Chosen, not measured.
pub(crate) const MAX_NAME_FOLDERS: usize = 8;
/// Maximum number of ancestors that are searched for the name of a process that has only a title.
/// Chosen, not measured.
pub(crate) const MAX_NAME_PARENTS: usize = 8;
/// Number of places of a damaged log that are described; the rest is counted.
pub(crate) const DAMAGED_PLACES_SHOWN: usize = 20;
/// Longest time between two logs recording one setting of their host's clock, in nanoseconds: each
/// checks when it writes. Chosen, not measured.
pub(crate) const SETTING_SEEN_WITHIN_NS: u64 = 10_000_000_000;
/// Precision with which both clocks of a host were read at the same moment, in nanoseconds. Chosen,
/// not measured.
pub(crate) const SETTING_READ_WITHIN_NS: u64 = 1_000_000;
/// Flow numbers below this are in a table. Greater ones are in it only if the table is at least
/// half full. Chosen, not measured.
pub(crate) const FLOW_TABLE_LIMIT: u32 = 1 << 22;

// Sockets

/// Longest time between opening a socket and connecting it, in nanoseconds, if it was opened to be
/// connected. Chosen, not measured.
pub(crate) const OPENED_TO_CONNECT_NS: i64 = 100_000_000;
/// Distance of the ends of one connection in the view of two sources of a host, in nanoseconds: a
/// program closes a socket before the last packet is sent. Chosen, not measured.
pub(crate) const DUPLICATE_SLACK_NS: i64 = 1_000_000_000;
/// Distance of two readings of one moment by two processes of a machine, in nanoseconds: each adds
/// its own difference between monotonic and wall-clock time, read a moment apart. Chosen, not
/// measured.
pub(crate) const SAME_CLOCK_NS: i64 = 10_000;
/// Longest look at the queue of a unix stream that is used, in nanoseconds; a thread that was
/// interrupted meanwhile takes longer. Most take 200 to 500. Chosen, not measured.
pub(crate) const LONGEST_LOOK_NS: i64 = 3_000;
/// Maximum number of processes, each with another recording, at an end of a unix stream that was
/// found in use. Chosen, not measured.
pub(crate) const MAX_EPOCHS: usize = 1 << 10;
/// Distance of two readings of one moment by two processes of a machine, one of them strace, in
/// nanoseconds: a return seems earlier by the time that printing the call's beginning took, which a
/// busy machine may interrupt. Chosen, not measured.
pub(crate) const SAME_CLOCK_STRACE_NS: i64 = 1_000_000;

// Connections

/// Approximate memory of the first calls of all chosen sockets together, in bytes. Chosen, not
/// measured.
pub(crate) const FIRST_CALLS_BYTES: usize = 64 << 20;
/// Minimum number of first calls that are kept of each direction of a socket, however many sockets
/// there are. Chosen, not measured.
pub(crate) const MIN_FIRST_CALLS: usize = 8;
/// Maximum number of first calls that are kept of each direction of a socket. Chosen, not measured.
pub(crate) const MAX_FIRST_CALLS: usize = 4096;
/// Distance from its position in the order within which a connection's other end is looked for.
/// Chosen, not measured.
pub(crate) const PAIRING_REACH: usize = 64;

// Partitioning, with the figures of docs/decisions/0302-logs-are-read-twice.md.

/// Approximate size of a partition's calls in bytes: enough to keep files and buffers few, and
/// small compared with the memory budget.
pub(crate) const PARTITION_BYTES: u64 = 4 << 20;
/// Maximum number of partitions; every worker has a buffer for each.
pub(crate) const MAX_PARTITIONS: u64 = 1024;
/// Maximum number of flows of a thread that are remembered. Chosen, not measured.
pub(crate) const MAX_FLOWS_OF_A_THREAD: usize = 4096;

// Defaults of options

/// Number of calls of one connection that are matched in memory: twice the calls of a partition,
/// some 17 MB.
pub(crate) const DEFAULT_AT_ONCE: usize = 350_000;
/// Memory in bytes: it holds the calls of five million messages, and keeps the whole process below
/// 1 GB for 25 million. Measured.
pub(crate) const DEFAULT_MEMORY: u64 = 384 << 20;
/// Confidence from which two ends are paired: see docs/decisions/0311-translation-by-odds.md.
/// Measured.
pub(crate) const DEFAULT_TRANSLATION: f64 = 0.8;

// Translation: these were tuned together on synthetic systems, see
// docs/decisions/0311-translation-by-odds.md.

/// Number of a socket's first calls in one log that are kept unchanged. Of later ones, consecutive
/// calls in one direction are merged.
pub(crate) const UNMERGED_FIRST_CALLS: u32 = 48;
/// Maximum number of calls that are kept of a socket's beginning: mostly more than the turns that
/// are compared.
pub(crate) const MAX_BEGINNING_CALLS: u32 = 96;
/// Maximum number of half flows with one key, at either side, that are compared one by one.
pub(crate) const MAX_HALVES_OF_A_RARE_KEY: usize = 8;
/// Number of a crowd's half flows that are candidates for one connecting end: those nearest in
/// time.
pub(crate) const NEAREST_OF_A_CROWD: usize = 8;
/// Ratio between successive changes of a skew in the search for how far a skew may be wrong; it is
/// the precision of the result. Chosen, not measured.
pub(crate) const SKEW_STEP: f64 = 1.2;
/// Time after the expected one within which candidates of a crowd are sought, in nanoseconds.
pub(crate) const NEAREST_WITHIN_NS: i64 = 1_000_000_000;
/// Maximum number of pairs of one crowd that are tried on two hosts without rarer evidence of their
/// clocks.
pub(crate) const MAX_TRIED_OF_A_CROWD: usize = 20_000;
/// Number of accepting ends of a crowd without rarer evidence of clocks that are tried with every
/// possible connecting end.
pub(crate) const ACCEPTING_OF_A_CROWD: usize = 48;
/// Maximum number of pairs of all crowds together that are tried.
pub(crate) const MAX_TRIED_OF_CROWDS: usize = 1_000_000;
/// Minimum number of windows from which the usual width of the windows of one name is learned.
pub(crate) const MIN_WIDTHS: usize = 8;
/// Trust in a difference of clocks above which contradicting pairs are ruled out.
pub(crate) const CERTAIN_TRUST: f64 = 0.999;
/// Trust in a difference of clocks above which it counts as known.
pub(crate) const KNOWN_TRUST: f64 = 0.9;
/// Maximum number of votes for estimating the skew, which takes longest.
pub(crate) const MAX_VOTES_FOR_SKEW: usize = 512;
/// Evidence that each pair adds in favour of the best place over the second best, in nats.
pub(crate) const VOTE_NATS: f64 = 3.0;
/// Minimum evidence for a difference to be accepted, in nats.
pub(crate) const ACCEPTED_NATS: f64 = 12.0;
/// Maximum evidence that kept ports add, in nats.
pub(crate) const MAX_PORT_NATS: f64 = 4.0;
/// Evidence of a kept port of a single pair, in nats.
pub(crate) const PORT_NATS: f64 = 10.0;
/// Minimum share of true votes among the votes for a difference.
pub(crate) const MIN_TRUE_VOTES: f64 = 0.9;
/// Number of unmatched flows to a name compared with which one match is no evidence.
pub(crate) const UNTRANSLATED_FLOWS: f64 = 10.0;
/// Number of matches that a name is credited with before any was seen.
pub(crate) const PRIOR_MATCHES: f64 = 0.5;
/// Number of matches to which the prior of a new path through a translation is equivalent.
pub(crate) const NEW_TRANSLATION_MATCHES: f64 = 0.2;
/// Approximate number of ports that a client's end can have.
pub(crate) const CLIENT_PORTS: f64 = 28_000.0;
/// Number of rounds of learning.
pub(crate) const LEARNING_ROUNDS: usize = 12;
/// Minimum expected number of matches by chance.
pub(crate) const MIN_CHANCE: f64 = 1e-6;
/// Number of rounds of message passing in each round of learning. They begin with the messages of
/// the previous round.
pub(crate) const BELIEF_ROUNDS: usize = 3;
/// Factor by which a candidate must be likelier than its rivals to be clearly ahead of them. If all
/// candidates counted instead, the first of two equal names would get everything.
pub(crate) const CLEARLY_AHEAD: f64 = 3.0;
/// Maximum absolute log-odds.
pub(crate) const MAX_LOG_ODDS: f64 = 40.0;
/// Size up to which sizes are common in general, in bytes: pings, acknowledgements, short headers.
pub(crate) const COMMON_SIZE_BYTES: f64 = 16.0;
/// Maximum evidence of one equal size, in nats.
pub(crate) const MAX_SIZE_NATS: f64 = 6.0;
/// Evidence of a turn of the same size as the previous one in its direction, in nats.
pub(crate) const REPEATED_SIZE_NATS: f64 = 0.05;
/// Maximum evidence of one equal checksum, in nats: the same programs send the same beginnings.
pub(crate) const MAX_FINGERPRINT_NATS: f64 = 4.0;
/// Evidence that is subtracted if turns differ, in nats: they may if both ends send at the same
/// time.
pub(crate) const TURNS_DIFFER_NATS: f64 = 2.0;
/// Evidence that is subtracted if a receiver left bytes unread, in nats.
pub(crate) const UNREAD_NATS: f64 = 2.0;
/// Maximum share by which the clocks of two hosts drift apart; corrected clocks drift less.
pub(crate) const MAX_HOST_SKEW: f64 = 400e-6;
/// Imprecision of the times of one machine, in nanoseconds.
pub(crate) const TIME_SLACK_NS: i64 = 20_000;
/// Maximum assumed travel time of a byte if nothing came back, in nanoseconds.
pub(crate) const MAX_TRAVEL_NS: i64 = 50_000_000;
/// Maximum evidence of one pause between turns, in nats.
pub(crate) const MAX_PAUSE_NATS: f64 = 3.0;
/// Minimum confidence of a pair that is used for estimating clocks. The minimum of many times
/// decides there, so that one wrong pair spoils it.
pub(crate) const MIN_CLOCK_CONFIDENCE: f64 = 0.99;

// Rows

/// Number of rows for each row in the sample from which the boundaries in time are chosen.
pub(crate) const ROWS_A_SAMPLE: usize = 64;
/// Number of rows of a block of a megabyte.
pub(crate) const ROW_BLOCK: usize = 16 << 10;

// Streams

/// Maximum number of calls that are sorted in memory together, 4 MB.
pub(crate) const MAX_SORTED_CALLS: usize = 175_000;
/// Minimum size of a piece of a body, in bytes. Chosen, not measured.
pub(crate) const MIN_PIECE_BYTES: u64 = 8192;
/// Minimum size of the last piece of a body that is echoed, in bytes: smaller ones may come back
/// equal by chance. Chosen, not measured.
pub(crate) const MIN_LAST_PIECE_BYTES: u64 = 1024;
/// Minimum size of a connection's largest call, in bytes, if it has bodies that are worth looking
/// for. Chosen, not measured.
pub(crate) const MIN_BODY_CALL_BYTES: u64 = 1024;
/// Number of bytes that sizes of buffers are a multiple of.
pub(crate) const BUFFER_MULTIPLE_BYTES: u64 = 4096;
/// Minimum number of times that a sender turned to something new, while nothing came back, for its
/// direction to be unanswered. Chosen, not measured.
pub(crate) const MIN_UNANSWERED_BOUNDARIES: u64 = 16;
/// Minimum number of times that a sender turned to something new for its direction to be
/// unanswered, if something came back in the end, which then need not be an answer. Chosen, not
/// measured.
pub(crate) const MANY_UNANSWERED_BOUNDARIES: u64 = 256;
/// Maximum number of pieces for each one that is the first after the sender turned to something
/// new. Chosen, not measured.
pub(crate) const PIECES_A_BOUNDARY: u64 = 4;
/// Maximum size of most notifications, in bytes. Bodies fill buffers. Chosen, not measured.
pub(crate) const MAX_NOTIFICATION_BYTES: u64 = 2_048;

/// Candidate limits in nanoseconds for pauses within messages. The shortest one that leaves calls
/// between longer pauses is used. Chosen, not measured.
pub(crate) const INNER_GAPS_NS: [i64; 7] =
    [250_000, 1_000_000, 2_500_000, 5_000_000, 12_000_000, 25_000_000, 50_000_000];
/// Minimum number of longer pauses for a decision. Chosen, not measured.
pub(crate) const MIN_INNER_BOUNDARIES: u64 = 8;
/// Number of bursts between longer pauses for each one with more messages in one direction than in
/// the other. Chosen, not measured.
pub(crate) const BURSTS_PER_UNEVEN_BURST: u64 = 10;
/// Number of bursts between longer pauses for each one that must have several calls. Chosen, not
/// measured.
pub(crate) const BURSTS_PER_LONG_BURST: u64 = 8;
/// Factor by which a body sent by the accepting side may stall longer if neither side does anything
/// else meanwhile. Chosen, not measured.
pub(crate) const STALL_FACTOR: i64 = 10;

// Multiplexed connections. Chosen on recorded systems, not measured against other values.

/// Minimum number of turns for a decision about a connection.
pub(crate) const MIN_TURNS: u64 = 64;
/// Maximum number of turns for each one with several pieces on both sides.
pub(crate) const TURNS_A_SEVERAL: u64 = 5;
/// Number of turns over which the balance is compared with its change over one turn.
pub(crate) const BALANCE_LAG_TURNS: usize = 16;
/// Maximum variance of the balance in a turn that a few concurrent calls cause; a larger one may
/// come from bodies.
pub(crate) const MAX_FEW_VARIANCE: f64 = 4.0;
/// Minimum number of turns with messages that cross. `analyze` has a figure of its own for
/// messages, independent of this one.
pub(crate) const MIN_CROSSING_TURNS: u64 = 8;
/// Maximum number of turns for each one with messages that cross.
pub(crate) const TURNS_A_CROSSING: u64 = 100;
/// Maximum mean size of messages that cross, in bytes. Bodies fill buffers.
pub(crate) const MAX_CROSSING_BYTES: u64 = 2_048;
/// Ratio between the usual size of a direction and the connection's own messages, which must be
/// smaller by at least this factor.
pub(crate) const USUAL_TO_OWN_BYTES: u64 = 4;
/// Minimum number of messages for each message that a side has more than the other, if each call is
/// a message.
pub(crate) const MESSAGES_A_DIFFERENCE: u64 = 50;
/// Minimum variance of the balance between turns, if each call is a message.
pub(crate) const MIN_BALANCE_VARIANCE: f64 = 0.2;
/// Maximum time after the last call of a piece in which it continues, in nanoseconds: between a
/// head and a body there is little else to do.
pub(crate) const PIECE_CONTINUES_NS: i64 = 250_000;
/// Maximum size of control data, such as an acknowledgement or a ping, in bytes.
pub(crate) const MAX_CONTROL_BYTES: u64 = 64;
/// Maximum time between a receive and the control data that it triggers, in nanoseconds.
pub(crate) const MAX_CONTROL_DELAY_NS: i64 = 1_000_000;
/// Minimum number of turns that are made up of usual messages, for a decision.
pub(crate) const MIN_ACKNOWLEDGED_TURNS: usize = 32;
/// Minimum mean squared change of the number of open calls in a turn: with less, the sides take
/// turns.
pub(crate) const MIN_OPEN_CHANGE: f64 = 0.2;
/// Minimum number of messages for each message that a side has more than the other.
pub(crate) const ACKNOWLEDGED_A_DIFFERENCE: i64 = 50;
/// Minimum ratio of the sum of the squares of all changes of the number of open messages to the
/// square of the range of this number.
pub(crate) const STEPS_TO_RANGE: i64 = 2;
/// Minimum number of turns with several messages in one direction and as many back.
pub(crate) const MIN_PIPELINED_TURNS: usize = 8;
/// Minimum number of turns with several messages for each one with a different number back.
pub(crate) const SEVERAL_A_MISMATCH: usize = 10;
/// Maximum size of messages, in bytes. Whole buffers of bodies also are equally many in both
/// directions.
pub(crate) const MAX_PIPELINED_BYTES: u64 = 2_048;
/// Maximum number of turns for each one of a usual size.
pub(crate) const TURNS_A_USUAL_SIZE: usize = 25;
/// Minimum number of turns of a usual size.
pub(crate) const MIN_OF_A_USUAL_SIZE: usize = 16;
/// Maximum number of usual sizes; if there are more, none counts as usual.
pub(crate) const MAX_USUAL_SIZES: usize = 8;
/// Maximum number of messages in one piece.
pub(crate) const MAX_MESSAGES_OF_A_PIECE: usize = 6;
/// Minimum share of turns that are one message of a usual size.
pub(crate) const MIN_SINGLE_MESSAGE_SHARE: f64 = 0.3;
/// Minimum share of turns that are one or several messages of usual sizes.
pub(crate) const MIN_WHOLE_MESSAGES_SHARE: f64 = 0.7;
/// Maximum number of turns in which a connection is set up; their sizes are ignored.
pub(crate) const MAX_SETUP_TURNS: usize = 32;
/// Minimum number of other turns that must remain for the sizes of setup turns to be ignored.
pub(crate) const MIN_TURNS_AFTER_SETUP: usize = 32;
/// Number of turns from which usual sizes are learned.
pub(crate) const USUAL_SIZE_SAMPLE: usize = 4096;

// Datagrams

/// Maximum number of pairs of sockets that could share one content, if no name limits the senders;
/// a content with more is skipped. Also the number of pairs that are sorted before they are
/// matched.
pub(crate) const MAX_PAIRS_OF_A_CONTENT: usize = 1 << 20;
/// Maximum number of datagrams of one key that are compared before they are matched, each counted
/// as often as there are sockets to which it can belong. With more, only the machines are compared.
pub(crate) const MAX_COMPARED_DATAGRAMS: usize = 1 << 23;
/// Number of datagrams after the last match, and before it, that are searched for the parts of a
/// joined one: datagrams of other threads come in between.
pub(crate) const JOINED_REACH: usize = 64;
/// Maximum number of datagrams that are matched together as the same bytes. The kernel cuts a send
/// into 128 at most, and the two sides may join others.
pub(crate) const MAX_JOINED: usize = 512;
/// Number of datagrams of a block, 640 KB.
pub(crate) const DATAGRAM_BLOCK: usize = 16 << 10;
/// Number of rows below which sorting is not worthwhile.
pub(crate) const MANY_SEEN_NAMES: usize = 1 << 16;
/// Minimum size of a content that hints at a translation, in bytes: shorter ones are not
/// distinctive. Chosen, not measured.
pub(crate) const MIN_HINT_BYTES: u32 = 8;
/// Probability that a single hint is due to chance. Chosen, not measured.
pub(crate) const HINT_BY_CHANCE: f64 = 0.3;

// Imports

/// Number of imported messages that are passed on together.
pub(crate) const IMPORTED_BLOCK_ROWS: usize = 64 << 10;

// Resources
/// Maximum number of signals that are stored for an object which keeps them for later waiters; with
/// more, no waiter is attributed. Chosen, not measured.
pub(crate) const MAX_STORED_SIGNALS: usize = 1 << 16;

/// Minimum duration in nanoseconds of a read of a pipe or an event counter that had to wait: a read
/// that finds data takes about a microsecond. Chosen, not measured.
pub(crate) const BLOCKED_NS: i64 = 20_000;

/// Minimum number of waits at a condition, all by one thread, after which that thread counts as its
/// sole waiter. Memory of a condition may be reused for another thread's, and three waits are
/// hardly by the same of several threads by chance. Chosen, not measured.
pub(crate) const MIN_ONLY_WAITS: usize = 3;

/// Maximum number of unreceived signals of a condition that are stored until its waiter is known,
/// 48 bytes each; later ones are left out.
pub(crate) const MAX_UNRECEIVED_SIGNALS: usize = 1 << 16;

/// Number of events, or of their inputs, that one sorter has in memory in addition to the budget.
pub(crate) const SORTED_AT_ONCE: usize = 1 << 16;

/// Maximum number of goroutines of a process with a recorded start, so that memory is bounded: 64
/// MB. Chosen, not measured.
pub(crate) const STARTED_GOROUTINES: usize = 1 << 21;

// Operations

/// Minimum number of times that a client sent a further request before any response, for its
/// connection to count as one that several causes share without ids. A shared one has hundreds
/// within seconds, and one that is not shared has none in the recordings of docs/decisions/0436.
pub(crate) const MIN_FURTHER_REQUESTS: usize = 10;
/// Number of requests for each one that must have been sent before any response to earlier ones. A
/// command that is sent in parts, or a response that was not kept, is rarer. Chosen, not measured.
pub(crate) const REQUESTS_PER_FURTHER_ONE: usize = 20;
/// Minimum number of calls with several commands before it is decided whether these have one cause.
/// Chosen, not measured, as [`MIN_FURTHER_REQUESTS`].
pub(crate) const MIN_SENT_TOGETHER: usize = 10;
/// Minimum number of times that a command must be sent alone for it not to be part of a pipeline.
/// Chosen, not measured.
pub(crate) const MIN_SENT_ALONE: usize = 3;
/// Number of calls with several commands for each call with more commands than waiting requests,
/// and of commands in these calls for each command that is never sent alone. Chosen, not measured.
pub(crate) const SENT_TOGETHER_PER_EXCEPTION: usize = 20;
