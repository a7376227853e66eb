//! Collecting: one pass over all requests, which gives each step its contexts and keeps its
//! response time. It costs a step one hash.
//!
//! Response times are dealt by operation, in memory while a budget lasts and in a temporary file
//! beyond it, so that each operation can be looked at alone.

use std::path::Path;

use message_trace::{PathError, Progress};
use out_of_core::{MemoryBudget, PartitionStore, PartitionWriter};
use request_flow::tables::RequestTables;
use request_flow::{Names, Request, Resource, Step};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::equivalence::{ByKind, TraceContexts};
use crate::identity::{By, Operation, OperationId, Operations};
use crate::statistics::SpentSums;
use crate::traces::{CallTree, PositionId};
use crate::tuning::OPERATION_PARTITIONS;

/// One response time.
#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Observation {
    /// In nanoseconds.
    pub time: i64,
    /// Number of the request.
    pub request: i64,
    /// The trace-context.
    pub position: PositionId,
    /// The probability of the request.
    pub weight: f32,
}

/// What is counted of the steps of a trace-context, with and without a response time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Number of steps.
    pub steps: u64,
    /// Sum of the probabilities of their requests.
    pub expected: f64,
    /// Number of those that have a response time.
    pub timed: u64,
    /// Number of those that failed.
    pub failed: u64,
    /// Number of those that went on after their caller had ended: asynchronous calls.
    pub outliving: u64,
    /// What those did with their time whose resources were recorded.
    pub spent: SpentSums,
}

impl Counts {
    /// Adds those of another context.
    pub fn add(&mut self, other: &Counts) {
        self.steps += other.steps;
        self.expected += other.expected;
        self.timed += other.timed;
        self.failed += other.failed;
        self.outliving += other.outliving;
        self.spent.merge(&other.spent);
    }
}

/// What is counted of the requests of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassCounts {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their probabilities.
    pub expected: f64,
    /// Number of the first of them.
    pub example: u64,
}

/// All that is known after the pass.
pub struct Collected<'b> {
    /// What identifies an operation.
    pub by: By,
    /// The operations, by number.
    pub operations: Vec<Operation>,
    /// The contexts.
    pub contexts: TraceContexts,
    /// Of each trace-context.
    pub counts: Vec<Counts>,
    /// Of each class.
    pub classes: Vec<ClassCounts>,
    /// Number of requests that are torn.
    pub torn: u64,
    observations: PartitionStore<'b, Observation>,
}

impl<'b> Collected<'b> {
    /// Reads all requests. The time of a step is its response time or, where `spent` says so, what
    /// it spent in that way. What is more than `budget` goes to a temporary file in `directory`.
    ///
    /// # Errors
    /// When the tables cannot be read, or the temporary file not be written.
    pub fn read(
        tables: &RequestTables,
        (by, spent): (By, Option<Resource>),
        budget: &'b MemoryBudget,
        directory: &Path,
        progress: &dyn Progress,
    ) -> Result<Collected<'b>, PathError> {
        progress.step("finding contexts", tables.counts().1);
        let observations = PartitionStore::new(budget, directory, OPERATION_PARTITIONS);
        let (mut names, mut operations) = (Names::default(), Operations::new(by));
        let mut pass = Pass {
            writer: PartitionWriter::new(&observations, 0),
            tree: CallTree::default(),
            contexts: TraceContexts::default(),
            counts: Vec::new(),
            classes: Vec::new(),
            torn: 0,
            spent,
        };
        tables.for_each(&mut names, |number, request, _| {
            pass.add(number, &request, &mut operations)?;
            progress.advance(request.steps.len() as u64);
            Ok::<(), PathError>(())
        })?;
        let Pass { writer, contexts, counts, classes, torn, .. } = pass;
        writer.finish()?;
        let operations = operations.names(&names);
        let mut collected =
            Collected { by, operations, contexts, counts, classes, torn, observations };
        collected.join_by_kind()?;
        Ok(collected)
    }

    /// Joins classes of traces that differ by chance in what was at once.
    fn join_by_kind(&mut self) -> Result<(), PathError> {
        let requests: Vec<u64> = self.classes.iter().map(|class| class.requests).collect();
        let Some(by_kind) = ByKind::of(&self.contexts, &requests) else { return Ok(()) };
        let ByKind { contexts, class_of, position_of } = by_kind;
        let mut classes = vec![ClassCounts::default(); contexts.classes.classes().len()];
        for (old, new) in self.classes.iter().zip(class_of) {
            let Some(class) = classes.get_mut(new as usize) else { continue };
            let is_first = class.requests == 0;
            class.example = if is_first { old.example } else { class.example.min(old.example) };
            class.requests += old.requests;
            class.expected += old.expected;
        }
        let mut counts = vec![Counts::default(); contexts.len()];
        for (old, new) in self.counts.iter().zip(&position_of) {
            counts.get_mut(*new as usize).into_iter().for_each(|counts| counts.add(old));
        }
        for partition in 0..self.partitions() {
            let mut observations = self.take(partition)?;
            for observation in &mut observations {
                let new = position_of.get(observation.position as usize);
                observation.position = new.copied().unwrap_or(observation.position);
            }
            self.give(partition, observations)?;
        }
        (self.contexts, self.counts, self.classes) = (contexts, counts, classes);
        Ok(())
    }

    /// Number of the parts that the response times are dealt into.
    pub fn partitions(&self) -> usize {
        self.observations.partitions()
    }

    /// The part that the response times of an operation are in.
    pub fn partition_of(&self, operation: OperationId) -> usize {
        operation as usize % self.partitions()
    }

    /// Takes the response times of a part.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn take(&self, partition: usize) -> Result<Vec<Observation>, PathError> {
        Ok(out_of_core::joined(self.observations.take(partition)?))
    }

    /// Gives back what was taken, in another order.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub fn give(&self, partition: usize, observations: Vec<Observation>) -> Result<(), PathError> {
        self.observations.push(partition, 0, observations)
    }
}

