//! The rows of `patterns.parquet`, from described patterns to encoded row groups.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array};
use message_trace::PathError;
use message_trace::stats::DelaySummary;
use message_trace::table::columns;
use message_trace::table::{ColumnEncoding, RowGroup, RowGroupBuilder, RowGroupEncoder};

use super::description::{DescribedHops, PatternHop, PatternTotals};
use super::hop_texts::HopTexts;
use super::pattern::CallOutcomes;
use super::shape_labels::ShapeLabels;
use crate::tuning::paths::rows::ROWS_AT_ONCE;

/// Returns the encodings of the columns. Totals of a pattern are equal in many rows.
pub(crate) fn column_encoding(column: &str) -> ColumnEncoding {
    match column {
        "pattern" | "hop" | "parent" | "depth" | "count" => ColumnEncoding::Differences,
        "src_traced" | "dst_traced" => ColumnEncoding::Plain,
        "bytes" => ColumnEncoding::Once,
        "connect_count" | "answer_count" | "error_count" => ColumnEncoding::Differences,
        "error_share" => ColumnEncoding::Plain,
        delay
            if ["node_", "network_", "untraced_", "connect_"]
                .iter()
                .any(|name| delay.starts_with(name)) =>
        {
            ColumnEncoding::Plain
        }
        _ => ColumnEncoding::Once,
    }
}

/// Builder of a row group.
pub(crate) struct PatternRows<'a> {
    texts: &'a HopTexts,
    group: RowGroupBuilder<'a>,
    /// The rows that are not encoded yet.
    pending: HopRowColumns,
    /// The indices of the messages above the current one.
    above: Vec<i32>,
}

impl<'a> PatternRows<'a> {
    pub(crate) fn new(
        texts: &'a HopTexts,
        encoder: &'a RowGroupEncoder,
    ) -> Result<PatternRows<'a>, PathError> {
        Ok(PatternRows {
            texts,
            group: encoder.begin_group()?,
            pending: HopRowColumns::default(),
            above: Vec::new(),
        })
    }

    /// Appends a described pattern.
    pub(crate) fn push_pattern(&mut self, number: u32, described: &[u8]) -> Result<(), PathError> {
        let pattern = DescribedHops::from_bytes(described);
        let totals = pattern.totals;
        self.above.clear();
        for (place, (depth, labels, seen)) in (0..).zip(pattern) {
            self.above.truncate(depth as usize);
            let parent = self.above.last().copied();
            self.above.push(place);
            self.pending.push_hop(place, parent, depth, labels, seen);
        }
        self.pending.repeat_totals(number, &totals);
        if self.pending.labels.len() >= ROWS_AT_ONCE { self.flush() } else { Ok(()) }
    }

    /// Encodes the remaining rows.
    pub(crate) fn finish(mut self) -> Result<RowGroup, PathError> {
        self.flush()?;
        self.group.finish_group()
    }

    fn flush(&mut self) -> Result<(), PathError> {
        let rows = std::mem::take(&mut self.pending);
        self.group.write_rows(&rows.into_arrays(self.texts))
    }
}

/// Rows of the table, by columns.
#[derive(Default)]
struct HopRowColumns {
    pattern: Vec<i64>,
    place: Vec<i32>,
    parent: Vec<i32>,
    has_parent: Vec<bool>,
    depth: Vec<i32>,
    labels: Vec<ShapeLabels>,
    src_traced: Vec<bool>,
    dst_traced: Vec<bool>,
    bytes: Vec<f64>,
    node: SummaryColumns,
    network: SummaryColumns,
    untraced: SummaryColumns,
    connect: SummaryColumns,
    connect_count: Vec<Option<i64>>,
    connect_expected: Vec<Option<f64>>,
    outcomes: Vec<Option<CallOutcomes>>,
    count: Vec<i64>,
    /// Expected count, maximum probability, mean, median and 99th percentile of the duration, and
    /// total time of the pattern.
    totals: [Vec<f64>; 6],
}

