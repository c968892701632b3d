/** The version of this package, which is the repository's. */
export const version = "0.1.0";
