//! Context switches from the kernel, as `sockcap record --resources` records them, compared with
//! what programs report about themselves; and wake-ups.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use end_to_end::capture::{TestRecording, run_successfully};
use end_to_end::command::{assert_succeeds, to_text};
use end_to_end::sockcap_program;
use message_trace::table::{self, columns::BatchColumns};
use message_trace::{DataDir, DataPath};
use socket_log::switches::{SwitchEntry, SwitchEvent, SwitchLog, ThreadSwitch};

/// The output of a program that was recorded with its resources, and the messages of `sockcap`.
fn record_switches(
    recording: &TestRecording,
    with: impl FnOnce(&mut Command) -> &mut Command,
) -> (String, String) {
    let mut command = Command::new(sockcap_program());
    let data = recording.data_dir();
    fs::create_dir_all(&data).unwrap();
    command.args(["record", "--resources", "--host", "host", "-d"]).arg(data).arg("--");
    with(&mut command);
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert!(status.success(), "{command:?}: {}", to_text(&stderr));
    (to_text(&stdout), to_text(&stderr))
}

/// All records of the only file of switches, in the order of time.
fn read_switches(recording: &TestRecording) -> Vec<ThreadSwitch> {
    let files = DataDir::new(recording.data_dir()).switch_paths().unwrap();
    assert_eq!(files.len(), 1, "{files:?}");
    let log = SwitchLog::open(&files[0]).unwrap();
    assert!(log.header().has_ended() && log.header().host == "host");
    let mut all = Vec::new();
    log.for_each(|found| match found {
        SwitchEntry::Switch(switch) => {
            assert!(!matches!(switch.event, SwitchEvent::Lost { .. }), "{switch:?}");
            all.push(switch);
        }
        SwitchEntry::Damaged(damage) => panic!("{damage}"),
    });
    all.sort_by_key(|switch| switch.time);
    all
}

/// Nanoseconds of a thread: running, runnable, waiting, and all of its life.
#[derive(Debug, Default)]
struct ThreadTimes {
    running: i64,
    runnable: i64,
    waiting: i64,
    life: i64,
}

fn times_of_thread(switches: &[ThreadSwitch], thread: u32) -> ThreadTimes {
    let mut times = ThreadTimes::default();
    let mut latest: Option<ThreadSwitch> = None;
    let mut start = None;
    for switch in switches.iter().filter(|switch| switch.thread == thread) {
        if matches!(switch.event, SwitchEvent::Name(_)) {
            continue;
        }
        if let Some(before) = latest {
            let to = match before.event {
                SwitchEvent::In => &mut times.running,
                SwitchEvent::Start { .. } | SwitchEvent::Out { preempted: true } => {
                    &mut times.runnable
                }
                _ => &mut times.waiting,
            };
            *to += switch.time - before.time;
        }
        match switch.event {
            SwitchEvent::Start { .. } => start = Some(switch.time),
            SwitchEvent::Exit => times.life = switch.time - start.expect("a start"),
            _ => {}
        }
        latest = Some(*switch);
    }
    times
}

/// The lines of `costs spin`: thread and microseconds.
fn parse_used(printed: &str) -> Vec<(u32, i64)> {
    let line = |line: &str| {
        let (thread, used) = line.split_once(' ')?;
        Some((thread.parse().ok()?, used.parse().ok()?))
    };
    printed.lines().filter_map(line).collect()
}

/// Whether the times of a thread are within 1% of each other, or within the time to start and end
/// it. Otherwise both are in the error.
fn is_near(times: &ThreadTimes, microseconds: i64) -> Result<(), String> {
    let used = microseconds * 1000;
    let is_near = (times.running - used).abs() <= used / 100 + 300_000;
    is_near.then_some(()).ok_or_else(|| format!("{used} ns used: {times:?}"))
}

