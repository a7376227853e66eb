//! The arguments of the commands that make traces whose truth is known, and that judge a result by
//! a truth.

use std::path::PathBuf;

use clap::Args;
use jiff::SignedDuration;
use message_trace::DataDir;
use synth::maketrace::Changes;
use synth::skewer::Clock;

use super::Data;
use super::values::positive;
use crate::complete::{configurations, nodes};
use crate::error::Error;

pub(super) const SCORE_HELP: &str = "\
The truth is a table as CSV, plain or compressed: call_id,parent_call_id (by
the ids of the calls, as 'sockcap export calls' has them), or child,parent (by
the numbers of messages, as 'sockcap export links' has them). A parent that is
empty is none. docs/synth.md says what each measure is.

Examples:
  sockcap import calls calls.csv.gz && sockcap score --truth truth.csv.gz
  sockcap score --truth truth.csv --json | jq .trace_accuracy";

#[derive(Debug, Args)]
pub(crate) struct Score {
    #[command(flatten)]
    pub(crate) data: Data,
    /// What really caused what
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: PathBuf,
    /// Leave out the calls that this node makes (may be given several times)
    #[arg(long, value_name = "NODE", add = nodes())]
    pub(crate) exclude: Vec<String>,
    /// Print JSON, with all figures
    #[arg(long)]
    pub(crate) json: bool,
}

pub(super) const SYNTH_HELP: &str = "\
CONFIG is a file (TOML; docs/synth.md says how to write one), or one that comes
with sockcap:
  multi-tier, multi-tier-added-delay       the system of Project 5's Figure 10
  children-parallel, children-0-2, children-d-cc, penalty-breaker
                                           the pathological cases of Figure 18

Examples:
  sockcap synth children-0-2 --truth t.csv && sockcap score --truth t.csv
  sockcap synth children-parallel --parallel 10 --seed 2 -d busy";

#[derive(Debug, Args)]
pub(crate) struct Synth {
    /// What the trace is made of
    #[arg(value_name = "CONFIG", add = configurations())]
    pub(crate) config: String,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Write here what really caused what
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// Another seed than the configuration's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// So many instances of each sequence of a tracelet
    #[arg(long, value_name = "N")]
    instances: Option<u64>,
    /// So many times as many sequences in parallel
    #[arg(long, value_name = "N")]
    parallel: Option<u64>,
    /// All standard deviations times this
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    deviation: Option<f64>,
}

impl Synth {
    /// What is to be different from the configuration.
    pub(crate) fn changes(&self) -> Changes {
        let Synth { seed, instances, parallel, deviation, .. } = *self;
        Changes { seed, instances, parallel, deviation }
    }
}

/// Another data directory, for a trace that is made of this one's.
#[derive(Debug, Args)]
pub(crate) struct To {
    /// The data directory to write to, which must be another one
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl To {
    /// The directory, which may not be that of `data`.
    pub(crate) fn dir(&self, data: &Data) -> Result<DataDir, Error> {
        let (to, from) = (self.to.canonicalize().ok(), data.dir().path().canonicalize().ok());
        if to.is_some() && to == from {
            Err(Error::Onto(self.to.clone()))
        } else {
            Ok(DataDir::new(&self.to))
        }
    }
}

pub(super) const SKEW_HELP: &str = "\
The messages of DIR are written to the other directory with the times that the
hosts' clocks would have shown. As their times on the common clock are left
out, 'sockcap reconcile' estimates the clocks there; with --uncorrected they
are as wrong as the clocks, and nothing corrects them.

Examples:
  sockcap skew --host WS2=30ms --uncorrected --to skewed
  sockcap skew --host WS2=-2s,50 --host DB1=1ms --at 0 --to skewed
  sockcap skew -d skewed --at 0 --remove --to back --host WS2=-2s,50";

#[derive(Debug, Args)]
pub(crate) struct Skew {
    #[command(flatten)]
    pub(crate) data: Data,
    #[command(flatten)]
    pub(crate) to: To,
    /// By how much a host's clock is ahead, and how much faster it runs, in millionths
    #[arg(long = "host", required = true, value_name = "NAME=OFFSET[,PPM]", value_parser = clock)]
    pub(crate) clocks: Vec<Clock>,
    /// When the clocks are ahead by that, in nanoseconds [default: the first time of the trace]
    #[arg(long, value_name = "NS", allow_negative_numbers = true)]
    pub(crate) at: Option<i64>,
    /// Take that away instead
    #[arg(long)]
    pub(crate) remove: bool,
    /// Move the times on the common clock, too
    #[arg(long)]
    pub(crate) uncorrected: bool,
    /// Give each message one time only, its sender's, at both ends, as in Project 5; nothing
    /// corrects it
    #[arg(long)]
    pub(crate) one_time: bool,
}

pub(super) const DROP_HELP: &str = "\
The messages of DIR that a sniffer captures are written to the other directory:
at its peak it captures so many a second, keeps some waiting, and drops what
comes when its queue is full. Each message is one packet. Project 5's sniffers
have a queue of 64.

Examples:
  sockcap drop --rate 200 --to captured
  sockcap drop --rate 200 --queue 16 --to captured";

#[derive(Debug, Args)]
pub(crate) struct Drop {
    #[command(flatten)]
    pub(crate) data: Data,
    #[command(flatten)]
    pub(crate) to: To,
    /// How many messages are captured a second
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) rate: f64,
    /// How many messages can wait
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) queue: u32,
    /// What really caused what in DIR
    #[arg(long, value_name = "FILE", requires = "truth_to")]
    pub(crate) truth: Option<PathBuf>,
    /// Write here what really caused what in what is left
    #[arg(long, value_name = "FILE", requires = "truth")]
    pub(crate) truth_to: Option<PathBuf>,
}

/// A factor, of which 0 is one.
fn factor(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("'{text}' is no number from 0 on"))
}

/// A host's clock.
fn clock(text: &str) -> Result<Clock, String> {
    let how = || format!("'{text}' is no clock; write it like web=30ms or web=-2s,50");
    let (host, off) = text.split_once('=').ok_or_else(how)?;
    let (offset, ppm) = off.split_once(',').unwrap_or((off, "0"));
    let offset =
        offset.parse().ok().and_then(|span: SignedDuration| i64::try_from(span.as_nanos()).ok());
    let skew_ppm =
        ppm.trim_end_matches("ppm").trim().parse().ok().filter(|ppm: &f64| ppm.is_finite());
    let (offset, skew_ppm) = offset.zip(skew_ppm).ok_or_else(how)?;
    Ok(Clock { host: host.to_owned(), offset, skew_ppm })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks() {
        let of = |host: &str, offset, skew_ppm| Ok(Clock { host: host.into(), offset, skew_ppm });
        assert_eq!(clock("web=30ms"), of("web", 30_000_000, 0.0));
        assert_eq!(clock("web=-2s,-50.5"), of("web", -2_000_000_000, -50.5));
        for wrong in ["web", "web=soon", "web=1s,fast"] {
            assert!(clock(wrong).unwrap_err().contains(wrong));
        }
        assert_eq!(factor("0"), Ok(0.0));
        assert!(factor("-1").is_err());
    }
}
