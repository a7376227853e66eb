//! Names of parameters that sockcap reads and writes. They are those of OpenTelemetry's conventions
//! or, where there is none, begin with `sockcap.`.

/// Address that the callee accepts at, or the name of another kind of endpoint.
pub(crate) const SERVER_ADDRESS: &str = "server.address";
/// Port that the callee accepts at.
pub(crate) const SERVER_PORT: &str = "server.port";
/// What the protocol runs over: tcp, udp, unix.
pub(crate) const NETWORK_TRANSPORT: &str = "network.transport";
/// The callee's process.
pub(crate) const PROCESS_PID: &str = "process.pid";
/// The thread that took the call.
pub(crate) const THREAD_ID: &str = "thread.id";
