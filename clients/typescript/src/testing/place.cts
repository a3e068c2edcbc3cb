/** Where this package is: a CommonJS module in both builds, for only such a one can say it in the same words. */
declare const __filename: string;

export const place: string = __filename;
