//! The front: an HTTP request becomes two gRPC calls, over the one connection of the process.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use shop::{Item, note, setting, stock_client::StockClient};
use tonic::transport::Channel;

async fn item(
    State(mut stock): State<StockClient<Channel>>,
    Path(name): Path<String>,
) -> Result<String, (StatusCode, String)> {
    let failed = |status: tonic::Status| (StatusCode::BAD_GATEWAY, status.to_string());
    let seen = stock.look(Item { name: name.clone() }).await.map_err(failed)?.into_inner();
    let kept = stock.reserve(Item { name }).await.map_err(failed)?.into_inner();
    note(&format!("GET /item/{}", kept.name), "200");
    Ok(format!("{}: {} seen, {} left", kept.name, seen.left, kept.left))
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let back = format!("http://{}", setting("BACK"));
    // The connection is made at its first use, and shared by all clones.
    let channel = Channel::from_shared(back)?.connect_lazy();
    let routes = Router::new().route("/item/{name}", get(item));
    let routes = routes.with_state(StockClient::new(channel));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", setting("PORT").parse()?)).await?;
    axum::serve(listener, routes).await?;
    Ok(())
}
