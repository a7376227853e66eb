//! The two periods: two data directories, or one that is cut by time.

use std::path::{Path, PathBuf};

use clap::Args;
use compare::Period;
use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use message_trace::DataDir;
use request_flow::tables::{Columns, RequestTables};

use crate::arguments::values::{Moment, moment};
use crate::arguments::{Data, Inference, SourceChoice};
use crate::error::Error;
use crate::lock::{self, Locks};
use crate::shown::Shown;
use crate::stages;

/// The arguments that say what is compared.
#[derive(Debug, Args)]
pub(super) struct PeriodArguments {
    /// Data directory of the time when all was well
    #[arg(value_name = "BEFORE", requires = "after_directory", conflicts_with_all = ["directory", "at", "before", "after"])]
    before_directory: Option<PathBuf>,
    /// Data directory of the time that is to be explained
    #[arg(value_name = "AFTER")]
    after_directory: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    source: SourceChoice,
    /// A file with names of nodes, for both periods of a recording (docs/names.md)
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
    /// Compare what begins before this time with what begins later: a time of day (10:05,
    /// 2026-11-22T15:04:05Z), seconds since the first request (12.5), or a time span since then
    #[arg(long, value_name = "TIME", value_parser = point, conflicts_with_all = ["before", "after"])]
    at: Option<Point>,
    /// The first period, as two such times; either may be left away
    #[arg(long, value_name = "FROM..TO", value_parser = cut, requires = "after")]
    before: Option<Cut>,
    /// The second period
    #[arg(long, value_name = "FROM..TO", value_parser = cut, requires = "before")]
    after: Option<Cut>,
}

/// A point in time as the user writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// One that stands for itself, or since the first request.
    Moment(Moment),
    /// A time of the day of the first request, where the user is.
    OfDay(Time),
}

/// A period as the user writes it: from one point to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    from: Option<Point>,
    until: Option<Point>,
}

/// Reads a point in time.
fn point(text: &str) -> Result<Point, String> {
    let of_day = || text.contains(':').then(|| text.parse::<Time>().ok()).flatten();
    moment(text).map(Point::Moment).or_else(|error| of_day().map(Point::OfDay).ok_or(error))
}

/// Reads a period.
fn cut(text: &str) -> Result<Cut, String> {
    let (from, until) = text.split_once("..").ok_or_else(|| {
        format!("'{text}' is no period; write two times with two dots between, like 10:00..10:05")
    })?;
    let one = |text: &str| if text.is_empty() { Ok(None) } else { point(text).map(Some) };
    Ok(Cut { from: one(from)?, until: one(until)? })
}

impl Point {
    /// The time in nanoseconds since the Unix epoch, where the first request begins at `first`.
    fn at(self, first: i64) -> Result<i64, Error> {
        let unclear =
            || Error::Usage("this time of day is not clear; write it with its date".into());
        match self {
            Point::Moment(Moment::At(time)) => Ok(time),
            Point::Moment(Moment::Since(span)) => Ok(first.saturating_add(span)),
            Point::OfDay(time) => {
                let first = Timestamp::from_nanosecond(i128::from(first)).map_err(|_| unclear())?;
                let here = first.to_zoned(TimeZone::system());
                let of_day = here.date().to_datetime(time).to_zoned(TimeZone::system());
                let mut at = of_day.map_err(|_| unclear())?;
                // A recording that goes past midnight has times of the next day.
                if at.timestamp() < first && first.duration_since(at.timestamp()).as_hours() >= 12 {
                    at = at.tomorrow().map_err(|_| unclear())?;
                }
                i64::try_from(at.timestamp().as_nanosecond()).map_err(|_| unclear())
            }
        }
    }
}

/// Both periods, open for reading.
pub(super) struct Periods {
    tables: Vec<RequestTables>,
    /// From and until when each goes.
    cuts: [(Option<i64>, Option<i64>); 2],
    names: [String; 2],
    directories: Vec<DataDir>,
    locks: Option<Locks>,
}

