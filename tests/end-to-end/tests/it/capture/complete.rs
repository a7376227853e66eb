//! Completeness: every function of the table is interposed, and calls that libc makes internally
//! are recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use end_to_end::capture::{
    ReadLog, TestRecording, preloaded_library, program_path, run_successfully,
};
use socket_log::LogRecord;
use socket_log::api::Api;
use socket_log::encode::Direction::{Receive, Send};
use socket_log::encode::{Direction, ProcessEvent};

/// The interposed functions, by group.
const TABLE: &[(&str, &str)] = &[
    ("addon of Node.js", "napi_register_module_v1 node_api_module_get_api_version_v1"),
    (
        "read",
        "read __read readv pread pread64 __pread64 preadv preadv64 preadv2 preadv64v2 recv recvfrom recvmsg \
         recvmmsg __read_chk __pread_chk __pread64_chk __recv_chk __recvfrom_chk",
    ),
    (
        "write",
        "write __write writev pwrite pwrite64 __pwrite64 pwritev pwritev64 pwritev2 pwritev64v2 send __send sendto \
         sendmsg sendmmsg __sendmmsg",
    ),
    ("zero-copy", "sendfile sendfile64 splice tee vmsplice copy_file_range"),
    (
        "lifecycle",
        "socket socketpair bind listen accept accept4 connect __connect setsockopt shutdown close __close close_range closefrom",
    ),
    ("aliases", "dup dup2 __dup2 dup3 fcntl fcntl64 __fcntl pidfd_getfd"),
    (
        "process",
        "fork __fork _Fork vfork __vfork clone __clone daemon forkpty posix_spawn posix_spawnp pidfd_spawn \
         pidfd_spawnp execve execv execvp execvpe execl execlp execle fexecve execveat _exit _Exit quick_exit \
         chroot pivot_root unshare setns prctl setuid seteuid setreuid setresuid \
         setrlimit setrlimit64 prlimit prlimit64 system wordexp",
    ),
    ("threads", "pthread_create"),
    ("raw", "syscall"),
    (
        "resolver",
        "getaddrinfo getnameinfo gethostbyname gethostbyname2 gethostbyname_r gethostbyname2_r gethostbyaddr \
         gethostbyaddr_r res_query __res_query res_nquery __res_nquery res_search __res_search res_nsearch \
         __res_nsearch res_querydomain __res_querydomain res_nquerydomain __res_nquerydomain res_send __res_send \
         res_nsend __res_nsend",
    ),
    (
        "files",
        "fdopen fclose freopen freopen64 fopen fopen64 popen pclose dprintf vdprintf __dprintf_chk __vdprintf_chk \
         syslog vsyslog __syslog_chk __vsyslog_chk",
    ),
    (
        "descriptors",
        "open open64 __open __open64 openat openat64 __open_2 __open64_2 __openat_2 __openat64_2 creat creat64 \
         mkstemp mkstemp64 mkostemp mkostemp64 memfd_create pipe pipe2 eventfd timerfd_create signalfd epoll_create \
         epoll_create1 inotify_init inotify_init1 pidfd_open posix_openpt openpty",
    ),
    ("libraries", "dlopen dlclose"),
    (
        "signals",
        "sigaction __sigaction signal bsd_signal ssignal sysv_signal __sysv_signal sigset sigprocmask pthread_sigmask",
    ),
    ("others", "__asan_default_options sockcap_library"),
    (
        "tls",
        "SSL_read SSL_read_ex SSL_peek SSL_peek_ex SSL_write SSL_write_ex SSL_free gnutls_record_recv \
         gnutls_record_recv_seq gnutls_record_send gnutls_record_send2 gnutls_record_send_range gnutls_deinit \
         PR_Read PR_Write PR_Recv PR_Send PR_Writev PR_Close",
    ),
    (
        "waiting",
        "poll __poll ppoll __poll_chk __ppoll_chk select __select pselect epoll_wait epoll_pwait epoll_pwait2",
    ),
];

#[test]
fn the_exports_are_the_table() {
    let symbols = run_successfully(
        Command::new(program_path("nm")).args(["-D", "--defined-only"]).arg(preloaded_library()),
    );
    let exported: BTreeSet<&str> =
        symbols.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
    let table: BTreeSet<&str> =
        TABLE.iter().flat_map(|(_, names)| names.split_whitespace()).collect();
    assert_eq!(exported, table);
}

fn sent_sizes(log: &ReadLog, wanted: Direction) -> Vec<u64> {
    let bytes = log.complete_records().filter_map(|record| match record {
        LogRecord::Transfer { direction, bytes, .. } if *direction == wanted => Some(*bytes),
        _ => None,
    });
    bytes.collect()
}

/// The hidden calls: the function, whether on a known flow, and the result.
fn hidden_calls(log: &ReadLog) -> Vec<(Api, u32, i32)> {
    let calls = log.complete_records().filter_map(|record| match record {
        LogRecord::Call(call) => Some((call.api, call.flow, call.result)),
        _ => None,
    });
    calls.collect()
}

