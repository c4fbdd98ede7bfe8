/**
 * Blocks as cells on a canvas: 100,000 of them, a thousand changes a second, on processors. What makes that cheap: only
 * cells that changed are drawn, each by copying a sprite; the glow of a change has eight steps, and a cell is drawn
 * when it comes to the next one, not in each frame; marks and the cursor lie on a second canvas above, which is drawn
 * when they change. Nothing runs while nothing changes. The canvases cover what can be seen and as much above and
 * below; they are moved when one scrolls beyond, so that a large pool can be looked at in large cells.
 */
import {GLOW_STEPS, Sprites, themeColours} from './sprites.js';
import {el, setVar} from './dom.js';

const GLOW_MILLIS = 1_400;
/** Of more changes at once the rest is drawn without a glow. */
const MOST_GLOWING = 8_192;
const LARGEST_PITCH = 22;
const SMALLEST_PITCH = 3;
/** How much larger cells get by a press, and when that ends. */
const ZOOM = 1.5;
const LARGEST_ZOOMED_PITCH = 33;
/** Pixels that are seen at most, as the style sheet has it; canvases are three times as high. */
const SEEN_HEIGHT = 480;
/** Device pixels of a cell from which on two lines fit around what is in it. */
const ROOM_FOR_TWO_LINES = 10;
const NO_BLOCK = -1;

const stillness = matchMedia('(prefers-reduced-motion: reduce)');

/**
 * @typedef {Object} GridEvents
 * @property {function(number)} onCursor the block that is looked at; -1: none
 * @property {function(number)} onPick the block that was clicked, or chosen by Enter
 */

export class Grid {
    element;
    /** Buttons that make the cells larger and smaller. */
    zoomButtons;
    #sheet;
    #larger;
    #smaller;
    #zoom = 0;
    /** What the canvases cover. */
    #firstRow = 0;
    #rows = 0;
    #canvas = el('canvas', {'aria-hidden': 'true'});
    #overlay = el('canvas', {'aria-hidden': 'true', class: 'overlay'});
    #pen = this.#canvas.getContext('2d', {alpha: false});
    #marks = this.#overlay.getContext('2d');
    #events;
    #height;
    #cells = new Uint8Array(0);
    #columns = 1;
    /** Device pixels from one cell to the next. */
    #pitch = 1;
    #scale = 1;
    #sprites = null;
    #colours = null;
    #began = new Float64Array(0);
    #step = new Uint8Array(0);
    #glowing = [];
    #frame = 0;
    #next = [];
    #highlit = [];
    #cursor = NO_BLOCK;
    /** Cells drawn one by one so far, for who measures. */
    cellsDrawn = 0;