impl Periods {
    /// The periods that the user named. What is missing in their directories is made.
    pub(super) fn of(of: &PeriodArguments) -> Result<Periods, Error> {
        if let (Some(before), Some(after)) = (&of.before_directory, &of.after_directory) {
            let locks = lock::work_on(&[&DataDir::new(before), &DataDir::new(after)])?;
            let (mut tables, mut names, mut directories) = (Vec::new(), Vec::new(), Vec::new());
            for directory in [before, after] {
                let shown = of.source.shown(DataDir::new(directory))?;
                let (requests, data) = open(&shown, of.aliases.as_ref())?;
                tables.push(requests);
                names.push(directory.display().to_string());
                directories.push(data);
            }
            let [first, second] = <[String; 2]>::try_from(names).unwrap_or_default();
            let names = [first, second];
            return Ok(Periods {
                tables,
                cuts: [(None, None); 2],
                names,
                directories,
                locks: Some(locks),
            });
        }
        let locks = lock::work_on(&[&of.data.dir()])?;
        let shown = of.source.of(&of.data)?;
        let (requests, directory) = open(&shown, of.aliases.as_ref())?;
        let Some((first, last)) = requests.begins(|_| true)? else {
            return Err(Error::NoRequests(shown.whole.path().to_owned()));
        };
        let time = |point: Option<Point>| point.map(|point| point.at(first)).transpose();
        let cuts = match (of.at, of.before, of.after) {
            (Some(at), ..) => [(None, time(Some(at))?), (time(Some(at))?, None)],
            (None, Some(before), Some(after)) => {
                [(time(before.from)?, time(before.until)?), (time(after.from)?, time(after.until)?)]
            }
            _ => {
                let why = "name two data directories, or cut one by time with --at or with \
                           --before and --after";
                return Err(Error::Usage(why.to_owned()));
            }
        };
        if let [(_, Some(until)), (Some(from), _)] = cuts
            && until > from
            && !matches!(cuts, [(Some(first), _), (_, Some(second))] if second <= first)
        {
            let why = "both periods have a time in common; let --before end where --after begins";
            return Err(Error::Usage(why.to_owned()));
        }
        let names = ["before", "after"].map(str::to_owned);
        for ((from, until), name) in cuts.iter().zip(&names) {
            let is_in = |begin: i64| {
                from.is_none_or(|from| from <= begin) && until.is_none_or(|until| begin < until)
            };
            if requests.begins(is_in)?.is_none() {
                let why = format!(
                    "no request begins in the period '{name}'; the first one begins at {}, the last \
                     one {} later",
                    Timestamp::from_nanosecond(i128::from(first)).unwrap_or_default(),
                    message_trace::units::duration((last - first) as f64),
                );
                return Err(Error::Usage(why));
            }
        }
        Ok(Periods {
            tables: vec![requests],
            cuts,
            names,
            directories: vec![directory],
            locks: Some(locks),
        })
    }

    /// Lets other commands work on the directories.
    pub(super) fn unlock(&mut self) {
        self.locks = None;
    }

    /// Both, in order.
    pub(super) fn both(&self) -> [Period<'_>; 2] {
        self.over(&self.tables)
    }

    /// The same tables with all columns.
    pub(super) fn whole_tables(&self) -> Result<Vec<RequestTables>, Error> {
        let open = |data: &DataDir| {
            RequestTables::open(data.requests(), data.steps(), Columns::ALL).map_err(Error::from)
        };
        self.directories.iter().map(open).collect()
    }

    /// Both periods of these tables.
    pub(super) fn over<'t>(&self, tables: &'t [RequestTables]) -> [Period<'t>; 2] {
        let [first, second] = self.cuts;
        let of = |place: usize| &tables[place.min(tables.len() - 1)];
        [
            Period { tables: of(0), from: first.0, until: first.1 },
            Period { tables: of(1), from: second.0, until: second.1 },
        ]
    }

    /// What the user calls them.
    pub(super) fn names(&self) -> [&str; 2] {
        [&self.names[0], &self.names[1]]
    }

    /// A directory that a temporary file may be in.
    pub(super) fn directory(&self) -> &Path {
        self.directories.last().map_or(Path::new("."), DataDir::path)
    }
}

/// The requests of what is shown of a directory.
fn open(shown: &Shown, aliases: Option<&PathBuf>) -> Result<(RequestTables, DataDir), Error> {
    stages::requests(shown, &Inference::named_by(aliases.cloned()))?;
    let data = &shown.data;
    let requests = RequestTables::open(data.requests(), data.steps(), Columns::default())?;
    if requests.counts().0 == 0 {
        return Err(Error::NoRequests(shown.whole.path().to_owned()));
    }
    Ok((requests, data.clone()))
}
