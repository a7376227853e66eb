// A service of large bodies in Node: it receives them, generates them, or sends them back. It
// requests a quota from Redis before a body and notes its size after it, over one connection for
// all requests.
'use strict';
const http = require('http');
const { Readable } = require('stream');
const { createClient } = require('redis');

const store = createClient({ url: `redis://127.0.0.1:${process.env.REDIS_PORT}` });
const PART = Buffer.alloc(64 * 1024, '.');

function* parts(size) {
  for (let start = 0; start < size; start += PART.length) {
    yield PART.subarray(0, Math.min(PART.length, size - start));
  }
}

async function serve(request, response) {
  const [, what, name, size] = request.url.split('/');
  const length = request.headers['content-length'];
  const quota = await store.get(`quota:${name}`);
  if (what === 'up') {
    let received = 0;
    for await (const part of request) received += part.length;
    await store.set(`size:${name}`, String(received), { EX: 600 });
    response.end(JSON.stringify({ name, size: received }));
  } else if (what === 'down') {
    response.writeHead(200, { 'Content-Length': size, 'X-Name': name });
    Readable.from(parts(Number(size)), { objectMode: false }).pipe(response);
    response.on('finish', () => store.set(`size:${name}`, size, { EX: 600 }));
  } else if (what === 'turn') {
    const body = [];
    for await (const part of request) body.push(part);
    await store.set(`size:${name}`, length, { EX: 600 });
    response.writeHead(200, { 'Content-Length': length, 'X-Name': name });
    response.end(Buffer.concat(body));
  } else if (what === 'echo') {
    // The body is sent back while it still arrives.
    response.writeHead(200, { 'Content-Length': length, 'X-Name': name });
    request.pipe(response);
  } else {
    response.end(JSON.stringify({ name, quota }));
  }
}

store.connect().then(() => {
  http.createServer((request, response) => {
    serve(request, response).catch((error) => response.destroy(error));
  }).listen(Number(process.env.PORT), '127.0.0.1');
});
