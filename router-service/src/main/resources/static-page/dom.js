/**
 * Elements without a framework. The page's policy forbids styles in attributes; what depends on a number is set as a
 * custom property ({@link setVar}), which it allows.
 */

/**
 * Makes an element.
 * @param {string} tag
 * @param {Object<string, *>} [props] attributes, and {@code on}: listeners by event; null and false are left out
 * @param {...(Node|string|number|null|false)} children
 * @returns {HTMLElement}
 */
export function el(tag, props = {}, ...children) {
    return fill(document.createElement(tag), props, children);
}

const SVG = 'http://www.w3.org/2000/svg';

/** The same for a drawing. @returns {SVGElement} */
export function svg(tag, props = {}, ...children) {
    return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
    for (const [name, value] of Object.entries(props)) {
        if (value === null || value === undefined || value === false) {
            continue;
        }
        if (name === 'on') {
            Object.entries(value).forEach(([event, listener]) => element.addEventListener(event, listener));
        } else {
            element.setAttribute(name, value === true ? '' : String(value));
        }
    }
    element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false)
        .map(child => child instanceof Node ? child : String(child)));
    return element;
}

/** Sets a custom property, by which the style sheet places or sizes the element. */
export function setVar(element, name, value) {
    element.style.setProperty(name, String(value));
    return element;
}

/** Changes the text only where it differs, so that what is selected or read aloud is not disturbed. */
export function setText(element, text) {
    if (element.textContent !== text) {
        element.textContent = text;
    }
}

/**
 * A wide thing in a box that scrolls by itself, so that the page never does sideways. Reachable by keyboard.
 * @param {string} label what is in it
 */
export function scrollBox(label, ...children) {
    return el('div', {class: 'scroll', role: 'region', 'aria-label': label, tabindex: 0}, ...children);
}

/**
 * A table with its head.
 * @param {string} caption said to screen readers only
 * @param {string[]} heads of the columns; with a # before it, of one of numbers
 */
export function table(caption, heads, body) {
    return el('table', {}, el('caption', {class: 'quiet-label'}, caption),
        el('thead', {}, el('tr', {}, heads.map(head => head.startsWith('#') && head.length > 1
            ? el('th', {scope: 'col', class: 'number'}, head.slice(1)) : el('th', {scope: 'col'}, head)))), body);
}

const STEPS = {ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity};

/**
 * Makes the rows of a table one stop of the Tab key; arrow keys, Home and End go on from there.
 * @param {HTMLElement} body of the table
 * @param {string} selector of what is focused in each row, and made with a tabindex of -1
 * @returns {HTMLElement} the body
 */
export function oneStop(body, selector) {
    const all = () => [...body.querySelectorAll(selector)];
    const stopAt = stop => all().forEach(each => {
        each.tabIndex = each === stop ? 0 : -1;
    });
    body.addEventListener('focusin', event => stopAt(event.target.closest(selector)));
    body.addEventListener('keydown', event => {
        const stops = all();
        const at = stops.indexOf(event.target);
        if (at >= 0 && event.key in STEPS) {
            stops[Math.max(0, Math.min(stops.length - 1, at + STEPS[event.key]))].focus();
            event.preventDefault();
        }
    });
    new MutationObserver(() => {
        if (!all().some(each => each.tabIndex === 0)) {
            stopAt(body.querySelector(selector));
        }
    }).observe(body, {childList: true});
    return body;
}

/** A bar of 0 to 1. The number beside it says the same. */
export function bar(share, kind = '') {
    return setVar(el('span', {class: `bar ${kind}`, 'aria-hidden': 'true'}, el('span', {})), '--share',
        Math.max(0, Math.min(1, share || 0)));
}

/** Runs a function once calls have stopped for so long. */
export function debounce(millis, work) {
    let timer = 0;
    return (...args) => {
        clearTimeout(timer);
        timer = setTimeout(() => work(...args), millis);
    };
}
