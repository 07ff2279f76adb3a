// Answers that have not left. A caller that asks for long answers and hands out no window has them wait in memory, where the
// border does not see them: it counts what waits at the socket. Who lets through a little of each now and then is not cut off
// for that by the time it takes either, and asks on. So what they take is counted by user, whatever connections they are on.
import type { ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { strangerUser, type Caller, type UserFacts } from '../../model/ids.js';

/** Of one ordinary user: what its leases may have in the checkpoint is a megabyte, and a list of all of them not much more. */
const USER_BYTES = 8 * 1024 * 1024;
/** Of all of them. */
const ALL_BYTES = 4 * USER_BYTES;

/** A connection, as far as it matters here. */
interface Answered {
  readonly caller: Caller | undefined;
  /** Ends it, and says why. */
  readonly cutOff?: ((why: string) => void) | undefined;
}

/** What waits on one connection. */
interface Account {
  readonly connection: Answered;
  readonly user: number;
  bytes: number;
}

/** What waits of one user. */
interface User {
  readonly accounts: Map<Answered, Account>;
  bytes: number;
}

/** Counts them. */
export class UnreadAnswers {
  readonly #facts: UserFacts;
  /** Those of whom something waits. */
  readonly #users = new Map<number, User>();
  #bytes = 0;

  /** Messages to root and to the broker's own user are not counted. */
  constructor(facts: UserFacts) {
    this.#facts = facts;
  }

  /** What waits, bytes. */
  get held(): number {
    return this.#bytes;
  }

  /**
   * Counts the messages of a call from when they are to be sent until they have left.
   *
   * @returns to be called when the call is over, either way
   */
  follow(call: Pick<ServerInterceptingCallInterface, 'sendMessage'>, connection: Answered): () => void {
    const user = connection.caller === undefined ? undefined : strangerUser(connection.caller.uid, this.#facts);
    if (user === undefined) return () => undefined;
    const waiting = new Set<() => void>();
    let isOver = false;
    const send = call.sendMessage.bind(call);
    call.sendMessage = (message: unknown, sent) => {
      if (isOver || !Buffer.isBuffer(message)) {
        send(message, sent);
        return;
      }
      const leave = this.#enter(user, connection, message.length);
      waiting.add(leave);
      send(message, () => {
        // Of a call that was reset the library says so, too, after its end: it was given back then.
        waiting.delete(leave);
        leave();
        sent();
      });
    };
    return () => {
      isOver = true;
      for (const leave of waiting) leave();
      waiting.clear();
    };
  }

  #enter(user: number, connection: Answered, bytes: number): () => void {
    const known = this.#users.get(user) ?? { accounts: new Map<Answered, Account>(), bytes: 0 };
    this.#users.set(user, known);
    const account = known.accounts.get(connection) ?? { connection, user, bytes: 0 };
    known.accounts.set(connection, account);
    this.#count(account, bytes);
    if (known.bytes > USER_BYTES) this.#cutOff(known, `uid ${String(user)} left more than ${String(USER_BYTES)}`);
    else if (this.#bytes > ALL_BYTES)
      this.#cutOff(this.#fullest(), `ordinary users left more than ${String(ALL_BYTES)}`);
    return () => this.#count(account, -bytes);
  }

  #count(account: Account, bytes: number): void {
    const user = this.#users.get(account.user);
    // What was cut off is not counted any more, and its calls end a moment later.
    if (user?.accounts.get(account.connection) !== account) return;
    account.bytes += bytes;
    user.bytes += bytes;
    this.#bytes += bytes;
    if (account.bytes === 0) user.accounts.delete(account.connection);
    if (user.bytes === 0) this.#users.delete(account.user);
  }

  #fullest(): User | undefined {
    return [...this.#users.values()].sort((one, other) => other.bytes - one.bytes)[0];
  }

  /** Of the connections of a user the one ends on which most waits. */
  #cutOff(user: User | undefined, what: string): void {
    const [fullest] = [...(user?.accounts.values() ?? [])].sort((one, other) => other.bytes - one.bytes);
    if (fullest === undefined) return;
    const { connection, bytes } = fullest;
    this.#count(fullest, -bytes);
    connection.cutOff?.(`${what} bytes of answers unread, and ${String(bytes)} of them waited here`);
  }
}
