//! The arguments of `sockcap export`: what is written, for which tool, and how much of it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Data;
use crate::complete::patterns;

pub(super) const HELP: &str = "\
What opens what:
  otlp      Jaeger, Tempo, any OpenTelemetry back end
  perfetto  https://ui.perfetto.dev
  chrome    chrome://tracing, Perfetto, Speedscope
  folded    flamegraph.pl, inferno, Speedscope
  dot       Graphviz
  mermaid   GitHub, GitLab, wikis

Examples:
  sockcap export messages > messages.csv
  sockcap export calls --format parquet -o calls.parquet
  sockcap export patterns --format json -o patterns.jsonl
  sockcap export otlp --to http://localhost:4318
  sockcap export otlp --format protobuf -o traces.pb
  sockcap export perfetto -o trace.perfetto --pattern 2 --limit 100
  sockcap export folded | flamegraph.pl --countname ns > flames.svg
  sockcap export dot --what map | dot -Tsvg > map.svg
  sockcap export mermaid --pattern 0";

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// What is written
    #[arg(value_enum, value_name = "WHAT")]
    pub(crate) exported: Exported,
    #[command(flatten)]
    pub(crate) data: Data,
    /// The format: of tables csv, json (an object a line) or parquet [default: csv]; of otlp json
    /// (a request a line) or protobuf [default: json]; the others have one
    #[arg(long, value_name = "FORMAT", value_enum, hide_possible_values = true)]
    pub(crate) format: Option<Format>,
    /// Of dot: which graph
    #[arg(long, value_name = "GRAPH", value_enum)]
    pub(crate) what: Option<Graph>,
    /// Only the pattern of that number: traces that begin as it does, or the pattern itself
    /// [default: all; dot and mermaid: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..), add = patterns())]
    pub(crate) pattern: Option<i64>,
    /// No more than so many traces, the first ones; patterns, those with the largest total time; or
    /// edges of a graph
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Of otlp: send it to this collector, by OTLP over HTTP
    #[arg(long, value_name = "URL", conflicts_with_all = ["output", "format"])]
    pub(crate) to: Option<String>,
    /// A header for the collector, such as 'authorization=Bearer TOKEN'; may be given again
    #[arg(long = "header", value_name = "KEY=VALUE", requires = "to")]
    pub(crate) headers: Vec<String>,
    /// A file that says what addresses, hosts, commands and endpoints are to be called [default:
    /// DIR/aliases, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) aliases: Option<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Exported {
    /// Table: who sent what to whom, with the time at both ends
    Messages,
    /// Table: who the messages went between
    Nodes,
    /// Table: who called whom, with the times at both ends, the call it was made for, and the
    /// probability of that
    Calls,
    /// Table: which message caused which, with a probability
    Links,
    /// Table: the path instances, a row a message
    Paths,
    /// Table: the path patterns, a row a hop
    Patterns,
    /// Traces as spans of OpenTelemetry
    Otlp,
    /// Traces as Perfetto's track events
    Perfetto,
    /// Traces as Chrome's trace events
    Chrome,
    /// Patterns as folded stacks, for flame graphs
    Folded,
    /// A pattern, the map of the system or the paper's figures as a graph of Graphviz
    Dot,
    /// A pattern as a sequence diagram
    Mermaid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Json,
    Parquet,
    Protobuf,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Graph {
    /// A pattern, message by message
    #[default]
    Pattern,
    /// A pattern, call by call: Figure 8 of Project 5
    #[value(alias = "figure8")]
    Calls,
    /// The delays that the convolution algorithm finds: Figure 9 of Project 5
    #[value(alias = "figure9")]
    Delays,
    /// Who calls whom, how often, and how long it takes
    Map,
}
