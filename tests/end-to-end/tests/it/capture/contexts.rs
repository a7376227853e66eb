//! Contexts of Python: the context of each record, and its start.

use std::collections::{BTreeMap, BTreeSet};

use end_to_end::capture::{ReadLog, TestRecording, python_path, run_successfully};
use socket_log::layout::goroutine;

/// A server whose task for the request of `n` has `n` tasks, one after the other, make two calls
/// each, of `n` bytes, and then answers. Several requests overlap.
const SERVER: &str = r#"
import asyncio
async def back(reader, writer):
    while data := await reader.read(100): writer.write(data); await writer.drain()
    writer.close()
async def main():
    backs = await asyncio.start_server(back, "127.0.0.1", 0)
    async def call(n):
        reader, writer = await asyncio.open_connection(*backs.sockets[0].getsockname())
        for _ in range(2): writer.write(b"c" * n); await reader.readexactly(n)
        writer.close(); await writer.wait_closed()
    class Front(asyncio.Protocol):
        def connection_made(self, transport): self.transport = transport
        def data_received(self, data): self.task = asyncio.get_running_loop().create_task(self.serve(data[0]))
        async def serve(self, n):
            for _ in range(n): await asyncio.create_task(call(n))
            self.transport.write(b"answered!!")
    front = await asyncio.get_running_loop().create_server(Front, "127.0.0.1", 0)
    async def client(n):
        reader, writer = await asyncio.open_connection(*front.sockets[0].getsockname())
        writer.write(bytes([n])); await reader.readexactly(10)
        writer.close(); await writer.wait_closed()
    await asyncio.gather(*(client(n) for n in range(2, 9)))
    print("done")
"#;

/// Each call of the server has the context of its task, which the request's task has started, which
/// was started by the receiver of the request.
fn check_contexts(log: &ReadLog) {
    let starters = log.starters();
    let answering: BTreeSet<u32> = log.senders(10).into_iter().collect();
    let mut served = BTreeSet::new();
    for n in 2..9 {
        let calls = log.senders(n);
        // Both ends of the connection are in this process, and the other end answers with as many.
        let called: BTreeSet<u32> = calls.iter().copied().collect();
        let of_request: Vec<u32> =
            called.iter().copied().filter(|call| answering.contains(&starters[call])).collect();
        assert_eq!(of_request.len() as u64, n, "one context for each call: {called:?}");
        let requests: BTreeSet<u32> = of_request.iter().map(|call| starters[call]).collect();
        assert_eq!(requests.len(), 1, "all started by the request's task");
        served.extend(requests);
        for call in of_request {
            assert_eq!(calls.iter().filter(|caller| **caller == call).count(), 2);
        }
    }
    assert_eq!(served.len(), 7, "no two requests have one context");
    assert!(served.iter().all(|task| starters.contains_key(task)));
    assert!(answering.iter().all(|task| goroutine::is_goroutine(*task)));
}

#[test]
fn calls_of_asyncio_have_the_context_of_their_task() {
    let recording = TestRecording::new();
    let script = format!("{SERVER}\nasyncio.run(main())");
    assert_eq!(recording.run_python(&script), "done\n");
    check_contexts(&recording.only_log());
}

/// Debian's uvloop is 0.17.
#[test]
fn sends_that_uvloop_queues_have_the_context_of_their_task() {
    let recording = TestRecording::new();
    let script = format!("{SERVER}\nimport uvloop; uvloop.install(); asyncio.run(main())");
    assert_eq!(recording.run_python(&script), "done\n");
    check_contexts(&recording.only_log());
}