impl HopRowColumns {
    #[inline]
    fn push_hop(
        &mut self,
        place: i32,
        parent: Option<i32>,
        depth: u32,
        labels: ShapeLabels,
        seen: PatternHop,
    ) {
        self.place.push(place);
        self.parent.push(parent.unwrap_or_default());
        self.has_parent.push(parent.is_some());
        self.depth.push(depth as i32);
        self.labels.push(labels);
        self.src_traced.push(seen.src_traced);
        self.dst_traced.push(seen.dst_traced);
        self.bytes.push(seen.bytes);
        self.node.push(seen.node);
        self.network.push(seen.network);
        self.untraced.push(seen.untraced);
        self.connect.push(seen.connect.map(|connect| connect.delay));
        self.connect_count.push(seen.connect.map(|connect| connect.count));
        self.connect_expected.push(seen.connect.map(|connect| connect.expected));
        self.outcomes.push(seen.outcome);
    }

    /// Fills the remaining rows with the totals of pattern `number`.
    fn repeat_totals(&mut self, number: u32, totals: &PatternTotals) {
        let end = self.place.len();
        self.pattern.resize(end, i64::from(number));
        self.count.resize(end, totals.count);
        let DelaySummary { mean, p50, p99 } = totals.duration;
        let values = [totals.expected, totals.max_probability, mean, p50, p99, totals.total_time];
        for (column, value) in self.totals.iter_mut().zip(values) {
            column.resize(end, value);
        }
    }

    fn into_arrays(self, texts: &HopTexts) -> Vec<ArrayRef> {
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(self.pattern)),
            Arc::new(Int32Array::from(self.place)),
            Arc::new(Int32Array::new(self.parent.into(), Some(self.has_parent.into()))),
            Arc::new(Int32Array::from(self.depth)),
        ];
        arrays.extend(texts.label_columns(&self.labels));
        arrays.push(Arc::new(BooleanArray::from(self.src_traced)));
        arrays.push(Arc::new(BooleanArray::from(self.dst_traced)));
        arrays.push(Arc::new(Float64Array::from(self.bytes)));
        arrays.extend(
            [self.node, self.network, self.untraced]
                .into_iter()
                .flat_map(SummaryColumns::into_arrays),
        );
        arrays.push(Arc::new(Int64Array::from(self.count)));
        arrays.extend(self.totals.map(|column| Arc::new(Float64Array::from(column)) as ArrayRef));
        arrays.push(Arc::new(Int64Array::from(self.connect_count)));
        arrays.push(Arc::new(Float64Array::from(self.connect_expected)));
        arrays.extend(self.connect.into_arrays());
        if let Some(operations) = texts.operation_column(&self.labels) {
            let outcomes = || self.outcomes.iter().copied();
            arrays.push(operations);
            arrays.push(columns::int64_array(outcomes().map(|of| of.map(|of| of.answers))));
            arrays.push(columns::int64_array(outcomes().map(|of| of.map(|of| of.errors))));
            arrays.push(columns::float64_array(outcomes().map(|of| of.map(|of| of.error_share))));
        }
        arrays
    }
}

/// Summaries, by columns.
#[derive(Default)]
struct SummaryColumns {
    known: Vec<bool>,
    columns: [Vec<f64>; 3],
}

impl SummaryColumns {
    #[inline]
    fn push(&mut self, delay: Option<DelaySummary>) {
        self.known.push(delay.is_some());
        let DelaySummary { mean, p50, p99 } = delay.unwrap_or_default();
        for (column, part) in self.columns.iter_mut().zip([mean, p50, p99]) {
            column.push(part);
        }
    }

    fn into_arrays(self) -> [ArrayRef; 3] {
        let known = BooleanArray::from(self.known);
        let nulls = || Some(known.values().clone().into());
        self.columns.map(|column| Arc::new(Float64Array::new(column.into(), nulls())) as ArrayRef)
    }
}
