//! The table `patterns.parquet`: one row per hop, by pattern and depth-first order. The totals of a
//! pattern are repeated in each of its rows. A summary is three columns, `*_mean`, `*_p50` and
//! `*_p99`, in nanoseconds. If operations are known, columns for them follow the others.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, SchemaRef};
use message_trace::stats::DelaySummary;
use message_trace::table;
use message_trace::table::columns::{
    self, BatchColumns, dictionary_type, nullable_field, required_field,
};
use message_trace::{DataPath, PathError, TransportProtocol};

use super::pattern::{CallOutcomes, ConnectTimes, Hop, PathPattern};

impl PathPattern {
    /// Reads the patterns of the table at `path`, in the order of the table.
    ///
    /// # Errors
    /// If the table cannot be read, or is not a table of patterns.
    pub fn read_all(path: impl Into<DataPath>) -> Result<Vec<PathPattern>, PathError> {
        let path = &path.into();
        let mut patterns: Vec<PathPattern> = Vec::new();
        for batch in table::read_batches(path)? {
            append_hops(path, &batch?, &mut patterns, |_| true)?;
        }
        Ok(patterns)
    }
}

/// Returns the columns, including the ones for operations if operations are known.
pub(crate) fn pattern_schema(with_operations: bool) -> SchemaRef {
    let delay = |name: &str, column: fn(&str, DataType) -> Field| {
        ["mean", "p50", "p99"].map(|part| column(&format!("{name}_{part}"), DataType::Float64))
    };
    let mut fields = vec![
        required_field("pattern", DataType::Int64),
        required_field("hop", DataType::Int32),
        nullable_field("parent", DataType::Int32),
        required_field("depth", DataType::Int32),
        required_field("src", dictionary_type()),
        required_field("dst", dictionary_type()),
        required_field("src_port", dictionary_type()),
        required_field("dst_port", dictionary_type()),
        required_field("protocol", dictionary_type()),
        required_field("src_traced", DataType::Boolean),
        required_field("dst_traced", DataType::Boolean),
        required_field("bytes", DataType::Float64),
    ];
    fields.extend(
        ["node", "network", "untraced"].into_iter().flat_map(|name| delay(name, nullable_field)),
    );
    fields.extend([
        required_field("count", DataType::Int64),
        required_field("expected", DataType::Float64),
        required_field("max_probability", DataType::Float64),
    ]);
    fields.extend(delay("duration", required_field));
    fields.push(required_field("total_time", DataType::Float64));
    fields.extend([
        nullable_field("connect_count", DataType::Int64),
        nullable_field("connect_expected", DataType::Float64),
    ]);
    fields.extend(delay("connect", nullable_field));
    if with_operations {
        fields.extend([
            nullable_field("operation", dictionary_type()),
            nullable_field("answer_count", DataType::Int64),
            nullable_field("error_count", DataType::Int64),
            nullable_field("error_share", DataType::Float64),
        ]);
    }
    columns::build_schema(fields)
}

/// Reads three columns as summaries; a row without a mean has no summary.
fn read_summaries(
    table: &BatchColumns<'_>,
    name: &str,
) -> Result<Vec<Option<DelaySummary>>, PathError> {
    let [mean, p50, p99] =
        ["mean", "p50", "p99"].map(|part| table.float64_column(&format!("{name}_{part}")));
    let rows = mean?.into_iter().zip(p50?).zip(p99?);
    Ok(rows
        .map(|((mean, p50), p99)| Some(DelaySummary { mean: mean?, p50: p50?, p99: p99? }))
        .collect())
}

/// Reads the columns of connect times; `expected` is the expected number of instances of each row's
/// pattern. Returns `None` for a table of an older version, which does not have these columns.
fn read_connect_times(
    table: &BatchColumns<'_>,
    expected: &[Option<f64>],
) -> Result<Option<Vec<Option<ConnectTimes>>>, PathError> {
    let Some(counts) = table.int64_if_any("connect_count")? else { return Ok(None) };
    let (connecting, delays) =
        (table.float64_column("connect_expected")?, read_summaries(table, "connect")?);
    let connects = |row: usize| {
        let (of, all) = (connecting[row]?, expected[row]?);
        Some(ConnectTimes {
            count: counts[row]?,
            expected: of,
            share: of / all,
            delay: delays[row]?,
        })
    };
    Ok(Some((0..counts.len()).map(connects).collect()))
}

/// Reads the columns of call outcomes. Returns `None` for a table without operations, which does
/// not have these columns.
fn read_outcomes(table: &BatchColumns<'_>) -> Result<Option<Vec<Option<CallOutcomes>>>, PathError> {
    let Some(answers) = table.int64_if_any("answer_count")? else { return Ok(None) };
    let (errors, shares) =
        (table.int64_column("error_count")?, table.float64_column("error_share")?);
    let rows = answers.into_iter().zip(errors).zip(shares);
    let outcomes = rows.map(|((answers, errors), error_share)| {
        Some(CallOutcomes { answers: answers?, errors: errors?, error_share: error_share? })
    });
    Ok(Some(outcomes.collect()))
}

