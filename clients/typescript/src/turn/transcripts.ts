// How a host's own record of its conversations is handed over: nothing is lost while the service is away.

import type { Said, TurnCall, TurnMemory } from "./turn.js";

/** A message of a host's record. */
export interface Kept extends Said {
  /** Tells it from the others of its conversation. */
  id: string;
}

/** The messages that are handed over at most, where nothing is known of what was. */
const MOST_MESSAGES = 200;
/** Of one request: long ones fit too. */
const AT_ONCE = 20;
/** The conversations of which it is known how far they were handed over; what is handed over again is kept once. */
const MOST_SESSIONS = 1_000;

/** Hands over each time what was said since the service has last taken something, in the order in which it is asked. */
export class Transcripts {
  private readonly handed = new Map<string, string>();
  private handing: Promise<unknown> = Promise.resolve();

  constructor(private readonly turn: TurnMemory) {}

  /**
   * Hands over what is new of a conversation.
   *
   * @throws As `TurnMemory.said`.
   */
  handOver(session: string, kept: () => Promise<readonly Kept[]>, call: TurnCall = {}): Promise<void> {
    const handing = this.handing.then(async () => this.taken(session, await kept(), call));
    this.handing = handing.catch(() => undefined); // whoever has asked is told
    return handing;
  }

  /** Waits for all that is on its way. */
  async settled(): Promise<void> {
    await this.handing;
  }

  private async taken(session: string, kept: readonly Kept[], call: TurnCall): Promise<void> {
    const last = this.handed.get(session);
    const known = kept.findLastIndex(({ id }) => id === last);
    const fresh = known < 0 ? kept.slice(-MOST_MESSAGES) : kept.slice(known + 1);
    for (let from = 0; from < fresh.length; from += AT_ONCE) {
      const messages = fresh.slice(from, from + AT_ONCE);
      const said = messages.map(({ id: _, ...message }) => message);
      if (!(await this.turn.said(said, { ...call, session }))) return;
      this.note(session, messages.at(-1)?.id ?? "");
    }
  }

  private note(session: string, id: string): void {
    this.handed.delete(session);
    this.handed.set(session, id);
    for (const oldest of this.handed.keys()) {
      if (this.handed.size > MOST_SESSIONS) this.handed.delete(oldest);
    }
  }
}
