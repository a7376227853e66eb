// Prices, after a pause that differs from request to request.
'use strict';
const fastify = require('fastify')();
const { setTimeout: pause } = require('timers/promises');

let served = 0;
fastify.get('/price/:name', async ({ params: { name } }) => {
  served += 1;
  await pause(1 + (served * 7) % 5);
  return { name, price: served };
});
fastify.listen({ host: '127.0.0.1', port: Number(process.env.PRICE) });
