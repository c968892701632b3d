// Makes pictures of docs/images small, by their names.
import { shrink } from "./picture.mjs";

for (const name of process.argv.slice(2)) shrink(new URL(`../../docs/images/${name}.png`, import.meta.url).pathname);
