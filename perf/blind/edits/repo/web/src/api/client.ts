import { sleep } from "../lib/format";

export const DEFAULT_TIMEOUT_MS = 10_000;
export const API_BASE = "/api/v2";

export type HttpMethod = "GET" | "POST" | "PATCH" | "DELETE";

export interface RequestOptions {
  method?: HttpMethod;
  body?: unknown;
  timeoutMs?: number;
  signal?: AbortSignal;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = "ApiError";
  }

  get isRetryable(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}

export const withRetry = async <T>(call: () => Promise<T>, attempts = 3): Promise<T> => {
  let lastError: unknown;
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      lastError = error;
      if (!(error instanceof ApiError) || !error.isRetryable) {
        throw error;
      }
      // 200, 400, 800 ms
      await sleep(200 * 2 ** attempt);
    }
  }
  throw lastError;
};

export class ApiClient {
  private token: string | null = null;

  constructor(private readonly base: string = API_BASE) {}

  async request<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    try {
      const response = await fetch(this.base + path, {
        method: options.method ?? "GET",
        headers: this.headers(),
        body: options.body === undefined ? undefined : JSON.stringify(options.body),
        signal: options.signal ?? controller.signal,
      });
      if (!response.ok) {
        const { code, message } = await response.json();
        throw new ApiError(response.status, code, message);
      }
      return (await response.json()) as T;
    } finally {
      clearTimeout(timer);
    }
  }

  async refreshToken(): Promise<void> {
    const { token } = await this.request<{ token: string }>("/session/refresh", { method: "POST" });
    this.token = token;
    localStorage.setItem("heron.token", token);
  }

  private headers(): Record<string, string> {
    const headers: Record<string, string> = { "Content-Type": "application/json" };
    if (this.token) {
      headers.Authorization = `Bearer ${this.token}`;
    }
    return headers;
  }
}

export const client = new ApiClient();
