/** Numbers as people read them. What is not known is a dash. */

const WHOLE = new Intl.NumberFormat('en-US', {maximumFractionDigits: 0});
const TENTHS = new Intl.NumberFormat('en-US', {minimumFractionDigits: 1, maximumFractionDigits: 1});

const UNKNOWN = '–';

const isKnown = value => typeof value === 'number' && Number.isFinite(value);

export function count(value) {
    return isKnown(value) ? WHOLE.format(value) : UNKNOWN;
}

export function percent(share) {
    return isKnown(share) ? `${TENTHS.format(100 * share)} %` : UNKNOWN;
}

/** Few enough digits to be read at a glance. */
export function rate(value) {
    return !isKnown(value) ? UNKNOWN : value < 100 ? TENTHS.format(value) : WHOLE.format(value);
}

export function millis(value) {
    if (!isKnown(value)) {
        return UNKNOWN;
    }
    return value >= 10_000 ? `${TENTHS.format(value / 1000)} s` : value < 100 ? `${TENTHS.format(value)} ms`
        : `${WHOLE.format(value)} ms`;
}

export function bytes(value) {
    if (!isKnown(value)) {
        return UNKNOWN;
    }
    const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    let left = value;
    while (left >= 1024 && unit < units.length - 1) {
        left /= 1024;
        unit++;
    }
    return `${unit === 0 ? WHOLE.format(left) : TENTHS.format(left)} ${units[unit]}`;
}

/** @param {string} iso */
export function clock(iso) {
    const at = new Date(iso);
    return Number.isNaN(at.getTime()) ? UNKNOWN : at.toLocaleTimeString([], {hour12: false});
}

/** The beginning of a long name; the whole of it belongs in a title. */
export function brief(text, length = 12) {
    const whole = String(text ?? UNKNOWN);
    return whole.length > length ? `${whole.slice(0, length)}…` : whole;
}

/** "1 block", "2 blocks". */
export function plural(number, one, many = `${one}s`) {
    return `${count(number)} ${number === 1 ? one : many}`;
}