fn record_hidden(way: &str) -> TestRecording {
    let recording = TestRecording::new();
    let binary = recording.compile_program("hidden");
    assert_eq!(run_successfully(recording.recorded_command(binary).arg(way)), "right\n", "{way}");
    recording
}

#[test]
fn text_that_libc_prints_to_a_stream_is_a_send() {
    let log = record_hidden("print").only_log();
    let printed = sent_sizes(&log, Send);
    assert_eq!(printed.len(), 4);
    assert_eq!(printed, sent_sizes(&log, Receive), "libc's own result is what came out");
}

#[test]
fn calls_of_the_resolver_are_recorded() {
    let recording = record_hidden("resolve");
    let log = recording.only_log();
    let expected = [
        (Api::GetAddrInfo, 0, 0),
        (Api::GetNameInfo, 0, 0),
        (Api::GetAddrInfo, 0, -2),
        (Api::GetHostByName, 0, 0),
        (Api::GetHostByName, 0, 0),
        (Api::ResQuery, 0, -1),
    ];
    assert_eq!(hidden_calls(&log), expected);
    let bytes = fs::read(log.log.path()).unwrap();
    assert!(!bytes.windows(12).any(|window| window == b"name.example"), "names are not looked at");
}

#[test]
fn files_of_libc_keep_the_table_right() {
    let recording = record_hidden("files");
    let log = &recording.read_logs()[0];
    let expected = [
        (Api::FdOpen, 1, 0),
        (Api::FClose, 1, 0),
        (Api::POpen, 0, 0),
        (Api::PClose, 0, 0),
        (Api::Syslog, 0, 0),
        (Api::Syslog, 0, 0),
    ];
    assert_eq!(hidden_calls(log), expected);
    let closed: Vec<_> =
        log.complete_records().filter(|record| matches!(record, LogRecord::Close { .. })).collect();
    assert_eq!(closed, [&LogRecord::Close { flow: 1, fd: 3 }], "by fclose");
    assert!(
        log.complete_records()
            .any(|record| *record == LogRecord::Duplicate { flow: 2, old: 4, new: 3 })
    );
}

#[test]
fn a_thread_names_its_creator() {
    let log = record_hidden("threads").only_log();
    let mut speakers = BTreeMap::<u32, u32>::new();
    for entry in &log.entries {
        if let LogRecord::Thread { creator, .. } = entry.record {
            assert_eq!(creator, log.log.header().pid);
            *speakers.entry(entry.tid).or_default() += 1;
        }
    }
    assert_eq!(sent_sizes(&log, Send).len(), 50);
    // An id may recur; a thread without records takes no room.
    assert_eq!(speakers.values().sum::<u32>(), 50);
    assert!(log.log.length() < 400_000, "{}", log.log.length());
}

#[test]
fn rare_ways_of_making_processes_are_followed() {
    let recording = record_hidden("processes");
    let logs = recording.read_logs();
    let parent = &logs[0];
    assert_eq!(sent_sizes(parent, Send), [1, 5], "what the children said is theirs");
    let mut children: Vec<_> = logs[1..].iter().map(|log| sent_sizes(log, Send)).collect();
    children.sort();
    // The child that shared its parent's memory has no log; the one that became a daemon has the
    // daemon's.
    assert_eq!(children, [[2], [4], [6]]);
    let forks: Vec<i32> = parent
        .complete_records()
        .filter_map(|record| match record {
            LogRecord::Process { event: ProcessEvent::Fork, value } => Some(*value),
            _ => None,
        })
        .collect();
    assert_eq!(forks.len(), 3);
    let daemon = logs.iter().find(|log| sent_sizes(log, Send) == [6]).unwrap();
    let first_half = daemon.log.header().ancestors.last().map(|ancestor| ancestor.pid as i32);
    assert_eq!(first_half, Some(forks[2]));
}

#[test]
fn a_library_cannot_pass_the_hooks_by() {
    let recording = TestRecording::new();
    let (binary, plugin) = (recording.compile_program("hidden"), recording.file_path("plugin.so"));
    fs::write(
        recording.file_path("plugin.c"),
        "#include <sys/socket.h>\nlong say_it(int fd) { return send(fd, \"deep!\", 5, 0); }\n",
    )
    .unwrap();
    let source = recording.file_path("plugin.c");
    run_successfully(
        Command::new(program_path("cc")).args(["-shared", "-fPIC", "-o"]).arg(&plugin).arg(source),
    );
    assert_eq!(
        run_successfully(recording.recorded_command(binary).arg("deepbind").arg(&plugin)),
        "right\n"
    );
    let log = recording.only_log();
    assert_eq!(sent_sizes(&log, Send), [5]);
    assert_eq!(hidden_calls(&log), [(Api::DlOpenDeepBind, 0, 0x8 | 0x2)]);
}
