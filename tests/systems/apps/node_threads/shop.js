// Orders: the price from a thread of a pool, then a note in Redis.
'use strict';
const express = require('express');
const Redis = require('ioredis');
const { Piscina } = require('piscina');

const pool = new Piscina({ filename: `${__dirname}/price.js`, minThreads: 4, maxThreads: 4 });
const redis = new Redis({ host: '127.0.0.1', port: Number(process.env.REDIS) });

const app = express();
app.get('/order/:name', async (request, response) => {
  const { name } = request.params;
  const price = await pool.run(name);
  await redis.set(`price:${name}`, price);
  response.json({ name, price });
});
app.listen(Number(process.env.ENTRY), '127.0.0.1');
