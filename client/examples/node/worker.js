// A remote worker in Node: handles text.upper for processes, eight at a time.
//
// Usage: npm install PREFIX/share/actord/node/actord.tgz
//        node worker.js ADDRESS [TOKEN_FILE]
//
// TOKEN_FILE holds the token for a daemon that checks tokens. For a daemon with TLS
// it takes the variables of actorctl. On SIGTERM it finishes the tasks that it holds
// and exits.

import { Refuse, Worker } from 'actord';

const [address, tokenFile] = process.argv.slice(2);

try {
  const worker = new Worker({
    client: { address, tokenFile },
    name: 'node',
    concurrency: 8,
    onWarning: (text) => console.log(`worker.js: ${text}`),
  });
  worker.command('text.upper', (task) => {
    if (task.text === '') throw new Refuse('there is no text');
    return task.text.toUpperCase();
  });
  await worker.run();
} catch (error) {
  console.log(`worker.js: ${error}`);
  process.exitCode = 1;
}
