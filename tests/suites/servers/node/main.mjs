// The garden service by @grpc/grpc-js, @grpc/reflection and grpc-health-check: node main.mjs --listen ADDR --health unset|serving.
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import reflection from '@grpc/reflection';
import health from 'grpc-health-check';
import timers from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

// How long calls have to end after SIGTERM, health watches among them, in milliseconds. The status is 1 if one has not.
const grace = 10_000;

const { values: flags } = parseArgs({ options: { listen: { type: 'string' }, health: { type: 'string' } } });
const load = (file) =>
  protoLoader.loadSync(file, {
    includeDirs: [fileURLToPath(new URL('../proto', import.meta.url))],
    keepCase: true,
    longs: String,
    enums: String,
    oneofs: true,
  });
const garden = load('garden/v1/garden.proto');
const control = load('control/v1/control.proto');

let watches = 0;
const server = new grpc.Server({
  interceptors: [
    (method, call) => {
      if (method.path === '/grpc.health.v1.Health/Watch') watches++;
      return new grpc.ServerInterceptingCall(call);
    },
  ],
});

const echo = (call, done) => done(null, call.request);
server.addService(garden['garden.v1.GardenService'], {
  Plant: echo,
  Locate: echo,
  Grow(call) {
    const { kind, steps } = call.request;
    for (let step = 1; step <= steps; step++) call.write({ step, shoot: { kind } });
    call.end();
  },
  async Tick(call, done) {
    const { id, wait } = call.request;
    await timers.setTimeout(wait ?? 0);
    console.log(`ticked ${id}`);
    done(null, { id });
  },
  Sow(call, done) {
    let count = 0;
    call.on('data', () => count++);
    call.on('end', () => done(null, { count }));
  },
});

const status = new health.HealthImplementation(flags.health === 'unset' ? {} : { '': 'SERVING' });
status.addToServer(server);
server.addService(control['control.v1.ControlService'], {
  SetHealth(call, done) {
    status.setStatus('', call.request.serving ? 'SERVING' : 'NOT_SERVING');
    done(null, {});
  },
  Count: (call, done) => done(null, { watches }),
});
new reflection.ReflectionService(garden).addToServer(server);

server.bindAsync(flags.listen, grpc.ServerCredentials.createInsecure(), (err) => {
  if (err) throw err;
});
process.on('SIGTERM', () => {
  server.tryShutdown(() => process.exit(0));
  setTimeout(() => process.exit(1), grace);
});
