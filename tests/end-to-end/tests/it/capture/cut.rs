//! Logs with memory that the kernel can no longer provide: the file is truncated or replaced, its
//! disk is full and copies on write, or has failed. The program continues as it would without
//! sockcap, and its own SIGBUS is delivered to it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use end_to_end::capture::{
    TestRecording, program_path, python_path, resources_library, run_successfully,
};
use end_to_end::sockcap_program;
use socket_log::layout::lost;

/// Sends and receives a byte, many times, with an action in between.
const MEANWHILE: &str = "import glob, os, socket, subprocess, sys\n\
                         a, b = socket.socketpair()\n\
                         for n in range(100000):\n    \
                             if n == 1000: log = glob.glob(sys.argv[2] + '/*.sclog')[0]; exec(sys.argv[1])\n    \
                             a.send(b'x'); b.recv(1)\n\
                         os.write(1, b'unharmed\\n')";

/// Runs the program that sends and receives, with `action` in between.
fn record_meanwhile(recording: &TestRecording, action: &str) -> Output {
    let mut command = recording.recorded_command(python_path());
    command.args(["-c", MEANWHILE, action]).arg(recording.data_dir().join("hosts/host"));
    command.output().unwrap()
}

/// Runs that program with `action`, and checks that it ends normally.
#[track_caller]
fn is_unharmed(recording: &TestRecording, action: &str) {
    let output = record_meanwhile(recording, action);
    let (status, said) = (output.status, String::from_utf8_lossy(&output.stderr));
    assert!(status.success() && output.stdout == b"unharmed\n", "{action}: {status}: {said}");
}

#[test]
fn a_log_that_is_truncated_or_replaced_while_it_is_written_harms_no_program() {
    for action in [
        "os.truncate(log, 0)",
        "os.truncate(log, 5000)",
        // As logrotate's `copytruncate` does, and as a user might in a shell.
        "subprocess.run(['cp', log, log + '.1']); os.truncate(log, 0)",
        "subprocess.run(['sh', '-c', ': > \"$1\"', 'sh', log])",
        "os.truncate(log, 0); os.fork()",
        "os.truncate(log, 0); os.truncate(log, 1 << 20)",
        "os.unlink(log); open(log, 'w').close()",
        "os.rename(log, log + '.1'); os.mkfifo(log)",
        "os.rename(log, log + '.1'); os.symlink('/dev/null', log)",
    ] {
        let recording = TestRecording::new();
        let output = record_meanwhile(&recording, action);
        let said = String::from_utf8_lossy(&output.stdout);
        let times = 1 + usize::from(action.contains("fork"));
        assert_eq!(said, "unharmed\n".repeat(times), "{action}: {}", output.status);
        assert!(output.status.success(), "{action}: {}", output.status);
    }
}

#[test]
fn another_file_in_a_logs_place_is_not_written() {
    let recording = TestRecording::new();
    let action = "os.rename(log, log + '.1'); f = open(log, 'w'); f.write('mine'); f.close()";
    is_unharmed(&recording, action);
    let directory = recording.data_dir().join("hosts/host");
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let (old, new): (Vec<_>, Vec<_>) =
        files.partition(|path| path.extension().is_some_and(|extension| extension == "1"));
    assert_eq!(fs::read(&new[0]).unwrap(), b"mine");
    let log = old[0].with_file_name("1-1.sclog");
    fs::remove_file(&new[0]).unwrap();
    fs::rename(&old[0], &log).unwrap();
    assert!(recording.only_log().log.header().lost[lost::REFUSED] > 100_000, "and that is counted");
}

/// The output and the status of `bus`, alone and recorded.
fn alone_and_recorded(arguments: &[&str]) -> [(String, Option<i32>, Option<i32>); 2] {
    let recording = TestRecording::new();
    let bus = recording.compile_program("bus");
    let alone = {
        let mut command = Command::new(&bus);
        command.current_dir(recording.file_path(""));
        command
    };
    [alone, recording.recorded_command(&bus)].map(|mut command| {
        let output = command.args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (said, output.status.code(), output.status.signal())
    })
}