/// Reads the totals of each pattern of the table at `path`, pattern by pattern, without hops.
pub(crate) fn for_each_pattern(
    path: &DataPath,
    mut pattern: impl FnMut(PathPattern),
) -> Result<(), PathError> {
    const COLUMNS: [&str; 9] = [
        "pattern",
        "hop",
        "count",
        "expected",
        "max_probability",
        "duration_mean",
        "duration_p50",
        "duration_p99",
        "total_time",
    ];
    for batch in table::read_columns(path, &COLUMNS)? {
        let batch = batch?;
        let totals_columns = TotalsColumns::new(BatchColumns::new(path, &batch))?;
        for row in 0..batch.num_rows() {
            if totals_columns.places[row] == Some(0) {
                pattern(totals_columns.pattern_of_row(row)?);
            }
        }
    }
    Ok(())
}

/// Columns of the totals of a pattern.
struct TotalsColumns<'batch> {
    table: BatchColumns<'batch>,
    ids: Vec<Option<i64>>,
    places: Vec<Option<i32>>,
    counts: Vec<Option<i64>>,
    expected: Vec<Option<f64>>,
    max_probabilities: Vec<Option<f64>>,
    durations: Vec<Option<DelaySummary>>,
    totals: Vec<Option<f64>>,
}

impl<'batch> TotalsColumns<'batch> {
    fn new(table: BatchColumns<'batch>) -> Result<TotalsColumns<'batch>, PathError> {
        Ok(TotalsColumns {
            ids: table.int64_column("pattern")?,
            places: table.int32_column("hop")?,
            counts: table.int64_column("count")?,
            expected: table.float64_column("expected")?,
            max_probabilities: table.float64_column("max_probability")?,
            durations: read_summaries(&table, "duration")?,
            totals: table.float64_column("total_time")?,
            table,
        })
    }

    /// Returns the pattern at this row, without hops.
    fn pattern_of_row(&self, row: usize) -> Result<PathPattern, PathError> {
        let table = &self.table;
        Ok(PathPattern {
            id: table.required_value("pattern", self.ids[row])?,
            hops: Vec::new(),
            count: table.required_value("count", self.counts[row])?,
            expected: table.required_value("expected", self.expected[row])?,
            max_probability: table
                .required_value("max_probability", self.max_probabilities[row])?,
            duration: table.required_value("duration_mean", self.durations[row])?,
            total_time: table.required_value("total_time", self.totals[row])?,
        })
    }
}

/// Appends the hops of `batch` with `wanted` patterns to `patterns`; the last pattern there may
/// have hops already. Returns the number of the pattern of the last row; `None` if there is no row.
pub(crate) fn append_hops(
    path: &DataPath,
    batch: &RecordBatch,
    patterns: &mut Vec<PathPattern>,
    wanted: impl Fn(i64) -> bool,
) -> Result<Option<i64>, PathError> {
    let totals_columns = TotalsColumns::new(BatchColumns::new(path, batch))?;
    let table = BatchColumns::new(path, batch);
    let (parents, depths) = (table.int32_column("parent")?, table.int32_column("depth")?);
    let (src, dst) = (table.text_column("src")?, table.text_column("dst")?);
    let (src_port, dst_port) = (table.text_column("src_port")?, table.text_column("dst_port")?);
    let (src_traced, dst_traced) =
        (table.boolean_column("src_traced")?, table.boolean_column("dst_traced")?);
    let (protocols, bytes) = (table.text_column("protocol")?, table.float64_column("bytes")?);
    let (node, network) = (read_summaries(&table, "node")?, read_summaries(&table, "network")?);
    let (untraced, connect) = (
        read_summaries(&table, "untraced")?,
        read_connect_times(&table, &totals_columns.expected)?,
    );
    let (operations, outcomes) = (table.texts_if_any("operation")?, read_outcomes(&table)?);
    let (ids, places) = (&totals_columns.ids, &totals_columns.places);
    for row in 0..batch.num_rows() {
        if !wanted(table.required_value("pattern", ids[row])?) {
            continue;
        }
        let text = |name, column: &[Option<&str>]| {
            table.required_value(name, column[row]).map(str::to_owned)
        };
        let index = |name, value: Option<i32>| {
            usize::try_from(table.required_value(name, value)?)
                .map_err(|why| PathError::malformed(path, why))
        };
        if index("hop", places[row])? == 0 {
            patterns.push(totals_columns.pattern_of_row(row)?);
        }
        let Ok(protocol) =
            table.required_value("protocol", protocols[row])?.parse::<TransportProtocol>();
        let hop = Hop {
            parent: parents[row].map(|parent| index("parent", Some(parent))).transpose()?,
            depth: index("depth", depths[row])?,
            src: text("src", &src)?,
            dst: text("dst", &dst)?,
            src_port: text("src_port", &src_port)?,
            dst_port: text("dst_port", &dst_port)?,
            protocol,
            src_traced: src_traced[row],
            dst_traced: dst_traced[row],
            bytes: table.required_value("bytes", bytes[row])?,
            node: node[row],
            network: network[row],
            untraced: untraced[row],
            connect: connect.as_ref().and_then(|connect| connect[row]),
            operation: operations.as_ref().and_then(|all| all[row]).map(str::to_owned),
            outcomes: outcomes.as_ref().and_then(|all| all[row]),
        };
        let out_of_order = || PathError::malformed(path, "its hops are out of order");
        let pattern = patterns.last_mut().ok_or_else(out_of_order)?;
        let in_order = Some(pattern.id) == ids[row]
            && Some(pattern.hops.len()) == places[row].map(|place| place as usize)
            && hop.parent.is_none_or(|parent| parent < pattern.hops.len());
        if !in_order {
            return Err(out_of_order());
        }
        pattern.hops.push(hop);
    }
    Ok(ids.last().copied().flatten())
}

#[cfg(test)]
mod tests {
    use message_trace::table::columns::{
        dictionary_array, float64_array, int32_array, int64_array, string_array,
    };

