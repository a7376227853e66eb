//! Workload: jobs that copy a source tree and build it, several at a time, each a list of
//! operations on files. Requests of one kind therefore come in bunches, and most data they read was
//! read before.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;

use super::load::{SystemLoad, uniform_share};
use crate::random::random_below;

/// Number of jobs that run at the same time.
const JOBS: usize = 4;

/// The part of a run in which the tree is copied; the rest builds it.
const COPY_SHARE: f64 = 0.25;

/// Number of files in a directory.
const FILES_PER_DIRECTORY: u64 = 24;

/// Number of headers that sources include, in a tree of usual size.
const HEADER_COUNT: f64 = 3_000.0;

/// The golden ratio: multiples of it are spread evenly between whole numbers.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// An operation that a client requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClientOperation {
    /// Attributes of a file are read.
    Getattr,
    /// Attributes of a file are read, to see whether it may be used.
    Access,
    /// A file is looked up in its directory.
    Lookup,
    /// Blocks are read: the first block and the number.
    Read(u64, u64),
    /// Blocks are written: their number, whether the first one is partial, and whether they stay in
    /// the server for now.
    Write(u64, bool, bool),
    /// Blocks that stayed in the server are written: their number.
    Commit(u64),
    /// A file is made.
    Create,
    /// A file is removed.
    Remove,
    /// Blocks of a directory are read: their number.
    Readdir(u64),
    /// Attributes are set.
    Setattr,
}

/// The endless sequence of operations.
#[derive(Debug, Default)]
pub(super) struct ClientWorkload {
    jobs: [VecDeque<(ClientOperation, u64)>; JOBS],
    /// Number of files that were copied.
    copied: u64,
    /// Number of objects that were built.
    built: u64,
    /// Number of headers in the tree.
    headers: f64,
}

/// The directory of a file.
pub(super) fn directory_of_file(file: u64) -> u64 {
    (1 << 40) | (file / FILES_PER_DIRECTORY)
}

impl ClientWorkload {
    /// The workload of a system that is `scale` times as large as usual.
    pub(super) fn new(scale: f64) -> ClientWorkload {
        ClientWorkload { headers: HEADER_COUNT * scale, ..ClientWorkload::default() }
    }

    /// The next operation, with its file.
    pub(super) fn next_operation(
        &mut self,
        load: &SystemLoad,
        time: i64,
        random: &mut ChaCha8Rng,
    ) -> (ClientOperation, u64) {
        let job = random_below(random, JOBS);
        loop {
            if let Some(next) = self.jobs[job].pop_front() {
                return next;
            }
            let mut todo = VecDeque::new();
            let mut job_of =
                JobBuilder { todo: &mut todo, amount: load.write_factor(time), random };
            if load.elapsed_share(time) < COPY_SHARE || self.copied < FILES_PER_DIRECTORY {
                job_of.copy_file(self.copied);
                self.copied += 1;
            } else if job_of.random_chance(0.04) {
                job_of.link_objects(self.built);
            } else {
                job_of.compile_file([self.copied, self.built], self.headers);
                self.built += 1;
            }
            self.jobs[job] = todo;
        }
    }
}

/// A job under construction.
struct JobBuilder<'j> {
    todo: &'j mut VecDeque<(ClientOperation, u64)>,
    /// Factor of the amount that clients write in a request.
    amount: f64,
    random: &'j mut ChaCha8Rng,
}

impl JobBuilder<'_> {
    fn random_chance(&mut self, share: f64) -> bool {
        uniform_share(self.random) < share
    }

    /// A number from 1 on with this mean.
    fn random_count(&mut self, mean: f64) -> u64 {
        let more = -uniform_share(self.random).max(1e-12).ln() * (mean - 1.0).max(0.0);
        1 + (more + 0.5) as u64
    }

    fn push_operation(&mut self, operation: ClientOperation, file: u64) {
        self.todo.push_back((operation, file));
    }

    /// Writes a file; clients choose the amount that one request writes.
    fn write_file(&mut self, file: u64, mut blocks: u64) {
        let mut stay = 0;
        while blocks > 0 {
            let some = self.random_count(1.0 + self.amount).min(blocks).min(10);
            let stays = self.random_chance(0.25);
            stay += if stays { some } else { 0 };
            let is_partial = self.random_chance(0.1);
            self.push_operation(ClientOperation::Write(some, is_partial, stays), file);
            blocks -= some;
        }
        if stay > 0 || self.random_chance(0.2) {
            self.push_operation(ClientOperation::Commit(stay.clamp(1, 4)), file);
        }
    }

    fn read_file(&mut self, file: u64, blocks: u64) {
        let mut from = 0;
        while from < blocks {
            // Clients read ahead.
            let some = (blocks - from).min(if from == 0 { 2 } else { 4 });
            self.push_operation(ClientOperation::Read(from, some), file);
            from += some;
        }
    }

    fn copy_file(&mut self, file: u64) {
        self.push_operation(ClientOperation::Lookup, file);
        if self.random_chance(0.3) {
            self.push_operation(ClientOperation::Access, directory_of_file(file));
        }
        self.push_operation(ClientOperation::Create, file);
        let blocks = self.random_count(2.0);
        self.write_file(file, blocks);
        if self.random_chance(0.5) {
            self.push_operation(ClientOperation::Setattr, file);
        }
    }

    fn compile_file(&mut self, [files, number]: [u64; 2], headers: f64) {
        // Sources come from everywhere in the tree, hardly one twice; headers recur as often as
        // they are included.
        let source = ((number as f64 * GOLDEN).fract() * files as f64) as u64 % files;
        self.push_operation(ClientOperation::Lookup, source);
        self.push_operation(ClientOperation::Access, directory_of_file(source));
        for _ in 0..self.random_count(12.0) {
            let header = (headers * uniform_share(self.random).powi(3)) as u64 % files;
            match random_below(self.random, 10) {
                0..=4 => self.push_operation(ClientOperation::Getattr, header),
                5..=6 => self.push_operation(ClientOperation::Lookup, header),
                7 => self.push_operation(ClientOperation::Access, header),
                _ => {
                    let blocks = 1 + header % 2;
                    self.read_file(header, blocks);
                }
            }
        }
        let blocks = self.random_count(2.0);
        self.read_file(source, blocks);
        let object = files + number;
        self.push_operation(ClientOperation::Create, object);
        let blocks = self.random_count(2.5);
        self.write_file(object, blocks);
        if self.random_chance(0.3) {
            self.push_operation(ClientOperation::Remove, object);
        }
        if self.random_chance(0.1) {
            let blocks = self.random_count(1.5).min(3);
            self.push_operation(ClientOperation::Readdir(blocks), directory_of_file(source));
        }
        if self.random_chance(0.2) {
            self.push_operation(ClientOperation::Setattr, object);
        }
    }

    fn link_objects(&mut self, built: u64) {
        let first = random_below(self.random, built as usize + 1) as u64;
        self.push_operation(ClientOperation::Readdir(1), directory_of_file(first));
        for object in first..first + self.random_count(12.0) {
            self.push_operation(ClientOperation::Lookup, object);
            let blocks = self.random_count(2.5);
            self.read_file(object, blocks);
        }
        let (object, blocks) = ((1 << 32) + built, self.random_count(20.0));
        self.push_operation(ClientOperation::Create, object);
        self.write_file(object, blocks);
        if self.random_chance(0.7) {
            self.push_operation(ClientOperation::Remove, object);
        }
    }
}