/// Checks until it holds once. A host that takes processor time from this machine makes threads run
/// longer than they are charged for.
fn holds_once(check: impl Fn() -> Result<(), String>) {
    let tries: Vec<String> = (0..10).map_while(|_| check().err()).collect();
    assert!(tries.len() < 10, "{tries:#?}");
}

#[test]
fn processor_time_agrees_with_getrusage() {
    holds_once(time_is_what_getrusage_says);
}

fn time_is_what_getrusage_says() -> Result<(), String> {
    let recording = TestRecording::new();
    let program = recording.compile_program("costs");
    let (printed, said) = record_switches(&recording, |command| {
        command.arg(program).args(["spin", "-1", "60", "90"])
    });
    assert!(!said.contains("unknown"), "{said}");
    let (switches, used) = (read_switches(&recording), parse_used(&printed));
    assert_eq!(used.len(), 2);
    used.iter().try_for_each(|(thread, used)| is_near(&times_of_thread(&switches, *thread), *used))
}

#[test]
fn two_that_share_a_processor_are_runnable_while_the_other_runs() {
    holds_once(each_is_runnable_while_the_other_runs);
}

fn each_is_runnable_while_the_other_runs() -> Result<(), String> {
    let recording = TestRecording::new();
    let program = recording.compile_program("costs");
    let (printed, _) =
        record_switches(&recording, |command| command.arg(program).args(["spin", "0", "80", "80"]));
    let (switches, used) = (read_switches(&recording), parse_used(&printed));
    assert_eq!(used.len(), 2);
    for (thread, microseconds) in &used {
        let times = times_of_thread(&switches, *thread);
        is_near(&times, *microseconds)?;
        let sum = times.running + times.runnable + times.waiting;
        assert_eq!(sum, times.life, "{times:?}");
        // The first thread to end has shared the processor until then.
        let runs_alone = times.life < microseconds * 1000 * 11 / 10;
        assert!(times.runnable > times.waiting || runs_alone, "{times:?}");
    }
    let whole: i64 =
        used.iter().map(|(thread, _)| times_of_thread(&switches, *thread).runnable).sum();
    assert!(whole > 40_000_000, "they had one processor for 160 ms: {whole}");
    Ok(())
}

#[test]
fn children_and_their_threads_are_seen_and_named() {
    let recording = TestRecording::new();
    let program = recording.compile_program("costs");
    let script = format!("{} spin -1 5 & wait; exec true", program.display());
    record_switches(&recording, |command| command.args(["sh", "-c", &script]));
    let switches = read_switches(&recording);
    let mut names: BTreeMap<u32, String> = BTreeMap::new();
    for switch in &switches {
        if let SwitchEvent::Name(name) = switch.event {
            let name = String::from_utf8_lossy(&name).trim_end_matches('\0').to_owned();
            names.insert(switch.thread, name);
        }
    }
    let named: Vec<&str> = names.values().map(String::as_str).collect();
    assert!(named.contains(&"true") && named.contains(&"costs"), "{names:?}");
    let starts = |switch: &&ThreadSwitch| matches!(switch.event, SwitchEvent::Start { .. });
    let exits = |switch: &&ThreadSwitch| switch.event == SwitchEvent::Exit;
    // The shell itself existed before.
    let (starts, exits) =
        (switches.iter().filter(starts).count(), switches.iter().filter(exits).count());
    assert_eq!((starts, exits), (2, 3), "{switches:?}");
}

#[test]
fn the_user_nobody_can_record_too() {
    holds_once(record_as_nobody);
}

