//! Names of all processes together: children have the names of their parents, and two programs of
//! one name on a host get different ones.
//!
//! ```text
//! /srv/shop/app.py and /srv/cart/app.py     shop/app.py and cart/app.py, by their folders
//! gunicorn in shop.service and cart.service shop/gunicorn and cart/gunicorn, by their units
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use crate::indices::{HostIndex, KernelIndex};
use crate::logs::process::TracedProcess;
use crate::logs::program::ProgramDescription;
use crate::tuning::{MAX_NAME_FOLDERS, MAX_NAME_PARENTS};

/// Folders with names that are not distinctive: a program in one of these keeps its name.
const PLAIN_FOLDERS: [&str; 8] = ["usr", "local", "bin", "sbin", "opt", "srv", "home", "root"];

/// Names the nodes of `processes`, which run these `programs`. Nodes with a name, as for packets,
/// keep it.
pub(crate) fn assign_names(processes: &mut [TracedProcess], mut programs: Vec<ProgramDescription>) {
    inherit_programs(processes, &mut programs);
    for (process, program) in processes.iter_mut().zip(&programs) {
        if process.node.command.is_empty() {
            process.node.command.clone_from(&program.name);
        }
    }
    name_by_folders(processes, &programs);
    name_by_units(processes);
}

/// Gives processes with a title of their own the program of the process from which they were
/// forked.
fn inherit_programs(processes: &[TracedProcess], programs: &mut [ProgramDescription]) {
    if !programs.iter().any(|program| program.is_titled) {
        return;
    }
    let mut by_number: FxHashMap<(KernelIndex, HostIndex, i32), Vec<usize>> = FxHashMap::default();
    for (place, process) in processes.iter().enumerate() {
        by_number
            .entry((process.kernel, process.host, process.pid as i32))
            .or_default()
            .push(place);
    }
    let parent = |place: usize| {
        let child = processes.get(place)?;
        let of_number = by_number.get(&(child.kernel, child.host, child.node.parent_pid?))?;
        // An id may be reused, and a process may have become another program.
        let before = of_number.iter().filter(|place| {
            processes[**place].node.start <= child.node.start
                && processes[**place].node.executable == child.node.executable
        });
        before.max_by_key(|place| processes[**place].node.start).copied()
    };
    for place in 0..programs.len() {
        let mut from = place;
        for _ in 0..MAX_NAME_PARENTS {
            if !programs[from].is_titled {
                break;
            }
            match parent(from) {
                Some(older) => from = older,
                None => break,
            }
        }
        if from != place && !programs[from].is_titled {
            programs[place] = programs[from].clone();
        }
    }
}

/// Groups of two or more processes of one host with the same name.
fn group_by_name(processes: &[TracedProcess]) -> Vec<Vec<usize>> {
    let mut groups: FxHashMap<(HostIndex, &str), Vec<usize>> = FxHashMap::default();
    for (place, process) in processes.iter().enumerate() {
        groups.entry((process.host, &process.node.command)).or_default().push(place);
    }
    groups.into_values().filter(|group| group.len() > 1).collect()
}

/// Distinguishes programs of one name by the folders of their files.
fn name_by_folders(processes: &mut [TracedProcess], programs: &[ProgramDescription]) {
    for group in group_by_name(processes) {
        let files = distinct_files(group.iter().map(|place| programs[*place].file.as_str()));
        let Some(folders) = distinct_folders(&files) else { continue };
        for place in group {
            let file = programs[place].file.as_str();
            let folder = files.iter().zip(&folders).find(|(whole, _)| is_same(file, whole));
            if let Some((_, Some(folder))) = folder {
                let command = &mut processes[place].node.command;
                *command = format!("{folder}/{command}");
            }
        }
    }
}

/// The distinct files, each by its longest path: a relative path that may be the end of a longer
/// path is left out.
fn distinct_files<'a>(files: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut files: Vec<&str> = files.collect::<FxHashSet<_>>().into_iter().collect();
    files.sort_unstable_by_key(|file| (std::cmp::Reverse(file.len()), *file));
    let mut whole: Vec<&str> = Vec::new();
    for file in files {
        if !whole.iter().any(|longer| is_same(file, longer)) {
            whole.push(file);
        }
    }
    whole
}

/// Whether `file` is `whole`, or may be it because its folders do not contradict.
fn is_same(file: &str, whole: &str) -> bool {
    let own = file.trim_start_matches("./");
    let is_absolute = own.starts_with('/');
    own == whole || !is_absolute && whole.strip_suffix(own).is_some_and(|rest| rest.ends_with('/'))
}

/// The name of each file's folder, at the innermost level at which all are different; `None` if
/// there is no such level. A folder with a name that is not distinctive counts as none.
fn distinct_folders<'a>(files: &[&'a str]) -> Option<Vec<Option<&'a str>>> {
    if files.len() < 2 {
        return None;
    }
    (1..=MAX_NAME_FOLDERS).find_map(|level| {
        let folder = |file: &&'a str| {
            let folder =
                file.rsplit('/').nth(level).filter(|folder| !matches!(*folder, "" | "." | ".."));
            folder.filter(|folder| !PLAIN_FOLDERS.contains(folder))
        };
        let folders: Vec<Option<&str>> = files.iter().map(folder).collect();
        let different: FxHashSet<Option<&str>> = folders.iter().copied().collect();
        (different.len() == files.len()).then_some(folders)
    })
}

