/** How long anything is waited for, however busy the machine is. */
export const PATIENCE_MS = Number(process.env["RIG_PATIENCE_MS"] ?? 120_000);
/** How long the server alone is waited for, before the page has a part in it. */
export const SERVER_PATIENCE_MS = 120_000;

/** Ask until the answer is true, less and less often: looking takes time from what is waited for. */
export async function until<T>(what: string, ask: () => Promise<T> | T, patienceMs = PATIENCE_MS): Promise<NonNullable<T>> {
  const end = Date.now() + patienceMs;
  let last: unknown;
  for (let pause = 10; ; pause = Math.min(pause * 1.3, 200)) {
    const answer = (last = await ask());
    if (answer !== undefined && answer !== null && answer !== false) return answer as NonNullable<T>;
    if (Date.now() > end) throw new Error(`waited ${patienceMs / 1000} s in vain for ${what}; last: ${JSON.stringify(last)}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
