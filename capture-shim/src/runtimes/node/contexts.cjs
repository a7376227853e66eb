// Contexts of Node.js for libsockcap.so: which request a message is written for.
//
// Node loads this file before the program, as the library has asked it to (options.rs). A context
// begins with a request that is received, and everything that runs for it inherits the context
// (AsyncLocalStorage). While a socket is written to, the library knows the context of the writer.
// Where the context is not certain there is none: a wrong one would be worse. Any version of Node
// can parse this file; in old ones `follow` ends with an error.
'use strict';

restoreOptions();
try {
  follow();
} catch (error) {
  // The program runs as without this file.
}

// Removes the option that loaded this file from the environment. It is the last one, and only the
// first thread has it.
function restoreOptions() {
  const options = process.env.NODE_OPTIONS || '';
  const own = options.lastIndexOf('--require "');
  if (own < 0 || !options.endsWith(`/${require('path').basename(__filename)}"`)) return;
  if (own > 0) process.env.NODE_OPTIONS = options.slice(0, own - 1);
  else delete process.env.NODE_OPTIONS;
}

function follow() {
  const addon = { exports: {} };
  // The library that has loaded this file lies next to it, with the same name.
  process.dlopen(addon, __filename.replace(/cjs$/, 'so'));
  const { memory, begin } = addon.exports;
  if (memory === undefined || begin === undefined) return;
  // The number of the context of what this thread writes, in the library's memory; 0 for none.
  const current = new Uint32Array(memory);

  const { AsyncLocalStorage } = require('async_hooks');
  const { Socket } = require('net');
  const channels = require('diagnostics_channel');
  const storage = new AsyncLocalStorage();

  // Received requests: of HTTP, and whatever else arrives on an accepted connection.
  channels.subscribe('http.server.request.start', () => storage.enterWith(begin()));
  channels.subscribe('net.server.socket', ({ socket }) => {
    const { push } = socket;
    socket.push = function (chunk, encoding) {
      if (chunk === null) return push.call(this, chunk, encoding);
      return storage.run(begin(), () => push.call(this, chunk, encoding));
    };
  });

  // Connections are shared by requests, so what arrives on one does not belong to the request for
  // which it was opened.
  const { connect, _writeGeneric: write } = Socket.prototype;
  Socket.prototype.connect = function (...target) {
    return storage.run(undefined, () => connect.apply(this, target));
  };

  // Context of the first message of a connection that is being opened.
  const first = Symbol('first');
  // Context of the request that an undici client is sending on a socket. It sends queued requests
  // while it reads responses to others.
  const sending = Symbol('sending');
  const requests = new WeakMap();
  channels.subscribe('undici:request:create', ({ request }) => {
    requests.set(request, storage.getStore() || 0);
  });
  channels.subscribe('undici:client:sendHeaders', ({ request, socket }) => {
    socket[sending] = requests.get(request);
  });

  Socket.prototype._writeGeneric = function (isVector, data, encoding, done) {
    let number = this[sending];
    if (number === undefined) number = this[first];
    if (number === undefined) number = storage.getStore();
    if (!number) return write.call(this, isVector, data, encoding, done);
    this[first] = this.connecting ? number : undefined;
    current[0] = number;
    try {
      return write.call(this, isVector, data, encoding, done);
    } finally {
      current[0] = 0;
    }
  };
}
