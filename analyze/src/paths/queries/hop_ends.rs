//! Ends of the hops of all patterns, as small numbers by which the delays of many patterns are
//! grouped.

use message_trace::table::columns::BatchColumns;
use message_trace::{DataPath, PathError, TransportProtocol, table};
use rustc_hash::FxHashMap;

/// The labels that two hops must share to get the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HopEnd {
    /// The node that sends.
    Sender,
    /// The nodes at both ends, their ports and the protocol.
    Both,
}

/// A hop by its labels; for [`HopEnd::Sender`] only the sender is set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EndLabels {
    pub(crate) src: String,
    pub(crate) dst: String,
    pub(crate) src_port: String,
    pub(crate) dst_port: String,
    pub(crate) protocol: TransportProtocol,
}

/// The columns of labels.
const LABELS: [&str; 5] = ["src", "dst", "src_port", "dst_port", "protocol"];

/// The hops of all patterns, each as the number of its labels.
#[derive(Default)]
pub(crate) struct HopEnds {
    /// Index in `keys` of the first hop of each pattern, and the end of the last hop.
    bounds: Vec<u32>,
    /// By hop: the number of its labels, an index into `hops`.
    keys: Vec<u32>,
    /// By hop: the number of its operation, an index into `names`. Empty if the table has no
    /// operations.
    operations: Vec<Option<u32>>,
    /// The names of the operations.
    names: Vec<String>,
    /// All different labels.
    hops: Vec<EndLabels>,
    /// By number of labels: whether the sender and the receiver were ever traced.
    traced: Vec<[bool; 2]>,
}

impl HopEnds {
    /// Reads the hops of the table at `path`, numbered in the order of their first occurrence.
    pub(crate) fn read(path: &DataPath, end: HopEnd) -> Result<HopEnds, PathError> {
        const COLUMNS: [&str; 9] = [
            "pattern",
            "src",
            "dst",
            "src_port",
            "dst_port",
            "protocol",
            "src_traced",
            "dst_traced",
            "operation",
        ];
        let mut ends = HopEnds::default();
        let mut of_name: FxHashMap<String, u32> = FxHashMap::default();
        let mut numbers: FxHashMap<EndLabels, u32> = FxHashMap::default();
        for batch in table::read_columns(path, &COLUMNS)? {
            let batch = batch?;
            let table = BatchColumns::new(path, &batch);
            let patterns = table.int64_column("pattern")?;
            let [src, dst, src_port, dst_port, protocol] =
                LABELS.map(|name| table.numbered_texts(name));
            let columns = [src?, dst?, src_port?, dst_port?, protocol?];
            if let Some(operations) =
                table.texts_if_any("operation")?.filter(|_| end == HopEnd::Both)
            {
                // Hops before the first batch with operations have none.
                ends.operations.resize(ends.keys.len(), None);
                for name in operations {
                    let number = name.map(|name| match of_name.get(name) {
                        Some(number) => *number,
                        None => {
                            let number = ends.names.len() as u32;
                            of_name.insert(name.to_owned(), number);
                            ends.names.push(name.to_owned());
                            number
                        }
                    });
                    ends.operations.push(number);
                }
            }
            let (src_traced, dst_traced) =
                (table.boolean_column("src_traced")?, table.boolean_column("dst_traced")?);
            // Most rows have the labels of an earlier row of the batch, which is found by the
            // numbers of the texts.
            let mut known: FxHashMap<[u32; 5], u32> = FxHashMap::default();
            for (row, pattern) in patterns.iter().enumerate() {
                let pattern = table.required_value("pattern", *pattern)?;
                // Patterns are numbered without gaps, in the order of the table.
                let last = ends.bounds.len() as i64 - 1;
                if pattern == last + 1 {
                    ends.bounds.push(ends.keys.len() as u32);
                } else if pattern != last {
                    return Err(
                        table.malformed_error(format!("pattern {pattern} follows pattern {last}"))
                    );
                }
                let mut places = [0; 5];
                for ((place, name), (numbers, _)) in places.iter_mut().zip(LABELS).zip(&columns) {
                    *place = table.required_value(name, numbers[row])?;
                }
                if end == HopEnd::Sender {
                    places = [places[0], 0, 0, 0, 0];
                }
                let key = *known.entry(places).or_insert_with(|| {
                    let text = |column: usize| {
                        let texts = &columns[column].1;
                        texts
                            .get(places[column] as usize)
                            .map_or_else(String::new, |text| (*text).to_owned())
                    };
                    let of_both = |column: usize| {
                        if end == HopEnd::Both { text(column) } else { String::new() }
                    };
                    let Ok(protocol) = of_both(4).parse::<TransportProtocol>();
                    let hop = EndLabels {
                        src: text(0),
                        dst: of_both(1),
                        src_port: of_both(2),
                        dst_port: of_both(3),
                        protocol,
                    };
                    *numbers.entry(hop).or_insert_with_key(|hop| {
                        ends.hops.push(hop.clone());
                        ends.traced.push([false; 2]);
                        ends.hops.len() as u32 - 1
                    })
                });
                if let Some(traced) = ends.traced.get_mut(key as usize) {
                    *traced = [traced[0] | src_traced[row], traced[1] | dst_traced[row]];
                }
                ends.keys.push(key);
            }
        }
        ends.bounds.push(ends.keys.len() as u32);
        Ok(ends)
    }

    /// Returns the number of the labels of a pattern's hop; `None` if the pattern has no hop of
    /// this index.
    #[inline]
    pub(crate) fn labels_number(&self, pattern: i64, hop: usize) -> Option<u32> {
        self.keys.get(self.hop_index(pattern, hop)?).copied()
    }

    /// Returns the name of the operation of a pattern's hop, if known.
    pub(crate) fn operation_name(&self, pattern: i64, hop: usize) -> Option<&str> {
        let number = (*self.operations.get(self.hop_index(pattern, hop)?)?)?;
        self.names.get(number as usize).map(String::as_str)
    }

    /// Returns the index of a pattern's hop among all hops; `None` if the pattern has no hop of
    /// this index.
    #[inline]
    fn hop_index(&self, pattern: i64, hop: usize) -> Option<usize> {
        let pattern = usize::try_from(pattern).ok()?;
        let (begin, end) = (*self.bounds.get(pattern)?, *self.bounds.get(pattern + 1)?);
        Some(begin as usize + hop).filter(|place| *place < end as usize)
    }

    /// Returns, by number of labels, the number of the labels of the reverse direction; `None` if
    /// no hop has these.
    pub(crate) fn reverse_labels(&self) -> Vec<Option<u32>> {
        let numbers: FxHashMap<&EndLabels, u32> = self.hops.iter().zip(0..).collect();
        let back = |hop: &EndLabels| EndLabels {
            src: hop.dst.clone(),
            dst: hop.src.clone(),
            src_port: hop.dst_port.clone(),
            dst_port: hop.src_port.clone(),
            protocol: hop.protocol,
        };
        self.hops.iter().map(|hop| numbers.get(&back(hop)).copied()).collect()
    }

    /// Returns the labels with this number, and whether the two ends were ever traced.
    pub(crate) fn labels_and_traced(&self, key: u32) -> Option<(&EndLabels, [bool; 2])> {
        self.hops.get(key as usize).zip(self.traced.get(key as usize).copied())
    }
}
