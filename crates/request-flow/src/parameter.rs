//! Names of parameters that sockcap reads and writes. They are those of OpenTelemetry's conventions
//! or, if there is none, begin with `sockcap.`.

/// Address at which the callee accepts, or the name of another kind of endpoint.
pub(crate) const SERVER_ADDRESS: &str = "server.address";
/// Port at which the callee accepts.
pub(crate) const SERVER_PORT: &str = "server.port";
/// Address of the caller's end, or the name of another kind of endpoint.
pub(crate) const CLIENT_ADDRESS: &str = "client.address";
/// Port of the caller's end.
pub(crate) const CLIENT_PORT: &str = "client.port";
/// Transport of the protocol: tcp, udp, unix.
pub(crate) const NETWORK_TRANSPORT: &str = "network.transport";
/// The callee's process.
pub(crate) const PROCESS_PID: &str = "process.pid";
/// The short name of the callee's program.
pub(crate) const EXECUTABLE_NAME: &str = "process.executable.name";
/// The path of the callee's program.
pub(crate) const EXECUTABLE_PATH: &str = "process.executable.path";
/// The thread that received the call.
pub(crate) const THREAD_ID: &str = "thread.id";
/// Time for which the caller waited for the connection, in nanoseconds; absent if it used an open
/// one.
pub(crate) const CONNECTING: &str = "sockcap.connecting_ns";
/// Number of the call: only spans of sockcap's own export have one.
pub(crate) const CALL: &str = "sockcap.call";
/// Which of the two messages of the call was not seen: `request` or `response`.
pub(crate) const NOT_SEEN: &str = "sockcap.not_seen";
/// The protocol, by sockcap's name for it.
pub(crate) const PROTOCOL: &str = "sockcap.protocol";
/// The host of the other node: the caller in the callee's span, the callee in the caller's.
pub(crate) const PEER_HOST: &str = "sockcap.peer.host";
/// The short name of the other node's program.
pub(crate) const PEER_COMMAND: &str = "sockcap.peer.command";
/// The other node's process.
pub(crate) const PEER_PID: &str = "sockcap.peer.pid";
