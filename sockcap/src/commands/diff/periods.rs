//! The two periods: two data directories, or one that is split by time.

use std::path::{Path, PathBuf};

use clap::Args;
use compare::Period;
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use message_trace::DataDir;
use request_flow::tables::{ColumnSelection, RequestTables};

use crate::arguments::values::{TraceMoment, parse_moment};
use crate::arguments::{DataArguments, InferenceArguments, SourceChoice};
use crate::error::CommandError;
use crate::lock::{self, DirectoryLocks};
use crate::shown::ShownData;
use crate::stages;

/// The arguments that select the periods.
#[derive(Debug, Args)]
pub(super) struct PeriodArguments {
    /// Data directory of the period before, when all was well
    #[arg(value_name = "BEFORE", requires = "after_directory", conflicts_with_all = ["directory", "at", "before", "after"])]
    before_directory: Option<PathBuf>,
    /// Data directory of the period after, which is to be explained
    #[arg(value_name = "AFTER")]
    after_directory: Option<PathBuf>,
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    source: SourceChoice,
    /// A file with names of nodes, for both periods of a recording (docs/names.md)
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
    /// Compare what begins before this time with what begins later: a time of day (10:05,
    /// 2026-11-22T15:04:05Z), seconds since the first request (12.5), or a time span since then
    #[arg(long, value_name = "TIME", value_parser = parse_point, conflicts_with_all = ["before", "after"])]
    at: Option<PeriodPoint>,
    /// The first period, as two such times; either may be omitted
    #[arg(long, value_name = "FROM..TO", value_parser = parse_cut, requires = "after")]
    before: Option<PeriodCut>,
    /// The second period
    #[arg(long, value_name = "FROM..TO", value_parser = parse_cut, requires = "before")]
    after: Option<PeriodCut>,
}

/// A point in time as the user writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeriodPoint {
    /// A moment in absolute time, or since the first request.
    Moment(TraceMoment),
    /// A time on the day of the first request, in the user's time zone.
    OfDay(Time),
}

/// A period as the user writes it: from one point to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeriodCut {
    from: Option<PeriodPoint>,
    until: Option<PeriodPoint>,
}

/// Parses a point in time.
fn parse_point(text: &str) -> Result<PeriodPoint, String> {
    let of_day = || text.contains(':').then(|| text.parse::<Time>().ok()).flatten();
    parse_moment(text)
        .map(PeriodPoint::Moment)
        .or_else(|error| of_day().map(PeriodPoint::OfDay).ok_or(error))
}

/// Parses a period that is cut out of a recording.
fn parse_cut(text: &str) -> Result<PeriodCut, String> {
    let (from, until) = text.split_once("..").ok_or_else(|| {
        format!(
            "'{text}' is not a period; write two times separated by two dots, like \
                 10:00..10:05"
        )
    })?;
    let one = |text: &str| if text.is_empty() { Ok(None) } else { parse_point(text).map(Some) };
    Ok(PeriodCut { from: one(from)?, until: one(until)? })
}

impl PeriodPoint {
    /// The time in nanoseconds since the Unix epoch, if the first request begins at `first`.
    fn to_nanoseconds(self, first: i64) -> Result<i64, CommandError> {
        let unclear =
            || CommandError::Usage("this time of day is ambiguous; write it with its date".into());
        match self {
            PeriodPoint::Moment(TraceMoment::At(time)) => Ok(time),
            PeriodPoint::Moment(TraceMoment::Since(span)) => Ok(first.saturating_add(span)),
            PeriodPoint::OfDay(time) => {
                let first = Timestamp::from_nanosecond(i128::from(first)).map_err(|_| unclear())?;
                let here = first.to_zoned(TimeZone::system());
                let of_day = here.date().to_datetime(time).to_zoned(TimeZone::system());
                let mut at = of_day.map_err(|_| unclear())?;
                // A recording that crosses midnight contains times of the next day.
                if at.timestamp() < first && first.duration_since(at.timestamp()).as_hours() >= 12 {
                    at = at.tomorrow().map_err(|_| unclear())?;
                }
                i64::try_from(at.timestamp().as_nanosecond()).map_err(|_| unclear())
            }
        }
    }
}

/// Both periods, open for reading.
pub(super) struct PeriodPair {
    tables: Vec<RequestTables>,
    /// The start and end of each period, in nanoseconds since the Unix epoch; `None` without a
    /// bound.
    cuts: [(Option<i64>, Option<i64>); 2],
    names: [String; 2],
    directories: Vec<DataDir>,
    locks: Option<DirectoryLocks>,
}

