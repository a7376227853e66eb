//! Reasons why a library must not be put into a program, as the program would behave differently.

use std::fmt;

/// Reason why a library must not be put into a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncompatibleProgram {
    /// The program's garbage collector stops threads by signals, and assumes that their stack
    /// pointers are within their own stacks. While the library works, a thread is on another stack.
    StopsThreads {
        /// Name of the collector.
        collector: &'static str,
    },
    /// The program runs code of other programs itself, with the registers of its threads.
    RunsOthers {
        /// Name of the kind of program.
        program: &'static str,
    },
    /// The program sets the GS base, which the library needs.
    SetsGs,
}

impl fmt::Display for IncompatibleProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IncompatibleProgram::StopsThreads { collector } => write!(
                f,
                "its garbage collector ({collector}) stops threads by signals and searches their \
                 stacks, which the library would mislead"
            ),
            IncompatibleProgram::RunsOthers { program } => write!(
                f,
                "it runs code of other programs itself ({program}), with registers that the \
                 library needs"
            ),
            IncompatibleProgram::SetsGs => {
                f.write_str("it sets the GS register, which the library needs")
            }
        }
    }
}

impl std::error::Error for IncompatibleProgram {}
