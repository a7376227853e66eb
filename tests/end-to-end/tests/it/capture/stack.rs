//! Stack usage of the hooks: they run wherever the program can call libc, including small alternate
//! stacks.

use std::collections::BTreeMap;
use std::process::Command;

use end_to_end::capture::{TestRecording, preloaded_library, resources_library, run_successfully};

/// Maximum stack usage of a hook in addition to libc's own function, in bytes: an alternate stack
/// has at least this size (`MINSIGSTKSZ`).
const MAX_FRAME_BYTES: usize = 2048;

fn taken_stack(printed: &str) -> BTreeMap<String, usize> {
    let lines = printed.lines().map(|line| line.split_once(' ').expect("a call and its bytes"));
    lines.map(|(call, bytes)| (call.to_owned(), bytes.parse().unwrap())).collect()
}

#[test]
fn no_hook_uses_more_stack_than_the_smallest_has() {
    let recording = TestRecording::new();
    let program = recording.compile_program("stack");
    // The dynamic linker would use more than everything else when it binds a name.
    let bare = taken_stack(&run_successfully(Command::new(&program).env("LD_BIND_NOW", "1")));
    assert!(bare.len() > 15, "{bare:?}");
    let all = [
        ("SOCKCAP_WAITS", "1"),
        ("SOCKCAP_CPU", "1"),
        ("SOCKCAP_FINGERPRINT", "1000"),
        ("SOCKCAP_PROTOCOLS", "1"),
    ];
    let newest =
        [("SOCKCAP_MAX_BYTES", "64K"), ("SOCKCAP_WHEN_FULL", "newest"), ("SOCKCAP_PROTOCOLS", "1")];
    let [plain, resources] = [preloaded_library(), resources_library()];
    let ways = [
        (plain, &[][..]),
        (plain, &all),
        (plain, &newest),
        (resources, &all),
        (resources, &newest),
    ];
    for (library, options) in ways {
        let recording = TestRecording::new();
        let mut command = recording.recorded_command(&program);
        command.env("LD_PRELOAD", library).env("LD_BIND_NOW", "1");
        let hooked = taken_stack(&run_successfully(command.envs(options.iter().copied())));
        let more: BTreeMap<&String, usize> =
            hooked.iter().map(|(call, bytes)| (call, bytes.saturating_sub(bare[call]))).collect();
        println!("{options:?}: {more:?}");
        let too_much: BTreeMap<_, _> =
            more.iter().filter(|(_, bytes)| **bytes > MAX_FRAME_BYTES).collect();
        assert!(too_much.is_empty(), "{options:?}: {too_much:?}");
    }
}
