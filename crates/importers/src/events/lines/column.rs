//! Column: what a name says in a table or an object of JSON.

/// What a column tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Time,
    Host,
    Processor,
    Process,
    Thread,
    Event,
    /// An attribute of that name.
    Attribute,
}

/// The column of that name.
pub(super) fn column(name: &str) -> Column {
    match name {
        "time" | "timestamp" | "ts" | "@timestamp" | "msec" | "log_time" => Column::Time,
        "host" | "hostname" => Column::Host,
        "processor" | "cpu" => Column::Processor,
        "process" | "pid" | "process_id" => Column::Process,
        "thread" | "tid" => Column::Thread,
        "event" | "kind" => Column::Event,
        _ => Column::Attribute,
    }
}
