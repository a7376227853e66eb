//! Orders in actix-web: a service and Postgres at once, then the result. And the service.
//!
//! Each of the two workers is a thread with an event loop of its own, with its own client of the
//! service and one connection to Postgres, which all its requests share.
//!
//! usage: actix-shop PORT     (the ports of the others are in the environment)

use std::fmt::Display;
use std::time::Duration;

use actix_web::error::{Error, ErrorBadGateway};
use actix_web::rt::{spawn, time::sleep};
use actix_web::web::{Data, Path};
use actix_web::{App, HttpServer, get};
use futures_util::future::join;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls, Statement};

const PRICE: &str = "SELECT price FROM orders WHERE number = 7 AND $1 <> ''";
const COUNT: &str = "SELECT count(*) FROM payments WHERE name = $1";
const STORE: &str = "INSERT INTO payments (name, price) VALUES ($1, $2)";

struct Shop {
    services: awc::Client,
    stock: String,
    database: Client,
    price: Statement,
    count: Statement,
    store: Statement,
}

impl Shop {
    async fn open() -> Result<Self, tokio_postgres::Error> {
        let port = setting("DATABASE");
        let address = format!("host=127.0.0.1 port={port} user=postgres dbname=postgres");
        let (database, connection) = tokio_postgres::connect(&address, NoTls).await?;
        spawn(connection);
        Ok(Self {
            services: awc::Client::default(),
            stock: format!("http://127.0.0.1:{}", setting("STOCK")),
            price: database.prepare_typed(PRICE, &[Type::TEXT]).await?,
            count: database.prepare_typed(COUNT, &[Type::TEXT]).await?,
            store: database.prepare_typed(STORE, &[Type::TEXT, Type::INT4]).await?,
            database,
        })
    }

    async fn ask(&self, path: &str, name: &str) -> Result<String, Error> {
        let address = format!("{}/{path}/{name}", self.stock);
        let mut answer = self.services.get(address).send().await.map_err(failed)?;
        let body = answer.body().await.map_err(failed)?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

fn failed(error: impl Display) -> Error {
    ErrorBadGateway(error.to_string())
}

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

#[get("/order/{name}")]
async fn order(shop: Data<Shop>, name: Path<String>) -> Result<String, Error> {
    let name = name.into_inner();
    let (left, row) =
        join(shop.ask("stock", &name), shop.database.query_one(&shop.price, &[&name])).await;
    let (left, price) = (left?, row.map_err(failed)?.get::<_, i32>(0));
    shop.database.execute(&shop.store, &[&name, &price]).await.map_err(failed)?;
    let sent = shop.ask("send", &name).await?;
    Ok(format!("{left} at {price}: {sent}"))
}

#[get("/stock/{name}")]
async fn stock(shop: Data<Shop>, name: Path<String>) -> Result<String, Error> {
    let name = name.into_inner();
    shop.database.query_one(&shop.count, &[&name]).await.map_err(failed)?;
    sleep(Duration::from_millis(1)).await;
    let row = shop.database.query_one(&shop.count, &[&name]).await.map_err(failed)?;
    Ok(format!("{name}: {}", row.get::<_, i64>(0)))
}

#[get("/send/{name}")]
async fn send(name: Path<String>) -> String {
    sleep(Duration::from_millis(2)).await;
    name.into_inner()
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).expect("a port is given");
    let server = HttpServer::new(|| {
        App::new().data_factory(Shop::open).service(order).service(stock).service(send)
    });
    server.workers(2).bind(("127.0.0.1", port))?.run().await
}