fn record_as_nobody() -> Result<(), String> {
    let recording = TestRecording::new();
    let program = recording.compile_program("costs");
    fs::create_dir_all(recording.data_dir()).unwrap();
    for path in [recording.data_dir().as_path(), recording.data_dir().parent().unwrap()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let (printed, said) = record_switches(&recording, |command| {
        command.arg(program).args(["spin", "-1", "20"]);
        // Configuration would be looked for in the home of the user that runs the tests.
        command.env("HOME", "/").env_remove("XDG_CONFIG_HOME").uid(65534).gid(65534)
    });
    assert!(!said.contains("unknown"), "{said}");
    let (thread, microseconds) = parse_used(&printed)[0];
    is_near(&times_of_thread(&read_switches(&recording), thread), microseconds)
}

#[test]
fn if_the_kernel_refuses_the_rest_is_recorded_and_the_remedy_is_printed() {
    let recording = TestRecording::new();
    let (program, refusing) =
        (recording.compile_program("costs"), recording.compile_program("no_perf"));
    let mut command = Command::new(refusing);
    command.arg(sockcap_program()).args(["record", "--resources", "--host", "host", "-d"]);
    command.arg(recording.data_dir()).arg("--").arg(program).args(["spin", "-1", "1"]);
    let Output { status, stderr, .. } = command.output().unwrap();
    let said = to_text(&stderr);
    assert!(status.success(), "{said}");
    assert!(said.contains("no context switches") && said.contains("seccomp"), "{said}");
    assert!(DataDir::new(recording.data_dir()).switch_paths().unwrap().is_empty());
    assert!(recording.only_log().log.header().resources);
}

#[test]
fn wake_ups_agree_with_the_programs_report() {
    let recording = TestRecording::new();
    let program = recording.compile_program("costs");
    let (printed, _) =
        record_switches(&recording, |command| command.arg(program).args(["pool", "300"]));
    let said: Vec<(i32, i32)> = printed
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(from, to)| (from.parse().unwrap(), to.parse().unwrap()))
        .collect();
    assert_eq!(said.len(), 300);
    assert_succeeds(
        &["reconcile", "-d", &recording.data_dir().display().to_string()],
        Path::new("/"),
    );
    let path = DataDir::new(recording.data_dir()).handoffs_path();
    let mut found = Vec::new();
    for batch in table::read_batches(&path).unwrap() {
        let batch = batch.unwrap();
        let columns = BatchColumns::new(&path, &batch);
        let (from, to) =
            (columns.int32_column("from_tid").unwrap(), columns.int32_column("to_tid").unwrap());
        let what = columns.text_column("what").unwrap();
        for ((from, to), what) in from.into_iter().zip(to).zip(what) {
            if what == Some("condition") && said.iter().any(|(by, _)| Some(*by) == from) {
                found.push((from.unwrap(), to.unwrap()));
            }
        }
    }
    assert_eq!(found, said);
}

/// Sources of the host's name, each with the name in it: `SOCKCAP_HOST` of `record`, its `--host`,
/// a file of the user, `SOCKCAP_HOST` of the program alone; and the effective name.
const WAYS: [([Option<&str>; 4], &str); 10] = [
    ([None, Some("flag"), None, None], "flag"),
    ([Some("variable"), None, None, None], "variable"),
    ([None, None, Some("file"), None], "file"),
    ([Some("variable"), Some("flag"), None, None], "flag"),
    ([Some("variable"), None, Some("file"), None], "variable"),
    ([None, Some("flag"), Some("file"), None], "flag"),
    ([Some(""), None, Some("file"), None], "file"),
    ([None, Some("flag"), None, Some("program")], "program"),
    // Characters that are not permitted in a host's name.
    ([Some("wéb 1/a"), None, None, None], "w_b_1_a"),
    ([None, Some("flag"), None, Some("pro gram")], "pro_gram"),
];

/// The host of each event of that kind, each host once.
fn hosts_of(data: &Path, kind: &str) -> BTreeSet<String> {
    let path = DataDir::new(data).own_events_path();
    let mut hosts = BTreeSet::new();
    for batch in table::read_batches(&path).unwrap() {
        let batch = batch.unwrap();
        let columns = BatchColumns::new(&path, &batch);
        let (host, event) =
            (columns.text_column("host").unwrap(), columns.text_column("event").unwrap());
        let of_kind = host.into_iter().zip(event).filter(|(_, event)| *event == Some(kind));
        hosts.extend(of_kind.filter_map(|(host, _)| host.map(str::to_owned)));
    }
    hosts
}

