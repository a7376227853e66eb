//! System: an NFS server with caches of attributes and of data, a metadata server with a cache of
//! inodes, two storage nodes of data and one of metadata with buffers in front of their disks.

use rand_chacha::ChaCha8Rng;
use request_flow::{Names, Request};

use super::cache::Cache;
use super::flow::Flow;
use super::load::{Load, uniform};
use super::workload::{Operation, directory};

/// Median times in nanoseconds of what a node does itself.
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

/// Room of the caches that are not changed, in entries: attributes, inodes, buffers of a node. A
/// larger system has more of all.
const ROOM: [f64; 3] = [4_000.0, 20_000.0, 9_000.0];

/// How much later each of several concurrent calls is sent than the one before, in nanoseconds.
const APART: i64 = 6_000;

const SERVER: &str = "nfs";
const METADATA: &str = "metadata";
const OF_METADATA: &str = "storage3";

/// The system with what is in its caches.
#[derive(Debug)]
pub(super) struct System {
    attributes: Cache,
    data: Cache,
    inodes: Cache,
    buffers: [Cache; 3],
    /// What storage nodes wait before they answer a WRITE, in nanoseconds.
    spin: i64,
}

/// Which storage node has a block: the place of its buffers, and its name.
fn node_of(block: u64) -> (usize, &'static str) {
    if block.is_multiple_of(2) { (0, "storage1") } else { (1, "storage2") }
}

/// The number of a block of a file.
fn block(file: u64, number: u64) -> u64 {
    (file << 16) | number
}

impl System {
    /// One with empty caches, `scale` times as large as usual; `cache` is the room of the NFS
    /// server's data cache in blocks in a system of usual size.
    pub(super) fn new(cache: usize, spin: i64, scale: f64) -> System {
        let of = |room: f64| Cache::new((room * scale).ceil() as usize);
        System {
            attributes: of(ROOM[0]),
            data: of(cache as f64),
            inodes: of(ROOM[1]),
            buffers: [(); 3].map(|()| of(ROOM[2])),
            spin,
        }
    }

    /// The request of a client that begins at `now`.
    pub(super) fn request(
        &mut self,
        (operation, file): (Operation, u64),
        now: i64,
        load: &Load,
        names: &mut Names,
        random: &mut ChaCha8Rng,
    ) -> Request {
        let (depth, first) = (uniform(random), uniform(random));
        let mut flow = Flow::new(random, load, names, "client");
        let flow_of = &mut flow;
        let root = flow_of.begin(None, SERVER, name(operation), now);
        let mut time = flow_of.after(SERVER, now, takes::SERVER);
        if matches!(operation, Operation::Write(2.., ..)) && load.is_contended(now) {
            time = flow_of.after(SERVER, time, takes::CONTENDED);
        }
        time = match operation {
            Operation::Getattr | Operation::Access => self.attributes(flow_of, root, file, time),
            Operation::Lookup => {
                let time = self.attributes(flow_of, root, directory(file), time);
                self.attributes(flow_of, root, file, time)
            }
            Operation::Read(from, blocks) => {
                let time = self.attributes(flow_of, root, file, time);
                self.read(flow_of, root, file, from..from + blocks, time)
            }
            Operation::Readdir(blocks) => {
                let time = self.attributes(flow_of, root, file, time);
                self.read(flow_of, root, file, 0..blocks, time)
            }
            Operation::Write(blocks, is_partial, stays) => {
                let mut time = self.attributes(flow_of, root, file, time);
                if is_partial {
                    time = self.read(flow_of, root, file, 0..1, time);
                }
                (0..blocks).for_each(|number| _ = self.data.hits(block(file, number)));
                if stays {
                    flow_of.local(root, SERVER, "buffered", time, takes::CACHED)
                } else {
                    self.write(flow_of, root, file, blocks, time)
                }
            }
            Operation::Commit(blocks) => self.write(flow_of, root, file, blocks, time),
            Operation::Create => {
                let time = self.attributes(flow_of, root, directory(file), time);
                // Pages of the tree of files are split up to the root, the more the more there are.
                let deep = 22.0 * load.progress(now) / (load.progress(now) + 0.3);
                let loops = 1 + (-(1.0 - depth).max(1e-12).ln() * deep) as u64;
                self.metadata(flow_of, root, "create", file, loops.min(60), time)
            }
            Operation::Remove => {
                let time = self.attributes(flow_of, root, directory(file), time);
                let time = self.read(flow_of, root, directory(file), 0..1, time);
                let loops = 1 + (first * 3.0) as u64;
                self.metadata(flow_of, root, "remove", file, loops, time)
            }
            Operation::Setattr => self.metadata(flow_of, root, "setattr", file, 0, time),
        };
        let end = flow_of.after(SERVER, time, takes::SERVER / 2.0);
        flow_of.end(root, end);
        flow.finish()
    }

