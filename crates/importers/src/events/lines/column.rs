//! Meaning of a column's name, in a table or in a JSON object.

/// Meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventColumn {
    Time,
    Host,
    Processor,
    Process,
    Thread,
    Event,
    /// An attribute of this name.
    Attribute,
}

/// Determines the meaning of a column's name.
pub(super) fn column_of_name(name: &str) -> EventColumn {
    match name {
        "time" | "timestamp" | "ts" | "@timestamp" | "msec" | "log_time" => EventColumn::Time,
        "host" | "hostname" => EventColumn::Host,
        "processor" | "cpu" => EventColumn::Processor,
        "process" | "pid" | "process_id" => EventColumn::Process,
        "thread" | "tid" => EventColumn::Thread,
        "event" | "kind" => EventColumn::Event,
        _ => EventColumn::Attribute,
    }
}
