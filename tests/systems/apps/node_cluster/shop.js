// Orders, in two processes that share a port: from MariaDB, concurrently the stock from a service,
// then a note.
'use strict';
const cluster = require('cluster');
const { serve } = require('@hono/node-server');
const { Hono } = require('hono');
const mysql = require('mysql2/promise');
const { Agent, request } = require('undici');

function worker() {
  const pool = mysql.createPool({
    host: '127.0.0.1', port: Number(process.env.DATABASE), user: 'shop', password: 'secret',
    database: 'shop', connectionLimit: 4,
  });
  const dispatcher = new Agent({ connections: 4, pipelining: 1 });

  async function stockOf(name) {
    const { body } = await request(`http://127.0.0.1:${process.env.STOCK}/stock/${name}`, { dispatcher });
    return body.json();
  }

  const app = new Hono();
  app.get('/order/:name', async (context) => {
    const name = context.req.param('name');
    const [[[order]], stock] = await Promise.all([
      pool.query(`SELECT 70 AS price /* ${name} */`), stockOf(name)]);
    await pool.query('INSERT INTO payments (name, price) VALUES (?, ?)', [name, order.price]);
    return context.json({ name, price: order.price, stock });
  });
  pool.query('CREATE TABLE IF NOT EXISTS payments (name TEXT, price INT)').then(
    () => serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.ENTRY) },
      () => console.log('ready')));
}

if (cluster.isPrimary) {
  for (let count = 0; count < 2; count += 1) cluster.fork();
} else {
  worker();
}
