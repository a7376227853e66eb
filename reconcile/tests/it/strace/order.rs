//! A file for each thread, in any order, gives the same logs and messages as one file of all.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::imported::{Imported, import, lines};

const SERVER: u32 = 10;
const CLIENTS: [u32; 3] = [11, 12, 13];

/// Step of a run.
#[derive(Clone, Debug)]
enum Step {
    /// This client connects to the server.
    Opens(usize),
    /// A request of this size and its response, on this connection.
    Asks(usize, usize),
}

/// Lines of strace for a server and clients, which do not start each other: the thread and
/// the line of each call, 10 us apart.
struct Run {
    lines: Vec<(u32, String)>,
    /// Client of each connection.
    connections: Vec<u32>,
}

impl Run {
    fn new(steps: &[Step]) -> Run {
        let mut run = Run { lines: Vec::new(), connections: Vec::new() };
        run.call(SERVER, "socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3<TCP:[70]>");
        let any = "{sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr(\"127.0.0.1\")}";
        run.call(SERVER, &format!("bind(3<TCP:[70]>, {any}, 16) = 0"));
        run.call(SERVER, "listen(3<TCP:[127.0.0.1:80]>, 9) = 0");
        for step in steps {
            match *step {
                Step::Opens(client) => run.open(CLIENTS[client]),
                Step::Asks(number, bytes) => run.ask(number, bytes),
            }
        }
        run
    }

    fn call(&mut self, thread: u32, call: &str) {
        let time = 10 * (self.lines.len() + 1);
        self.lines.push((thread, format!("1700000000.{time:06} {call} <0.000003>")));
    }

    /// Descriptors of a connection with the names of its ends: the client's and the server's.
    fn descriptors(&self, number: usize) -> [String; 2] {
        let client = self.connections[number];
        let earlier = self.connections[..number].iter().filter(|of| **of == client).count();
        let (own, other) = (format!("127.0.0.1:{}", 40_000 + number), "127.0.0.1:80");
        [
            format!("{}<TCP:[{own}->{other}]>", 3 + earlier),
            format!("{}<TCP:[{other}->{own}]>", 4 + number),
        ]
    }

    fn open(&mut self, client: u32) {
        let number = self.connections.len();
        self.connections.push(client);
        let [own, accepted] = self.descriptors(number);
        let (fd, _) = own.split_once('<').unwrap();
        let [to, from] = [80, 40_000 + number].map(|port| {
            let port = format!("sin_port=htons({port})");
            format!("{{sa_family=AF_INET, {port}, sin_addr=inet_addr(\"127.0.0.1\")}}")
        });
        let socket = format!("{fd}<TCP:[{}]>", 100 + number);
        self.call(client, &format!("socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = {socket}"));
        self.call(client, &format!("connect({socket}, {to}, 16) = 0"));
        let listener = "3<TCP:[127.0.0.1:80]>";
        self.call(SERVER, &format!("accept4({listener}, {from}, [16], 0) = {accepted}"));
    }

    /// A request and its response, if there are connections.
    fn ask(&mut self, number: usize, bytes: usize) {
        let Some(number) = number.checked_rem(self.connections.len()) else { return };
        let client = self.connections[number];
        let [own, accepted] = self.descriptors(number);
        self.call(client, &format!("sendto({own}, \"\"..., {bytes}, 0, NULL, 0) = {bytes}"));
        let received = format!("recvfrom({accepted}, \"\"..., 1000, 0, NULL, NULL) = {bytes}");
        self.call(SERVER, &received);
        self.call(SERVER, &format!("sendto({accepted}, \"\"..., 70, 0, NULL, 0) = 70"));
        self.call(client, &format!("recvfrom({own}, \"\"..., 1000, 0, NULL, NULL) = 70"));
    }

    /// Imports the lines as one file of `strace -f`.
    fn import_whole(&self) -> Imported {
        let text: String =
            self.lines.iter().map(|(thread, line)| format!("{thread} {line}\n")).collect();
        lines(&text)
    }

    /// Imports the lines as the files of `strace -ff`, in the order of `threads`.
    fn import_files(&self, threads: &[u32]) -> Imported {
        let mut by_thread: BTreeMap<u32, String> = BTreeMap::new();
        for (thread, line) in &self.lines {
            *by_thread.entry(*thread).or_default() += &format!("{line}\n");
        }
        let directory = tempfile::tempdir().unwrap();
        let write = |thread: &u32| {
            let path = directory.path().join(format!("trace.{thread}"));
            fs::write(&path, by_thread.get(thread)?).unwrap();
            Some(path)
        };
        let files: Vec<PathBuf> = threads.iter().filter_map(write).collect();
        import(&files)
    }
}

/// The client begins while the server is the only known thread, and is a process of its own.
#[test]
fn files_of_programs_that_begin_one_after_the_other_are_several_processes() {
    let run = Run::new(&[Step::Opens(0), Step::Asks(0, 50)]);
    for threads in [[SERVER, CLIENTS[0]], [CLIENTS[0], SERVER]] {
        let imported = run.import_files(&threads);
        let dump = imported.dump();
        assert!(dump.contains("# (10, 0) ") && dump.contains("# (11, 0) "), "{dump}");
        assert_eq!(imported.messages(), [(0, 0, 50, true), (0, 1, 70, true)]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn files_of_threads_in_any_order_equal_one_file(
        steps in prop::collection::vec(
            prop_oneof![
                (0..CLIENTS.len()).prop_map(Step::Opens),
                (0usize..9, 1usize..300).prop_map(|(number, bytes)| Step::Asks(number, bytes)),
            ],
            1..30,
        ),
        threads in Just(vec![SERVER, CLIENTS[0], CLIENTS[1], CLIENTS[2]]).prop_shuffle(),
    ) {
        let run = Run::new(&steps);
        let (whole, files) = (run.import_whole(), run.import_files(&threads));
        prop_assert_eq!(whole.dump(), files.dump());
        prop_assert_eq!(whole.messages(), files.messages());
    }
}
