// Stocks, from MariaDB through a pool.
'use strict';
const http = require('http');
const mysql = require('mysql2/promise');

const pool = mysql.createPool({
  host: '127.0.0.1', port: Number(process.env.DATABASE), user: 'shop', password: 'secret',
  database: 'shop', connectionLimit: 4,
});

http.createServer(async (request, response) => {
  const name = request.url.split('/').pop();
  const [[row]] = await pool.query(`SELECT 3 AS pieces /* ${name} */`);
  response.end(JSON.stringify({ name, pieces: row.pieces }));
  if (process.env.ACCESS_LOG) {
    console.log(`access ${request.method} ${request.url} ${response.statusCode}`);
  }
}).listen(Number(process.env.STOCK), '127.0.0.1');
