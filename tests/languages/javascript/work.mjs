import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

const code = "require('worker_threads').parentPort.postMessage([...Array(1e5).keys()].length)";
const thread = () =>
  new Promise((resolve, reject) => new Worker(code, { eval: true }).on("message", resolve).on("error", reject));

export async function work(line) {
  const memory = Array.from({ length: 512 }, () => new Uint8Array(2 ** 20).fill(1));
  const objects = Array.from({ length: 1e6 }, (_, i) => ({ i }));
  let joined = 0;
  for (let i = 0; i < 4; i++) {
    // Each has its own heap and threads, so two run at a time.
    joined += (await Promise.all([thread(), thread()])).filter((n) => n === 1e5).length;
  }
  const file = join(await mkdtemp(join(tmpdir(), "line-")), "line");
  await writeFile(file, line);
  return `${await readFile(file, "utf-8")} ${memory.length} ${objects.length === 1e6 ? joined : 0}`;
}