    /// The attributes of a file: cached, or asked for.
    fn attributes(&mut self, flow: &mut Flow<'_>, parent: u32, file: u64, now: i64) -> i64 {
        if self.attributes.hits(file) {
            return flow.local(parent, SERVER, "attributes hit", now, takes::CACHED);
        }
        let is_known = self.inodes.hits(file);
        flow.call(parent, METADATA, "getattr", now, |flow, step, now| {
            let now = flow.after(METADATA, now, takes::METADATA);
            if is_known {
                return flow.local(step, METADATA, "inode hit", now, takes::CACHED);
            }
            self.stored(flow, step, block(file / 16, 0), 2, OF_METADATA, now)
        })
    }

    /// A change of metadata: its pages are read one after the other, and one is written.
    fn metadata(
        &mut self,
        flow: &mut Flow<'_>,
        parent: u32,
        operation: &str,
        file: u64,
        loops: u64,
        now: i64,
    ) -> i64 {
        flow.call(parent, METADATA, operation, now, |flow, step, now| {
            let mut time = flow.after(METADATA, now, takes::METADATA);
            for page in 0..loops {
                // Pages near the root are the same for all.
                let page = block(file >> (4 * page.min(6)), 1 + page);
                time = self.stored(flow, step, page, 2, OF_METADATA, time);
            }
            self.inodes.hits(file);
            self.write_one(flow, step, OF_METADATA, time)
        })
    }

    /// Blocks through the data cache: those that are there one after the other, the others at once.
    fn read(
        &mut self,
        flow: &mut Flow<'_>,
        parent: u32,
        file: u64,
        blocks: std::ops::Range<u64>,
        mut now: i64,
    ) -> i64 {
        let mut missing = Vec::new();
        for number in blocks {
            let block = block(file, number);
            if self.data.hits(block) {
                now = flow.local(parent, SERVER, "data hit", now, takes::CACHED);
            } else {
                missing.push(block);
            }
        }
        flow.race(&mut missing);
        let mut last = now;
        for block in missing {
            let step = flow.begin(Some(parent), SERVER, "data miss", now);
            let (place, node) = node_of(block);
            let end = self.stored(flow, step, block, place, node, now);
            flow.end(step, end);
            (now, last) = (now + APART, last.max(end));
        }
        last
    }

    /// A block of a storage node, from its buffer or its disk.
    fn stored(
        &mut self,
        flow: &mut Flow<'_>,
        parent: u32,
        block: u64,
        place: usize,
        node: &str,
        now: i64,
    ) -> i64 {
        let is_buffered = self.buffers[place].hits(block);
        flow.call(parent, node, "READ", now, |flow, step, now| {
            let now = match is_buffered {
                true => flow.local(step, node, "buffer hit", now, takes::BUFFER),
                false => flow.local(step, node, "disk", now, takes::DISK),
            };
            flow.local(step, node, "reply", now, takes::REPLY)
        })
    }

    /// Blocks that are written to their storage nodes at once.
    fn write(
        &mut self,
        flow: &mut Flow<'_>,
        parent: u32,
        file: u64,
        blocks: u64,
        mut now: i64,
    ) -> i64 {
        let mut numbers: Vec<u64> = (0..blocks).collect();
        flow.race(&mut numbers);
        let mut last = now;
        for number in numbers {
            let block = block(file, number);
            let (place, node) = node_of(block);
            self.buffers[place].hits(block);
            last = self.write_one(flow, parent, node, now).max(last);
            now += APART;
        }
        last
    }

    fn write_one(&self, flow: &mut Flow<'_>, parent: u32, node: &str, now: i64) -> i64 {
        let spin = self.spin;
        flow.call(parent, node, "WRITE", now, |flow, step, now| {
            let now = flow.local(step, node, "store", now, takes::STORE);
            let reply = flow.begin(Some(step), node, "reply", now);
            let end = flow.after(node, now, takes::REPLY) + spin;
            flow.end(reply, end);
            end
        })
    }
}

/// What an operation is called.
fn name(operation: Operation) -> &'static str {
    match operation {
        Operation::Getattr => "GETATTR",
        Operation::Access => "ACCESS",
        Operation::Lookup => "LOOKUP",
        Operation::Read(..) => "READ",
        Operation::Write(..) => "WRITE",
        Operation::Commit(_) => "COMMIT",
        Operation::Create => "CREATE",
        Operation::Remove => "REMOVE",
        Operation::Readdir(_) => "READDIR",
        Operation::Setattr => "SETATTR",
    }
}
