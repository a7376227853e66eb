//! Layer 3, the state: options of the user, state of the process and of each thread, and the
//! environment that other programs inherit.

pub(crate) mod child_birth;
#[cfg(not(feature = "injected"))]
pub(crate) mod context_source;
pub(crate) mod goroutine;
pub(crate) mod inherit;
pub(crate) mod lineage;
pub(crate) mod options;
mod own_word;
mod peers;
mod preload_list;
mod process;
mod queue;
mod recent_sockets;
pub(crate) mod recorded_goroutine;
pub(crate) mod settings;
#[cfg(feature = "injected")]
pub(crate) mod slot;
pub(crate) mod thread;
pub(crate) mod unfollowed_runtime;
#[cfg(feature = "injected")]
pub(crate) mod unix_peers;

pub(crate) use own_word::replace_word;
pub(crate) use peers::DatagramPeers;
#[cfg(feature = "injected")]
pub(crate) use process::restore_state;
pub(crate) use process::{
    ProcessState, create_state, current_state, is_wiped_on_fork, private_to_process,
};
pub(crate) use queue::ChunkQueue;
pub(crate) use recent_sockets::RecentSockets;