    /**
     * @param {string} label what is in it
     * @param {GridEvents} events
     * @param {number} height the most that it should take, in pixels; more is scrolled
     */
    constructor(label, events, height = 420) {
        this.#events = events;
        this.#height = height;
        this.#sheet = el('div', {class: 'sheet'}, el('div', {class: 'window'}, this.#canvas, this.#overlay));
        this.element = el('div', {class: 'grid', role: 'application', tabindex: 0, 'aria-label': label,
            'aria-roledescription': 'grid of blocks; arrow keys move, Enter keeps a block, + and − change the size'},
        this.#sheet);
        this.#smaller = this.#zoomButton('−', 'Smaller cells', -1);
        this.#larger = this.#zoomButton('+', 'Larger cells', 1);
        this.zoomButtons = el('div', {class: 'zoom', role: 'group', 'aria-label': `Size of the cells: ${label}`},
            this.#smaller, this.#larger);
        this.element.addEventListener('scroll', () => this.#scrolled(), {passive: true});
        this.#canvas.addEventListener('pointermove', event => this.#moveTo(this.#blockAt(event)));
        this.#canvas.addEventListener('pointerleave', () => this.#moveTo(NO_BLOCK));
        this.#canvas.addEventListener('click', event => this.#pick(this.#blockAt(event)));
        this.element.addEventListener('keydown', event => this.#key(event));
        new ResizeObserver(() => this.layOut()).observe(this.element);
    }

    #zoomButton(text, label, by) {
        return el('button', {type: 'button', class: 'small', 'aria-label': label, on: {click: () => this.#zoomBy(by)}},
            text);
    }

    /** @param {Uint8Array} cells one byte a block; the grid reads it again whenever it draws */
    show(cells) {
        const isOther = cells.length !== this.#cells.length;
        this.#cells = cells;
        if (isOther) {
            this.#began = new Float64Array(cells.length);
            this.#step = new Uint8Array(cells.length);
            this.#glowing = [];
            this.layOut();
        }
    }

    /** @param {number[]} ids of cells that are other than they were drawn */
    changed(ids) {
        const now = performance.now();
        for (const id of ids) {
            if (stillness.matches || this.#glowing.length >= MOST_GLOWING) {
                this.#draw(id, this.#step[id]);
                continue;
            }
            if (this.#step[id] === 0) {
                this.#glowing.push(id);
            }
            this.#began[id] = now;
            this.#step[id] = GLOW_STEPS - 1;
            this.#draw(id, GLOW_STEPS - 1);
        }
        if (this.#glowing.length > 0) {
            this.#animate();
        }
    }

    /** Marks who is given away next. @param {number[]} ids in this order */
    markNext(ids) {
        this.#next = ids;
        this.#drawMarks();
    }

    /** Draws a line around some blocks, for as long as others are not named. @param {number[]} ids */
    highlight(ids) {
        this.#highlit = ids;
        this.#drawMarks();
    }

    /** Everything anew: other size, other theme. */
    layOut() {
        const width = this.element.clientWidth;
        if (width < 20 || this.#cells.length === 0) {
            return;
        }
        this.#scale = Math.min(2, window.devicePixelRatio || 1);
        const fitting = this.#fittingPitch(width);
        const pitch = zoomed(fitting, this.#zoom);
        this.#columns = Math.max(1, Math.floor(width / pitch));
        this.#pitch = Math.max(1, Math.round(pitch * this.#scale));
        this.#smaller.disabled = this.#zoom === 0;
        this.#larger.disabled = pitch >= Math.max(fitting, LARGEST_ZOOMED_PITCH);
        this.#colours = themeColours();
        this.#sprites = new Sprites(this.#pitch, this.#colours);
        const rows = Math.ceil(this.#cells.length / this.#columns);
        setVar(this.#sheet, '--height', `${rows * this.#pitch / this.#scale}px`);
        this.#rows = Math.min(rows, 3 * this.#seenRows());
        for (const canvas of [this.#canvas, this.#overlay]) {
            canvas.width = this.#columns * this.#pitch;
            canvas.height = this.#rows * this.#pitch;
            canvas.style.width = `${canvas.width / this.#scale}px`;
            canvas.style.height = `${canvas.height / this.#scale}px`;
        }
        this.#drawWindow();
    }

    /** The largest cells with which all are seen without scrolling. */
    #fittingPitch(width) {
        let pitch = LARGEST_PITCH;
        while (pitch > SMALLEST_PITCH
                && Math.ceil(this.#cells.length / Math.floor(width / pitch)) * pitch > this.#height) {
            pitch--;
        }
        return pitch;
    }

    #seenRows() {
        return Math.ceil(SEEN_HEIGHT * this.#scale / this.#pitch) + 1;
    }

    /** The row at the top of what is seen. */
    #topRow() {
        return Math.floor(this.element.scrollTop * this.#scale / this.#pitch);
    }

    #scrolled() {
        const top = this.#topRow();
        const isBelow = top + this.#seenRows() > this.#firstRow + this.#rows;
        const end = Math.ceil(this.#cells.length / this.#columns);
        if (this.#sprites !== null && (top < this.#firstRow || isBelow && this.#firstRow + this.#rows < end)) {
            this.#drawWindow();
        }
    }

    /** Puts the canvases around what is seen. */
    #drawWindow() {
        const end = Math.ceil(this.#cells.length / this.#columns);
        this.#firstRow = Math.max(0, Math.min(this.#topRow() - this.#seenRows(), end - this.#rows));
        setVar(this.#sheet, '--top', `${this.#firstRow * this.#pitch / this.#scale}px`);
        this.#sprites.drawRows(this.#pen, this.#cells, this.#step, this.#columns, this.#firstRow, this.#rows);
        this.#drawMarks();
    }

    /** Other cells, with the cursor, or else the block at the top left, still in sight. */
    #zoomBy(by) {
        const button = by > 0 ? this.#larger : this.#smaller;
        if (button.disabled) {
            return;
        }
        const isSeen = row => row >= this.#topRow() && row < this.#topRow() + this.#seenRows();
        const kept = this.#cursor !== NO_BLOCK && isSeen(Math.floor(this.#cursor / this.#columns)) ? this.#cursor
            : this.#topRow() * this.#columns;
        this.#zoom += by;
        this.layOut();
        this.element.scrollTop = Math.floor(kept / this.#columns) * this.#pitch / this.#scale;
        this.#scrolled();
        if (button.disabled && button.contains(document.activeElement)) {
            (by > 0 ? this.#smaller : this.#larger).focus();
        }
    }

    #draw(id, glow) {
        if (this.#sprites !== null && this.#isCovered(id)) {
            const [x, y] = this.#place(id);
            this.#sprites.draw(this.#pen, x, y, this.#cells[id], glow);
            this.cellsDrawn++;
        }
    }

    #animate() {
        if (this.#frame === 0) {
            this.#frame = requestAnimationFrame(now => this.#fade(now));
        }
    }

    #fade(now) {
        this.#frame = 0;
        for (let i = this.#glowing.length - 1; i >= 0; i--) {
            const id = this.#glowing[i];
            const age = Math.max(0, now - this.#began[id]) / GLOW_MILLIS;
            const step = Math.max(0, GLOW_STEPS - 1 - Math.floor(age * GLOW_STEPS));
            if (step !== this.#step[id]) {
                this.#step[id] = step;
                this.#draw(id, step);
            }
            if (step === 0) {
                this.#glowing[i] = this.#glowing[this.#glowing.length - 1];
                this.#glowing.pop();
            }
        }
        if (this.#glowing.length > 0) {
            this.#animate();
        }
    }

    #drawMarks() {
        if (this.#sprites === null) {
            return;
        }
        const pen = this.#marks;
        pen.clearRect(0, 0, this.#overlay.width, this.#overlay.height);
        this.#drawNext(pen);
        const line = Math.max(1, Math.round(this.#pitch / 8));
        this.#highlit.forEach(id => this.#ring(pen, id, this.#colours.mark, line, 0));
        this.#ring(pen, this.#cursor, this.#colours.cursor, Math.max(2, Math.round(this.#pitch / 7)), 1);
    }

    /** An order where there is room for a number, a corner where there is not. */
    #drawNext(pen) {
        const pitch = this.#pitch;
        const hasRoom = pitch >= 14 * this.#scale;
        pen.fillStyle = this.#colours.mark;
        pen.font = `600 ${Math.round(pitch * 0.48)}px system-ui, sans-serif`;
        pen.textAlign = 'center';
        pen.textBaseline = 'middle';
        this.#next.forEach((id, order) => {
            if (!this.#isCovered(id)) {
                return;
            }
            const [x, y] = this.#place(id);
            if (hasRoom && order < 99) {
                pen.fillText(String(order + 1), x + pitch / 2 - 0.5, y + pitch / 2 + 0.5);
            } else if (order < 32) {
                const corner = Math.max(1, Math.round(pitch / 3));
                pen.fillRect(x, y, corner, corner);
            }
        });
    }

    /** A line around a block, and where there is room one of the ground within, for cells of the line's own colour. */
    #ring(pen, id, colour, line, outside) {
        if (!this.#isCovered(id)) {
            return;
        }
        const [x, y] = this.#place(id);
        const frame = (from, width) => {
            const inset = from + width / 2;
            pen.lineWidth = width;
            pen.strokeRect(x + inset, y + inset, this.#pitch - 1 - 2 * inset, this.#pitch - 1 - 2 * inset);
        };
        if (this.#pitch >= ROOM_FOR_TWO_LINES) {
            pen.strokeStyle = this.#colours.surface;
            frame(line - outside, line);
        }
        pen.strokeStyle = colour;
        frame(-outside, line);
    }

    #isCovered(id) {
        const row = Math.floor(id / this.#columns) - this.#firstRow;
        return id >= 0 && id < this.#cells.length && row >= 0 && row < this.#rows;
    }

    /** On the canvases. */
    #place(id) {
        return [id % this.#columns * this.#pitch, (Math.floor(id / this.#columns) - this.#firstRow) * this.#pitch];
    }

    #blockAt(event) {
        const pitch = this.#pitch / this.#scale;
        const column = Math.floor(event.offsetX / pitch);
        const id = (this.#firstRow + Math.floor(event.offsetY / pitch)) * this.#columns + column;
        return column >= 0 && column < this.#columns && id >= 0 && id < this.#cells.length ? id : NO_BLOCK;
    }

    #moveTo(id) {
        if (id !== this.#cursor) {
            this.#cursor = id;
            this.#drawMarks();
            this.#events.onCursor(id);
        }
    }

    #pick(id) {
        if (id !== NO_BLOCK) {
            this.#moveTo(id);
            this.#events.onPick(id);
        }
    }

    #key(event) {
        const last = this.#cells.length - 1;
        const at = this.#cursor === NO_BLOCK ? this.#topRow() * this.#columns : this.#cursor;
        const moves = {
            ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + this.#columns, ArrowUp: at - this.#columns,
            Home: 0, End: last, PageDown: at + 10 * this.#columns, PageUp: at - 10 * this.#columns,
        };
        if (event.key in moves && last >= 0) {
            const isFirst = this.#cursor === NO_BLOCK && event.key.startsWith('Arrow');
            this.#moveTo(Math.max(0, Math.min(last, isFirst ? at : moves[event.key])));
            this.#scrollToCursor();
            event.preventDefault();
        } else if (['+', '=', '-'].includes(event.key) && !event.ctrlKey && !event.metaKey) {
            this.#zoomBy(event.key === '-' ? -1 : 1);
            event.preventDefault();
        } else if (event.key === 'Enter' || event.key === ' ') {
            this.#pick(this.#cursor);
            event.preventDefault();
        } else if (event.key === 'Escape') {
            this.#moveTo(NO_BLOCK);
        }
    }

    #scrollToCursor() {
        const height = this.#pitch / this.#scale;
        const y = Math.floor(this.#cursor / this.#columns) * height;
        const box = this.element;
        if (y < box.scrollTop || y + height > box.scrollTop + box.clientHeight) {
            box.scrollTop = y - box.clientHeight / 2;
        }
    }
}

/** Pixels from one cell to the next after so many presses. */
function zoomed(fitting, times) {
    let pitch = fitting;
    for (let i = 0; i < times; i++) {
        pitch = Math.max(fitting, Math.min(LARGEST_ZOOMED_PITCH, Math.ceil(ZOOM * pitch)));
    }
    return pitch;
}