    use super::*;

    /// A table of two hops of one pattern. The second has the index `place`.
    fn table(place: i32) -> RecordBatch {
        let both = |value| float64_array([Some(value), Some(value)]);
        let mut arrays = vec![
            int64_array([Some(0), Some(0)]),
            int32_array([Some(0), Some(place)]),
            int32_array([None, Some(0)]),
            int32_array([Some(0), Some(1)]),
        ];
        arrays.extend(
            ["CLIENT", "web", "*", "unix:/run/x", "tcp"]
                .map(|name| dictionary_array([Some(name), Some(name)])),
        );
        arrays.extend([
            columns::boolean_array([false, true]),
            columns::boolean_array([true, true]),
            both(12.5),
        ]);
        arrays.extend([
            float64_array([None, Some(1.5)]),
            float64_array([None, Some(2.0)]),
            float64_array([None, Some(3.0)]),
        ]);
        arrays.extend((0..6).map(|_| float64_array([None, None])));
        arrays.extend([int64_array([Some(3), Some(3)])]);
        arrays.extend([2.25, 0.9, 7.0, 6.0, 9.0, 15.75].map(both));
        arrays.push(int64_array([None, Some(2)]));
        arrays.extend([1.125, 4.0, 3.0, 8.0].map(|value| float64_array([None, Some(value)])));
        columns::build_batch("patterns", &pattern_schema(false), arrays).unwrap()
    }

    #[test]
    fn patterns_are_read_and_a_table_out_of_order_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("patterns.parquet");
        table::write_batches(&path, pattern_schema(false), [table(1)]).unwrap();
        let patterns = PathPattern::read_all(&path).unwrap();
        let [pattern] = &patterns[..] else { panic!("{patterns:?}") };
        assert_eq!((pattern.id, pattern.count, pattern.expected), (0, 3, 2.25));
        assert_eq!((pattern.max_probability, pattern.total_time), (0.9, 15.75));
        assert_eq!(pattern.duration, DelaySummary { mean: 7.0, p50: 6.0, p99: 9.0 });
        let [root, hop] = &pattern.hops[..] else { panic!("{patterns:?}") };
        assert_eq!((root.parent, hop.parent, hop.depth), (None, Some(0), 1));
        assert_eq!(
            (root.node, hop.node),
            (None, Some(DelaySummary { mean: 1.5, p50: 2.0, p99: 3.0 }))
        );
        assert_eq!(
            (hop.src.as_str(), hop.dst_port.as_str(), hop.protocol),
            ("CLIENT", "unix:/run/x", TransportProtocol::Tcp)
        );
        assert_eq!(
            (root.src_traced, root.dst_traced, hop.bytes, hop.network),
            (false, true, 12.5, None)
        );
        let delay = DelaySummary { mean: 4.0, p50: 3.0, p99: 8.0 };
        let connects = ConnectTimes { count: 2, expected: 1.125, share: 0.5, delay };
        assert_eq!((root.connect, hop.connect), (None, Some(connects)));
        table::write_batches(&path, pattern_schema(false), []).unwrap();
        assert_eq!(PathPattern::read_all(&path).unwrap(), []);
        table::write_batches(&path, pattern_schema(false), [table(2)]).unwrap();
        assert!(PathPattern::read_all(&path).unwrap_err().to_string().contains("out of order"));
        let texts = string_array([Some("a")]);
        let other = columns::build_schema([required_field("pattern", DataType::Utf8)]);
        table::write_batches(
            &path,
            other.clone(),
            [columns::build_batch(&path, &other, vec![texts]).unwrap()],
        )
        .unwrap();
        assert!(PathPattern::read_all(&path).unwrap_err().to_string().contains("pattern"));
    }
}
