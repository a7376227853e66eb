//! Path instances: trees of messages with the probability that they happened in exactly this way;
//! read from `paths.parquet`, one row per message of an instance, in depth-first order.

use arrow_schema::{DataType, SchemaRef};
use message_trace::table::columns::{self, BatchColumns, nullable_field, required_field};
use message_trace::table::{self, ColumnEncoding};
use message_trace::{DataPath, MessageId, PathError};

/// The path instances of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathInstances {
    /// The end of each instance among the messages.
    ends: Vec<usize>,
    probability: Vec<f64>,
    pattern: Vec<u32>,
    message: Vec<MessageId>,
    depth: Vec<u32>,
}

/// A path instance: a tree of messages, each caused by the last one before it that is one less
/// deep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathInstance<'instances> {
    /// Probability that the instance happened in this way (WAP5 section 5.1, step 3).
    pub probability: f64,
    /// The number of the instance's pattern.
    pub pattern: u32,
    /// The messages in depth-first order, children in the order of sending; the first is the root.
    pub messages: &'instances [MessageId],
    /// The depth of each message, 0 for the root.
    pub depths: &'instances [u32],
}

impl PathInstances {
    /// Returns the number of instances.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no instances.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the instance with this number.
    pub fn get(&self, instance: usize) -> PathInstance<'_> {
        let first = if instance == 0 { 0 } else { self.ends[instance - 1] };
        let range = first..self.ends[instance];
        PathInstance {
            probability: self.probability[instance],
            pattern: self.pattern[instance],
            messages: &self.message[range.clone()],
            depths: &self.depth[range],
        }
    }

    /// Returns all instances, by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PathInstance<'_>> + '_ {
        (0..self.len()).map(|instance| self.get(instance))
    }

    /// Reads the table at `path`.
    ///
    /// # Errors
    /// If the table cannot be read, or is not a table of paths.
    pub fn read(path: impl Into<DataPath>) -> Result<PathInstances, PathError> {
        let path = &path.into();
        let mut instances = PathInstances::default();
        let mut last = None;
        for batch in table::read_batches(path)? {
            let batch = batch?;
            let table = BatchColumns::new(path, &batch);
            let (paths, patterns) = (table.int64_column("path")?, table.int64_column("pattern")?);
            let (probability, depth) =
                (table.float64_column("probability")?, table.int32_column("depth")?);
            let message = table.int64_column("message")?;
            for row in 0..batch.num_rows() {
                let instance = table.required_value("path", paths[row])?;
                if last != Some(instance) {
                    instances
                        .probability
                        .push(table.required_value("probability", probability[row])?);
                    instances
                        .pattern
                        .push(to_index(path, table.required_value("pattern", patterns[row])?)?);
                    instances.ends.push(instances.message.len());
                    last = Some(instance);
                }
                let message = to_index(path, table.required_value("message", message[row])?)?;
                instances.message.push(MessageId::from_index(message as usize));
                instances.depth.push(to_index(path, table.required_value("depth", depth[row])?)?);
                if let Some(end) = instances.ends.last_mut() {
                    *end = instances.message.len();
                }
            }
        }
        Ok(instances)
    }
}

#[cfg(test)]
impl PathInstances {
    /// Adds a tree of messages with their depths; its pattern is not known yet.
    pub(crate) fn push_tree(&mut self, tree: &[(MessageId, u32)], probability: f64) {
        self.message.extend(tree.iter().map(|(message, _)| *message));
        self.depth.extend(tree.iter().map(|(_, depth)| *depth));
        self.ends.push(self.message.len());
        self.probability.push(probability);
        self.pattern.push(0);
    }

    /// Adds all of `others` after these.
    pub(crate) fn append_instances(&mut self, others: &PathInstances) {
        let before = self.message.len();
        self.ends.extend(others.ends.iter().map(|end| before + end));
        self.probability.extend_from_slice(&others.probability);
        self.pattern.extend_from_slice(&others.pattern);
        self.message.extend_from_slice(&others.message);
        self.depth.extend_from_slice(&others.depth);
    }

    /// Returns the pattern numbers of the instances for modification.
    pub(crate) fn patterns_mut(&mut self) -> &mut [u32] {
        &mut self.pattern
    }

    /// Adds `by` to the numbers of the messages once more after every `each` instances.
    pub(crate) fn shift_messages(&mut self, each: usize, by: usize) {
        let mut first = 0;
        for (instance, end) in self.ends.iter().enumerate() {
            self.message[first..*end]
                .iter_mut()
                .for_each(|message| *message = message.add_rows(instance / each * by));
            first = *end;
        }
    }
}

fn to_index<T: TryInto<u32, Error = std::num::TryFromIntError>>(
    path: &DataPath,
    value: T,
) -> Result<u32, PathError> {
    value.try_into().map_err(|why| PathError::malformed(path, why))
}

/// Returns the columns, including call outcomes if operations are known.
pub(crate) fn path_schema(has_operations: bool) -> SchemaRef {
    let mut fields = vec![
        required_field("path", DataType::Int64),
        required_field("pattern", DataType::Int64),
        required_field("probability", DataType::Float64),
        required_field("depth", DataType::Int32),
        required_field("message", DataType::Int64),
        nullable_field("connecting", DataType::Int64),
    ];
    fields.extend(has_operations.then(|| nullable_field("is_error", DataType::Boolean)));
    columns::build_schema(fields)
}

/// Returns the encoding of a column.
pub(crate) fn column_encoding(column: &str) -> ColumnEncoding {
    match column {
        // Only integers can be stored as differences.
        "probability" | "is_error" => ColumnEncoding::Plain,
        _ => ColumnEncoding::Differences,
    }
}
