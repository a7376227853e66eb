// The back in Node: a gRPC server that keeps its stock in Redis, over one connection for all
// requests.
'use strict';
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const path = require('path');
const { createClient } = require('redis');

const { shop } = grpc.loadPackageDefinition(
  loader.loadSync(path.join(__dirname, 'shop.proto')));
const store = createClient({ url: `redis://127.0.0.1:${process.env.REDIS_PORT}` });
const pause = (time) => new Promise((done) => setTimeout(done, time));

async function look({ name }) {
  return { name, left: Number(await store.get(`stock:${name}`)) };
}

async function reserve({ name }) {
  await store.setNX(`stock:${name}`, '100');
  await pause(1);
  return { name, left: await store.decr(`stock:${name}`) };
}

const served = (name, answer) => (call, done) => {
  answer(call.request).then((count) => {
    if (process.env.ACCESS_LOG) console.log(`access shop.Stock/${name} OK`);
    done(null, count);
  }, done);
};

async function main() {
  await store.connect();
  const server = new grpc.Server();
  server.addService(shop.Stock.service, {
    Look: served('Look', look), Reserve: served('Reserve', reserve),
  });
  server.bindAsync(process.env.LISTEN, grpc.ServerCredentials.createInsecure(), (error) => {
    if (error) throw error;
  });
}
main();
