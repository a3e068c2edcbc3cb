// Packs two npm packages: the binary for this platform, and `adjourn-server`, which depends on those of all platforms.
//
// node pack.mjs BINARY VERSION FOLDER

import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The platforms that the server is built for: `process.platform` and `process.arch` of Node. */
const PLATFORMS = ['linux-x64', 'linux-arm64'];
const HERE = dirname(fileURLToPath(import.meta.url));

const [binary, version, folder] = process.argv.slice(2);
const described = { version, description: 'The server of Adjourn, a persistent, replicated delay queue', license: 'Apache-2.0' };
const nameFor = (platform) => `adjourn-server-${platform}`;

/** Packs one package of these files, each the path of its source by its name. */
function pack(manifest, files) {
  const place = mkdtempSync(join(tmpdir(), 'adjourn-npm-'));
  try {
    for (const [name, source] of Object.entries(files)) copyFileSync(source, join(place, name));
    for (const name of ['adjourn', 'bin.js'].filter((name) => name in files)) chmodSync(join(place, name), 0o755);
    writeFileSync(join(place, 'package.json'), JSON.stringify({ ...manifest, ...described, files: Object.keys(files) }, null, 2));
    execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(folder)], { cwd: place, stdio: ['ignore', 'ignore', 'inherit'] });
  } finally {
    rmSync(place, { recursive: true });
  }
}

const platform = `${process.platform}-${process.arch}`;
if (!PLATFORMS.includes(platform)) throw new Error(`the server is built for ${PLATFORMS.join(' and ')}, not for ${platform}`);
mkdirSync(folder, { recursive: true });
const license = join(HERE, '../../LICENSE');
pack({ name: nameFor(platform), os: [process.platform], cpu: [process.arch], libc: ['glibc'] }, { adjourn: binary, LICENSE: license });
const own = Object.fromEntries(['README.md', 'index.js', 'index.d.ts', 'bin.js'].map((name) => [name, join(HERE, name)]));
pack(
  {
    name: 'adjourn-server',
    main: 'index.js',
    types: 'index.d.ts',
    bin: { adjourn: 'bin.js' },
    optionalDependencies: Object.fromEntries(PLATFORMS.map((each) => [nameFor(each), version])),
  },
  { ...own, LICENSE: license },
);
