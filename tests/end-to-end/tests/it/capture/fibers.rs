//! Fibers of Ruby: the fiber of each record, and its start. Erlang, whose tasks are only named.

use std::collections::{BTreeMap, BTreeSet};

use end_to_end::capture::{ReadLog, TestRecording, program_path, run_successfully};
use end_to_end::command::assert_succeeds;
use socket_log::LogRecord;
use socket_log::encode::UncapturedEvent;
use socket_log::layout::goroutine;

/// A server whose fiber for the request of `n` has `n` fibers, one after the other, make two calls
/// each, of `n` bytes, and then answers. Several requests overlap.
const SERVER: &str = r#"
require "socket"
# Runs fibers in one thread: while one waits for a socket, others run.
class Loop
  def initialize = (@readable, @writable, @ready = {}, {}, [])
  def io_wait(io, events, timeout)
    (events & IO::WRITABLE != 0 ? @writable : @readable)[io] = Fiber.current
    Fiber.yield
    events
  end
  def kernel_sleep(seconds = 0) = nil
  def block(blocker, timeout = nil) = Fiber.yield
  def unblock(blocker, fiber) = @ready << fiber
  def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)
  def close = run
  def run
    until @readable.empty? && @writable.empty? && @ready.empty?
      @ready.shift.resume until @ready.empty?
      next if @readable.empty? && @writable.empty?
      readable, writable = IO.select(@readable.keys, @writable.keys, [])
      readable.each { |io| @readable.delete(io).resume }
      writable.each { |io| @writable.delete(io).resume }
    end
  end
end
Thread.new do
  Fiber.set_scheduler(Loop.new)
  back, front = TCPServer.new("127.0.0.1", 0), TCPServer.new("127.0.0.1", 0)
  Fiber.schedule do
    35.times do
      socket = back.accept
      Fiber.schedule do
        loop { socket.write(socket.readpartial(100)) }
      rescue EOFError
        socket.close
      end
    end
  end
  call = ->(n) do
    socket = TCPSocket.new("127.0.0.1", back.addr[1])
    2.times { socket.write("c" * n); socket.read(n) }
    socket.close
  end
  Fiber.schedule do
    7.times do
      socket = front.accept
      Fiber.schedule do
        n, task = socket.read(1).ord, Fiber.current
        n.times { Fiber.schedule { call.(n); Fiber.scheduler.unblock(nil, task) }; Fiber.yield }
        socket.write("answered!!")
        socket.close
      end
    end
  end
  (2..8).each do |n|
    Fiber.schedule do
      socket = TCPSocket.new("127.0.0.1", front.addr[1])
      socket.write(n.chr); socket.read(10)
      socket.close
    end
  end
end.join
puts "done"
"#;

/// Runs a script of Ruby, recorded, which prints `done`, and returns its log.
fn log_of_script(recording: &TestRecording, script: &str) -> ReadLog {
    let mut command = recording.recorded_command(program_path("ruby"));
    assert_eq!(run_successfully(command.args(["-e", script])), "done\n");
    recording.only_log()
}

#[test]
fn calls_of_ruby_have_the_fiber_of_their_request() {
    let recording = TestRecording::new();
    let log = log_of_script(&recording, SERVER);
    let starters = log.starters();
    let answering: BTreeSet<u32> = log.senders(10).into_iter().collect();
    assert_eq!(answering.len(), 7, "no two requests have one fiber");
    assert!(answering.iter().all(|fiber| goroutine::is_goroutine(*fiber)));
    let mut served = BTreeSet::new();
    for n in 2..9 {
        let calls = log.senders(n);
        // Both ends of the connection are in this process, and the other end answers with as many.
        let called: BTreeSet<u32> = calls.iter().copied().collect();
        let of_request: Vec<u32> =
            called.iter().copied().filter(|call| answering.contains(&starters[call])).collect();
        assert_eq!(of_request.len() as u64, n, "a fiber for each call: {called:?}");
        let requests: BTreeSet<u32> = of_request.iter().map(|call| starters[call]).collect();
        assert_eq!(requests.len(), 1, "all started by the request's fiber");
        served.extend(requests);
        for call in of_request {
            assert_eq!(calls.iter().filter(|caller| **caller == call).count(), 2);
        }
    }
    assert_eq!(served, answering);
}

