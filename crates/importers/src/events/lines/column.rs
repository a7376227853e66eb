//! Column: what a name says in a table or an object of JSON.

/// What a column tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventColumn {
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
