//! A flight recorder under signals: the records of a handler that interrupts the writing of a
//! record.

use end_to_end::capture::{TestRecording, run_successfully};
use socket_log::LogRecord;
use socket_log::encode::Direction::Send;

#[test]
fn a_handler_that_wraps_around_the_log_harms_no_record() {
    let recording = TestRecording::new();
    let mut command = recording.recorded_command(recording.compile_program("flood"));
    command.envs([("SOCKCAP_MAX_BYTES", "64K"), ("SOCKCAP_WHEN_FULL", "newest")]);
    let instructions: usize = run_successfully(&mut command).trim().parse().unwrap();
    let logs = recording.read_logs();
    assert_eq!(logs.len(), instructions + 1, "a child for each, and one that got through");
    assert!(instructions > 30, "{instructions}");
    let mut went_round = 0;
    for (child, log) in logs.iter().enumerate() {
        assert_eq!(log.damage, [], "interrupted at {child}");
        let (mut of_program, mut of_handler) = (0, 0);
        for record in log.complete_records() {
            if let LogRecord::Transfer { direction, bytes, .. } = record {
                let count = match bytes {
                    7 => &mut of_program,
                    2 => &mut of_handler,
                    _ => panic!("interrupted at {child}: {record:?}"),
                };
                *count += usize::from(*direction == Send);
            }
        }
        went_round += usize::from(of_handler < 4500 && of_handler > 1000);
        assert!(of_program <= 2, "interrupted at {child}: {of_program}");
    }
    assert_eq!(went_round, instructions, "and each log went round");
}
