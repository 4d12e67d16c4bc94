/** A signal that ends with the caller's, or when nothing has moved for so many milliseconds. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #milliseconds: number;
  readonly #caller: AbortSignal | undefined;
  readonly #forward = () => this.#controller.abort(this.#caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Whether it was the time that ended it. */
  passed = false;

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

  /** Counts anew: something has moved. */
  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.passed = true;
      this.#controller.abort(new DOMException("The time is over.", "TimeoutError"));
    }, this.#milliseconds);
  }

  /** Ends the counting. */
  end(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener("abort", this.#forward);
  }
}
