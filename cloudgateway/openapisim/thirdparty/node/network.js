'use strict';

// The clients have the addresses of the cloud built in, and call them as they do in production. What is not like there is the
// network below: a connection to a host of the cloud leads to the simulator's port for it, without TLS, and no other host is
// reachable. SIMULATOR has the ports: {"slb": "127.0.0.1:1234", …}.

const http = require('node:http');
const https = require('node:https');
const net = require('node:net');

const ports = JSON.parse(process.env.SIMULATOR);

function port(host) {
  const product = host === '100.100.100.200' ? 'metadata' : /^([a-z]+)[a-z-]*(\.[a-z0-9-]+)?\.aliyuncs\.com$/.exec(host)?.[1];
  if (!ports[product]) {
    throw new Error(`the simulated cloud has no ${host}`);
  }
  return Number(ports[product].split(':')[1]);
}

for (const agent of [http.Agent, https.Agent]) {
  agent.prototype.createConnection = (options, connected) => net.connect({ host: '127.0.0.1', port: port(options.host) }, connected);
}

// admin changes the simulated cloud itself. It goes around the network of the clients.
async function admin(method, path, body) {
  const answer = await fetch(`http://${ports.admin}/admin/${path}`, { method, body: body && JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) {
    throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  }
  return text && JSON.parse(text);
}

module.exports = { admin };
