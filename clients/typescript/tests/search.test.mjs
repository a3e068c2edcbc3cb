// The search for the leader, without a socket: which address comes next, and how long it is waited for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Search } from '../dist/esm/engine/search.js';

function rest(search) {
  const addresses = [];
  for (let address = search.next(); address !== null; address = search.next()) addresses.push(address);
  return addresses;
}

test('hints come first, and no address twice', () => {
  const search = new Search(['a:1', 'b:1']);
  search.begin('b:1', ['c:1', 'b:1']);
  assert.deepEqual(rest(search), ['b:1', 'a:1', 'c:1']);
  for (const hint of ['', '0.0.0.0:1', '[::]:1', 'nowhere']) {
    search.begin(hint, []);
    assert.deepEqual(rest(search), ['a:1', 'b:1'], `a hint of "${hint}"`);
  }
});

test('the leader that a server names is next, once a round', () => {
  const search = new Search(['a:1', 'b:1', 'c:1']);
  search.begin('', []);
  assert.equal(search.next(), 'a:1');
  search.redirect('c:1');
  search.redirect('a:1');
  assert.equal(search.next(), 'c:1');
  search.redirect('d:1');
  search.redirect('0.0.0.0:1');
  assert.deepEqual(rest(search), ['d:1', 'b:1']);
  search.redirect('c:1');
  assert.deepEqual(rest(search), [], 'two that point at each other end the round');
});

test('who was silent is tried last until it answers', () => {
  const search = new Search(['a:1', 'b:1']);
  search.silent('a:1');
  search.begin('a:1', ['c:1']);
  assert.equal(search.next(), 'b:1');
  search.redirect('a:1');
  assert.deepEqual(rest(search), ['c:1', 'a:1'], 'a stale hint does not bring it forward');
  search.answered('a:1');
  search.begin('a:1', []);
  assert.deepEqual(rest(search), ['a:1', 'b:1']);
});

test('patience grows from round to round, and one address gets all of it', () => {
  const search = new Search(['a:1', 'b:1']);
  const patience = (one) => {
    one.begin('', []);
    one.next();
    return one.patienceMs(4_000);
  };
  assert.deepEqual([1, 2, 3, 4].map(() => patience(search)), [1_000, 2_000, 4_000, 4_000]);
  search.found(true);
  assert.equal(patience(search), 1_000);
  assert.equal(patience(new Search(['a:1'])), 4_000);
});

test('each HELLO that was given up may take the session over once', () => {
  const search = new Search(['a:1']);
  assert.equal(search.tookItselfOver(), false, 'another process did');
  search.gaveUpHello();
  search.gaveUpHello();
  search.found(true);
  assert.deepEqual([1, 2, 3].map(() => search.tookItselfOver()), [true, true, false]);
  search.gaveUpHello();
  search.found(false);
  assert.equal(search.tookItselfOver(), false, 'it named a session that is gone');
});
