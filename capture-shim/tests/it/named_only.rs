//! Programs whose runtime is named and not followed, by their paths.

#[path = "../../src/runtimes/named_only/programs.rs"]
mod programs;

use programs::recognise;

/// Name of the runtime of the program with this path, with its release.
fn found(path: &str) -> Option<(&'static str, Option<u32>)> {
    let program = recognise(path.as_bytes())?;
    assert!(!program.exports.is_empty());
    Some((std::str::from_utf8(program.name).unwrap(), program.release))
}

#[test]
fn a_release_of_otp_is_known_by_the_folder_of_its_machine() {
    for (path, expected) in [
        ("/usr/lib/erlang/erts-13.1.5/bin/beam.smp", Some(25)),
        ("/app/_build/prod/rel/shop/erts-11.1.8/bin/beam.smp", Some(23)),
        ("/opt/erts-17.1.1/bin/beam.smp", Some(29)),
        ("/opt/erts-10.7/bin/beam.smp", None),
        ("/opt/erts-18.0/bin/beam.smp", None),
        ("/opt/erts-99999999999999999999/bin/beam.smp", None),
        ("/opt/erts-/bin/beam.smp", None),
        ("/nix/store/erlang/bin/beam.smp", None),
    ] {
        assert_eq!(found(path), Some(("Erlang/OTP", expected)), "{path}");
    }
}

#[test]
fn programs_are_known_by_the_whole_name_of_their_file() {
    assert_eq!(found("/usr/local/bin/deno"), Some(("Deno", None)));
    assert_eq!(found("/node_modules/bun/bin/bun.exe"), Some(("Bun", None)));
    for path in ["", "/", "/usr/bin/bundle", "/opt/deno/server", "/usr/bin/beam.smp2"] {
        assert_eq!(found(path), None, "{path}");
    }
}
