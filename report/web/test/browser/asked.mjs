// A shop that receives requests for carts, and later for orders, which fail: recorded with the
// operations of messages. With "serve" it is the server at a port; otherwise it starts the server
// with the given program, sends requests, and waits for its end. Only requests pass between the
// two.

import { spawn } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { setTimeout as passed } from "node:timers/promises";

const [role, program, chosen] = process.argv.slice(2);
const READY = "shopd-is-ready";

if (role === "serve") {
  const server = http.createServer((request, response) => {
    response.statusCode = request.url?.startsWith("/order") ? 500 : 200;
    setTimeout(() => response.end("{}"), 2);
  });
  // The only connection is closed at the end. By then every response has its record, too.
  server.on("connection", (socket) => socket.on("close", () => server.close()));
  server.listen(Number(chosen), "127.0.0.1", () => writeFileSync(READY, ""));
} else {
  const free = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => free.once("listening", resolve));
  const { port } = free.address();
  await new Promise((resolve) => free.close(resolve));
  const server = spawn(program, [process.argv[1], "serve", program, port], { stdio: "ignore" });
  while (!existsSync(READY)) await passed(10);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (path) =>
    new Promise((resolve, reject) => {
      const asking = http.get({ port, host: "127.0.0.1", path, agent }, (response) => response.resume().on("end", resolve));
      asking.on("error", reject);
    });
  for (let call = 0; call < 300; call++) await ask(call >= 200 && call % 2 ? `/order/${call}` : `/cart/${call}`);
  const ended = new Promise((resolve) => server.once("exit", resolve));
  agent.destroy();
  await ended;
}
