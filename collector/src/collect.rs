//! The collector: listens, gives every connection a thread of its own, and stores all received logs
//! in one data directory.
//!
//! `admission` limits the connections that have not identified themselves, `session` is a
//! connection from its first byte to its last, `store` holds the files of one host, `host_slots`
//! allows one connection per host, `sender` records the key of a sender, `hints` stores time
//! exchanges, and `event` has the events that all of them report.

mod admission;
mod deadlines;
mod event;
mod hints;
mod host_slots;
mod inventory;
mod sender;
mod session;
mod shared;
mod store;
mod stored_file;
mod violation;

use std::fs::File;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use message_trace::{DataDir, DataPath, PathError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::ServerConfig;

pub use deadlines::Deadlines;
pub use event::{CollectEvent, CollectListener, ReceivedBytes, RefusalCause, StoredFiles};
pub use store::HostLimits;

use crate::keys::RevocationWatcher;
use crate::link::StopFlag;
use crate::tuning::{NO_DESCRIPTORS_PAUSE, REVOCATION_CHECK_INTERVAL, SESSION_STACK_BYTES};
use shared::SharedState;

/// Options of a collector.
#[derive(Clone, Debug)]
pub struct CollectOptions {
    /// Data directory where the hosts' logs are gathered.
    pub data: DataDir,
    /// TLS with certificates on both sides; `None` for plain connections.
    pub tls: Option<Arc<ServerConfig>>,
    /// List of revoked keys, which is read again when it changes.
    pub revoked: Option<Arc<RevocationWatcher>>,
    /// Limits of each host.
    pub limits: HostLimits,
    /// Deadlines for the peers of connections.
    pub deadlines: Deadlines,
}

/// Error that ends a collector before it has begun.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A file of the data directory could not be read or written.
    #[error(transparent)]
    File(#[from] PathError),
    /// Waiting for connections failed.
    #[error("cannot wait for connections: {0}")]
    Listen(io::Error),
}

/// Stores the logs that hosts send over connections to `listener` until `stop` is set; then ends
/// every connection between two frames and returns.
///
/// # Errors
/// If the data directory cannot be used. Later failures concern single connections, which are
/// reported to `events`.
pub fn run_collector(
    options: &CollectOptions,
    listener: &TcpListener,
    events: &dyn CollectListener,
    stop: &StopFlag,
) -> Result<(), CollectError> {
    let hosts = options.data.hosts_dir();
    let file = |path: &DataPath| {
        let path = path.clone();
        move |error| PathError::io(&path, error)
    };
    hosts.create_dir_all().map_err(file(&hosts))?;
    let name = hosts.join(".store");
    let (store, _lock) = store_id(&name).map_err(file(&name))?;
    // The directories above the files must also be durable.
    let above =
        options.data.path().canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
    let above = above.map(DataPath::trusted);
    for directory in
        [Some(hosts), Some(options.data.root_path().clone()), above].into_iter().flatten()
    {
        directory.sync_directory().map_err(file(&directory))?;
    }
    let shared = SharedState {
        tls: options.tls.clone(),
        revoked: options.revoked.clone(),
        store,
        data: options.data.clone(),
        limits: options.limits,
        deadlines: options.deadlines,
        slots: host_slots::HostSlots::default(),
        events,
        stop: Arc::clone(stop),
    };
    listener.set_nonblocking(true).map_err(CollectError::Listen)?;
    // Each connection has files open. If the limit of open files cannot be raised, fewer
    // connections are served.
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    let admission = admission::Admission::default();
    let mut looked = Instant::now();
    std::thread::scope(|scope| {
        while !stop.load(Relaxed) {
            if looked.elapsed() >= REVOCATION_CHECK_INTERVAL {
                looked = Instant::now();
                poll_revocations(&shared);
            }
            let accepted = accept_connection(listener)
                .map_err(CollectError::Listen)
                .inspect_err(|_| stop.store(true, Relaxed))?;
            let (stream, peer) = match accepted {
                AcceptOutcome::Connection(stream, peer) => (stream, peer),
                AcceptOutcome::Nothing => continue,
                AcceptOutcome::Failed(error) => {
                    events.on_event(&CollectEvent::NotAccepted { error: &error });
                    // A connection that has not identified itself gives up its descriptors to the
                    // next one.
                    admission.evict_unidentified();
                    std::thread::sleep(NO_DESCRIPTORS_PAUSE);
                    continue;
                }
            };
            let shared = &shared;
            let many = |why: &str| {
                events.on_event(&CollectEvent::Refused {
                    peer,
                    host: None,
                    cause: RefusalCause::Many,
                    why,
                });
            };
            let place = stream.try_clone().map(|second| admission.admit(peer.ip(), second));
            let place = match place {
                Ok(Some(place)) => place,
                Ok(None) => {
                    many("there are too many connections");
                    continue;
                }
                Err(error) => {
                    many(&format!("no free descriptor: {error}"));
                    admission.evict_unidentified();
                    continue;
                }
            };
            let serve = move || session::serve_connection(shared, stream, peer, &place);
            let thread = std::thread::Builder::new().stack_size(SESSION_STACK_BYTES);
            if let Err(error) = thread.spawn_scoped(scope, serve) {
                many(&format!("no thread for it: {error}"));
            }
        }
        Ok(())
    })
}

/// Ends the connections of hosts with keys that were revoked since the last call.
fn poll_revocations(shared: &SharedState<'_>) {
    let Some(revoked) = &shared.revoked else { return };
    match revoked.reload_if_changed() {
        Ok(false) => {}
        Ok(true) => {
            shared
                .events
                .on_event(&CollectEvent::Revocations { path: revoked.path(), error: None });
            shared.slots.close_revoked(|certificate| revoked.is_revoked(certificate));
        }
        Err(error) => {
            shared
                .events
                .on_event(&CollectEvent::Revocations { path: revoked.path(), error: Some(&error) });
        }
    }
}

/// Answers the frames in `bytes` as if an admitted `host` had sent them, for fuzzing.
pub(crate) fn answer_all(bytes: &[u8], data: DataDir, host: &str, limits: HostLimits) {
    struct SilentListener;
    impl CollectListener for SilentListener {
        fn on_event(&self, _: &CollectEvent<'_>) {}
    }
    let shared = SharedState {
        tls: None,
        revoked: None,
        store: 0,
        data,
        limits,
        deadlines: Deadlines::default(),
        slots: host_slots::HostSlots::default(),
        events: &SilentListener,
        stop: StopFlag::default(),
    };
    session::answer_all(bytes, &shared, host);
}

/// Outcome of accepting a connection.
enum AcceptOutcome {
    Connection(TcpStream, SocketAddr),
    /// No connection came for a while, or it was closed before it could be accepted.
    Nothing,
    /// The connection could not be accepted.
    Failed(io::Error),
}

/// Accepts the next connection.
fn accept_connection(listener: &TcpListener) -> io::Result<AcceptOutcome> {
    match listener.accept() {
        Ok((stream, peer)) => return Ok(AcceptOutcome::Connection(stream, peer)),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock => {}
            io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted => return Ok(AcceptOutcome::Nothing),
            // Out of descriptors or memory: open connections continue, and accepting is tried
            // again.
            _ => return Ok(AcceptOutcome::Failed(error)),
        },
    }
    let tick = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    match poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&tick)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(AcceptOutcome::Nothing),
        Err(error) => Err(error.into()),
    }
}

/// Reads the id of this collection from `path`, or makes a random one: shippers that know the id
/// need not query the collector's files again. Returned with the locked file, which keeps a second
/// collector out.
fn store_id(path: &DataPath) -> io::Result<(u128, File)> {
    let mut file = path.open_or_make(0o600)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| io::Error::other("another collector gathers into this directory"))?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    if let Ok(id) = u128::from_str_radix(text.trim(), 16) {
        return Ok((id, file));
    }
    let mut random = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let id = u128::from_ne_bytes(random);
    file.set_len(0)?;
    file.write_all_at(format!("{id:032x}\n").as_bytes(), 0)?;
    file.sync_all()?;
    Ok((id, file))
}
