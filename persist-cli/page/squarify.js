// Squarified treemaps, after Bruls, Huizing and van Wijk (2000).

/** Lays out parts, largest first, in a rectangle; returns a rectangle for each. */
export function squarify(sizes, box) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const scale = total > 0 ? (box.width * box.height) / total : 0;
  const areas = sizes.map((size) => size * scale);
  const boxes = [];
  let { x, y, width, height } = box;
  for (let first = 0; first < areas.length; ) {
    const side = Math.min(width, height);
    let last = first + 1;
    let sum = areas[first];
    while (last < areas.length && worst(areas, first, last + 1, sum + areas[last], side) <= worst(areas, first, last, sum, side)) {
      sum += areas[last];
      last += 1;
    }
    const thick = side > 0 ? sum / side : 0;
    let along = 0;
    for (; first < last; first += 1) {
      const length = thick > 0 ? areas[first] / thick : 0;
      boxes.push(width < height
        ? { x: x + along, y, width: length, height: thick }
        : { x, y: y + along, width: thick, height: length });
      along += length;
    }
    if (width < height) [y, height] = [y + thick, Math.max(0, height - thick)];
    else [x, width] = [x + thick, Math.max(0, width - thick)];
  }
  return boxes;
}

/** The worst ratio of the sides in a row. Sizes fall, so the first and the last decide. */
function worst(areas, first, end, sum, side) {
  const square = side * side;
  const whole = sum * sum;
  return Math.max((square * areas[first]) / whole, whole / (square * areas[end - 1]));
}
