//! Workload: jobs that copy a source tree and build it, several at a time, each a list of
//! operations on files. So requests of one kind come in bunches, and what they read was read
//! before.

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;

use super::load::{Load, uniform};
use crate::random::below;

/// Jobs that run at the same time.
const JOBS: usize = 4;

/// The part of a run in which the tree is copied; the rest builds it.
const COPYING: f64 = 0.25;

/// Files of a directory.
const FILES: u64 = 24;

/// Headers that sources include, in a tree of usual size.
const HEADERS: f64 = 3_000.0;

/// The golden ratio: multiples of it are spread evenly between whole numbers.
const GOLDEN: f64 = 0.618_033_988_749_895;

/// An operation that a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Attributes of a file are read.
    Getattr,
    /// The same, to see whether it may be used.
    Access,
    /// A file is looked up in its directory.
    Lookup,
    /// Blocks are read, from this one on.
    Read(u64, u64),
    /// Blocks are written: their number, whether the first one is not whole, and whether they stay
    /// in the server for now.
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

/// What comes next, for ever.
#[derive(Debug, Default)]
pub(super) struct Workload {
    jobs: [VecDeque<(Operation, u64)>; JOBS],
    copied: u64,
    built: u64,
    headers: f64,
}

/// The directory of a file.
pub(super) fn directory(file: u64) -> u64 {
    (1 << 40) | (file / FILES)
}

impl Workload {
    /// The workload of a system that is `scale` times as large as usual.
    pub(super) fn new(scale: f64) -> Workload {
        Workload { headers: HEADERS * scale, ..Workload::default() }
    }

    /// The next operation, with its file.
    pub(super) fn next(
        &mut self,
        load: &Load,
        time: i64,
        random: &mut ChaCha8Rng,
    ) -> (Operation, u64) {
        let job = below(random, JOBS);
        loop {
            if let Some(next) = self.jobs[job].pop_front() {
                return next;
            }
            let mut todo = VecDeque::new();
            let mut job_of = Job { todo: &mut todo, amount: load.amount(time), random };
            if load.progress(time) < COPYING || self.copied < FILES {
                job_of.copy(self.copied);
                self.copied += 1;
            } else if job_of.chance(0.04) {
                job_of.link(self.built);
            } else {
                job_of.compile([self.copied, self.built], self.headers);
                self.built += 1;
            }
            self.jobs[job] = todo;
        }
    }
}

/// A job in the making.
struct Job<'j> {
    todo: &'j mut VecDeque<(Operation, u64)>,
    amount: f64,
    random: &'j mut ChaCha8Rng,
}

impl Job<'_> {
    fn chance(&mut self, share: f64) -> bool {
        uniform(self.random) < share
    }

    /// A number from 1 on with this mean.
    fn about(&mut self, mean: f64) -> u64 {
        let more = -uniform(self.random).max(1e-12).ln() * (mean - 1.0).max(0.0);
        1 + (more + 0.5) as u64
    }

    fn add(&mut self, operation: Operation, file: u64) {
        self.todo.push_back((operation, file));
    }

    /// Writes a file; clients decide how much of it at once.
    fn write(&mut self, file: u64, mut blocks: u64) {
        let mut stay = 0;
        while blocks > 0 {
            let some = self.about(1.0 + self.amount).min(blocks).min(10);
            let stays = self.chance(0.25);
            stay += if stays { some } else { 0 };
            let is_partial = self.chance(0.1);
            self.add(Operation::Write(some, is_partial, stays), file);
            blocks -= some;
        }
        if stay > 0 || self.chance(0.2) {
            self.add(Operation::Commit(stay.clamp(1, 4)), file);
        }
    }

    fn read(&mut self, file: u64, blocks: u64) {
        let mut from = 0;
        while from < blocks {
            // Clients read ahead.
            let some = (blocks - from).min(if from == 0 { 2 } else { 4 });
            self.add(Operation::Read(from, some), file);
            from += some;
        }
    }

    fn copy(&mut self, file: u64) {
        self.add(Operation::Lookup, file);
        if self.chance(0.3) {
            self.add(Operation::Access, directory(file));
        }
        self.add(Operation::Create, file);
        let blocks = self.about(2.0);
        self.write(file, blocks);
        if self.chance(0.5) {
            self.add(Operation::Setattr, file);
        }
    }

    fn compile(&mut self, [files, number]: [u64; 2], headers: f64) {
        // Sources come from everywhere in the tree, hardly one twice; headers as often as they are
        // included.
        let source = ((number as f64 * GOLDEN).fract() * files as f64) as u64 % files;
        self.add(Operation::Lookup, source);
        self.add(Operation::Access, directory(source));
        for _ in 0..self.about(12.0) {
            let header = (headers * uniform(self.random).powi(3)) as u64 % files;
            match below(self.random, 10) {
                0..=4 => self.add(Operation::Getattr, header),
                5..=6 => self.add(Operation::Lookup, header),
                7 => self.add(Operation::Access, header),
                _ => {
                    let blocks = 1 + header % 2;
                    self.read(header, blocks);
                }
            }
        }
        let blocks = self.about(2.0);
        self.read(source, blocks);
        let object = files + number;
        self.add(Operation::Create, object);
        let blocks = self.about(2.5);
        self.write(object, blocks);
        if self.chance(0.3) {
            self.add(Operation::Remove, object);
        }
        if self.chance(0.1) {
            let blocks = self.about(1.5).min(3);
            self.add(Operation::Readdir(blocks), directory(source));
        }
        if self.chance(0.2) {
            self.add(Operation::Setattr, object);
        }
    }

    fn link(&mut self, built: u64) {
        let first = below(self.random, built as usize + 1) as u64;
        self.add(Operation::Readdir(1), directory(first));
        for object in first..first + self.about(12.0) {
            self.add(Operation::Lookup, object);
            let blocks = self.about(2.5);
            self.read(object, blocks);
        }
        let (object, blocks) = ((1 << 32) + built, self.about(20.0));
        self.add(Operation::Create, object);
        self.write(object, blocks);
        if self.chance(0.7) {
            self.add(Operation::Remove, object);
        }
    }
}