struct Pass<'s, 'b> {
    writer: PartitionWriter<'s, 'b, Observation>,
    tree: CallTree,
    contexts: TraceContexts,
    counts: Vec<Counts>,
    classes: Vec<ClassCounts>,
    torn: u64,
    spent: Option<Resource>,
}

impl Pass<'_, '_> {
    fn add(
        &mut self,
        number: u64,
        request: &Request,
        operations: &mut Operations,
    ) -> Result<(), PathError> {
        let caller = operations.of_caller(request.caller, request.caller_host);
        let tree = self.tree.of(&request.steps, |step| operations.of_step(step));
        let class = self.contexts.class(tree, caller) as usize;
        self.counts.resize(self.contexts.len(), Counts::default());
        if class == self.classes.len() {
            self.classes.push(ClassCounts { example: number, ..ClassCounts::default() });
        }
        if let Some(of) = self.classes.get_mut(class) {
            of.requests += 1;
            of.expected += request.probability;
        }
        self.torn += u64::from(request.torn);
        let Some(class) = self.contexts.classes.classes().get(class) else { return Ok(()) };
        let places = self.contexts.classes.places();
        for ((step, node), place) in request.steps.iter().zip(tree).zip(places) {
            let position = class.first + place;
            let time = match self.spent {
                Some(resource) => resource.of(step),
                None => step.response_time(),
            };
            let time = time.filter(|time| *time >= 0 && request.probability > 0.0);
            if let Some(counts) = self.counts.get_mut(position as usize) {
                counts.steps += 1;
                counts.expected += request.probability;
                counts.timed += u64::from(time.is_some());
                counts.failed += u64::from(step.failed);
                counts.outliving += u64::from(outlives_its_caller(step, &request.steps));
                if self.spent.is_none() {
                    counts.spent.add(step, request.probability);
                }
            }
            let Some(time) = time else { continue };
            let weight = request.probability as f32;
            let observation = Observation { time, request: number as i64, position, weight };
            let partition = node.operation as usize % OPERATION_PARTITIONS;
            self.writer.deal(partition, observation)?;
        }
        Ok(())
    }
}

/// Whether a step went on after the step that called it had ended.
fn outlives_its_caller(step: &Step, steps: &[Step]) -> bool {
    let caller = step.parent.and_then(|caller| steps.get(caller as usize));
    let end = caller.and_then(|caller| caller.end);
    matches!((step.span_at_caller().1, end), (Some(own), Some(end)) if own > end)
}
