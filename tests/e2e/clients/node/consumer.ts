// A program that uses the package as its declarations permit. A line behind
// "@ts-expect-error" must not compile.

import {
  ActordError, Client, MailboxFull, Payload, ProcessFailed, Refuse, Retry, Worker,
  type Outcome, type WatchEvent,
} from 'actord';

export async function drive(signal: AbortSignal): Promise<string> {
  const client = new Client({ address: 'unix:/run/actord', timeoutMs: null });
  const order = await client.submit('order', { order: 'A', amount_cents: 42 }, {
    durability: 'DURABLE', name: 'orders/A', messages: [{ topic: 't', payload: 'p' }],
  });
  const sent = await client.send(order, new Uint8Array(3), { topic: 'x', signal });
  const reply = await client.call('@orders/A', Payload.json('text'), { topic: 'state' });
  const outcome: Outcome = await client.run('echo', [1, null, { a: true }]);
  for await (const process of client.ps('order', { state: 'IDLE', pageSize: 10 })) {
    if (process.createTime && process.createTime < new Date()) continue;
  }
  for await (const item of client.yields('payment.*', { pid: order })) {
    await client.completeYield(item.token, undefined, { error: 'no', code: 'ABORTED' });
  }
  const stream = client.sendStream({ maxUnacknowledged: 10 });
  const index: number = await stream.send(order.pid, 5);
  await stream.close();
  client.close();
  return `${sent.receipt}${reply.text}${outcome.text}${index}`;
}

export function pidsOf(event: WatchEvent): string[] {
  switch (event.kind) {
    case 'snapshot': return event.processes.map(({ pid }) => pid);
    case 'missed': return [];
    default: return [event.pid];
  }
}

export const worker = new Worker({ client: { address: '[::1]:7600' }, concurrency: 2 })
  .command('payment.charge', async (task) => {
    if (task.cancelled) throw new Retry({ delayMs: 5 });
    if (task.json().amount_cents > 5) throw new Refuse('no', { code: 'OUT_OF_RANGE' });
    if (task.attempt > 2) throw new Refuse('no', { code: 5 });
    task.reportProgress({ page: 1 });
    await fetch('http://127.0.0.1/', { signal: task.signal });
    return { key: task.idempotencyKey };
  }, { attempts: 5 })
  .command('mail.*', () => {});

export function delayOf(error: unknown): number | null {
  if (error instanceof ProcessFailed) return error.outcome.steps;
  if (error instanceof MailboxFull && error.code === 'RESOURCE_EXHAUSTED') {
    return error.retryDelayMs;
  }
  return error instanceof ActordError ? Number(error.metadata.limit) : null;
}

export function mistakes(client: Client): void {
  // @ts-expect-error
  void client.submit('order', 'x', { durability: 'durable' });
  // @ts-expect-error
  void client.send(7, 'x');
  // @ts-expect-error
  void client.submit('order', 'x', { timeout: 7 });
  // @ts-expect-error
  new Client('127.0.0.1:7600');
  // @ts-expect-error
  void client.completeYield('token', undefined, { code: 'NO_SUCH' });
  // @ts-expect-error
  new Refuse('no', { code: 'OK' });
  // @ts-expect-error
  new Refuse('no', 'NOT_FOUND');
  // @ts-expect-error
  new Retry({ delay: 5 });
}
