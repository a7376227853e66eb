//! The units of `scripts/packaging/` under a real systemd, which is process 1 of separate
//! namespaces that contain only these units: they start unmodified, ship recorded logs, restart
//! when they are killed, reject a revoked key, and remove shipped logs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use end_to_end::capture::{preloaded_library, program_path, python_path, run_successfully};
use end_to_end::gathering::wait_until;
use end_to_end::{repository, sockcap_program};
use tempfile::TempDir;

/// Makes a small system from this one: its programs, and separate directories where systemd and the
/// units write. Then it executes systemd.
const BOOT: &str = r#"
set -e
# As on a system that was booted: what is mounted in one namespace is seen in those made from it.
mount --make-rprivate / && mount --make-rshared /
mount -t proc proc /proc
umount --lazy /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for directory in /run /var/lib; do mount -t tmpfs -o mode=755 tmpfs $directory; done
for directory in /etc /usr/bin; do
  mkdir -p "$WORK/upper$directory" "$WORK/work$directory"
  mount -t overlay -o "lowerdir=$directory,upperdir=$WORK/upper$directory,workdir=$WORK/work$directory" overlay $directory
done
cp "$SOCKCAP" /usr/bin/sockcap
mkdir -p /etc/sockcap /var/lib/private
cp "$WORK"/etc/* /etc/sockcap/
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
systemd-sysusers "$DIST/sockcap.sysusers"
ip link set lo up
export container=test SYSTEMD_UNIT_PATH="$WORK/units"
exec /lib/systemd/systemd --system --unit=try.target --show-status=no
"#;

/// A small system.
struct BootedSystem {
    directory: TempDir,
    outside: Child,
    first: String,
}

impl BootedSystem {
    fn new() -> BootedSystem {
        let directory = TempDir::new().unwrap();
        let work = directory.path();
        let dist = repository().join("scripts/packaging");
        for name in ["etc", "units"] {
            fs::create_dir(work.join(name)).unwrap();
        }
        // The targets that units refer to, and nothing else of this machine.
        for target in ["sysinit", "basic", "network-online", "multi-user", "shutdown"] {
            let text = "[Unit]\nDefaultDependencies=no\n";
            fs::write(work.join(format!("units/{target}.target")), text).unwrap();
        }
        let wanted =
            "[Unit]\nDefaultDependencies=no\nWants=sockcap-collect.service sockcap-ship.service\n";
        fs::write(work.join("units/try.target"), wanted).unwrap();
        for unit in ["collect", "ship"] {
            let name = format!("sockcap-{unit}.service");
            fs::copy(dist.join(&name), work.join("units").join(&name)).unwrap();
            // There is no journal.
            let drop_in = work.join(format!("units/{name}.d"));
            fs::create_dir(&drop_in).unwrap();
            let log = format!(
                "[Service]\nStandardOutput=append:/run/{unit}.log\nStandardError=append:/run/{unit}.log\n"
            );
            fs::write(drop_in.join("log.conf"), log).unwrap();
        }
        let keys = |arguments: &[&str]| {
            run_successfully(
                Command::new(sockcap_program())
                    .arg("keys")
                    .args(arguments)
                    .arg("--keys")
                    .arg(work.join("keys")),
            )
        };
        keys(&["new"]);
        keys(&["host", "web1"]);
        fs::copy(work.join("keys/collector.pem"), work.join("etc/collector.pem")).unwrap();
        fs::copy(work.join("keys/web1.pem"), work.join("etc/host.pem")).unwrap();
        fs::write(work.join("etc/ship"), "COLLECTOR=127.0.0.1:9712\n").unwrap();
        assert!(Path::new("/lib/systemd/systemd").exists(), "install systemd");
        let outside = Command::new(program_path("unshare"))
            .args([
                "--pid",
                "--fork",
                "--mount",
                "--ipc",
                "--uts",
                "--cgroup",
                "--net",
                "--kill-child",
            ])
            .args(["sh", "-c", BOOT])
            .env("WORK", work)
            .env("DIST", dist)
            .env("SOCKCAP", sockcap_program())
            .stdin(Stdio::null())
            .stdout(Stdio::from(fs::File::create(work.join("said")).unwrap()))
            .stderr(Stdio::from(fs::File::options().append(true).open(work.join("said")).unwrap()))
            .spawn()
            .unwrap();
        let children = format!("/proc/{0}/task/{0}/children", outside.id());
        let mut first = String::new();
        wait_until("it has a first process", || {
            first = fs::read_to_string(&children).unwrap_or_default().trim().to_owned();
            !first.is_empty()
        });
        let booted = BootedSystem { directory, outside, first };
        wait_until("systemd answers", || booted.try_run("systemctl is-active try.target").is_ok());
        booted
    }

    /// Runs a command inside; returns its output if it succeeds, or else its error text.
    fn try_run(&self, command: &str) -> Result<String, String> {
        let output = Command::new(program_path("nsenter"))
            .args(["--target", &self.first, "--all", "sh", "-c", command])
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn run_inside(&self, command: &str) -> String {
        self.try_run(command).unwrap_or_else(|said| {
            let logs =
                self.try_run("tail -n 20 /run/*.log; systemctl --no-pager status 'sockcap*'");
            panic!(
                "{command}: {said}\n{logs:?}\n{}",
                fs::read_to_string(self.path_inside("said")).unwrap()
            )
        })
    }

    fn path_inside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Records a program that uses a socket.
    fn record_program(&self) {
        let script = "import socket; a, b = socket.socketpair(); a.send(b'x'); b.recv(9)";
        self.run_inside(&format!(
            "SOCKCAP_LIBRARY={} sockcap record -d /var/lib/sockcap --host web1 -- {} -c \"{script}\"",
            preloaded_library().display(),
            python_path().display(),
        ));
    }

    fn list_logs(&self, data: &str) -> Vec<String> {
        let listed = self.try_run(&format!("ls /var/lib/{data}/hosts/web1")).unwrap_or_default();
        listed.lines().filter(|name| name.ends_with(".sclog")).map(str::to_owned).collect()
    }

    fn gathers_all(&self) {
        wait_until("all is gathered", || {
            self.list_logs("sockcap-collected") == self.list_logs("sockcap")
        });
    }
}

impl Drop for BootedSystem {
    fn drop(&mut self) {
        let _ = self.outside.kill();
        let _ = self.outside.wait();
    }
}

#[test]
fn the_units_run_under_a_real_systemd() {
    let booted = BootedSystem::new();
    booted.record_program();
    assert!(!booted.list_logs("sockcap").is_empty());
    booted.gathers_all();
    // Neither shipper nor collector runs as root, or with more rights than necessary.
    let status = |unit: &str, field: &str| {
        booted.run_inside(&format!(
            "grep ^{field}: /proc/$(systemctl show -P MainPID sockcap-{unit})/status | cut -f2"
        ))
    };
    for unit in ["collect", "ship"] {
        assert_ne!(status(unit, "Uid").trim(), "0", "{unit}");
        assert_eq!(status(unit, "NoNewPrivs").trim(), "1", "{unit}");
    }
    assert_eq!(status("collect", "CapBnd").trim(), "0000000000000000");
    assert_eq!(
        status("ship", "CapBnd").trim(),
        "0000000010000004",
        "reading what is others', and leases"
    );

    // Killed units restart, and continue.
    for unit in ["collect", "ship"] {
        booted.run_inside(&format!("systemctl kill --signal=KILL sockcap-{unit}"));
        wait_until("it was started again", || {
            booted.run_inside(&format!("systemctl show -P NRestarts sockcap-{unit}")).trim() == "1"
        });
    }
    booted.record_program();
    booted.gathers_all();

    // The purpose of the drop-in.
    let drop_in = repository().join("scripts/packaging/sockcap-ship.service.d/remove-shipped.conf");
    fs::copy(drop_in, booted.path_inside("units/sockcap-ship.service.d/remove.conf")).unwrap();
    let before = booted.list_logs("sockcap");
    booted.run_inside("systemctl daemon-reload && systemctl restart sockcap-ship");
    wait_until("what was shipped is removed", || booted.list_logs("sockcap").is_empty());
    assert_eq!(booted.list_logs("sockcap-collected"), before);

    // A revoked key is rejected by a running collector.
    let revoke = ["keys", "revoke", "web1", "--keys"];
    run_successfully(Command::new(sockcap_program()).args(revoke).arg(booted.path_inside("keys")));
    booted.run_inside(&format!(
        "install -m 644 {} /etc/sockcap/revoked.crl",
        booted.path_inside("keys/revoked.crl").display()
    ));
    wait_until("it is turned away", || {
        booted.run_inside("cat /run/ship.log").contains("our certificate was revoked")
    });
    assert_eq!(booted.run_inside("systemctl show -P NRestarts sockcap-collect").trim(), "1");

    // Shipper and collector end normally.
    booted.run_inside("systemctl stop sockcap-ship sockcap-collect");
    for unit in ["collect", "ship"] {
        assert_eq!(
            booted.run_inside(&format!("systemctl show -P Result sockcap-{unit}")).trim(),
            "success"
        );
    }
}
