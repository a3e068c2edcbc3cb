// Each build says which kind of modules it has.
import { writeFileSync } from 'node:fs';

for (const [folder, type] of [['esm', 'module'], ['cjs', 'commonjs']]) {
  writeFileSync(new URL(`../dist/${folder}/package.json`, import.meta.url), `{ "type": "${type}" }\n`);
}