impl PeriodPair {
    /// Opens the periods that the user named. Missing results in their directories are made.
    pub(super) fn open_periods(of: &PeriodArguments) -> Result<PeriodPair, CommandError> {
        if let (Some(before), Some(after)) = (&of.before_directory, &of.after_directory) {
            let locks = lock::lock_directories(&[&DataDir::new(before), &DataDir::new(after)])?;
            let (mut tables, mut names, mut directories) = (Vec::new(), Vec::new(), Vec::new());
            for directory in [before, after] {
                let shown = of.source.choose_source_of(DataDir::new(directory))?;
                let (requests, data) = open_tables(&shown, of.aliases.as_ref())?;
                tables.push(requests);
                names.push(directory.display().to_string());
                directories.push(data);
            }
            let [first, second] = <[String; 2]>::try_from(names).unwrap_or_default();
            let names = [first, second];
            return Ok(PeriodPair {
                tables,
                cuts: [(None, None); 2],
                names,
                directories,
                locks: Some(locks),
            });
        }
        let locks = lock::lock_directories(&[&of.data.data_dir()])?;
        let shown = of.source.choose_source(&of.data)?;
        let (requests, directory) = open_tables(&shown, of.aliases.as_ref())?;
        let Some((first, last)) = requests.begin_range(|_| true)? else {
            return Err(CommandError::NoRequests(shown.whole.path().to_owned()));
        };
        let time =
            |point: Option<PeriodPoint>| point.map(|point| point.to_nanoseconds(first)).transpose();
        let cuts = match (of.at, of.before, of.after) {
            (Some(at), ..) => [(None, time(Some(at))?), (time(Some(at))?, None)],
            (None, Some(before), Some(after)) => {
                [(time(before.from)?, time(before.until)?), (time(after.from)?, time(after.until)?)]
            }
            _ => {
                let why = "name two data directories, or split one by time with --at or with \
                           --before and --after";
                return Err(CommandError::Usage(why.to_owned()));
            }
        };
        if let [(_, Some(until)), (Some(from), _)] = cuts
            && until > from
            && !matches!(cuts, [(Some(first), _), (_, Some(second))] if second <= first)
        {
            let why = "the periods overlap; let --before end where --after begins";
            return Err(CommandError::Usage(why.to_owned()));
        }
        let names = ["before", "after"].map(str::to_owned);
        for ((from, until), name) in cuts.iter().zip(&names) {
            let is_in = |begin: i64| {
                from.is_none_or(|from| from <= begin) && until.is_none_or(|until| begin < until)
            };
            if requests.begin_range(is_in)?.is_none() {
                let why = format!(
                    "no request begins in the period '{name}'; the first one begins at {}, the last \
                     one {} later",
                    Timestamp::from_nanosecond(i128::from(first)).unwrap_or_default(),
                    message_trace::units::format_duration((last - first) as f64),
                );
                return Err(CommandError::Usage(why));
            }
        }
        Ok(PeriodPair {
            tables: vec![requests],
            cuts,
            names,
            directories: vec![directory],
            locks: Some(locks),
        })
    }

    /// Unlocks the directories for other commands.
    pub(super) fn unlock_directories(&mut self) {
        self.locks = None;
    }

    /// Both periods, in order.
    pub(super) fn both_periods(&self) -> [Period<'_>; 2] {
        self.periods_of_tables(&self.tables)
    }

    /// The tables of requests of both periods, with all columns.
    pub(super) fn whole_tables(&self) -> Result<Vec<RequestTables>, CommandError> {
        let open = |data: &DataDir| {
            RequestTables::open(data.requests_path(), data.steps_path(), ColumnSelection::ALL)
                .map_err(CommandError::from)
        };
        self.directories.iter().map(open).collect()
    }

    /// Both periods, in `tables`: one table for both, or one for each.
    pub(super) fn periods_of_tables<'t>(&self, tables: &'t [RequestTables]) -> [Period<'t>; 2] {
        let [first, second] = self.cuts;
        let of = |place: usize| &tables[place.min(tables.len() - 1)];
        [
            Period { tables: of(0), from: first.0, until: first.1 },
            Period { tables: of(1), from: second.0, until: second.1 },
        ]
    }

    /// The user's names of the periods.
    pub(super) fn period_names(&self) -> [&str; 2] {
        [&self.names[0], &self.names[1]]
    }

    /// A directory for a temporary file.
    pub(super) fn temporary_directory(&self) -> &Path {
        self.directories.last().map_or(Path::new("."), DataDir::path)
    }
}

/// The requests of the shown source of a directory.
fn open_tables(
    shown: &ShownData,
    aliases: Option<&PathBuf>,
) -> Result<(RequestTables, DataDir), CommandError> {
    stages::ensure_requests(shown, &InferenceArguments::with_aliases(aliases.cloned()))?;
    let data = &shown.data;
    let requests =
        RequestTables::open(data.requests_path(), data.steps_path(), ColumnSelection::default())?;
    if requests.counts().0 == 0 {
        return Err(CommandError::NoRequests(shown.whole.path().to_owned()));
    }
    Ok((requests, data.clone()))
}
