//! `patterns.parquet`: one row a hop, by pattern and depth-first order; what is true of the pattern as a whole is
//! repeated in each of its rows. A summary is three columns, `*_mean`, `*_p50` and `*_p99`, in nanoseconds.

use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, SchemaRef};
use message_trace::stats::Summary;
use message_trace::table::columns::{self, Columns, dictionary, nullable, required};
use message_trace::table::{self, BATCH_ROWS};
use message_trace::{Error, Protocol};

use super::pattern::{Hop, PathPattern};

type Row<'patterns> = (&'patterns PathPattern, usize, &'patterns Hop);

impl PathPattern {
    /// Writes `patterns` to the table at `path`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_all(patterns: &[PathPattern], path: &Path) -> Result<(), Error> {
        let mut rows = patterns.iter().flat_map(|pattern| {
            pattern.hops.iter().enumerate().map(move |(place, hop)| (pattern, place, hop))
        });
        let batches = std::iter::from_fn(|| {
            let rows: Vec<Row<'_>> = rows.by_ref().take(BATCH_ROWS).collect();
            (!rows.is_empty()).then(|| batch(path, &rows))
        });
        crate::analysis::write_batches(path, schema(), batches)
    }

    /// Reads the patterns of the table at `path`, in the order of the table.
    ///
    /// # Errors
    /// When it cannot be read, or is not such a table.
    pub fn read_all(path: &Path) -> Result<Vec<PathPattern>, Error> {
        let mut patterns: Vec<PathPattern> = Vec::new();
        for batch in table::read(path)? {
            append(path, &batch?, &mut patterns)?;
        }
        Ok(patterns)
    }
}

fn schema() -> SchemaRef {
    let delay = |name: &str, column: fn(&str, DataType) -> Field| {
        ["mean", "p50", "p99"].map(|part| column(&format!("{name}_{part}"), DataType::Float64))
    };
    let mut fields = vec![
        required("pattern", DataType::Int64),
        required("hop", DataType::Int32),
        nullable("parent", DataType::Int32),
        required("depth", DataType::Int32),
        required("src", dictionary()),
        required("dst", dictionary()),
        required("src_port", dictionary()),
        required("dst_port", dictionary()),
        required("protocol", dictionary()),
        required("src_traced", DataType::Boolean),
        required("dst_traced", DataType::Boolean),
        required("bytes", DataType::Float64),
    ];
    fields.extend(["node", "network", "untraced"].into_iter().flat_map(|name| delay(name, nullable)));
    fields.extend([
        required("count", DataType::Int64),
        required("expected", DataType::Float64),
        required("max_probability", DataType::Float64),
    ]);
    fields.extend(delay("duration", required));
    fields.push(required("total_time", DataType::Float64));
    columns::schema(fields)
}

