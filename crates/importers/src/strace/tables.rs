//! Descriptor tables: the socket of each descriptor, for one process or for several that share a
//! table.

use rustc_hash::FxHashMap;

use super::sockets::{SocketId, SocketTable};

/// Number of a table.
pub(super) type TableId = u32;

/// Socket of a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct DescriptorEntry {
    pub(super) socket: SocketId,
    pub(super) closes_on_exec: bool,
}

#[derive(Debug, Default)]
struct DescriptorTable {
    entries: FxHashMap<i32, DescriptorEntry>,
    /// Number of processes that use it.
    users: u32,
}

/// Descriptor tables of all processes.
#[derive(Debug, Default)]
pub(super) struct DescriptorTables {
    all: FxHashMap<TableId, DescriptorTable>,
    next: TableId,
}

impl DescriptorTables {
    /// Adds an empty table, for one process.
    pub(super) fn add_table(&mut self) -> TableId {
        self.next += 1;
        self.all.insert(self.next, DescriptorTable { users: 1, ..DescriptorTable::default() });
        self.next
    }

    /// Adds a process that uses the table.
    pub(super) fn share_table(&mut self, table: TableId) -> TableId {
        if let Some(table) = self.all.get_mut(&table) {
            table.users += 1;
        }
        table
    }

    /// Copies a table for one process: a child, or a process that stops sharing.
    pub(super) fn copy_table(&mut self, table: TableId, sockets: &mut SocketTable) -> TableId {
        let entries = self.all.get(&table).map(|table| table.entries.clone()).unwrap_or_default();
        entries.values().for_each(|entry| sockets.add_reference(entry.socket));
        self.next += 1;
        self.all.insert(self.next, DescriptorTable { entries, users: 1 });
        self.next
    }

    /// Removes a process that uses the table.
    pub(super) fn leave_table(&mut self, id: TableId, sockets: &mut SocketTable) {
        let Some(table) = self.all.get_mut(&id) else { return };
        table.users = table.users.saturating_sub(1);
        if table.users == 0
            && let Some(table) = self.all.remove(&id)
        {
            table.entries.values().for_each(|entry| sockets.drop_reference(entry.socket));
        }
    }

    pub(super) fn is_shared(&self, table: TableId) -> bool {
        self.all.get(&table).is_some_and(|table| table.users > 1)
    }

    pub(super) fn get(&self, table: TableId, fd: i32) -> Option<DescriptorEntry> {
        self.all.get(&table)?.entries.get(&fd).copied()
    }

    /// Makes `fd` refer to `entry`; its previous entry must have been removed.
    pub(super) fn set(
        &mut self,
        table: TableId,
        fd: i32,
        entry: DescriptorEntry,
        sockets: &mut SocketTable,
    ) {
        if let Some(table) = self.all.get_mut(&table) {
            sockets.add_reference(entry.socket);
            if let Some(former) = table.entries.insert(fd, entry) {
                sockets.drop_reference(former.socket);
            }
        }
    }

    pub(super) fn set_closes_on_exec(&mut self, table: TableId, fd: i32, closes_on_exec: bool) {
        if let Some(entry) = self.all.get_mut(&table).and_then(|table| table.entries.get_mut(&fd)) {
            entry.closes_on_exec = closes_on_exec;
        }
    }

    /// Removes `fd` from the table. The caller releases the socket when it is done with it.
    pub(super) fn remove(&mut self, table: TableId, fd: i32) -> Option<DescriptorEntry> {
        self.all.get_mut(&table)?.entries.remove(&fd)
    }

    /// Descriptors of the table that `wanted` selects, in order.
    pub(super) fn descriptors_where(
        &self,
        table: TableId,
        wanted: impl Fn(i32, DescriptorEntry) -> bool,
    ) -> Vec<i32> {
        let entries = self.all.get(&table).into_iter().flat_map(|table| &table.entries);
        let mut chosen: Vec<i32> =
            entries.filter(|(fd, entry)| wanted(**fd, **entry)).map(|(fd, _)| *fd).collect();
        chosen.sort_unstable();
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strace::sockets::SocketSpec;
    use socket_log::encode::FlowOrigin;

    #[test]
    fn a_socket_lives_while_a_table_refers_to_it() {
        let (mut tables, mut sockets) = (DescriptorTables::default(), SocketTable::default());
        let made = SocketSpec {
            domain: 2,
            kind: 1,
            protocol: 0,
            origin: FlowOrigin::Socket,
            pid: 1,
            is_nonblocking: false,
        };
        let socket = sockets.add_socket(made);
        let parent = tables.add_table();
        tables.set(parent, 3, DescriptorEntry { socket, closes_on_exec: false }, &mut sockets);
        let child = tables.copy_table(parent, &mut sockets);
        let thread = tables.share_table(child);
        tables.leave_table(parent, &mut sockets);
        assert!(tables.get(parent, 3).is_none() && tables.is_shared(child));
        tables.leave_table(thread, &mut sockets);
        assert_eq!(tables.get(child, 3).map(|entry| entry.socket), Some(socket));
        assert!(sockets.get(socket).is_some());
        tables.leave_table(child, &mut sockets);
        assert!(sockets.get(socket).is_none());
    }
}