/// Memory of fibers is used again, by fibers and by the first fibers of threads, so a number that
/// outlived its fiber would be of another one.
#[test]
fn numbers_end_with_their_fibers() {
    let recording = TestRecording::new();
    let log = log_of_script(
        &recording,
        r#"
require "socket"
near, far = UNIXSocket.pair
100_000.times { Fiber.new {}.resume }
50.times do
  Thread.new do
    near.write("t" * 5); Fiber.new { near.write("f" * 6) }.resume; near.write("t" * 5)
  end.join
  GC.start
end
values = Enumerator.new { |all| near.write("e" * 7); all << 1; near.write("e" * 7); all << 2 }
values.next; near.write("t" * 5); values.next
puts "done"
"#,
    );
    assert!(!log.senders(5).into_iter().any(goroutine::is_goroutine), "code of threads");
    let fibers: BTreeSet<u32> = log.senders(6).into_iter().collect();
    assert_eq!(fibers.len(), 50, "a fiber in each thread");
    // The table would be full if numbers did not end.
    assert!(fibers.into_iter().all(goroutine::is_goroutine));
    let [first, second] = log.senders(7)[..] else { panic!("two sends") };
    assert!(first == second && goroutine::is_goroutine(first));
    // Fibers without a message are not recorded.
    assert!(log.entries.len() < 1000, "{}", log.entries.len());
}

#[test]
fn a_fiber_runs_on_after_an_interrupt() {
    let recording = TestRecording::new();
    let log = log_of_script(
        &recording,
        r#"
require "socket"
near, far = UNIXSocket.pair
begun = Queue.new
thread = Thread.new do
  Fiber.new do
    begun << true; sleep
  rescue
    near.write("f" * 5); Fiber.new { near.write("g" * 6) }.resume; near.write("f" * 5)
  end.resume
  near.write("t" * 7)
end
begun.pop; thread.raise("now"); thread.join
puts "done"
"#,
    );
    let [one, two] = log.senders(5)[..] else { panic!("two sends") };
    assert!(one == two && goroutine::is_goroutine(one));
    assert_eq!(log.starters()[&log.senders(6)[0]], one);
    assert!(!goroutine::is_goroutine(log.senders(7)[0]));
}

#[test]
fn fibers_are_not_followed_if_the_user_says_so() {
    for value in ["0", "-python,-ruby"] {
        let recording = TestRecording::new();
        let mut command = recording.recorded_command(program_path("ruby"));
        command.env("SOCKCAP_RUNTIMES", value).args(["-e", SERVER]);
        assert_eq!(run_successfully(&mut command), "done\n");
        let log = recording.only_log();
        assert_eq!(log.starters(), BTreeMap::new(), "{value}");
        assert!(log.entries.iter().all(|entry| !goroutine::is_goroutine(entry.tid)), "{value}");
        assert!(unfollowed(&log)[0].starts_with("Ruby 3."), "{value}");
    }
}

/// Runtimes that the log names as not followed.
fn unfollowed(log: &ReadLog) -> Vec<String> {
    let runtimes = log.complete_records().filter_map(|record| match record {
        LogRecord::Uncaptured { what: UncapturedEvent::Runtime, object, .. } => {
            Some(object.to_string())
        }
        _ => None,
    });
    runtimes.collect()
}

#[test]
fn tasks_of_erlang_are_named() {
    let recording = TestRecording::new();
    let script = r#"
{ok, Listening} = gen_tcp:listen(0, [{active, false}]), {ok, Port} = inet:port(Listening),
spawn(fun() -> {ok, Near} = gen_tcp:accept(Listening), gen_tcp:send(Near, "hello") end),
{ok, Far} = gen_tcp:connect("127.0.0.1", Port, [{active, false}]),
{ok, Received} = gen_tcp:recv(Far, 5), io:format("~s~n", [Received]), halt().
"#;
    let mut command = recording.recorded_command(program_path("erl"));
    assert_eq!(run_successfully(command.args(["-noshell", "-eval", script])), "hello\n");
    // Other programs of Erlang that it starts are not the machine.
    let named: Vec<String> = recording.read_logs().iter().flat_map(unfollowed).collect();
    let [name] = &named[..] else { panic!("one machine: {named:?}") };
    assert!(name.starts_with("Erlang/OTP 2"), "{name}");
    let data = recording.data_dir();
    let shown = assert_succeeds(&["info", "-d", data.to_str().unwrap()], &data);
    assert!(shown.contains(&format!("tasks of {name}: beam.smp on host")), "{shown}");
}
