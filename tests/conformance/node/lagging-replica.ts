// A database with one read replica, the worst that D1's Sessions allow: it has what a session's bookmark asks for, and
// nothing newer. Reads of a session with a bookmark go to it, all else to the primary.

type Batch = { sql: string; params: unknown[] }[];
type Prepared = { sql: string; params: unknown[]; bind(...params: unknown[]): Prepared };

type Log = { batches: Batch[]; applied: number; busy: boolean };

const logs = new Map<string, Log>();

export function lagging(name: string, primary: D1Database, replica: D1Database): D1Database {
  const log = logs.get(name) ?? { batches: [], applied: 0, busy: false };
  logs.set(name, log);
  const database = {
    prepare: prepared,
    batch: (statements: Prepared[]) => database.withSession("first-primary").batch(statements),
    withSession(constraint: string) {
      let latest: string | null = null;
      return {
        prepare: prepared,
        async batch(statements: Prepared[]): Promise<D1Result[]> {
          return inTurn(log, () => this.run(statements));
        },
        async run(statements: Prepared[]) {
          const reads = statements.every(({ sql }) => /^\s*SELECT/i.test(sql));
          if (reads && constraint !== "first-primary") {
            latest = constraint;
            await catchUp(replica, log, constraint === "first-unconstrained" ? 0 : Number(constraint));
            return run(replica, statements);
          }
          const results = await run(primary, statements);
          if (!reads) log.batches.push(statements.map(({ sql, params }) => ({ sql, params })));
          latest = String(log.batches.length).padStart(8, "0");
          return results;
        },
        getBookmark: () => latest,
      };
    },
  };
  return database as unknown as D1Database;
}

/** One batch after the other, as a database runs them. A request must not wait for another one's promise on workerd. */
async function inTurn<T>(log: Log, work: () => Promise<T>): Promise<T> {
  while (log.busy) await new Promise((resolve) => setTimeout(resolve, 1));
  log.busy = true;
  try {
    return await work();
  } finally {
    log.busy = false;
  }
}

function prepared(sql: string, params: unknown[] = []): Prepared {
  return { sql, params, bind: (...given) => prepared(sql, given) };
}

function run(database: D1Database, statements: Batch) {
  return database.batch(statements.map(({ sql, params }) => database.prepare(sql).bind(...params)));
}

async function catchUp(replica: D1Database, log: Log, wanted: number): Promise<void> {
  for (; log.applied < wanted; log.applied++) await run(replica, log.batches[log.applied] ?? []);
}
