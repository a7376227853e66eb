//! System: an NFS server with caches of attributes and of data, a metadata server with a cache of
//! inodes, two storage nodes of data and one of metadata, with buffers in front of their disks.

use rand_chacha::ChaCha8Rng;
use request_flow::{NameInterner, Request};

use super::cache::LruCache;
use super::flow::FlowBuilder;
use super::load::{SystemLoad, uniform_share};
use super::workload::{ClientOperation, directory_of_file};

/// Median own times of the nodes, in nanoseconds.
mod takes {
    pub(super) const SERVER: f64 = 40_000.0;
    pub(super) const CACHED: f64 = 15_000.0;
    pub(super) const METADATA: f64 = 110_000.0;
    pub(super) const BUFFER: f64 = 130_000.0;
    pub(super) const DISK: f64 = 3_500_000.0;
    pub(super) const STORE: f64 = 240_000.0;
    pub(super) const REPLY: f64 = 20_000.0;
    pub(super) const CONTENDED: f64 = 4_000_000.0;
}

/// Capacities of the caches that are not configured, in entries: attributes, inodes, buffers of a
/// node. The capacities scale with the system.
const CACHE_CAPACITIES: [f64; 3] = [4_000.0, 20_000.0, 9_000.0];

/// Delay between the sending of one concurrent call and the next, in nanoseconds.
const CALL_INTERVAL_NS: i64 = 6_000;

const SERVER: &str = "nfs";
const METADATA: &str = "metadata";
const METADATA_STORAGE: &str = "storage3";

/// The system with the contents of its caches.
#[derive(Debug)]
pub(super) struct StorageSystem {
    attributes: LruCache,
    data: LruCache,
    inodes: LruCache,
    buffers: [LruCache; 3],
    /// Time that storage nodes wait before they answer a WRITE, in nanoseconds.
    spin: i64,
}

/// The storage node of a block: the index of its buffers, and its name.
fn node_of(block: u64) -> (usize, &'static str) {
    if block.is_multiple_of(2) { (0, "storage1") } else { (1, "storage2") }
}

/// The number of a block of a file.
fn block_number(file: u64, number: u64) -> u64 {
    (file << 16) | number
}

impl StorageSystem {
    /// A system with empty caches, `scale` times as large as usual; `cache` is the capacity of the
    /// NFS server's data cache in blocks in a system of usual size.
    pub(super) fn new(cache: usize, spin: i64, scale: f64) -> StorageSystem {
        let of = |room: f64| LruCache::new((room * scale).ceil() as usize);
        StorageSystem {
            attributes: of(CACHE_CAPACITIES[0]),
            data: of(cache as f64),
            inodes: of(CACHE_CAPACITIES[1]),
            buffers: [(); 3].map(|()| of(CACHE_CAPACITIES[2])),
            spin,
        }
    }

    /// Makes the request of a client that begins at `now`.
    pub(super) fn make_request(
        &mut self,
        (operation, file): (ClientOperation, u64),
        now: i64,
        load: &SystemLoad,
        names: &mut NameInterner,
        random: &mut ChaCha8Rng,
    ) -> Request {
        let (depth, first) = (uniform_share(random), uniform_share(random));
        let mut flow = FlowBuilder::new(random, load, names, "client");
        let flow_of = &mut flow;
        let root = flow_of.begin_step(None, SERVER, operation_name(operation), now);
        let mut time = flow_of.finish_time(SERVER, now, takes::SERVER);
        if matches!(operation, ClientOperation::Write(2.., ..)) && load.is_contended(now) {
            time = flow_of.finish_time(SERVER, time, takes::CONTENDED);
        }
        time = match operation {
            ClientOperation::Getattr | ClientOperation::Access => {
                self.get_attributes(flow_of, root, file, time)
            }
            ClientOperation::Lookup => {
                let time = self.get_attributes(flow_of, root, directory_of_file(file), time);
                self.get_attributes(flow_of, root, file, time)
            }
            ClientOperation::Read(from, blocks) => {
                let time = self.get_attributes(flow_of, root, file, time);
                self.read_blocks(flow_of, root, file, from..from + blocks, time)
            }
            ClientOperation::Readdir(blocks) => {
                let time = self.get_attributes(flow_of, root, file, time);
                self.read_blocks(flow_of, root, file, 0..blocks, time)
            }
            ClientOperation::Write(blocks, is_partial, stays) => {
                let mut time = self.get_attributes(flow_of, root, file, time);
                if is_partial {
                    time = self.read_blocks(flow_of, root, file, 0..1, time);
                }
                (0..blocks).for_each(|number| _ = self.data.use_key(block_number(file, number)));
                if stays {
                    flow_of.local_step(root, SERVER, "buffered", time, takes::CACHED)
                } else {
                    self.write_blocks(flow_of, root, file, blocks, time)
                }
            }
            ClientOperation::Commit(blocks) => self.write_blocks(flow_of, root, file, blocks, time),
            ClientOperation::Create => {
                let time = self.get_attributes(flow_of, root, directory_of_file(file), time);
                // Pages of the file tree are split up to the root, more of them as the tree grows.
                let deep = 22.0 * load.elapsed_share(now) / (load.elapsed_share(now) + 0.3);
                let loops = 1 + (-(1.0 - depth).max(1e-12).ln() * deep) as u64;
                self.change_metadata(flow_of, root, "create", file, loops.min(60), time)
            }
            ClientOperation::Remove => {
                let time = self.get_attributes(flow_of, root, directory_of_file(file), time);
                let time = self.read_blocks(flow_of, root, directory_of_file(file), 0..1, time);
                let loops = 1 + (first * 3.0) as u64;
                self.change_metadata(flow_of, root, "remove", file, loops, time)
            }
            ClientOperation::Setattr => {
                self.change_metadata(flow_of, root, "setattr", file, 0, time)
            }
        };
        let end = flow_of.finish_time(SERVER, time, takes::SERVER / 2.0);
        flow_of.end_step(root, end);
        flow.finish()
    }

