//! Reconciles the data directory named on the command line and prints its messages as lines.

use message_trace::{DataDir, MessageTrace};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: reconcile DIRECTORY")?;
    let data = DataDir::new(directory);
    let outcome = reconcile::reconcile(&data, &reconcile::Options::default(), &())?;
    let trace = MessageTrace::read(data.messages_path(), data.nodes_path())?;
    let first = trace.messages().next().map_or(0, |message| message.sort_time());
    for m in trace.messages() {
        let node =
            |id| trace.nodes.get(id).map(|n| format!("{}[{}]", n.command, n.pid.unwrap_or(0)));
        let endpoint = |id| trace.endpoint(id).map(ToString::to_string).unwrap_or_default();
        let time = |time: Option<i64>| {
            time.map_or("-".to_owned(), |time| format!("{:.1}", (time - first) as f64 / 1e3))
        };
        println!(
            "{:>10} {:>10}  f{} d{} {} {} => {}  {}/{}  {} > {}",
            time(m.send_first),
            time(m.recv_last),
            m.flow.number(),
            m.direction,
            m.protocol,
            node(m.src).unwrap_or_default(),
            node(m.dst).unwrap_or_default(),
            m.bytes,
            m.parts,
            endpoint(m.src_endpoint),
            endpoint(m.dst_endpoint)
        );
    }
    println!("{outcome:#?}");
    Ok(())
}
