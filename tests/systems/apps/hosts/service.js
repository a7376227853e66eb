// The service: prices from Postgres through a pool of connections, a note in Redis, and a look-up
// by datagrams.
'use strict';
const dns = require('dns');
const http = require('http');
const { Pool } = require('pg');
const { createClient } = require('redis');

const names = new dns.promises.Resolver();
names.setServers([`127.0.0.1:${process.env.DNS_PORT}`]);
const cache = createClient({ url: `redis://127.0.0.1:${process.env.REDIS_PORT}` });
const pool = new Pool({
  host: '127.0.0.1',
  port: Number(process.env.DATABASE_PORT),
  user: 'postgres',
  database: 'postgres',
  max: Number(process.env.POOL),
});

async function price(name) {
  const [shop] = await names.resolve4(`${name}.stock.shop.test`);
  const { rows: [order] } = await pool.query(
    `SELECT price FROM orders WHERE number = 7 /* ${name} */`);
  await cache.set(`priced:${name}`, String(order.price), { EX: 600 });
  await pool.query('INSERT INTO payments (name, price) VALUES ($1, $2)', [name, order.price]);
  return { name, shop, price: order.price };
}

cache.connect().then(() => {
  http.createServer((request, response) => {
    price(request.url.split('/').pop()).then(
      (answer) => response.end(JSON.stringify(answer)),
      (error) => { response.statusCode = 502; response.end(String(error)); });
  }).listen(Number(process.env.PORT), '127.0.0.1');
});
