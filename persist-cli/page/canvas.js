// A canvas that is drawn in slices of time, moved and zoomed meanwhile.

import { el } from './dom.js';

/** Milliseconds of drawing in one frame. */
const SLICE = 7;
const LEAST_SCALE = 0.002;
const MOST_SCALE = 12;

/**
 * Draws by `steps(context, view)`, a generator that yields often. The picture is made on a canvas that is not seen, and
 * shown when it is whole; until then the last one is shown where it belongs.
 */
export class Sliced {
  constructor({ label, steps, hover, choose, key }) {
    Object.assign(this, { steps, hover, choose, key });
    this.view = { x: 0, y: 0, scale: 1 };
    this.canvas = el('canvas', { tabindex: 0, role: 'application', 'aria-label': label });
    this.context = this.canvas.getContext('2d', { alpha: true });
    this.back = document.createElement('canvas');
    this.front = document.createElement('canvas');
    this.job = null;
    this.isStale = true;
    this.isMoved = false;
    this.pointers = new Map();
    this.listen();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.canvas);
  }

  listen() {
    const { canvas } = this;
    canvas.addEventListener('wheel', (event) => this.wheeled(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.pressed(event));
    canvas.addEventListener('pointermove', (event) => this.pulled(event));
    canvas.addEventListener('pointerup', (event) => this.released(event));
    canvas.addEventListener('pointercancel', (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => this.hover(null));
    canvas.addEventListener('keydown', (event) => this.typed(event));
    this.restyle = () => this.redraw();
    addEventListener('themechange', this.restyle);
  }

  close() {
    this.observer.disconnect();
    removeEventListener('themechange', this.restyle);
    cancelAnimationFrame(this.asked);
  }

  get width() {
    return this.canvas.clientWidth;
  }

  get height() {
    return this.canvas.clientHeight;
  }

  resize() {
    this.ratio = Math.min(2, devicePixelRatio || 1);
    for (const canvas of [this.canvas, this.back]) {
      canvas.width = Math.max(1, Math.round(this.width * this.ratio));
      canvas.height = Math.max(1, Math.round(this.height * this.ratio));
    }
    if (this.box && !this.isMoved) this.fit(this.box);
    this.redraw();
  }

  /** What is shown has changed. */
  redraw() {
    this.isStale = true;
    this.ask();
  }

  ask() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = null;
      this.frame();
    });
  }

  frame() {
    if (!this.job && this.isStale) this.start();
    if (this.job) {
      const until = performance.now() + SLICE;
      while (this.job && performance.now() < until) {
        const { done } = this.job.next();
        // Browsers put drawing off until the picture is used. A pixel that is read makes them do it within the slice.
        this.own.getImageData(0, 0, 1, 1);
        if (done) this.finish();
      }
    }
    this.show();
    if (this.job || this.isStale) this.ask();
  }

  start() {
    this.isStale = false;
    const context = this.back.getContext('2d', { willReadFrequently: true });
    this.own = context;
    const { x, y, scale } = this.view;
    this.drawn = { x, y, scale };
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.back.width, this.back.height);
    const k = scale * this.ratio;
    context.setTransform(k, 0, 0, k, this.back.width / 2 - x * k, this.back.height / 2 - y * k);
    this.job = this.steps(context, this.drawn);
  }

  finish() {
    this.job = null;
    [this.front, this.back] = [this.back, this.front];
    this.shown = this.drawn;
    if (this.back.width !== this.canvas.width || this.back.height !== this.canvas.height) {
      this.back.width = this.canvas.width;
      this.back.height = this.canvas.height;
    }
  }

  show() {
    const { context, canvas, front, shown, view } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!shown) return;
    const k = view.scale / shown.scale;
    const dx = (shown.x - view.x) * view.scale * this.ratio;
    const dy = (shown.y - view.y) * view.scale * this.ratio;
    context.setTransform(k, 0, 0, k, canvas.width / 2 + dx, canvas.height / 2 + dy);
    context.drawImage(front, -front.width / 2, -front.height / 2);
  }

  /** Shows a box of the drawing, unless the reader has moved it. */
  fit(box, isForced = false) {
    this.box = box;
    if (this.isMoved && !isForced) return;
    this.isMoved = false;
    const [width, height] = [Math.max(1, box.right - box.left), Math.max(1, box.bottom - box.top)];
    const scale = Math.min((this.width - 120) / width, (this.height - 60) / height, 2);
    this.view = { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2, scale: limited(scale) };
    this.redraw();
  }

  /** Moves a place of the drawing to the middle. */
  centre(x, y, scale = this.view.scale) {
    this.view = { x, y, scale: limited(scale) };
    this.isMoved = true;
    this.redraw();
  }

  /** The place of the drawing at a point of the canvas. */
  at(event) {
    const { x, y, scale } = this.view;
    return { x: x + (event.offsetX - this.width / 2) / scale, y: y + (event.offsetY - this.height / 2) / scale };
  }

  zoom(factor, at = { x: this.view.x, y: this.view.y }) {
    const scale = limited(this.view.scale * factor);
    const kept = this.view.scale / scale;
    this.view = { x: at.x + (this.view.x - at.x) * kept, y: at.y + (this.view.y - at.y) * kept, scale };
    this.isMoved = true;
    this.redraw();
  }

  pan(dx, dy) {
    this.view.x -= dx / this.view.scale;
    this.view.y -= dy / this.view.scale;
    this.isMoved = true;
    this.redraw();
  }

  wheeled(event) {
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), this.at(event));
  }

  pressed(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.travelled = 0;
  }

  pulled(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return this.hover(this.at(event), event);
    const now = { x: event.offsetX, y: event.offsetY };
    const [dx, dy] = [now.x - before.x, now.y - before.y];
    this.travelled += Math.abs(dx) + Math.abs(dy);
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, now);
    if (other) {
      const distance = (point) => Math.hypot(point.x - other.x, point.y - other.y);
      this.zoom(distance(now) / Math.max(1, distance(before)));
    } else if (this.travelled > 3) this.pan(dx, dy);
  }

  released(event) {
    this.pointers.delete(event.pointerId);
    if (this.travelled <= 3) this.choose(this.at(event));
  }

  typed(event) {
    const moves = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
    if (event.key in moves) this.pan(...moves[event.key]);
    else if (event.key === '+' || event.key === '=') this.zoom(1.3);
    else if (event.key === '-') this.zoom(1 / 1.3);
    else if (event.key === '0' && this.box) this.fit(this.box, true);
    else if (!this.key?.(event)) return;
    event.preventDefault();
  }
}

function limited(scale) {
  return Math.min(MOST_SCALE, Math.max(LEAST_SCALE, scale));
}
