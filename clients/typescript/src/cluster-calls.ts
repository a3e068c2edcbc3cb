/** The calls about the cluster. Changes are never repeated by themselves: check with `status`. */

import type { CallOptions } from './engine/interfaces.js';
import type { OperatorCalls } from './operator-calls.js';
import { clusterStatus, type ClusterStatus } from './reports.js';

type Ask = OperatorCalls['ask'];

export class ClusterCalls {
  constructor(private readonly ask: Ask) {}

  async status(options: CallOptions = {}): Promise<ClusterStatus> {
    return clusterStatus(await this.ask('CLUSTER_STATUS', {}, 'CLUSTER_REPORT', options));
  }

  /** Adds the node with this peer address, `host:port`. */
  async add(peerAddress: string, options: CallOptions = {}): Promise<void> {
    await this.ask('CLUSTER_ADD', { address: peerAddress }, 'DONE', options);
  }

  async remove(node: bigint, options: CallOptions = {}): Promise<void> {
    await this.ask('CLUSTER_REMOVE', { node }, 'DONE', options);
  }

  /** Gives leadership to this node, or to the one that the leader chooses. */
  async transfer(node = 0n, options: CallOptions = {}): Promise<void> {
    await this.ask('CLUSTER_TRANSFER', { node }, 'DONE', options);
  }
}
