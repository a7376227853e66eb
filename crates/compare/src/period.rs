//! Period: the requests of one side of a comparison.

use request_flow::tables::RequestTables;

/// One of the two periods that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PeriodSide {
    /// The reference period, before the problem.
    Before = 0,
    /// The period to be explained.
    After = 1,
}

impl PeriodSide {
    /// Both periods, the first one first.
    pub const BOTH: [PeriodSide; 2] = [PeriodSide::Before, PeriodSide::After];
}

/// The requests of a period: the requests of a directory that begin within a time range.
#[derive(Clone, Copy)]
pub struct Period<'t> {
    /// Tables of the period's requests.
    pub tables: &'t RequestTables,
    /// Start of the range, in nanoseconds since the Unix epoch; `None`: unbounded.
    pub from: Option<i64>,
    /// End of the range, exclusive, in nanoseconds since the Unix epoch; `None`: unbounded.
    pub until: Option<i64>,
}

impl<'t> Period<'t> {
    /// All requests of these tables.
    pub fn from_tables(tables: &'t RequestTables) -> Period<'t> {
        Period { tables, from: None, until: None }
    }

    /// Whether a request that begins at `begin` is in the period. If the period is bounded, a
    /// request without a begin is outside of it.
    pub fn contains(&self, begin: Option<i64>) -> bool {
        match begin {
            Some(begin) => {
                self.from.is_none_or(|from| from <= begin)
                    && self.until.is_none_or(|until| begin < until)
            }
            None => self.from.is_none() && self.until.is_none(),
        }
    }
}
