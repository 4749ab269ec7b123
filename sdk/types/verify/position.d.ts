/** All amounts are in minor units, from the first day to the end of this one. */
export type ProvenPosition = {
    /** In UTC, such as 2026-03-31. */
    readonly day: string;
    readonly account: string;
    readonly currency: string;
    /** What wallets paid to the account. */
    readonly debitedMinor: bigint;
    /** What the account paid to wallets. */
    readonly creditedMinor: bigint;
    readonly entries: bigint;
};
export type PositionPart = {
    readonly position: ProvenPosition;
    readonly salt: Uint8Array;
    /** Its place in the tree of the day, which has `lines` leaves, and the path from it to the root. */
    readonly line: number;
    readonly lines: number;
    readonly linePath: readonly Uint8Array[];
};
export declare function accountLeaf(position: Omit<ProvenPosition, 'day'>, salt: Uint8Array): Uint8Array;
export declare function booksLeaf({ day, lines, root }: {
    day: string;
    lines: number;
    root: Uint8Array;
}): Uint8Array;
export declare function positionFields({ position, salt, line, lines, linePath }: PositionPart): {
    day: string;
    account: string;
    currency: string;
    debitedMinor: string;
    creditedMinor: string;
    entries: string;
    salt: string;
    line: number;
    lines: number;
    linePath: string[];
};
export declare function parsePosition(fields: Record<string, unknown>): PositionPart | null;
/** The leaf of the log that has it. Null if the path fits no tree. */
export declare function hashBooksOf({ position, salt, line, lines, linePath }: PositionPart): Promise<Uint8Array | null>;
