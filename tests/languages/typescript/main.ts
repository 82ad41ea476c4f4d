import { createInterface } from "readline";
import { work } from "./work";

async function main(): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === "FINISH") break;
    console.log(await work(line));
  }
}

main();
