// A database with one read replica, the worst that D1's Sessions allow: it has what a session's bookmark asks for, and
// nothing newer. Reads of a session with a bookmark go to it, all else to the primary.

type Batch = { sql: string; params: unknown[] }[];
type Prepared = { sql: string; params: unknown[]; bind(...params: unknown[]): Prepared };

type Log = { batches: Batch[]; applied: number; turn: Promise<unknown> };

const logs = new Map<string, Log>();

export function lagging(name: string, primary: D1Database, replica: D1Database): D1Database {
  const log = logs.get(name) ?? { batches: [], applied: 0, turn: Promise.resolve() };
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

/** One batch after the other, as a database runs them. */
function inTurn<T>(log: Log, work: () => Promise<T>): Promise<T> {
  const done = log.turn.then(work);
  log.turn = done.catch(() => undefined);
  return done;
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
