// A project of a user, in a folder of its own, where `adjourn` is a copy of this package, and there is no other one.

import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const home = new URL('../../', import.meta.url);

export function emptyProject(t) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'adjourn-ts-')));
  t.after(() => rmSync(folder, { recursive: true }));
  const copy = join(folder, 'node_modules', 'adjourn');
  for (const part of ['package.json', 'dist']) cpSync(new URL(part, home), join(copy, part), { recursive: true });
  return folder;
}
