/** A signal that ends with the caller's, or when a time is over that can be counted anew and stopped. */
export class Deadline {
  /** Whether it was the time that ended it. */
  passed = false;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #forward = () => this.#controller.abort(this.#caller?.reason);
  #milliseconds: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(milliseconds: number, caller: AbortSignal | undefined) {
    this.#milliseconds = milliseconds;
    this.#caller = caller;
    caller?.addEventListener("abort", this.#forward, { once: true });
    if (caller?.aborted) this.#forward();
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get milliseconds(): number {
    return this.#milliseconds;
  }

  /** Counts anew: something has moved. */
  restart(milliseconds = this.#milliseconds): void {
    this.pause();
    this.#milliseconds = milliseconds;
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#controller.abort(new DOMException("The time is over.", "TimeoutError"));
    }, milliseconds);
  }

  /** Ends it for another reason. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Stops counting, while it is the caller's turn. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Ends for good. */
  end(): void {
    this.pause();
    this.#caller?.removeEventListener("abort", this.#forward);
  }
}
