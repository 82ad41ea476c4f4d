import fs from "fs/promises";
import { Worker } from "worker_threads";

const code = "require('worker_threads').parentPort.postMessage([...Array(1e5).keys()].length)";
const thread = () => new Promise<number>((resolve) => new Worker(code, { eval: true }).on("message", resolve));

export async function work(line: string): Promise<string> {
  const memory: Uint8Array[] = Array.from({ length: 512 }, () => new Uint8Array(2 ** 20).fill(1));
  let joined = 0;
  for (let i = 0; i < 8; i++) joined += Number((await thread()) === 1e5);
  await fs.writeFile("/tmp/line", line);
  return `${await fs.readFile("/tmp/line", "utf-8")} ${memory.length} ${joined}`;
}