/// Writes of several tasks to one transport within a turn are one message, which belongs to none.
#[test]
fn a_send_of_several_tasks_has_no_context_of_any() {
    let recording = TestRecording::new();
    let said = recording.run_python(
        r#"
import asyncio, socket, uvloop
async def main():
    near, far = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=near)
    async def task(n): writer.write(b"t" * n)
    await asyncio.create_task(task(11)); await asyncio.sleep(0.01)
    await asyncio.gather(*(asyncio.create_task(task(n)) for n in (12, 13))); await asyncio.sleep(0.01)
    await asyncio.create_task(task(14)); writer.close(); far.close()
uvloop.install(); asyncio.run(main()); print("done")
"#,
    );
    assert_eq!(said, "done\n");
    let log = recording.only_log();
    let [first, both, last] = [11, 25, 14].map(|size| log.senders(size)[0]);
    let starters = log.starters();
    assert_eq!(starters[&first], starters[&last], "both by the program's own task");
    assert!(first != last && !starters.values().any(|starter| *starter == both));
    assert_ne!(starters.get(&both), Some(&starters[&first]), "by no task");
}

#[test]
fn a_thread_runs_the_context_that_was_handed_to_it() {
    let recording = TestRecording::new();
    let said = recording.run_python(
        r#"
import asyncio, socket
near, far = socket.socketpair()
async def task(n): await asyncio.to_thread(near.send, b"t" * n)
async def main(): await asyncio.gather(*(asyncio.create_task(task(n)) for n in range(10, 20)))
asyncio.run(main()); print("done")
"#,
    );
    assert_eq!(said, "done\n");
    let log = recording.only_log();
    let starters = log.starters();
    let tasks: BTreeSet<u32> = (10..20).map(|n| starters[&log.senders(n)[0]]).collect();
    assert_eq!(tasks.len(), 10, "a task for each");
}

#[test]
fn code_outside_of_any_task_belongs_to_its_thread() {
    let recording = TestRecording::new();
    recording.run_python(
        r#"
import contextvars, socket
near, far = socket.socketpair()
variable = contextvars.ContextVar("variable"); variable.set(1)
near.send(b"first"); contextvars.copy_context().run(near.send, b"second")
contextvars.Context().run(near.send, b"third!!"); near.send(b"fourth!!")
"#,
    );
    let log = recording.only_log();
    let sent = [5, 6, 7, 8].map(|size| log.senders(size)[0]);
    assert_eq!(sent.map(goroutine::is_goroutine), [false, true, true, false]);
    assert_eq!((sent[0] == sent[3], sent[1] != sent[2]), (true, true));
}

#[test]
fn contexts_are_not_followed_if_the_user_says_so() {
    for value in ["0", "-tokio,-python"] {
        let recording = TestRecording::new();
        let script = format!("{SERVER}\nasyncio.run(main())");
        let mut command = recording.recorded_command(python_path());
        command.env("SOCKCAP_RUNTIMES", value).arg("-c").arg(script);
        assert_eq!(run_successfully(&mut command), "done\n");
        let log = recording.only_log();
        assert_eq!(log.starters(), BTreeMap::new(), "{value}");
        assert!(log.entries.iter().all(|entry| !goroutine::is_goroutine(entry.tid)), "{value}");
    }
}

/// Addresses of contexts are used again, so a number that outlived its context would be of another.
#[test]
fn numbers_end_with_their_contexts() {
    let recording = TestRecording::new();
    let mut command = recording.recorded_command(python_path());
    let script = r#"
import asyncio, resource, socket
near, far = socket.socketpair()
async def task(): pass
async def main():
    for _ in range(1000): await asyncio.create_task(task())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200_000): await asyncio.create_task(task())
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await asyncio.create_task(last())
    print(after - before)
async def last(): near.send(b"last")
near.send(b"first"); asyncio.run(main())
"#;
    let said = run_successfully(command.arg("-c").arg(script));
    let grown: u64 = said.trim().parse().unwrap();
    assert!(grown < 1024, "{grown} KiB");
    let log = recording.only_log();
    // The table would be full if numbers did not end.
    assert!(goroutine::is_goroutine(log.senders(4)[0]));
    // Tasks without a message are not recorded.
    assert!(log.entries.len() < 100, "{}", log.entries.len());
}