fn batch(path: &Path, rows: &[Row<'_>]) -> Result<RecordBatch, Error> {
    let patterns = || rows.iter().map(|(pattern, _, _)| *pattern);
    let hops = || rows.iter().map(|(_, _, hop)| *hop);
    let delay = |of: &dyn Fn(&Row<'_>) -> Option<Summary>| -> [ArrayRef; 3] {
        let parts: [fn(Summary) -> f64; 3] = [|delay| delay.mean, |delay| delay.p50, |delay| delay.p99];
        parts.map(|part| columns::float64(rows.iter().map(|row| of(row).map(part))))
    };
    let mut arrays = vec![
        columns::int64(patterns().map(|pattern| Some(pattern.id))),
        columns::int32(rows.iter().map(|(_, place, _)| Some(*place as i32))),
        columns::int32(hops().map(|hop| hop.parent.map(|parent| parent as i32))),
        columns::int32(hops().map(|hop| Some(hop.depth as i32))),
        columns::texts(hops().map(|hop| Some(&hop.src))),
        columns::texts(hops().map(|hop| Some(&hop.dst))),
        columns::texts(hops().map(|hop| Some(&hop.src_port))),
        columns::texts(hops().map(|hop| Some(&hop.dst_port))),
        columns::texts(hops().map(|hop| Some(hop.protocol.name()))),
        columns::boolean(hops().map(|hop| hop.src_traced)),
        columns::boolean(hops().map(|hop| hop.dst_traced)),
        columns::float64(hops().map(|hop| Some(hop.bytes))),
    ];
    arrays.extend(delay(&|(_, _, hop)| hop.node));
    arrays.extend(delay(&|(_, _, hop)| hop.network));
    arrays.extend(delay(&|(_, _, hop)| hop.untraced));
    arrays.push(columns::int64(patterns().map(|pattern| Some(pattern.count))));
    arrays.push(columns::float64(patterns().map(|pattern| Some(pattern.expected))));
    arrays.push(columns::float64(patterns().map(|pattern| Some(pattern.max_probability))));
    arrays.extend(delay(&|(pattern, _, _)| Some(pattern.duration)));
    arrays.push(columns::float64(patterns().map(|pattern| Some(pattern.total_time))));
    columns::batch(path, &schema(), arrays)
}

/// Three columns as summaries; a row is none where its mean is null.
fn summaries(table: &Columns<'_>, name: &str) -> Result<Vec<Option<Summary>>, Error> {
    let [mean, p50, p99] = ["mean", "p50", "p99"].map(|part| table.float64(&format!("{name}_{part}")));
    let rows = mean?.into_iter().zip(p50?).zip(p99?);
    Ok(rows.map(|((mean, p50), p99)| Some(Summary { mean: mean?, p50: p50?, p99: p99? })).collect())
}

fn append(path: &Path, batch: &RecordBatch, patterns: &mut Vec<PathPattern>) -> Result<(), Error> {
    let table = Columns::new(path, batch);
    let (ids, places) = (table.int64("pattern")?, table.int32("hop")?);
    let (parents, depths) = (table.int32("parent")?, table.int32("depth")?);
    let (src, dst) = (table.texts("src")?, table.texts("dst")?);
    let (src_port, dst_port) = (table.texts("src_port")?, table.texts("dst_port")?);
    let (src_traced, dst_traced) = (table.boolean("src_traced")?, table.boolean("dst_traced")?);
    let (protocols, bytes) = (table.texts("protocol")?, table.float64("bytes")?);
    let (node, network) = (summaries(&table, "node")?, summaries(&table, "network")?);
    let (untraced, durations) = (summaries(&table, "untraced")?, summaries(&table, "duration")?);
    let (counts, expected) = (table.int64("count")?, table.float64("expected")?);
    let (most, totals) = (table.float64("max_probability")?, table.float64("total_time")?);
    for row in 0..batch.num_rows() {
        let text = |name, column: &[Option<&str>]| table.some(name, column[row]).map(str::to_owned);
        let index = |name, value: Option<i32>| {
            usize::try_from(table.some(name, value)?).map_err(|why| Error::malformed(path, why))
        };
        if index("hop", places[row])? == 0 {
            patterns.push(PathPattern {
                id: table.some("pattern", ids[row])?,
                hops: Vec::new(),
                count: table.some("count", counts[row])?,
                expected: table.some("expected", expected[row])?,
                max_probability: table.some("max_probability", most[row])?,
                duration: table.some("duration_mean", durations[row])?,
                total_time: table.some("total_time", totals[row])?,
            });
        }
        let Ok(protocol) = table.some("protocol", protocols[row])?.parse::<Protocol>();
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
            bytes: table.some("bytes", bytes[row])?,
            node: node[row],
            network: network[row],
            untraced: untraced[row],
        };
        let out_of_order = || Error::malformed(path, "its hops are out of order");
        let pattern = patterns.last_mut().ok_or_else(out_of_order)?;
        let in_order = Some(pattern.id) == ids[row]
            && Some(pattern.hops.len()) == places[row].map(|place| place as usize)
            && hop.parent.is_none_or(|parent| parent < pattern.hops.len());
        if !in_order {
            return Err(out_of_order());
        }
        pattern.hops.push(hop);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(parent: Option<usize>) -> Hop {
        let delay = |mean| Some(Summary { mean, p50: 2.0, p99: 3.0 });
        Hop {
            parent,
            depth: usize::from(parent.is_some()),
            src: "CLIENT".into(),
            dst: "web".into(),
            src_port: "*".into(),
            dst_port: "unix:/run/x".into(),
            protocol: Protocol::UnixStream,
            src_traced: false,
            dst_traced: true,
            bytes: 12.5,
            node: parent.and_then(|_| delay(1.5)),
            network: delay(-4.0),
            untraced: None,
        }
    }

    #[test]
    fn patterns_are_read_back_and_a_table_out_of_order_is_refused() {
        let pattern = |id, hops| PathPattern {
            id,
            hops,
            count: 3,
            expected: 2.25,
            max_probability: 0.9,
            duration: Summary { mean: 7.0, p50: 6.0, p99: 9.0 },
            total_time: 15.75,
        };
        let patterns = [pattern(0, vec![hop(None), hop(Some(0))]), pattern(1, vec![hop(None)])];
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("patterns.parquet");
        PathPattern::write_all(&patterns, &path).unwrap();
        assert_eq!(PathPattern::read_all(&path).unwrap(), patterns);
        PathPattern::write_all(&[], &path).unwrap();
        assert_eq!(PathPattern::read_all(&path).unwrap(), []);
        let whole = &patterns[0];
        let rows = [(whole, 0, &whole.hops[0]), (whole, 2, &whole.hops[1])];
        table::write(&path, schema(), [batch(&path, &rows).unwrap()]).unwrap();
        assert!(PathPattern::read_all(&path).unwrap_err().to_string().contains("out of order"));
    }
}
