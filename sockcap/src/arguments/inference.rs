//! The options of an analysis, for all commands that make one: what a node is, the algorithm and
//! its flags, and how paths are built. Algorithms and their flags come from the registry.

use std::path::PathBuf;

use analyze::Algorithm;
use analyze::infer::AlgorithmFlags;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use message_trace::NodeGrain;
use registry::ShownDefault;

use super::values::grain_parser;
use crate::kinds;

/// The heading of flags without a heading of their own.
const HEADING: &str = "Analysis";

/// The options of the analysis. For `report`, omitted options are as in the last analysis.
#[derive(Debug, Default)]
pub(crate) struct InferenceArguments {
    nodes: NodeArguments,
    algorithm: Option<Algorithm>,
    /// The long name of the first given flag of any algorithm.
    given_flag: Option<String>,
    /// The flags of each algorithm.
    flags: Vec<Box<dyn AlgorithmFlags>>,
    paths: PathArguments,
}

/// What a node is, and how nodes are named.
#[derive(Debug, Default, Args)]
struct NodeArguments {
    /// What a node is: host, process, command (all processes of a command on a host) or thread
    #[arg(
        long,
        value_name = "GRAIN",
        value_parser = grain_parser(),
        hide_possible_values = true,
        add = ShownDefault::new(analyze::Options::default().grain)
    )]
    node: Option<NodeGrain>,
    /// Make one pattern of paths through nodes with the same function, whichever of several servers
    /// they pass: nodes are named by their function, a second one with the same role in a path is
    /// NAME#2 (docs/names.md)
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true,
        add = ShownDefault::new(analyze::Options::default().roles)
    )]
    roles: Option<bool>,
    /// A file with names for addresses, hosts, commands and endpoints (docs/names.md) [default:
    /// DIR/aliases, if there is one]
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
}

/// `--algorithm NAME`.
#[derive(Debug, Args)]
struct AlgorithmFlag {
    #[arg(
        long,
        value_name = "NAME",
        help = algorithm_help(),
        value_parser = algorithm_parser(),
        hide_possible_values = true,
        add = ShownDefault::new(Algorithm::default())
    )]
    algorithm: Option<Algorithm>,
}

/// The help of `--algorithm`, which describes each algorithm of the registry.
fn algorithm_help() -> String {
    let all = kinds::algorithms();
    let words: Vec<String> =
        all.iter().map(|entry| format!("{} ({})", entry.about.name, entry.about.summary)).collect();
    let words = match words.as_slice() {
        [several @ .., last] if !several.is_empty() => format!("{} or {last}", several.join(", ")),
        one => one.concat(),
    };
    format!("The algorithm: {words}")
}

fn algorithm_parser() -> impl TypedValueParser<Value = Algorithm> {
    let find = |name: String| {
        let entry = registry::find_entry(&kinds::algorithms(), &name);
        entry.map(Algorithm::from).ok_or("there is no such algorithm")
    };
    PossibleValuesParser::new(kinds::algorithms().iter().map(|entry| entry.about.name))
        .try_map(find)
}

/// How paths are built from links, whatever the algorithm.
#[derive(Debug, Default, Args)]
struct PathArguments {
    /// How many uncertain links of one path are tried both ways
    #[arg(
        long,
        value_name = "K",
        value_parser = clap::value_parser!(u8).range(0..=16),
        add = ShownDefault::new(analyze::Options::default().try_both_limit)
    )]
    try_both: Option<u8>,
    /// Let a client's request be caused by the preceding response, as in the paper, instead of
    /// starting a path with each request
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true,
        add = ShownDefault::new(!analyze::Options::default().clients_start_paths)
    )]
    link_clients: Option<bool>,
    /// Analyze this many messages together, with a quarter as many before and after them: more uses
    /// more memory and tears fewer long paths
    #[arg(
        long,
        value_name = "MESSAGES",
        value_parser = clap::value_parser!(u32).range(1..),
        add = ShownDefault::new(analyze::Options::default().stretch)
    )]
    stretch: Option<u32>,
}

impl Args for InferenceArguments {
    fn augment_args(command: Command) -> Command {
        let all = registry::union_of_flags(&kinds::algorithms());
        let is_apart = |flag: &Arg| flag.get_help_heading().is_some();
        let (apart, common): (Vec<_>, Vec<_>) = all.into_iter().partition(is_apart);
        // Flags that a command adds come below the last heading.
        let last = apart.last().and_then(Arg::get_help_heading).unwrap_or(HEADING).to_owned();
        let command = NodeArguments::augment_args(command.next_help_heading(HEADING));
        let command = AlgorithmFlag::augment_args(command)
            .args(common.into_iter().map(|flag| flag.help_heading(HEADING)));
        PathArguments::augment_args(command).args(apart).next_help_heading(last)
    }

    fn augment_args_for_update(command: Command) -> Command {
        InferenceArguments::augment_args(command)
    }
}

impl FromArgMatches for InferenceArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<InferenceArguments, clap::Error> {
        let all = kinds::algorithms();
        let flags = registry::union_of_flags(&all);
        let given = flags.iter().find(|flag| registry::is_given(matches, flag));
        Ok(InferenceArguments {
            nodes: NodeArguments::from_arg_matches(matches)?,
            algorithm: AlgorithmFlag::from_arg_matches(matches)?.algorithm,
            given_flag: given.and_then(Arg::get_long).map(str::to_owned),
            flags: all.iter().map(|entry| (entry.read_flags)(matches)).collect::<Result<_, _>>()?,
            paths: PathArguments::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = InferenceArguments::from_arg_matches(matches)?;
        Ok(())
    }
}

impl InferenceArguments {
    /// No options except the names of nodes.
    pub(crate) fn with_aliases(aliases: Option<PathBuf>) -> InferenceArguments {
        InferenceArguments {
            nodes: NodeArguments { aliases, ..NodeArguments::default() },
            ..InferenceArguments::default()
        }
    }

    /// The file with the names of nodes.
    pub(crate) fn aliases_file(&self) -> Option<&PathBuf> {
        self.nodes.aliases.as_ref()
    }

    /// The name of a given flag that changes how causes are inferred.
    pub(crate) fn asks_to_infer(&self) -> Option<&str> {
        let PathArguments { try_both, link_clients, .. } = self.paths;
        (self.algorithm.map(|_| "algorithm"))
            .or(self.given_flag.as_deref())
            .or_else(|| try_both.map(|_| "try-both"))
            .or_else(|| link_clients.map(|_| "link-clients"))
    }

    /// Returns `options` with the given flags applied.
    pub(crate) fn apply_to(&self, options: analyze::Options) -> analyze::Options {
        let InferenceArguments { nodes, algorithm, given_flag: _, flags, paths } = self;
        let mut options = analyze::Options {
            grain: nodes.node.unwrap_or(options.grain),
            roles: nodes.roles.unwrap_or(options.roles),
            algorithm: algorithm.unwrap_or(options.algorithm),
            try_both_limit: paths.try_both.map_or(options.try_both_limit, usize::from),
            clients_start_paths: paths
                .link_clients
                .map_or(options.clients_start_paths, |link| !link),
            stretch: paths.stretch.map_or(options.stretch, |messages| messages as usize),
            ..options
        };
        for given in flags {
            given.apply_to(&mut options);
        }
        options
    }
}
