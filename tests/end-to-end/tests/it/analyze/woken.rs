//! Workers that receive a response because another client sent something: an HTTP server that keeps
//! a poll open until a job is posted, and one that notifies its listeners. The worker's calls then
//! lead back to the sender.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use end_to_end::command::assert_succeeds;
use end_to_end::repository;

/// Number of jobs: some ten seconds of them, so that a pause of a second does not decide the
/// result.
const JOBS: usize = 450;

/// A call of the table: its parent, and its job, if the programs report one.
struct TableCall {
    parent: String,
    job: Option<usize>,
    is_work: bool,
}

/// The calls by id; their jobs are known from the ports of the connection and the position on it.
fn calls_by_id(directory: &Path) -> HashMap<String, TableCall> {
    let mut truth: HashMap<[String; 2], Vec<usize>> = HashMap::new();
    for line in fs::read_to_string(directory.join("truth")).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ports = [words[0], words[1]].map(str::to_owned);
        truth.entry(ports).or_default().push(words[2].parse().unwrap());
    }
    let table = assert_succeeds(&["export", "calls"], directory);
    let mut lines = table.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let [id, parent, from, to, sent] =
        ["call_id", "parent_call_id", "src_endpoint", "dst_endpoint", "request_send"].map(column);
    let mut rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    rows.sort_by_key(|row| row[sent].parse::<i64>().unwrap_or_default());
    let mut known: HashMap<[String; 2], std::vec::IntoIter<usize>> =
        truth.into_iter().map(|(ports, jobs)| (ports, jobs.into_iter())).collect();
    // A client at a port without jobs does the work first.
    let mut given: HashMap<usize, usize> = HashMap::new();
    rows.iter()
        .map(|row| {
            let ports =
                [row[from], row[to]].map(|end| end.rsplit(':').next().unwrap_or("").to_owned());
            let job = known.get_mut(&ports).and_then(Iterator::next);
            let seen = job.map(|job| given.entry(job).and_modify(|seen| *seen += 1).or_default());
            let is_work = seen.is_some_and(|seen| *seen > 0);
            (row[id].to_owned(), TableCall { parent: row[parent].to_owned(), job, is_work })
        })
        .collect()
}

/// Work done for jobs.
struct JobWork {
    /// The total, in calls.
    all: usize,
    /// The number of calls that lead back to the sender of their job, through no other request.
    right: usize,
    /// The jobs of calls that lead back to the sender of another job, and of calls that lead back
    /// to no sender.
    wrong: Vec<usize>,
    lost: Vec<usize>,
}

/// The senders to which the work for jobs leads back.
fn led_back(kind: &str) -> JobWork {
    let directory = tempfile::tempdir().unwrap();
    let program = repository().join("tests/programs/woken.py");
    let program = program.to_str().unwrap();
    assert_succeeds(
        &["record", "--", "/usr/bin/python3", program, kind, &JOBS.to_string()],
        directory.path(),
    );
    let calls = calls_by_id(directory.path());
    let led_back = |call: &TableCall| {
        let above =
            std::iter::successors(calls.get(&call.parent), |above| calls.get(&above.parent));
        above.take(calls.len()).find_map(|above| above.job)
    };
    let mut work = JobWork { all: 0, right: 0, wrong: Vec::new(), lost: Vec::new() };
    for call in calls.values().filter(|call| call.is_work) {
        work.all += 1;
        match led_back(call) {
            found if found == call.job => work.right += 1,
            Some(_) => work.wrong.extend(call.job),
            None => work.lost.extend(call.job),
        }
    }
    work.wrong.sort_unstable();
    work.lost.sort_unstable();
    work
}

/// Checks that nearly all work leads back to the sender of its job.
fn assert_led_back(kind: &str) {
    let JobWork { all, right, wrong, lost } = led_back(kind);
    assert!(
        all == JOBS && 20 * right >= 17 * JOBS,
        "of {all} calls, {right} are led back; to another job {wrong:?}, to nobody {lost:?}"
    );
}

#[test]
fn work_after_a_long_poll_belongs_to_the_poster() {
    assert_led_back("poll");
}

#[test]
fn work_after_a_notification_belongs_to_the_notifier() {
    assert_led_back("listen");
}