#[test]
fn a_program_reads_back_its_own_signal_actions_and_masks() {
    let [alone, recorded] = alone_and_recorded(&["view"]);
    assert!(alone.1 == Some(0) && alone.0.contains("waited: 0 7"), "{alone:?}");
    assert_eq!(recorded, alone);
}

#[test]
fn a_fault_of_the_program_itself_has_the_same_effect() {
    for what in ["own", "sent"] {
        for how in ["default", "siginfo", "nodefer", "stack", "once", "signal"] {
            let [alone, recorded] = alone_and_recorded(&[what, how]);
            assert!(alone.0.contains("handler of 7") || alone.2 == Some(7), "{alone:?}");
            assert_eq!(recorded, alone, "{what} {how}");
        }
    }
}

#[test]
fn a_truncated_log_harms_no_program_whatever_it_does_with_the_signal() {
    let hows = [
        "default", "siginfo", "early", "stack", "signal", "blocked", "masked", "handler", "thread",
    ];
    let recording = TestRecording::new();
    let bus = recording.compile_program("bus");
    for how in hows {
        for resources in [false, true] {
            let recording = TestRecording::new();
            let mut command = recording.recorded_command(&bus);
            if resources {
                command.env("LD_PRELOAD", resources_library());
            }
            command.args(["cut", how]).arg(recording.data_dir().join("hosts/host"));
            let output = command.output().unwrap();
            assert_eq!(
                (output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()),
                (Some(0), "unharmed\n"),
                "{how}: {}",
                output.status
            );
        }
    }
}

/// Servers that run until they are dropped.
struct RunningServers(Child);

