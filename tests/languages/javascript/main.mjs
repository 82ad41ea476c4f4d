import { createInterface } from "node:readline/promises";
import { work } from "./work.mjs";

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "FINISH") break;
  console.log(await work(line));
}