#[test]
fn a_host_has_one_name_whoever_sets_it() {
    let recording = TestRecording::new();
    let program = recording.compile_program("costs");
    let config = recording.file_path("config");
    for (at, ([variable, flag, file, of_program], expected)) in WAYS.into_iter().enumerate() {
        let data = recording.file_path(&format!("data{at}"));
        fs::create_dir_all(config.join("sockcap")).unwrap();
        let file = file.map_or(String::new(), |host| format!("[record]\nhost = '{host}'"));
        fs::write(config.join("sockcap/config.toml"), file).unwrap();
        let mut command = Command::new(sockcap_program());
        command.args(["record", "--resources", "-d"]).arg(&data);
        command.args(flag.map(|host| ["--host", host]).into_iter().flatten()).arg("--");
        if let Some(host) = of_program {
            command.args(["env", &format!("SOCKCAP_HOST={host}")]);
        }
        command.arg(&program).args(["spin", "-1", "5"]);
        command.env_remove("SOCKCAP_HOST").env("XDG_CONFIG_HOME", &config);
        let output = command.envs(variable.map(|host| ("SOCKCAP_HOST", host))).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_succeeds(&["reconcile", "-d", &data.display().to_string()], Path::new("/"));
        let expected = BTreeSet::from([expected.to_owned()]);
        assert_eq!(hosts_of(&data, "sched/In"), expected, "processor time of {at}");
        let logs = DataDir::new(&data).log_paths().unwrap();
        let folder = |log: &DataPath| log.parent().file_name().unwrap().display().to_string();
        assert_eq!(logs.iter().map(folder).collect::<BTreeSet<_>>(), expected, "logs of {at}");
    }
}

#[test]
fn two_recorders_of_one_host_are_one_host() {
    let recording = TestRecording::new();
    let program = recording.compile_program("costs");
    let (one, other) = (recording.file_path("one"), recording.file_path("other"));
    let mut used = 0;
    for (data, named) in [(&one, &["--host", "web"][..]), (&other, &[])] {
        let mut command = Command::new(sockcap_program());
        command.args(["record", "--resources", "-d"]).arg(data).args(named).arg("--");
        command.arg(&program).args(["spin", "-1", "40"]).env("SOCKCAP_HOST", "web");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        used +=
            self::parse_used(&to_text(&output.stdout)).iter().map(|(_, used)| *used).sum::<i64>();
    }
    run_successfully(Command::new("cp").arg("-r").arg(other.join("hosts")).arg(&one));
    assert_eq!(DataDir::new(&one).switch_paths().unwrap().len(), 2);
    assert_succeeds(&["reconcile", "-d", &one.display().to_string()], Path::new("/"));
    assert_eq!(hosts_of(&one, "sched/In"), BTreeSet::from(["web".to_owned()]));
    let ran = running_time(&one);
    assert!(ran >= used * 1000, "{ran} ns of {used} us, of both recorders");
}

/// Nanoseconds that threads ran, according to the events.
fn running_time(data: &Path) -> i64 {
    let path = DataDir::new(data).own_events_path();
    let (mut since, mut sum) = (BTreeMap::new(), 0);
    for batch in table::read_batches(&path).unwrap() {
        let batch = batch.unwrap();
        let columns = BatchColumns::new(&path, &batch);
        let (time, thread) =
            (columns.int64_column("time").unwrap(), columns.int32_column("thread").unwrap());
        let event = columns.text_column("event").unwrap();
        for ((time, thread), event) in time.into_iter().zip(thread).zip(event) {
            match event {
                Some("sched/In") => drop(since.insert(thread, time.unwrap())),
                Some("sched/Out" | "sched/Exit") => {
                    sum += since.remove(&thread).map_or(0, |since| time.unwrap() - since);
                }
                _ => {}
            }
        }
    }
    sum
}
