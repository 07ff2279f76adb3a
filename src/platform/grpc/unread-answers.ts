// Answers that have not left. While a caller grants no flow-control window, long answers wait in the memory of the gRPC library,
// where the border does not see them: it counts only the bytes that wait at the socket. A caller that grants a little window now
// and then never exceeds the border's time limit, and can ask for more. So unread bytes are counted by user, on all connections.
import type { ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { strangerUser, type Caller, type UserFacts } from '../../model/ids.js';

/** The unread bytes of one ordinary user. Its leases take 1 MiB of the checkpoint at most, and a list of them not much more. */
const USER_BYTES = 8 * 1024 * 1024;
/** The unread bytes of all ordinary users. */
const ALL_BYTES = 4 * USER_BYTES;

/** A connection whose answers are counted. */
interface Answered {
  readonly caller: Caller | undefined;
  /** Ends it, and says why. */
  readonly cutOff?: ((why: string) => void) | undefined;
}

/** The unread bytes of one connection. */
interface Account {
  readonly connection: Answered;
  readonly user: number;
  bytes: number;
}

/** The unread bytes of one user. */
interface User {
  readonly accounts: Map<Answered, Account>;
  bytes: number;
}

/** Counts unread answers. */
export class UnreadAnswers {
  readonly #facts: UserFacts;
  /** The users with unread bytes. */
  readonly #users = new Map<number, User>();
  #bytes = 0;

  /** Messages to root and to the broker's own user are not counted. */
  constructor(facts: UserFacts) {
    this.#facts = facts;
  }

  /** All unread bytes that are counted. */
  get held(): number {
    return this.#bytes;
  }

  /**
   * Counts the messages of a call from when they are to be sent until they have left.
   *
   * @returns to be called when nothing of the call waits any more: its stream is closed
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
        if (waiting.delete(leave)) leave();
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
    // The connection was cut off: its bytes are not counted any more, and its calls end a moment later.
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

  /** Ends the connection of a user that has most unread bytes. */
  #cutOff(user: User | undefined, what: string): void {
    const [fullest] = [...(user?.accounts.values() ?? [])].sort((one, other) => other.bytes - one.bytes);
    if (fullest === undefined) return;
    const { connection, bytes } = fullest;
    this.#count(fullest, -bytes);
    connection.cutOff?.(`${what} bytes of answers unread, and ${String(bytes)} of them waited here`);
  }
}
