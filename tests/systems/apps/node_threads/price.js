// A thread of the pool: it reads an order, and writes a payment.
'use strict';
const { Pool } = require('pg');

const pool = new Pool({ host: '127.0.0.1', port: Number(process.env.DATABASE), user: 'postgres', database: 'postgres' });

module.exports = async (name) => {
  const { rows } = await pool.query(`SELECT price FROM orders WHERE number = 7 /* ${name} */`);
  await pool.query('INSERT INTO payments (name, price) VALUES ($1, $2)', [name, rows[0].price]);
  return rows[0].price;
};
