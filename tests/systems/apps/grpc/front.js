// The front in Node: an HTTP request becomes two gRPC calls, over the channel of the process.
'use strict';
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const http = require('http');
const path = require('path');

const { shop } = grpc.loadPackageDefinition(
  loader.loadSync(path.join(__dirname, 'shop.proto')));
const stock = new shop.Stock(process.env.BACK, grpc.credentials.createInsecure());
const call = (method, item) => new Promise((done, failed) => {
  stock[method](item, (error, count) => (error ? failed(error) : done(count)));
});

http.createServer(async (request, response) => {
  const name = request.url.split('/').pop();
  try {
    const seen = await call('Look', { name });
    const kept = await call('Reserve', { name });
    response.end(JSON.stringify({ name: kept.name, seen: seen.left, left: kept.left }));
  } catch (error) {
    response.statusCode = 502;
    response.end(String(error));
  }
  if (process.env.ACCESS_LOG) {
    console.log(`access ${request.method} ${request.url} ${response.statusCode}`);
  }
}).listen(Number(process.env.PORT), '127.0.0.1');
