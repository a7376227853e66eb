//! Contexts of Node.js: each message that is written for a request has the request's context, and
//! nothing of that shows in the program.

use std::collections::BTreeMap;

use end_to_end::capture::{ReadLog, TestRecording, program_path, run_successfully};
use socket_log::LogRecord;
use socket_log::encode::Direction::Send;
use socket_log::layout::goroutine;

/// A server that makes two calls of `n` bytes for the request of `n`, one after the other, and then
/// answers with more than a thousand bytes and `n`. Seven requests at once share two connections.
const SERVER: &str = r#"
const http = require("http"), net = require("net"), { once } = require("events");
const back = net.createServer((socket) => socket.on("data", (data) => socket.write(data)));
back.listen(0, "127.0.0.1", async () => {
  const free = [], waiting = [];
  const release = (socket) => waiting.length ? waiting.shift()(socket) : free.push(socket);
  const take = () => free.length ? free.pop() : new Promise((resolve) => waiting.push(resolve));
  for (let i = 0; i < 2; i++) {
    const socket = net.connect(back.address().port, "127.0.0.1");
    await once(socket, "connect");
    release(socket);
  }
  const front = http.createServer(async (request, response) => {
    const n = Number(request.url.slice(1));
    const socket = await take();
    for (let round = 0; round < 2; round++) {
      socket.write("c".repeat(n));
      await once(socket, "data");
    }
    release(socket);
    response.end("r".repeat(1000 + n));
  });
  front.listen(0, "127.0.0.1", async () => {
    const url = `http://127.0.0.1:${front.address().port}/`;
    const ask = async (n) => (await fetch(url + n)).text();
    await Promise.all([2, 3, 4, 5, 6, 7, 8].map(ask));
    console.log("done");
    process.exit();
  });
});
"#;

/// Bytes and context of each send, in the order of the log.
fn sends(log: &ReadLog) -> Vec<(u64, u32)> {
    let mut found = Vec::new();
    log.log.for_each(|entry| {
        if let LogRecord::Transfer { direction: Send, bytes, .. } = entry.record {
            found.push((bytes, entry.tid));
        }
    });
    found
}

/// Starters of all contexts.
fn starters(log: &ReadLog) -> BTreeMap<u32, u32> {
    let mut found = BTreeMap::new();
    log.log.for_each(|entry| {
        if let LogRecord::Ready { number, started: true } = entry.record {
            assert_eq!(found.insert(goroutine::thread_id(number), entry.tid), None, "{number}");
        }
    });
    found
}

#[test]
fn calls_of_node_have_the_context_of_their_request() {
    let recording = TestRecording::new();
    let mut command = recording.recorded_command(program_path("node"));
    assert_eq!(run_successfully(command.args(["-e", SERVER])), "done\n");
    let log = recording.only_log();
    let (sends, starters) = (sends(&log), starters(&log));
    let mut answers: Vec<(u64, u32)> =
        sends.iter().filter(|(bytes, _)| *bytes > 1000).copied().collect();
    answers.sort_unstable();
    assert_eq!(answers.len(), 7, "{sends:?}");
    let main_thread =
        sends.iter().map(|(_, context)| *context).find(|id| !goroutine::is_goroutine(*id));
    for (n, (_, context)) in (2..).zip(answers) {
        assert!(goroutine::is_goroutine(context), "{n}");
        assert_eq!(main_thread.into_iter().next(), starters.get(&context).copied(), "{n}");
        let calls = |of: u32| sends.iter().filter(|send| **send == (n, of)).count();
        assert_eq!(
            calls(context),
            2,
            "both calls of {n} have the context of its answer: {sends:?}"
        );
        // The other end of the connections, in the same process, answers with as many bytes.
        assert_eq!(sends.iter().filter(|(bytes, _)| *bytes == n).count(), 4, "{n}");
    }
}

#[test]
fn a_program_of_node_and_its_children_do_not_see_how_they_are_followed() {
    let script = r#"
const show = () => {
  const { env, execArgv } = process;
  console.log(env.NODE_OPTIONS, execArgv.length, Object.keys(env).length);
};
const { isMainThread, Worker } = require("worker_threads");
show();
console.log(require("child_process").execSync("echo $NODE_OPTIONS").toString().trim());
if (isMainThread) new Worker(__filename);
"#;
    let recording = TestRecording::new();
    let file = recording.file_path("show.js");
    std::fs::write(&file, script).expect("a script");
    for options in [None, Some(""), Some("--no-warnings --stack-trace-limit=7")] {
        let run = |followed: &str| {
            let mut command = recording.recorded_command(program_path("node"));
            command.env("SOCKCAP_RUNTIMES", followed).arg(&file);
            match options {
                Some(options) => command.env("NODE_OPTIONS", options),
                None => command.env_remove("NODE_OPTIONS"),
            };
            run_successfully(&mut command)
        };
        assert_eq!(run("1"), run("0"), "{options:?}");
    }
}

#[test]
fn a_restricted_node_is_left_alone() {
    let recording = TestRecording::new();
    let file = recording.file_path("plain.js");
    std::fs::write(&file, "console.log(1)").expect("a script");
    // Node itself ends with this option, if it knows it, where a file may not be read.
    let mut command = recording.recorded_command(program_path("node"));
    command.arg("--experimental-permission").arg(format!("--allow-fs-read={}", file.display()));
    assert_eq!(run_successfully(command.arg(&file)), "1\n");
}

#[test]
fn node_is_not_followed_if_the_user_says_so() {
    let recording = TestRecording::new();
    let mut command = recording.recorded_command(program_path("node"));
    command.env("SOCKCAP_RUNTIMES", "-node").args(["-e", SERVER]);
    assert_eq!(run_successfully(&mut command), "done\n");
    assert!(starters(&recording.only_log()).is_empty());
}
