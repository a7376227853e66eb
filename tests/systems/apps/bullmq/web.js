// Orders: a job, whose end is awaited by the queue's events.
'use strict';
const { Queue, QueueEvents } = require('bullmq');
const fastify = require('fastify')();

const connection = { host: '127.0.0.1', port: Number(process.env.REDIS) };
const queue = new Queue('orders', { connection });
const events = new QueueEvents('orders', { connection });

fastify.get('/order/:name', async ({ params: { name } }) => {
  const job = await queue.add('settle', { name }, { jobId: name });
  return { name, price: await job.waitUntilFinished(events) };
});
events.waitUntilReady().then(
  () => fastify.listen({ host: '127.0.0.1', port: Number(process.env.ENTRY) }));
