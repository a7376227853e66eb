//! The back: a gRPC server that keeps its stock in Redis, over one connection for all requests.

use std::time::Duration;

use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use shop::stock_server::{Stock, StockServer};
use shop::{Count, Item, note, setting};
use tonic::{Request, Response, Status};

struct Store(MultiplexedConnection);

fn failed(error: redis::RedisError) -> Status {
    Status::unavailable(error.to_string())
}

#[tonic::async_trait]
impl Stock for Store {
    async fn look(&self, request: Request<Item>) -> Result<Response<Count>, Status> {
        let name = request.into_inner().name;
        let left: Option<i64> = self.0.clone().get(format!("stock:{name}")).await.map_err(failed)?;
        note("shop.Stock/Look", "OK");
        Ok(Response::new(Count { name, left: left.unwrap_or(0) }))
    }

    async fn reserve(&self, request: Request<Item>) -> Result<Response<Count>, Status> {
        let name = request.into_inner().name;
        let key = format!("stock:{name}");
        let mut store = self.0.clone();
        let _: bool = store.set_nx(&key, 100).await.map_err(failed)?;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let left = store.decr(&key, 1).await.map_err(failed)?;
        note("shop.Stock/Reserve", "OK");
        Ok(Response::new(Count { name, left }))
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = redis::Client::open(format!("redis://127.0.0.1:{}", setting("REDIS_PORT")))?;
    let store = Store(client.get_multiplexed_async_connection().await?);
    let server = tonic::transport::Server::builder().add_service(StockServer::new(store));
    server.serve(setting("LISTEN").parse()?).await?;
    Ok(())
}
