/** The same keys with other texts. */
export type Same<T> = { readonly [K in keyof T]: string };
