//! Path instances: trees of messages with the probability that they happened just so; as they are
//! read from `paths.parquet`, one row a message of an instance, in depth-first order.

use arrow_schema::{DataType, SchemaRef};
use message_trace::table::columns::{self, Columns, nullable, required};
use message_trace::table::{self, Stored};
use message_trace::{DataPath, PathError};

/// The path instances of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instances {
    ends: Vec<usize>,
    probability: Vec<f64>,
    pattern: Vec<u32>,
    message: Vec<u32>,
    depth: Vec<u32>,
}

/// A path instance: a tree of messages, each caused by the last one before it that is one less
/// deep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Instance<'instances> {
    /// Probability that it happened so (WAP5 section 5.1, step 3).
    pub probability: f64,
    /// The number of its pattern.
    pub pattern: u32,
    /// The messages in depth-first order, children by the time of their sending; the first is the
    /// root.
    pub messages: &'instances [u32],
    /// The depth of each message, 0 for the root.
    pub depths: &'instances [u32],
}

impl Instances {
    /// Number of instances.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The instance of that number.
    pub fn get(&self, instance: usize) -> Instance<'_> {
        let first = if instance == 0 { 0 } else { self.ends[instance - 1] };
        let range = first..self.ends[instance];
        Instance {
            probability: self.probability[instance],
            pattern: self.pattern[instance],
            messages: &self.message[range.clone()],
            depths: &self.depth[range],
        }
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Instance<'_>> + '_ {
        (0..self.len()).map(|instance| self.get(instance))
    }

    /// Reads the table at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or is not such a table.
    pub fn read(path: impl Into<DataPath>) -> Result<Instances, PathError> {
        let path = &path.into();
        let mut instances = Instances::default();
        let mut last = None;
        for batch in table::read(path)? {
            let batch = batch?;
            let table = Columns::new(path, &batch);
            let (paths, patterns) = (table.int64("path")?, table.int64("pattern")?);
            let (probability, depth) = (table.float64("probability")?, table.int32("depth")?);
            let message = table.int64("message")?;
            for row in 0..batch.num_rows() {
                let instance = table.some("path", paths[row])?;
                if last != Some(instance) {
                    instances.probability.push(table.some("probability", probability[row])?);
                    instances.pattern.push(index(path, table.some("pattern", patterns[row])?)?);
                    instances.ends.push(instances.message.len());
                    last = Some(instance);
                }
                instances.message.push(index(path, table.some("message", message[row])?)?);
                instances.depth.push(index(path, table.some("depth", depth[row])?)?);
                if let Some(end) = instances.ends.last_mut() {
                    *end = instances.message.len();
                }
            }
        }
        Ok(instances)
    }
}

#[cfg(test)]
impl Instances {
    /// Adds a tree of messages with their depths; its pattern is not known yet.
    pub(crate) fn push(&mut self, tree: &[(u32, u32)], probability: f64) {
        self.message.extend(tree.iter().map(|(message, _)| *message));
        self.depth.extend(tree.iter().map(|(_, depth)| *depth));
        self.ends.push(self.message.len());
        self.probability.push(probability);
        self.pattern.push(0);
    }

    /// Adds all of `others` after these.
    pub(crate) fn append(&mut self, others: &Instances) {
        let before = self.message.len();
        self.ends.extend(others.ends.iter().map(|end| before + end));
        self.probability.extend_from_slice(&others.probability);
        self.pattern.extend_from_slice(&others.pattern);
        self.message.extend_from_slice(&others.message);
        self.depth.extend_from_slice(&others.depth);
    }

    /// The number of the pattern of each instance, to be set.
    pub(crate) fn patterns_mut(&mut self) -> &mut [u32] {
        &mut self.pattern
    }

    /// Adds `by` to the messages after each `each` instances, once more each time.
    pub(crate) fn move_messages(&mut self, each: usize, by: u32) {
        let mut first = 0;
        for (instance, end) in self.ends.iter().enumerate() {
            self.message[first..*end]
                .iter_mut()
                .for_each(|message| *message += (instance / each) as u32 * by);
            first = *end;
        }
    }
}

fn index<T: TryInto<u32, Error = std::num::TryFromIntError>>(
    path: &DataPath,
    value: T,
) -> Result<u32, PathError> {
    value.try_into().map_err(|why| PathError::malformed(path, why))
}

/// The columns; how calls ended among them where it is known what messages do.
pub(crate) fn schema(told: bool) -> SchemaRef {
    let mut fields = vec![
        required("path", DataType::Int64),
        required("pattern", DataType::Int64),
        required("probability", DataType::Float64),
        required("depth", DataType::Int32),
        required("message", DataType::Int64),
        nullable("connecting", DataType::Int64),
    ];
    fields.extend(told.then(|| nullable("is_error", DataType::Boolean)));
    columns::schema(fields)
}

/// How the columns are stored.
pub(crate) fn stored(column: &str) -> Stored {
    match column {
        // The same for all messages of an instance.
        "probability" | "is_error" => Stored::Plain,
        _ => Stored::Differences,
    }
}