/// Distinguishes programs of one name by the services, containers or pods in which they run.
fn name_by_units(processes: &mut [TracedProcess]) {
    for group in group_by_name(processes) {
        let units: FxHashSet<&str> =
            group.iter().map(|place| processes[*place].node.unit.as_str()).collect();
        if units.iter().filter(|unit| !unit.is_empty()).count() < 2 {
            continue;
        }
        for place in group {
            let node = &mut processes[place].node;
            if node.unit.starts_with(&node.command) {
                node.command.clone_from(&node.unit);
            } else if !node.unit.is_empty() {
                node.command = format!("{}/{}", node.unit, node.command);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use message_trace::Node;

    use super::*;
    use crate::indices::MachineIndex;

    /// Names of processes of host 0 with their indices as ids; the parent of each is the previous
    /// one if they are `forked`.
    fn settled(started: &[(&str, &[&str], &str)], forked: bool) -> Vec<String> {
        let mut programs = Vec::new();
        let mut processes: Vec<TracedProcess> = (1..)
            .zip(started)
            .map(|(pid, (executable, arguments, unit))| {
                let arguments: Vec<String> =
                    arguments.iter().map(|text| (*text).to_owned()).collect();
                programs.push(ProgramDescription::from_arguments(executable, &arguments));
                let node = Node {
                    start: Some(i64::from(pid)),
                    parent_pid: forked.then_some(pid as i32 - 1),
                    executable: (*executable).to_owned(),
                    unit: (*unit).to_owned(),
                    ..Node::default()
                };
                TracedProcess {
                    host: HostIndex::default(),
                    kernel: KernelIndex::default(),
                    machine: MachineIndex::default(),
                    boot: 0,
                    source: 0,
                    pid,
                    ended: None,
                    node,
                }
            })
            .collect();
        assign_names(&mut processes, programs);
        processes.into_iter().map(|process| process.node.command).collect()
    }

    const PYTHON: &str = "/usr/bin/python3.11";

    #[test]
    fn a_child_with_a_title_has_its_parents_name() {
        let celery = ["python3", "-m", "celery", "worker"];
        let title = ["[celeryd: a@web1:ForkPoolWorker-1]"];
        let started: &[(&str, &[&str], &str)] =
            &[(PYTHON, &celery, ""), (PYTHON, &title, ""), (PYTHON, &title, "")];
        assert_eq!(settled(started, true), ["celery", "celery", "celery"]);
        assert_eq!(settled(started, false), ["celery", "celeryd", "celeryd"]);
        // An executed program is another program, whatever its name.
        let other: &[(&str, &[&str], &str)] =
            &[(PYTHON, &celery, ""), ("/opt/tool", &["tool: x"], "")];
        assert_eq!(settled(other, true), ["celery", "tool"]);
    }

    #[test]
    fn two_programs_of_one_name_are_distinguished_by_their_folders() {
        let cases: &[(&[&[&str]], &[&str])] = &[
            (
                &[&["python3", "/srv/shop/app.py"], &["python3", "/srv/cart/app.py"]],
                &["shop/app.py", "cart/app.py"],
            ),
            (
                &[&["python3", "/a/venv/bin/flask"], &["python3", "/b/venv/bin/flask"]],
                &["a/flask", "b/flask"],
            ),
            (
                &[&["python3", "/usr/bin/flask"], &["python3", "/opt/b/bin/flask"]],
                &["flask", "b/flask"],
            ),
            // The former may be one file, the latter are.
            (&[&["python3", "/srv/shop/app.py"], &["python3", "./app.py"]], &["app.py", "app.py"]),
            (&[&["python3", "app.py"], &["python3", "./app.py"]], &["app.py", "app.py"]),
        ];
        for (arguments, names) in cases {
            let started: Vec<_> =
                arguments.iter().map(|arguments| (PYTHON, *arguments, "")).collect();
            assert_eq!(settled(&started, false), **names);
        }
    }

    #[test]
    fn two_programs_of_one_name_are_distinguished_by_their_units() {
        let gunicorn = &["python3", "-m", "gunicorn"];
        let started: &[(&str, &[&str], &str)] =
            &[(PYTHON, gunicorn, "shop"), (PYTHON, gunicorn, "cart"), (PYTHON, gunicorn, "")];
        assert_eq!(settled(started, false), ["shop/gunicorn", "cart/gunicorn", "gunicorn"]);
        let redis = "/usr/bin/redis-server";
        let started: &[(&str, &[&str], &str)] = &[
            (redis, &["redis-server"], "redis-server@a"),
            (redis, &["redis-server"], "redis-server@b"),
        ];
        assert_eq!(settled(started, false), ["redis-server@a", "redis-server@b"]);
        assert_eq!(settled(&started[..1], false), ["redis-server"]);
    }
}
