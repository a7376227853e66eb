//! The options of an analysis, for all commands that make one: what a node is, the algorithm and
//! its flags, and how paths are built. Algorithms and their flags come from the registry.

use std::path::PathBuf;

use analyze::Algorithm;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use message_trace::NodeGrain;
use registry::{AnyFlag, FlagValues, values};

use super::flags;
use super::values::grain_parser;
use crate::kinds;

/// The flag that names the algorithm.
const ALGORITHM: &str = "algorithm";

/// The heading of flags without a heading of their own.
const HEADING: &str = "Analysis";

/// The options of the analysis. For `report`, omitted options are as in the last analysis.
#[derive(Debug, Default)]
pub(crate) struct InferenceArguments {
    nodes: NodeArguments,
    algorithm: Option<Algorithm>,
    flag_values: FlagValues,
    paths: PathArguments,
}

/// What a node is, and how nodes are named.
#[derive(Debug, Default, Args)]
struct NodeArguments {
    /// What a node is: host, process, command (all processes of a command on a host) or thread
    /// [default: command]
    #[arg(long, value_name = "GRAIN", value_parser = grain_parser(), hide_possible_values = true)]
    node: Option<NodeGrain>,
    /// Make one pattern of paths through nodes with the same function, whichever of several servers
    /// they pass: nodes are named by their function, a second one with the same role in a path is
    /// NAME#2 (docs/names.md) [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true
    )]
    roles: Option<bool>,
    /// A file with names for addresses, hosts, commands and endpoints (docs/names.md) [default:
    /// DIR/aliases, if there is one]
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
}

/// How paths are built from links, whatever the algorithm.
#[derive(Debug, Default, Args)]
struct PathArguments {
    #[arg(
        long,
        value_name = "K",
        value_parser = clap::value_parser!(u8).range(0..=16),
        help = values::with_default(
            "How many uncertain links of one path are tried both ways",
            analyze::Options::default().try_both_limit
        )
    )]
    try_both: Option<u8>,
    /// Let a client's request be caused by the preceding response, as in the paper, instead of
    /// starting a path with each request [default: false]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        require_equals = true
    )]
    link_clients: Option<bool>,
    #[arg(
        long,
        value_name = "MESSAGES",
        value_parser = clap::value_parser!(u32).range(1..),
        help = values::with_default(
            "Analyze this many messages together, with a quarter as many before and after \
             them: more uses more memory and tears fewer long paths",
            analyze::Options::default().stretch
        )
    )]
    stretch: Option<u32>,
}

impl Args for InferenceArguments {
    fn augment_args(command: Command) -> Command {
        let all = registry::union_of_flags(&kinds::algorithms());
        let is_apart = |flag: &&dyn AnyFlag| flag.spec().heading.is_some();
        let (apart, common): (Vec<_>, Vec<_>) = all.into_iter().partition(is_apart);
        let command = NodeArguments::augment_args(command.next_help_heading(HEADING))
            .arg(algorithm_argument())
            .args(common.into_iter().map(flags::clap_argument));
        // Flags that a command adds come below the last heading.
        let last = apart.last().and_then(|flag| flag.spec().heading).unwrap_or(HEADING);
        PathArguments::augment_args(command)
            .args(apart.into_iter().map(flags::clap_argument))
            .next_help_heading(last)
    }

    fn augment_args_for_update(command: Command) -> Command {
        InferenceArguments::augment_args(command)
    }
}

/// The flag that names the algorithm. The help of the flag describes each algorithm.
fn algorithm_argument() -> Arg {
    let all = kinds::algorithms();
    let names = all.iter().map(|entry| entry.about.name);
    let words: Vec<String> =
        all.iter().map(|entry| format!("{} ({})", entry.about.name, entry.about.summary)).collect();
    let words = match words.as_slice() {
        [several @ .., last] if !several.is_empty() => format!("{} or {last}", several.join(", ")),
        one => one.concat(),
    };
    Arg::new(ALGORITHM)
        .long(ALGORITHM)
        .value_name("NAME")
        .help(format!("The algorithm: {words} [default: {}]", Algorithm::default()))
        .value_parser(PossibleValuesParser::new(names))
        .hide_possible_values(true)
}

impl FromArgMatches for InferenceArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<InferenceArguments, clap::Error> {
        let all = kinds::algorithms();
        let named = matches.get_one::<String>(ALGORITHM);
        Ok(InferenceArguments {
            nodes: NodeArguments::from_arg_matches(matches)?,
            algorithm: named.and_then(|name| registry::find_entry(&all, name)).map(Algorithm::from),
            flag_values: flags::given_values(matches, &registry::union_of_flags(&all))?,
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
    pub(crate) fn asks_to_infer(&self) -> Option<&'static str> {
        let of_algorithms = registry::union_of_flags(&kinds::algorithms());
        let given = of_algorithms.into_iter().find(|flag| self.flag_values.is_given(*flag));
        let PathArguments { try_both, link_clients, .. } = self.paths;
        (self.algorithm.map(|_| ALGORITHM))
            .or_else(|| given.map(|flag| flag.spec().long))
            .or_else(|| try_both.map(|_| "try-both"))
            .or_else(|| link_clients.map(|_| "link-clients"))
    }

    /// Returns `options` with the given flags applied.
    pub(crate) fn apply_to(&self, options: analyze::Options) -> analyze::Options {
        let InferenceArguments { nodes, algorithm, flag_values: given, paths } = self;
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
        for entry in kinds::algorithms() {
            (entry.apply)(given, &mut options);
        }
        options
    }
}