impl Drop for RunningServers {
    fn drop(&mut self) {
        // A killed server would leave its workers.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

#[test]
fn servers_answer_after_their_logs_were_truncated() {
    let recording = TestRecording::new();
    let port = free_port();
    let configuration = recording.file_path("nginx.conf");
    let root = recording.file_path("");
    let text = format!(
        "daemon off; worker_processes 2; pid {0}/nginx.pid; error_log {0}/error.log;\n\
         events {{}}\n\
         http {{ access_log off; server {{ listen 127.0.0.1:{port}; location / {{ return 200 'well'; }} }} }}",
        root.display()
    );
    fs::write(&configuration, text).unwrap();
    let socket = recording.file_path("redis.sock");
    let nginx = recording
        .recorded_command(program_path("nginx"))
        .arg("-c")
        .arg(&configuration)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let redis = recording
        .recorded_command(program_path("redis-server"))
        .args(["--port", "0", "--save", "", "--unixsocket"])
        .arg(&socket)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut servers = [RunningServers(nginx), RunningServers(redis)];
    let web = || {
        let output = Command::new(program_path("curl"))
            .args(["-s", "-m", "5", &format!("http://127.0.0.1:{port}/")])
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let cache = || {
        let output = Command::new(program_path("redis-cli"))
            .arg("-s")
            .arg(&socket)
            .args(["set", "key", "value"])
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    await_answer(|| web() == "well" && cache() == "OK\n");
    let logs =
        || fs::read_dir(recording.data_dir().join("hosts/host")).unwrap().map(|log| log.unwrap());
    // The workers may not have begun theirs with the first request.
    let cut = || {
        for log in logs() {
            fs::File::options().write(true).open(log.path()).unwrap().set_len(0).unwrap();
        }
    };
    assert!(logs().count() >= 2);
    for _ in 0..20 {
        cut();
        for _ in 0..10 {
            assert_eq!((web().as_str(), cache().as_str()), ("well", "OK\n"));
        }
    }
    for server in &mut servers {
        assert_eq!(server.0.try_wait().unwrap(), None, "it lives");
    }
}

/// A currently unused port.
fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Waits until a condition holds. A busy machine may start servers late.
fn await_answer(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "no answer within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// File system that is mounted over the data directory until it is dropped.
struct MountedDisk {
    mounted: PathBuf,
    /// Whether it is in memory, in place of a file system that this machine's kernel lacks.
    is_stand_in: bool,
}

impl MountedDisk {
    /// Makes a file system in a file. If the kernel lacks the file system, standard error reports
    /// it, and [a stand-in](Disk::stand_in) tests the guard. Fails for any other cause.
    #[track_caller]
    fn mount_disk(recording: &TestRecording, kind: &str) -> MountedDisk {
        let image = recording.file_path("disk");
        fs::File::create(&image).unwrap().set_len(400 << 20).unwrap();
        let tool = program_path(&format!("mkfs.{kind}"));
        run_successfully(Command::new(tool).arg("-q").arg(&image));
        fs::create_dir_all(recording.data_dir()).unwrap();
        let output = Command::new(program_path("mount"))
            .args(["-o", "loop", "-t", kind])
            .arg(&image)
            .arg(recording.data_dir())
            .output()
            .unwrap();
        if output.status.success() {
            return MountedDisk { mounted: recording.data_dir(), is_stand_in: false };
        }
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(!kernel_has(kind), "the kernel has {kind}, which cannot be mounted: {why}");
        // Written directly, as the test harness hides the output of successful tests.
        let said = format!("no {kind} in the kernel, holes in logs test the guard: {why}");
        io::stderr().write_all(said.as_bytes()).unwrap();
        MountedDisk::stand_in(recording)
    }

    /// Makes a file system in memory. [The script that fills it](Disk::fill) removes pages of the
    /// log, so that the kernel can no longer provide them, as on a full disk.
    fn stand_in(recording: &TestRecording) -> MountedDisk {
        fs::create_dir_all(recording.data_dir()).unwrap();
        let mut command = Command::new(program_path("mount"));
        run_successfully(
            command.args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"]).arg(recording.data_dir()),
        );
        MountedDisk { mounted: recording.data_dir(), is_stand_in: true }
    }

    /// Python code that fills the file system to the last block, after the code `first`.
    fn fill_script(&self, first: &str) -> String {
        let first = if self.is_stand_in { PUNCH } else { first };
        format!("{first}\n{FILL}")
    }
}

/// Whether the kernel has the file system, built in or as a module.
fn kernel_has(kind: &str) -> bool {
    let known = fs::read_to_string("/proc/filesystems").unwrap();
    if known.lines().any(|line| line.split_whitespace().next_back() == Some(kind)) {
        return true;
    }
    // If the tool is not installed, there are no modules.
    ["/sbin/modprobe", "/usr/sbin/modprobe"]
        .iter()
        .any(|tool| Command::new(tool).args(["-q", "-n", kind]).status().is_ok_and(|s| s.success()))
}

impl Drop for MountedDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.mounted).status();
    }
}

/// Python: makes a hole in the unwritten part of the logs.
const PUNCH: &str = "import glob, os, subprocess\n\
                     logs = os.environ['SOCKCAP_DIR'] + '/hosts/host/*.sclog'\n\
                     for path in glob.glob(logs):\n    \
                         with open(path, 'rb') as f: written = len(f.read().rstrip(b'\\0'))\n    \
                         start, end = -(-written // 4096) * 4096, os.path.getsize(path)\n    \
                         hole = ['-p', '-o', str(start), '-l', str(end - start)]\n    \
                         if start < end: subprocess.run(['fallocate', *hole, path], check=True)";

/// Python: fills the disk to the last block, after the data written so far is on it.
const FILL: &str = "root = os.environ['SOCKCAP_DIR']\n\
                    with open(root + '/fill', 'wb', buffering=0) as f:\n    \
                        size = 1 << 30\n    \
                        while size >= 4096:\n        \
                            try: os.posix_fallocate(f.fileno(), f.seek(0, 2), size)\n        \
                            except OSError: size //= 2\n\
                    try:\n    \
                        with open(root + '/rest', 'wb', buffering=0) as f:\n        \
                            while f.write(bytes(4096)): pass\n\
                    except OSError: pass\n\
                    os.system('sync -f ' + root)\n";

#[test]
fn a_full_copy_on_write_disk_harms_no_program() {
    let recording = TestRecording::new();
    let disk = MountedDisk::mount_disk(&recording, "btrfs");
    is_unharmed(&recording, &disk.fill_script(""));
    tells_that_it_is_full(&recording);
    if !disk.is_stand_in {
        let log = recording.only_log();
        let marks = run_successfully(Command::new(program_path("lsattr")).arg(log.log.path()));
        assert!(marks.split(' ').next().unwrap().contains('C'), "it is written in place: {marks}");
    }
    drop(disk);
}

/// Checks a log on a disk that was full early.
#[track_caller]
fn tells_that_it_is_full(recording: &TestRecording) {
    let log = recording.only_log();
    let count = log.log.header().lost;
    assert_eq!(count.iter().sum::<u64>(), count[lost::NO_SPACE], "for this cause alone");
    assert!(count[lost::NO_SPACE] > 100_000, "{count:?}");
    assert_eq!(log.damage, []);
    let info = run_successfully(
        Command::new(sockcap_program()).arg("info").arg("-d").arg(recording.data_dir()),
    );
    assert!(info.contains("disk full"), "{info}");
}

#[test]
fn a_full_disk_without_blocks_for_the_log_harms_no_program() {
    let recording = TestRecording::new();
    let disk = MountedDisk::stand_in(&recording);
    is_unharmed(&recording, &disk.fill_script(""));
    tells_that_it_is_full(&recording);
    drop(disk);
}

#[test]
fn a_full_disk_with_a_snapshot_of_the_log_harms_no_program() {
    let recording = TestRecording::new();
    let disk = MountedDisk::mount_disk(&recording, "btrfs");
    if !disk.is_stand_in {
        let hosts = recording.data_dir().join("hosts");
        run_successfully(
            Command::new(program_path("btrfs")).args(["-q", "subvolume", "create"]).arg(hosts),
        );
    }
    // From then on each block is copied before it is written.
    let snapshot = "subprocess.run(['btrfs', '-q', 'subvolume', 'snapshot', \
                    os.environ['SOCKCAP_DIR'] + '/hosts', os.environ['SOCKCAP_DIR'] + '/kept'], \
                    check=True)";
    is_unharmed(&recording, &disk.fill_script(snapshot));
    drop(disk);
}

#[test]
fn a_full_disk_with_a_copy_that_shares_the_logs_blocks_harms_no_program() {
    let recording = TestRecording::new();
    let disk = MountedDisk::mount_disk(&recording, "xfs");
    let copy = "subprocess.run(['cp', '--reflink=always', log, os.environ['SOCKCAP_DIR'] + '/c'], \
                check=True)";
    is_unharmed(&recording, &disk.fill_script(copy));
    drop(disk);
}

#[test]
fn a_failing_disk_harms_no_program() {
    let recording = TestRecording::new();
    let disk = MountedDisk::mount_disk(&recording, "xfs");
    // The kernel's own method to test this: nothing reaches the disk from here on.
    let fail = "import fcntl, struct; root = os.open(os.environ['SOCKCAP_DIR'], os.O_RDONLY)\n\
                fcntl.ioctl(root, 0x8004587d, struct.pack('I', 2)); os.close(root)";
    if disk.is_stand_in {
        is_unharmed(&recording, &disk.fill_script(""));
    } else {
        is_unharmed(&recording, fail);
    }
    drop(disk);
}

#[test]
fn servers_answer_on_a_full_disk() {
    let recording = TestRecording::new();
    let disk = MountedDisk::mount_disk(&recording, "btrfs");
    let socket = recording.file_path("redis.sock");
    let redis = recording
        .recorded_command(program_path("redis-server"))
        .args(["--port", "0", "--save", "", "--unixsocket"])
        .arg(&socket)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut server = RunningServers(redis);
    let client = |requests: &str| {
        let output = Command::new(program_path("redis-benchmark"))
            .args(["-q", "-t", "set", "-n", requests, "-s"])
            .arg(&socket)
            .output()
            .unwrap();
        output.status.success()
    };
    await_answer(|| socket.exists() && client("100"));
    let fill = disk.fill_script("import os");
    run_successfully(
        Command::new(python_path()).args(["-c", &fill]).env("SOCKCAP_DIR", recording.data_dir()),
    );
    assert!(client("50000"), "it answers");
    assert_eq!(server.0.try_wait().unwrap(), None, "it lives");
    drop(server);
    drop(disk);
}
