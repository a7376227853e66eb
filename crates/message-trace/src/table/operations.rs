//! The table `operations.parquet`: the operations of messages, a row for each message with a known
//! operation, in the order of the messages.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `message` | Int64 | the message, by its row in `messages.parquet` |
//! | `role` | text | request, response or one-way |
//! | `protocol` | text | its application protocol: http, grpc, postgres |
//! | `name` | text? | the operation, without literals: `GET /cart/{}`; null if unknown |
//! | `detail` | text? | the statement in it, with `?` for each literal |
//! | `status` | text? | the outcome of the call that it answers, in the protocol's own word |
//! | `is_error` | Boolean | whether the answering side failed |
//! | `call_id` | Int64? | the id that pairs a request with its response on their connection |
//! | `trace_id`, `parent_id` | text? | the span of a tracer that made the request, in hexadecimal |

use arrow_schema::{DataType, SchemaRef};

pub use crate::operation::OperationRole;
use crate::table::columns::{self, BatchColumns, nullable_field, required_field};
use crate::table::{self, BATCH_ROWS, BatchWriter, TableBatches};
use crate::{DataPath, PathError};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationRow<'a> {
    /// Number of the message.
    pub message: u64,
    /// Role of the operation's message in the exchange.
    pub role: OperationRole,
    /// Name of the protocol.
    pub protocol: &'a str,
    /// The operation, without literals. Empty if unknown.
    pub name: &'a str,
    /// The statement of the operation, with `?` for each literal. Empty if the operation has none.
    pub detail: &'a str,
    /// The outcome of the call that the message answers. Empty if unknown.
    pub status: &'a str,
    /// Whether the answering side failed.
    pub is_error: bool,
    /// Id that pairs the message with the other message of its call on one connection.
    pub call: Option<u64>,
    /// Trace of a tracer that the message belongs to.
    pub trace_id: Option<u128>,
    /// Span of the same tracer that made the message.
    pub parent_id: Option<u64>,
}

impl OperationRow<'_> {
    /// Returns the attribute for the outcome of a call, by OpenTelemetry's conventions;
    /// `sockcap.status` if there is none.
    pub fn status_attribute(protocol: &str) -> &'static str {
        match protocol {
            "http" | "http2" | "websocket" | "fastcgi" => "http.response.status_code",
            "grpc" => "rpc.response.status_code",
            "postgresql" | "mysql" | "redis" | "memcached" | "mongodb" => "db.response.status_code",
            _ => "sockcap.status",
        }
    }

    /// Returns whether a call with this response failed for its caller, as OpenTelemetry's
    /// conventions define it for the client's span: for HTTP 400 and above, for gRPC every code but
    /// OK, for DNS a name that does not exist, too.
    pub fn is_error_to_caller(&self) -> bool {
        self.is_error
            || match self.protocol {
                "http" | "http2" | "websocket" | "fastcgi" => {
                    self.status.parse().is_ok_and(|code: u32| code >= 400)
                }
                "grpc" => !matches!(self.status, "" | "OK"),
                "dns" => self.status == "NXDOMAIN",
                _ => false,
            }
    }
}

fn operations_schema() -> SchemaRef {
    columns::build_schema([
        required_field("message", DataType::Int64),
        required_field("role", columns::dictionary_type()),
        required_field("protocol", columns::dictionary_type()),
        nullable_field("name", columns::dictionary_type()),
        nullable_field("detail", columns::dictionary_type()),
        nullable_field("status", columns::dictionary_type()),
        required_field("is_error", DataType::Boolean),
        nullable_field("call_id", DataType::Int64),
        nullable_field("trace_id", DataType::Utf8),
        nullable_field("parent_id", DataType::Utf8),
    ])
}

/// Writer of the table; a batch of rows is in memory at a time.
pub struct OperationWriter {
    path: DataPath,
    schema: SchemaRef,
    writer: BatchWriter,
    /// The columns role, protocol, name, detail and status of the rows that are not written yet;
    /// the other columns follow.
    texts: [Vec<Option<String>>; 5],
    messages: Vec<Option<i64>>,
    errors: Vec<bool>,
    calls: Vec<Option<i64>>,
    /// The columns `trace_id` and `parent_id`.
    traces: [Vec<Option<String>>; 2],
}

impl OperationWriter {
    /// Creates the table at `path`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: impl Into<DataPath>) -> Result<OperationWriter, PathError> {
        let path = &path.into();
        let schema = operations_schema();
        Ok(OperationWriter {
            path: path.to_owned(),
            writer: BatchWriter::create(path, schema.clone())?,
            schema,
            texts: Default::default(),
            messages: Vec::new(),
            errors: Vec::new(),
            calls: Vec::new(),
            traces: Default::default(),
        })
    }

    /// Appends a row. Rows come in the order of their messages.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push(&mut self, row: &OperationRow<'_>) -> Result<(), PathError> {
        let texts = [row.role.name(), row.protocol, row.name, row.detail, row.status];
        for (column, text) in self.texts.iter_mut().zip(texts) {
            column.push(Some(text.to_owned()).filter(|text| !text.is_empty()));
        }
        self.messages.push(Some(row.message as i64));
        self.errors.push(row.is_error);
        self.calls.push(row.call.map(|call| call as i64));
        let [trace, parent] = &mut self.traces;
        trace.push(row.trace_id.map(|id| format!("{id:032x}")));
        parent.push(row.parent_id.map(|id| format!("{id:016x}")));
        if self.messages.len() == BATCH_ROWS { self.write_batch() } else { Ok(()) }
    }

    fn write_batch(&mut self) -> Result<(), PathError> {
        let [role, protocol, name, detail, status] =
            std::mem::take(&mut self.texts).map(columns::dictionary_array);
        let [trace, parent] = std::mem::take(&mut self.traces).map(columns::string_array);
        let arrays = vec![
            columns::int64_array(std::mem::take(&mut self.messages)),
            role,
            protocol,
            name,
            detail,
            status,
            columns::boolean_array(std::mem::take(&mut self.errors)),
            columns::int64_array(std::mem::take(&mut self.calls)),
            trace,
            parent,
        ];
        self.writer.write_batch(&columns::build_batch(&self.path, &self.schema, arrays)?)
    }

    /// Finishes the table.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), PathError> {
        self.write_batch()?;
        self.writer.finish()
    }
}