    /// Gets the attributes of a file from the cache or the metadata server; returns when it has
    /// them.
    fn get_attributes(
        &mut self,
        flow: &mut FlowBuilder<'_>,
        parent: u32,
        file: u64,
        now: i64,
    ) -> i64 {
        if self.attributes.use_key(file) {
            return flow.local_step(parent, SERVER, "attributes hit", now, takes::CACHED);
        }
        let is_known = self.inodes.use_key(file);
        flow.remote_call(parent, METADATA, "getattr", now, |flow, step, now| {
            let now = flow.finish_time(METADATA, now, takes::METADATA);
            if is_known {
                return flow.local_step(step, METADATA, "inode hit", now, takes::CACHED);
            }
            self.read_stored_block(flow, step, block_number(file / 16, 0), 2, METADATA_STORAGE, now)
        })
    }

    /// Changes metadata: reads `loops` pages one after the other, and writes one; returns when this
    /// has ended.
    fn change_metadata(
        &mut self,
        flow: &mut FlowBuilder<'_>,
        parent: u32,
        operation: &str,
        file: u64,
        loops: u64,
        now: i64,
    ) -> i64 {
        flow.remote_call(parent, METADATA, operation, now, |flow, step, now| {
            let mut time = flow.finish_time(METADATA, now, takes::METADATA);
            for page in 0..loops {
                // Pages near the root are shared by all files.
                let page = block_number(file >> (4 * page.min(6)), 1 + page);
                time = self.read_stored_block(flow, step, page, 2, METADATA_STORAGE, time);
            }
            self.inodes.use_key(file);
            self.write_one(flow, step, METADATA_STORAGE, time)
        })
    }

    /// Reads blocks through the data cache: cached blocks one after the other, the others
    /// concurrently. Returns when all have been read.
    fn read_blocks(
        &mut self,
        flow: &mut FlowBuilder<'_>,
        parent: u32,
        file: u64,
        blocks: std::ops::Range<u64>,
        mut now: i64,
    ) -> i64 {
        let mut missing = Vec::new();
        for number in blocks {
            let block = block_number(file, number);
            if self.data.use_key(block) {
                now = flow.local_step(parent, SERVER, "data hit", now, takes::CACHED);
            } else {
                missing.push(block);
            }
        }
        flow.shuffle_concurrent(&mut missing);
        let mut last = now;
        for block in missing {
            let step = flow.begin_step(Some(parent), SERVER, "data miss", now);
            let (place, node) = node_of(block);
            let end = self.read_stored_block(flow, step, block, place, node, now);
            flow.end_step(step, end);
            (now, last) = (now + CALL_INTERVAL_NS, last.max(end));
        }
        last
    }

    /// Reads a block of the storage node `node`, from its buffer (number `place`) or its disk;
    /// returns when the block has arrived.
    fn read_stored_block(
        &mut self,
        flow: &mut FlowBuilder<'_>,
        parent: u32,
        block: u64,
        place: usize,
        node: &str,
        now: i64,
    ) -> i64 {
        let is_buffered = self.buffers[place].use_key(block);
        flow.remote_call(parent, node, "READ", now, |flow, step, now| {
            let now = match is_buffered {
                true => flow.local_step(step, node, "buffer hit", now, takes::BUFFER),
                false => flow.local_step(step, node, "disk", now, takes::DISK),
            };
            flow.local_step(step, node, "reply", now, takes::REPLY)
        })
    }

    /// Writes blocks to their storage nodes concurrently; returns when all have been written.
    fn write_blocks(
        &mut self,
        flow: &mut FlowBuilder<'_>,
        parent: u32,
        file: u64,
        blocks: u64,
        mut now: i64,
    ) -> i64 {
        let mut numbers: Vec<u64> = (0..blocks).collect();
        flow.shuffle_concurrent(&mut numbers);
        let mut last = now;
        for number in numbers {
            let block = block_number(file, number);
            let (place, node) = node_of(block);
            self.buffers[place].use_key(block);
            last = self.write_one(flow, parent, node, now).max(last);
            now += CALL_INTERVAL_NS;
        }
        last
    }

    fn write_one(&self, flow: &mut FlowBuilder<'_>, parent: u32, node: &str, now: i64) -> i64 {
        let spin = self.spin;
        flow.remote_call(parent, node, "WRITE", now, |flow, step, now| {
            let now = flow.local_step(step, node, "store", now, takes::STORE);
            let reply = flow.begin_step(Some(step), node, "reply", now);
            let end = flow.finish_time(node, now, takes::REPLY) + spin;
            flow.end_step(reply, end);
            end
        })
    }
}

/// The name of an operation.
fn operation_name(operation: ClientOperation) -> &'static str {
    match operation {
        ClientOperation::Getattr => "GETATTR",
        ClientOperation::Access => "ACCESS",
        ClientOperation::Lookup => "LOOKUP",
        ClientOperation::Read(..) => "READ",
        ClientOperation::Write(..) => "WRITE",
        ClientOperation::Commit(_) => "COMMIT",
        ClientOperation::Create => "CREATE",
        ClientOperation::Remove => "REMOVE",
        ClientOperation::Readdir(_) => "READDIR",
        ClientOperation::Setattr => "SETATTR",
    }
}
