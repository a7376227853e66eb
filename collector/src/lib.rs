//! The logs of many hosts in one place: `ship` follows a host's data directory and sends what is committed, `collect`
//! gathers what all hosts send into one data directory, which later stages read as if all had been recorded there.