/// Reader of the table; a batch of rows is in memory at a time.
pub struct OperationReader {
    path: DataPath,
    batches: TableBatches,
}

impl OperationReader {
    /// Opens the table at `path`, if it exists.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn open(path: impl Into<DataPath>) -> Result<Option<OperationReader>, PathError> {
        let path = &path.into();
        if !path.exists() {
            return Ok(None);
        }
        Ok(Some(OperationReader { path: path.to_owned(), batches: table::read_batches(path)? }))
    }

    /// Passes the next rows to `each`, in the order of their messages. Returns whether there were
    /// any.
    ///
    /// # Errors
    /// If the table cannot be read, or is no such table.
    pub fn read_batch(
        &mut self,
        mut each: impl FnMut(&OperationRow<'_>),
    ) -> Result<bool, PathError> {
        let Some(batch) = self.batches.next() else { return Ok(false) };
        let batch = batch?;
        let table = BatchColumns::new(&self.path, &batch);
        let texts = ["role", "protocol", "name", "detail", "status"];
        let [role, protocol, name, detail, status] = texts.map(|name| table.text_column(name));
        let (role, protocol, name) = (role?, protocol?, name?);
        let (detail, status) = (detail?, status?);
        let (message, call) = (table.int64_column("message")?, table.int64_column("call_id")?);
        let errors = table.boolean_column("is_error")?;
        let (trace, parent) = (table.text_column("trace_id")?, table.text_column("parent_id")?);
        for (row, message) in message.iter().enumerate() {
            let message = table.required_value("message", *message)?;
            let role = table.required_value("role", text_at(&role, row))?;
            let role = OperationRole::ALL.into_iter().find(|one| one.name() == role);
            each(&OperationRow {
                message: message as u64,
                role: role.ok_or_else(|| {
                    table.malformed_error("its column 'role' has no role".to_owned())
                })?,
                protocol: text_at(&protocol, row).unwrap_or_default(),
                name: text_at(&name, row).unwrap_or_default(),
                detail: text_at(&detail, row).unwrap_or_default(),
                status: text_at(&status, row).unwrap_or_default(),
                is_error: errors.get(row).copied().unwrap_or_default(),
                call: call.get(row).copied().flatten().map(|call| call as u64),
                trace_id: text_at(&trace, row).and_then(|id| u128::from_str_radix(id, 16).ok()),
                parent_id: text_at(&parent, row).and_then(|id| u64::from_str_radix(id, 16).ok()),
            });
        }
        Ok(true)
    }
}

fn text_at<'a>(column: &[Option<&'a str>], row: usize) -> Option<&'a str> {
    column.get(row).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_found_is_an_error_to_the_caller_only() {
        let of = |protocol, status, is_error| {
            let row = OperationRow {
                message: 1,
                role: OperationRole::Response,
                protocol,
                name: "",
                detail: "",
                status,
                is_error,
                call: None,
                trace_id: None,
                parent_id: None,
            };
            row.is_error_to_caller()
        };
        assert!(of("http", "404", false) && of("http", "500", true) && !of("http", "302", false));
        assert!(of("grpc", "NOT_FOUND", false) && !of("grpc", "OK", false));
        assert!(!of("grpc", "", false) && of("dns", "NXDOMAIN", false));
        assert!(!of("redis", "MOVED", false) && of("redis", "ERR", true));
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("operations.parquet");
        assert!(OperationReader::open(&path).unwrap().is_none());
        let request = OperationRow {
            message: 3,
            role: OperationRole::Request,
            protocol: "http2",
            name: "GET /cart/{}",
            detail: "",
            status: "",
            is_error: false,
            call: Some(u64::MAX),
            trace_id: Some(0x4bf9),
            parent_id: Some(u64::MAX),
        };
        let response = OperationRow {
            message: 5,
            role: OperationRole::Response,
            name: "",
            status: "500",
            is_error: true,
            trace_id: None,
            parent_id: None,
            ..request
        };
        let tells =
            OperationRow { role: OperationRole::OneWay, detail: "select ?", call: None, ..request };
        let mut writer = OperationWriter::create(&path).unwrap();
        // More than a batch has.
        let rows = BATCH_ROWS as u64 / 3 + 2;
        let three = |at: u64| {
            [request, response, tells]
                .map(|row| OperationRow { message: 7 * at + row.message, ..row })
        };
        (0..rows).flat_map(three).for_each(|row| writer.push(&row).unwrap());
        writer.finish().unwrap();
        let mut reader = OperationReader::open(&path).unwrap().unwrap();
        let mut expected = (0..rows).flat_map(three);
        while reader.read_batch(|row| assert_eq!(Some(*row), expected.next())).unwrap() {}
        assert_eq!(expected.next(), None);
    }
}
