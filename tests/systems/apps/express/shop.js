// Orders: from MariaDB through a pool, concurrently the stock from a service, then a note.
'use strict';
const express = require('express');
const mysql = require('mysql2/promise');
const { Agent, request } = require('undici');

const pool = mysql.createPool({
  host: '127.0.0.1', port: Number(process.env.DATABASE), user: 'shop', password: 'secret',
  database: 'shop', connectionLimit: 4,
});
const dispatcher = new Agent({ connections: 4, pipelining: 1 });

async function stockOf(name) {
  const { body } = await request(`http://127.0.0.1:${process.env.STOCK}/stock/${name}`, { dispatcher });
  return body.json();
}

const app = express();
if (process.env.ACCESS_LOG) {
  app.use((request_, response, next) => {
    response.on('finish', () => console.log(
      `access ${request_.method} ${request_.originalUrl} ${response.statusCode}`));
    next();
  });
}
app.get('/order/:name', async (request_, response) => {
  const { name } = request_.params;
  const [[[order]], stock] = await Promise.all([
    pool.query(`SELECT 70 AS price /* ${name} */`), stockOf(name)]);
  await pool.query('INSERT INTO payments (name, price) VALUES (?, ?)', [name, order.price]);
  response.json({ name, price: order.price, stock });
});

pool.query('CREATE TABLE IF NOT EXISTS payments (name TEXT, price INT)').then(
  () => app.listen(Number(process.env.SHOP), '127.0.0.1'));
