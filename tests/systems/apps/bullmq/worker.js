// The worker: up to four jobs at once. Each reads an order, and writes a payment.
'use strict';
const { Worker } = require('bullmq');
const { Pool } = require('pg');

const pool = new Pool({ host: '127.0.0.1', port: Number(process.env.DATABASE), user: 'postgres', database: 'postgres' });

async function settle({ data: { name } }) {
  const { rows } = await pool.query(`SELECT price FROM orders WHERE number = 7 /* ${name} */`);
  await pool.query('INSERT INTO payments (name, price) VALUES ($1, $2)', [name, rows[0].price]);
  return rows[0].price;
}

const connection = { host: '127.0.0.1', port: Number(process.env.REDIS) };
const worker = new Worker('orders', settle, { connection, concurrency: 4 });
worker.waitUntilReady().then(() => console.log('ready'));
