//! Indices of the tables of a capture, each with a type of its own, so that the index of one table
//! cannot be taken for the index of another. Records of temporary files contain them.

use message_trace::NodeId;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// An index with a value that stands for none.
pub(crate) trait TableIndex: Copy + PartialEq {
    /// Value that no entry has.
    const NONE: Self;
}

/// Declares types of indices with 32 bits.
macro_rules! index_types {
    ($($(#[$attribute:meta])* $name:ident;)*) => {
        $(
            $(#[$attribute])*
            #[derive(
                Clone,
                Copy,
                Debug,
                Default,
                PartialEq,
                Eq,
                PartialOrd,
                Ord,
                Hash,
                FromBytes,
                IntoBytes,
                Immutable,
            )]
            #[repr(transparent)]
            pub(crate) struct $name(u32);

            impl $name {
                /// Creates the index, which is below `u32::MAX`.
                #[inline]
                pub(crate) const fn from_index(index: usize) -> $name {
                    $name(index as u32)
                }

                /// Returns the index.
                #[inline]
                pub(crate) const fn index(self) -> usize {
                    self.0 as usize
                }

                /// Returns all indices in order, from the first on.
                #[allow(dead_code, reason = "tables that are never walked have such an index, too")]
                pub(crate) fn indices() -> impl Iterator<Item = $name> + Clone {
                    (0..u32::MAX).map($name)
                }
            }

            impl TableIndex for $name {
                const NONE: $name = $name(u32::MAX);
            }

            const _: () = assert!(size_of::<OptionalIndex<$name>>() == size_of::<u32>());
        )*
    };
}

index_types! {
    /// Index of a host among the hosts of a capture. A host has a wall clock of its own.
    HostIndex;
    /// Index of a kernel, which is one boot of it on a machine, among the kernels of a capture.
    KernelIndex;
    /// Index of a network namespace: in its log while that is being read, and then among those of
    /// all logs.
    NamespaceIndex;
    /// Index of a machine, which is one network namespace of a kernel, among the machines of a
    /// capture.
    MachineIndex;
    /// Index of a process among the processes of a capture. Its log, if it has one, has the same
    /// index among the logs, and its node the same among the nodes.
    ProcessIndex;
    /// Index of a flow of a log: among the flows of the log while it is being read, and then among
    /// those of all logs.
    LogFlowIndex;
    /// Index of a kernel socket among the sockets of a capture.
    SocketIndex;
    /// Index of a connection among the connections, and among the slots of messages: connections
    /// have the first slots.
    ConnectionIndex;
}

impl HostIndex {
    /// Returns the number of the host among the clocks.
    #[inline]
    pub(crate) const fn number(self) -> u32 {
        self.0
    }
}

impl ProcessIndex {
    /// Returns the node of the process.
    #[inline]
    pub(crate) const fn node(self) -> NodeId {
        NodeId::from_index(self.index())
    }
}

impl ConnectionIndex {
    /// Returns the index of the slot of the connection's messages.
    #[inline]
    pub(crate) const fn slot(self) -> u32 {
        self.0
    }
}

impl LogFlowIndex {
    /// Converts the index of a flow in its log to its index among the flows of all logs, in which
    /// the log's first flow has the index `first`.
    #[inline]
    pub(crate) const fn in_all_logs(self, first: LogFlowIndex) -> LogFlowIndex {
        LogFlowIndex(first.0 + self.0)
    }
}

impl TableIndex for u32 {
    const NONE: u32 = u32::MAX;
}

impl TableIndex for NodeId {
    const NONE: NodeId = NodeId::from_index(u32::MAX as usize);
}

const _: () = assert!(size_of::<OptionalIndex<NodeId>>() == size_of::<u32>());

/// An index or none, of the size of the index. None is above every index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, FromBytes, IntoBytes, Immutable)]
#[repr(transparent)]
pub(crate) struct OptionalIndex<T>(T);

impl<T: TableIndex> OptionalIndex<T> {
    /// No index.
    pub(crate) const NONE: OptionalIndex<T> = OptionalIndex(T::NONE);

    /// Creates an index that is known.
    #[inline]
    pub(crate) const fn some(index: T) -> OptionalIndex<T> {
        OptionalIndex(index)
    }

    /// Returns the index, if it is known.
    #[inline]
    pub(crate) fn get(self) -> Option<T> {
        Some(self.0).filter(|index| *index != T::NONE)
    }
}

impl<T: TableIndex> From<Option<T>> for OptionalIndex<T> {
    #[inline]
    fn from(index: Option<T>) -> OptionalIndex<T> {
        index.map_or(OptionalIndex::NONE, OptionalIndex::some)
    }
}

impl<T: TableIndex + std::fmt::Debug> std::fmt::Debug for OptionalIndex<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(formatter)
    }
}
