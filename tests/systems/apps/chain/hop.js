// A service of a chain: it works, calls the next service, works again and responds.
'use strict';
const http = require('http');

const env = process.env;
const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
// Requests in progress; the others wait in the order of their arrival.
const places = Number(env.PLACES);
const waiting = [];
let busy = 0;

// Takes between half the usual time and one and a half times as long.
function work(then) {
  setTimeout(then, (0.5 + Math.random()) * Number(env.WORK));
}

function ask(path, then) {
  http.get({ host: '127.0.0.1', port: env.NEXT, path, agent }, (answer) => {
    answer.resume().on('end', () => then(answer.statusCode));
  }).on('error', () => then(502));
}

function begin() {
  if (busy >= places || waiting.length === 0) return;
  busy += 1;
  const { request, response } = waiting.shift();
  work(() => ask(request.url, (status) => work(() => {
    busy -= 1;
    response.writeHead(status);
    response.end(request.url);
    begin();
  })));
}

http.createServer((request, response) => {
  waiting.push({ request, response });
  begin();
}).listen(Number(env.PORT), '127.0.0.1');
