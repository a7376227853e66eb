//! The table of calls. No stage stores it: calls follow from the messages and the links.

use analyze::calls::CallTable;
use analyze::infer::Links;
use clap::Args;
use message_trace::MessageTrace;
use message_trace::table::export::{TableFormat, export_batches};
use registry::{EntryHelp, Spec};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{FormatFlag, table_format};

/// The entry in the registry.
pub(crate) static CALLS: ExporterSpec = Spec {
    about: EntryHelp {
        name: "calls",
        summary: "Table: calls with caller and callee, the times at both ends, the parent call, \
                  and its probability",
        examples: &["sockcap export calls --format parquet -o calls.parquet"],
        ..EntryHelp::NOTHING
    },
    flags: FormatFlag::augment_args,
    entry: ExporterEntry {
        opened_by: "",
        make: |given| Ok(Box::new(CallsExporter { format: table_format(given)? })),
    },
};

/// An exporter of the table of calls, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CallsExporter {
    /// The format of the table.
    pub format: TableFormat,
}

impl Exporter for CallsExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Analysis
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let path = source.data.messages_path();
        let mut trace = MessageTrace::read(&path, source.data.nodes_path())?;
        let (options, links) =
            (source.read_analysis()?.options, Links::read(source.data.links_path())?);
        // Operations are attached first so that the calls are the same as the analysis found, which
        // pairs by the ids of operations.
        analyze::attach_operations(&mut trace, source.data, &options)?;
        let calls = CallTable::new(&trace, &links, &options, path.as_path());
        let schema = CallTable::schema();
        export_batches(schema, calls, self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use analyze::Options;
    use message_trace::table::operations::{OperationRole, OperationRow, OperationWriter};
    use message_trace::{
        DataDir, EndPair, EndpointId, FROM_ACCEPTING, FROM_CONNECTING, FlowId, Message, Node,
        NodeEnd, NodeList, TransportProtocol,
    };

    use super::*;

    /// Two calls on one connection that are open at the same time. The later one is answered first.
    fn recorded(data: &DataDir) {
        let mut nodes = NodeList::default();
        let node = |command: &str| Node {
            host: "h".into(),
            command: command.into(),
            traced: true,
            ..Node::default()
        };
        let [web, back] = [nodes.push(node("web")), nodes.push(node("back"))];
        let mut trace = MessageTrace::new(nodes);
        let [asks, answers] = [OperationRole::Request, OperationRole::Response];
        let said = [(10, asks, 1), (20, asks, 3), (40, answers, 3), (60, answers, 1)];
        let mut writer = OperationWriter::create(data.operations_path()).unwrap();
        for (message, (time, role, call)) in (0..).zip(said) {
            let (from, to, direction) = match role {
                OperationRole::Response => (back, web, FROM_ACCEPTING),
                _ => (web, back, FROM_CONNECTING),
            };
            let ends = EndPair {
                src: NodeEnd::new(from, EndpointId::default()),
                dst: NodeEnd::new(to, EndpointId::default()),
                protocol: TransportProtocol::Tcp,
            };
            let sent = Message::between_ends(ends, FlowId::default(), direction)
                .with_times(Some(time), Some(time + 5));
            trace.push(&Message { bytes: 100, ..sent }, None);
            let row = OperationRow {
                message,
                role,
                protocol: "grpc",
                name: "",
                detail: "",
                status: "",
                is_error: false,
                call: Some(call),
                trace_id: None,
                parent_id: None,
            };
            writer.push(&row).unwrap();
        }
        writer.finish().unwrap();
        trace.write(data.messages_path(), data.nodes_path()).unwrap();
        analyze::analyze(data, &Options::default(), &()).unwrap();
    }

    #[test]
    fn calls_are_paired_by_the_ids_of_operations() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        recorded(&data);
        let aliases = Options::default().aliases;
        let source = ExportSource { data: &data, aliases: &aliases, progress: &() };
        let mut written = Vec::new();
        let mut output = ExportOutput { writer: &mut written, name: "calls".as_ref() };
        CallsExporter::default().write_export(&source, &mut output).unwrap();
        let text = String::from_utf8(written).unwrap();
        let times = |line: &str| {
            let fields: Vec<String> = line.split(',').map(str::to_owned).collect();
            (fields[0].clone(), [8, 11].map(|field| fields[field].clone()))
        };
        let found: Vec<_> = text.lines().skip(1).map(times).collect();
        let expected = [("0/1", ["10", "65"]), ("0/3", ["20", "45"])];
        let expected = expected.map(|(id, times)| (id.to_owned(), times.map(str::to_owned)));
        assert_eq!(found, expected, "{text}");
    }
}
