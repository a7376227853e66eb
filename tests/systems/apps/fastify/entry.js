// Orders: the price and the stock from services at once, a row of PostgreSQL, and a note in Redis.
'use strict';
const fastify = require('fastify')();
const Redis = require('ioredis');
const { Pool } = require('pg');

const pool = new Pool({ host: '127.0.0.1', port: Number(process.env.DATABASE), user: 'postgres', database: 'postgres' });
const redis = new Redis({ host: '127.0.0.1', port: Number(process.env.REDIS) });

async function read(service, name) {
  const response = await fetch(`http://127.0.0.1:${process.env[service]}/${service.toLowerCase()}/${name}`);
  return response.json();
}

fastify.get('/order/:name', async ({ params: { name } }) => {
  await redis.set(`seen:${name}`, 1);
  const [price, stock] = await Promise.all([read('PRICE', name), read('STOCK', name)]);
  const { rows } = await pool.query(`SELECT 70 AS tax /* ${name} */`);
  await redis.incr(`done:${name}`);
  return { name, price, stock, tax: rows[0].tax };
});
fastify.listen({ host: '127.0.0.1', port: Number(process.env.ENTRY) });
