//! Collecting: one pass over all requests, which assigns each step to its contexts and keeps its
//! response time. The pass costs one hash per step.
//!
//! Response times are partitioned by operation, in memory within a budget and in a temporary file
//! beyond it, so that each operation can be processed alone.

use std::path::Path;

use message_trace::{PathError, Progress};
use out_of_core::{MemoryBudget, PartitionStore, PartitionWriter};
use request_flow::tables::RequestTables;
use request_flow::{NameInterner, Request, Step, StepResource};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::equivalence::{ContextsByKind, TraceContexts};
use crate::identity::{OperationId, OperationIdentity, OperationInterner, OperationLabel};
use crate::statistics::SpentSums;
use crate::traces::{DynamicCallTree, PositionId};
use crate::tuning::OPERATION_PARTITIONS;

/// A response time of a step.
#[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ResponseObservation {
    /// The response time in nanoseconds.
    pub time: i64,
    /// Number of the request.
    pub request: i64,
    /// The trace-context of the step: its position in its class of traces.
    pub position: PositionId,
    /// The probability of the request.
    pub weight: f32,
}

/// Counts of the steps of a trace-context, with and without a response time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExecutionCounts {
    /// Number of steps.
    pub steps: u64,
    /// Sum of the probabilities of the steps' requests.
    pub expected: f64,
    /// Number of steps with a response time.
    pub timed: u64,
    /// Number of failed steps.
    pub failed: u64,
    /// Number of steps that continued after their caller had ended: asynchronous calls.
    pub outliving: u64,
    /// Resource times of the steps with recorded resources.
    pub spent: SpentSums,
}

impl ExecutionCounts {
    /// Adds the counts of another context.
    pub fn add(&mut self, other: &ExecutionCounts) {
        self.steps += other.steps;
        self.expected += other.expected;
        self.timed += other.timed;
        self.failed += other.failed;
        self.outliving += other.outliving;
        self.spent.merge(&other.spent);
    }
}

/// Counts of the requests of a class: requests whose traces have equal call trees.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassCounts {
    /// Number of requests.
    pub requests: u64,
    /// Sum of the requests' probabilities.
    pub expected: f64,
    /// Number of the class's first request.
    pub example: u64,
}

/// Contexts and response times of all requests: the result of the pass.
pub struct CollectedContexts<'b> {
    /// What identifies an operation.
    pub by: OperationIdentity,
    /// The operations, by number.
    pub operations: Vec<OperationLabel>,
    /// All contexts that were found.
    pub contexts: TraceContexts,
    /// Counts of each trace-context.
    pub counts: Vec<ExecutionCounts>,
    /// Counts of each class.
    pub classes: Vec<ClassCounts>,
    /// Number of torn requests: their roots were lost.
    pub torn: u64,
    /// Response times, partitioned by operation.
    observations: PartitionStore<'b, ResponseObservation>,
}

