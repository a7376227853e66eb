//! A system of six hosts, each with a clock of its own, with real servers and traffic for a minute:
//! every message is matched, the bytes agree with the kernel's counts, and the estimated clocks
//! with the configured ones; and the same with a third of the hosts untraced.

mod checks;
mod system;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use message_trace::{DataDir, MessageTrace};
use reconcile::Options;

use self::system::HOSTS;

#[test]
fn six_hosts_with_clocks_of_their_own() {
    let run = system::run_system();
    let whole = DataDir::new(run.recording.data_dir());
    let outcome = reconcile::reconcile(&whole, &Options::default(), &()).unwrap();
    let trace = MessageTrace::read(whole.messages_path(), whole.nodes_path()).unwrap();
    println!("{outcome:#?}");
    checks::everything_is_matched(&outcome);
    checks::bytes_are_those_of_the_wire(&run, &trace);
    let all: BTreeSet<&str> = HOSTS.iter().map(|(name, ..)| *name).collect();
    checks::clocks_are_found(&run, &whole, &all);
    checks::nothing_arrives_before_it_was_sent(&whole, &trace, &all);

    // Without the logs of a third of the hosts, as if they had not been traced.
    let names = |wanted: bool| HOSTS.iter().filter(move |host| host.3 == wanted).map(|host| host.0);
    let (traced, untraced) =
        (names(false).collect::<BTreeSet<_>>(), names(true).collect::<BTreeSet<_>>());
    let part = DataDir::new(run.recording.file_path("part"));
    for name in &traced {
        copy_files(whole.hosts_dir().join(name).as_path(), part.hosts_dir().join(name).as_path());
    }
    // The front end, which is not traced now, forwards some connections unchanged: that would be
    // treated as translation.
    let options = Options { translation: None, ..Options::default() };
    let outcome = reconcile::reconcile(&part, &options, &()).unwrap();
    let trace_of_part = MessageTrace::read(part.messages_path(), part.nodes_path()).unwrap();
    println!("without {untraced:?}: {outcome:#?}");
    checks::what_is_traced_is_matched(&outcome, &trace, &trace_of_part, &traced);
    checks::clocks_are_found(&run, &part, &traced);
    checks::nothing_arrives_before_it_was_sent(&part, &trace_of_part, &traced);
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
