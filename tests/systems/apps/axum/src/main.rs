//! Orders in axum: a fan-out to a service, Postgres and Redis; then the result. And the service.
//!
//! usage: axum-shop PORT      (the ports of the others are in the environment)

use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

type Failure = (StatusCode, String);

#[derive(Clone)]
struct Shop {
    // One connection, which all requests share.
    cache: MultiplexedConnection,
    database: PgPool,
    services: reqwest::Client,
    stock: String,
}

fn failed(error: impl std::error::Error) -> Failure {
    (StatusCode::BAD_GATEWAY, error.to_string())
}

async fn order(State(shop): State<Shop>, Path(name): Path<String>) -> Result<String, Failure> {
    let mut cache = shop.cache.clone();
    let (price, left, known) = tokio::join!(
        sqlx::query_scalar::<_, i32>("SELECT price FROM orders WHERE number = 7 AND $1 <> ''")
            .bind(&name)
            .fetch_one(&shop.database),
        shop.services.get(format!("{}/stock/{name}", shop.stock)).send(),
        cache.get::<_, Option<i64>>(format!("order:{name}")),
    );
    let (price, known) = (price.map_err(failed)?, known.map_err(failed)?);
    let left = left.map_err(failed)?.text().await.map_err(failed)?;
    sqlx::query("INSERT INTO payments (name, price) VALUES ($1, $2)")
        .bind(&name)
        .bind(price)
        .execute(&shop.database)
        .await
        .map_err(failed)?;
    let _: () = cache.set(format!("order:{name}"), price).await.map_err(failed)?;
    Ok(format!("{name}: {price}, {left}, {known:?}"))
}

async fn stock(State(shop): State<Shop>, Path(name): Path<String>) -> Result<String, Failure> {
    let mut cache = shop.cache;
    let asked: i64 = cache.incr(format!("stock-asked:{name}"), 1).await.map_err(failed)?;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let left: Option<i64> = cache.get(format!("stock:{name}")).await.map_err(failed)?;
    Ok(format!("{left:?} left, asked {asked} times"))
}

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).ok_or("no port is given")?;
    let cache = redis::Client::open(format!("redis://127.0.0.1:{}", setting("REDIS")))?;
    let database = format!("postgres://postgres@127.0.0.1:{}/postgres", setting("DATABASE"));
    let shop = Shop {
        cache: cache.get_multiplexed_async_connection().await?,
        database: PgPoolOptions::new().max_connections(8).connect(&database).await?,
        services: reqwest::Client::builder().no_proxy().build()?,
        stock: format!("http://127.0.0.1:{}", setting("STOCK")),
    };
    let routes =
        Router::new().route("/order/{name}", get(order)).route("/stock/{name}", get(stock));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port.parse()?)).await?;
    axum::serve(listener, routes.with_state(shop)).await?;
    Ok(())
}
