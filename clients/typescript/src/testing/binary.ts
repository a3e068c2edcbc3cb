/** The binary of the server. */

import { accessSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { cwd, env } from 'node:process';
import { UsageError } from '../errors.js';
import { place } from './place.cjs';

/** A package that brings the binary for the platform. */
const PACKAGE = 'adjourn-server';

/** `ADJOURN_BIN`, else that of the package `adjourn-server`, else `adjourn` of `PATH`. */
export function findBinary(): string {
  const named = env['ADJOURN_BIN'];
  if (named) return checked('ADJOURN_BIN', named);
  const packaged = packagedBinary();
  if (packaged) return checked(`that of the package ${PACKAGE}`, packaged);
  const found = (env['PATH'] ?? '').split(delimiter).filter(Boolean).map((folder) => join(folder, 'adjourn')).find(isExecutable);
  if (found) return found;
  throw missing(`ADJOURN_BIN is not set, there is no package ${PACKAGE}, and no "adjourn" in PATH`);
}

/** The binary that the package names, seen from the user's project or from this package. */
function packagedBinary(): string | null {
  for (const from of [join(cwd(), 'package.json'), place]) {
    const require = createRequire(from);
    let main: string;
    try {
      main = require.resolve(PACKAGE);
    } catch {
      continue;
    }
    return (require(main) as { binaryPath(): string }).binaryPath();
  }
  return null;
}

function checked(what: string, path: string): string {
  if (!isExecutable(path)) throw missing(`${what} is "${path}", which cannot be run`);
  return path;
}

function missing(why: string): UsageError {
  return new UsageError(`tests need the Adjourn server: ${why}. Set ADJOURN_BIN to the path of its binary, or put it into PATH as adjourn`);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    // A directory has that right, too.
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