impl<'b> CollectedContexts<'b> {
    /// Reads all requests. The time of a step is its response time or, if `spent` is given, the
    /// time that it spent on that resource. Data beyond `budget` goes to a temporary file in
    /// `directory`.
    ///
    /// # Errors
    /// If the tables cannot be read, or the temporary file cannot be written.
    pub fn read_requests(
        tables: &RequestTables,
        (by, spent): (OperationIdentity, Option<StepResource>),
        budget: &'b MemoryBudget,
        directory: &Path,
        progress: &dyn Progress,
    ) -> Result<CollectedContexts<'b>, PathError> {
        progress.begin_step("finding contexts", tables.counts().1);
        let observations = PartitionStore::new(budget, directory, OPERATION_PARTITIONS);
        let (mut names, mut operations) = (NameInterner::default(), OperationInterner::new(by));
        let mut pass = ContextPass {
            writer: PartitionWriter::new(&observations, 0),
            tree: DynamicCallTree::default(),
            contexts: TraceContexts::default(),
            counts: Vec::new(),
            classes: Vec::new(),
            torn: 0,
            spent,
        };
        tables.for_each(&mut names, |number, request, _| {
            pass.add_request(number, &request, &mut operations)?;
            progress.advance_step(request.steps.len() as u64);
            Ok::<(), PathError>(())
        })?;
        let ContextPass { writer, contexts, counts, classes, torn, .. } = pass;
        writer.finish()?;
        let operations = operations.all_names(&names);
        let mut collected =
            CollectedContexts { by, operations, contexts, counts, classes, torn, observations };
        collected.join_by_kind()?;
        Ok(collected)
    }

    /// Joins classes of traces that differ only in which concurrent calls overlapped by chance.
    fn join_by_kind(&mut self) -> Result<(), PathError> {
        let requests: Vec<u64> = self.classes.iter().map(|class| class.requests).collect();
        let Some(by_kind) = ContextsByKind::from_trace_contexts(&self.contexts, &requests) else {
            return Ok(());
        };
        let ContextsByKind { contexts, class_of, position_of } = by_kind;
        let mut classes = vec![ClassCounts::default(); contexts.classes.classes().len()];
        for (old, new) in self.classes.iter().zip(class_of) {
            let Some(class) = classes.get_mut(new as usize) else { continue };
            let is_first = class.requests == 0;
            class.example = if is_first { old.example } else { class.example.min(old.example) };
            class.requests += old.requests;
            class.expected += old.expected;
        }
        let mut counts = vec![ExecutionCounts::default(); contexts.len()];
        for (old, new) in self.counts.iter().zip(&position_of) {
            counts.get_mut(new.index()).into_iter().for_each(|counts| counts.add(old));
        }
        for partition in 0..self.partition_count() {
            let mut observations = self.take_observations(partition)?;
            for observation in &mut observations {
                let new = position_of.get(observation.position.index());
                observation.position = new.copied().unwrap_or(observation.position);
            }
            self.return_observations(partition, observations)?;
        }
        (self.contexts, self.counts, self.classes) = (contexts, counts, classes);
        Ok(())
    }

    /// Number of partitions of the response times.
    pub fn partition_count(&self) -> usize {
        self.observations.partition_count()
    }

    /// The partition of the response times of an operation.
    pub fn partition_of(&self, operation: OperationId) -> usize {
        operation.index() % self.partition_count()
    }

    /// Takes the response times of a partition.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub fn take_observations(
        &self,
        partition: usize,
    ) -> Result<Vec<ResponseObservation>, PathError> {
        Ok(out_of_core::join_blocks(self.observations.take_blocks(partition)?))
    }

    /// Puts back the response times of a partition that were taken, perhaps in another order.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub fn return_observations(
        &self,
        partition: usize,
        observations: Vec<ResponseObservation>,
    ) -> Result<(), PathError> {
        self.observations.push_block(partition, 0, observations)
    }
}

/// State of the pass over all requests.
struct ContextPass<'s, 'b> {
    writer: PartitionWriter<'s, 'b, ResponseObservation>,
    tree: DynamicCallTree,
    contexts: TraceContexts,
    counts: Vec<ExecutionCounts>,
    classes: Vec<ClassCounts>,
    torn: u64,
    spent: Option<StepResource>,
}

impl ContextPass<'_, '_> {
    fn add_request(
        &mut self,
        number: u64,
        request: &Request,
        operations: &mut OperationInterner,
    ) -> Result<(), PathError> {
        let caller = operations.intern_caller(request.caller, request.caller_host);
        let tree = self.tree.build_tree(&request.steps, |step| operations.intern_step(step));
        let class = self.contexts.class_of_trace(tree, caller) as usize;
        self.counts.resize(self.contexts.len(), ExecutionCounts::default());
        if class == self.classes.len() {
            self.classes.push(ClassCounts { example: number, ..ClassCounts::default() });
        }
        if let Some(of) = self.classes.get_mut(class) {
            of.requests += 1;
            of.expected += request.probability;
        }
        self.torn += u64::from(request.torn);
        let Some(class) = self.contexts.classes.classes().get(class) else { return Ok(()) };
        let places = self.contexts.classes.places_of_nodes();
        for ((step, node), place) in request.steps.iter().zip(tree).zip(places) {
            let position = class.first.at_place(*place);
            let time = match self.spent {
                Some(resource) => resource.time_in_step(step),
                None => step.response_time(),
            };
            let time = time.filter(|time| *time >= 0 && request.probability > 0.0);
            if let Some(counts) = self.counts.get_mut(position.index()) {
                counts.steps += 1;
                counts.expected += request.probability;
                counts.timed += u64::from(time.is_some());
                counts.failed += u64::from(step.failed);
                counts.outliving += u64::from(outlives_its_caller(step, &request.steps));
                if self.spent.is_none() {
                    counts.spent.add_step(step, request.probability);
                }
            }
            let Some(time) = time else { continue };
            let weight = request.probability as f32;
            let observation =
                ResponseObservation { time, request: number as i64, position, weight };
            let partition = node.operation.index() % OPERATION_PARTITIONS;
            self.writer.partition_record(partition, observation)?;
        }
        Ok(())
    }
}

/// Whether a step continued after its caller had ended.
fn outlives_its_caller(step: &Step, steps: &[Step]) -> bool {
    let caller = step.parent.and_then(|caller| steps.get(caller as usize));
    let end = caller.and_then(|caller| caller.end);
    matches!((step.span_at_caller().1, end), (Some(own), Some(end)) if own > end)
}
